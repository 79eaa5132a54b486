"""Ten scenarios to begin with: files whose first line is a title and whose second a sentence."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("gallery")
#: Name → the window of each flow, for a small picture; `scripts/gallery_pictures.py` writes it.
PICTURES = FOLDER / "sparklines.json"


def scenarios() -> list[dict[str, Any]]:
    """Name, title, sentence, text and picture of each, in the order of their numbers."""
    pictures = json.loads(PICTURES.read_text(encoding="utf-8"))
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        title, sentence, _ = text.split("\n", 2)
        found.append(
            {
                "name": path.stem,
                "title": title.removeprefix("# "),
                "sentence": sentence.removeprefix("# "),
                "toml": text,
                "sparkline": pictures.get(path.stem),
            }
        )
    return found
