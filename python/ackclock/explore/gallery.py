"""Scenarios to begin with: files whose first line is a title and whose next ones are sentences."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("gallery")
#: Six steps for a student, from the window to the RTT.
TOUR = Path(__file__).with_name("tour")
#: Name → the window of each flow, for a small picture; `scripts/gallery_pictures.py` writes it.
PICTURES = FOLDER / "sparklines.json"


def scenarios() -> list[dict[str, Any]]:
    """Name, title, sentence, text and picture of each, in the order of their numbers."""
    pictures = json.loads(PICTURES.read_text(encoding="utf-8"))
    return [each | {"sparkline": pictures.get(each["name"])} for each in _read(FOLDER)]


def tour() -> list[dict[str, str]]:
    """Name, title, sentences and text of each step."""
    return _read(TOUR)


def _read(folder: Path) -> list[dict[str, str]]:
    found = []
    for path in sorted(folder.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        head = text[: text.index("\n", text.rindex("\n# ") + 1)]
        title, *sentences = (line.removeprefix("# ") for line in head.splitlines())
        each = {"name": path.stem, "title": title, "sentence": " ".join(sentences), "toml": text}
        found.append(each)
    return found
