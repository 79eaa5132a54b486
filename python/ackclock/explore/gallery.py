"""Ten scenarios to begin with: files whose first line is a title and whose second a sentence."""

from pathlib import Path

FOLDER = Path(__file__).with_name("gallery")


def scenarios() -> list[dict[str, str]]:
    """Name, title, sentence and text of each, in the order of their numbers."""
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
            }
        )
    return found
