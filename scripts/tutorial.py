"""Does what docs/tutorial.md and docs/class.md tell a reader to do.

`python scripts/tutorial.py DIRECTORY` writes the pictures of both pages there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = ("tutorial", "class")


def _text(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def pictures(page: str) -> list[str]:
    """Those that the page shows: PAGE-NAME.svg is NAME.svg, or else NAME/overview.svg."""
    return re.findall(rf"\({page}-(\w+)\.svg\)", _text(page))


def follow(page: str, directory: Path) -> Path:
    """Runs every command of the page, the first in `directory`; returns where the results are."""
    (directory / "algorithms").symlink_to(ROOT / "algorithms")
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", _text(page), re.DOTALL | re.MULTILINE))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-e"],
        input=commands,
        text=True,
        cwd=directory,
        env=os.environ | {"PATH": path},
        check=True,
    )
    return directory / "out" / page


def main(directory: Path) -> None:
    for page in PAGES:
        with tempfile.TemporaryDirectory() as temporary:
            results = follow(page, Path(temporary))
            for name in pictures(page):
                own = results / f"{name}.svg"
                drawn = own if own.exists() else results / name / "overview.svg"
                shutil.copy(drawn, directory / f"{page}-{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
