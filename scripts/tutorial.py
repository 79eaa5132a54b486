"""Does what docs/tutorial.md tells a reader to do.

`python scripts/tutorial.py DIRECTORY` writes the pictures of the page there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def pictures() -> list[str]:
    """Those that the page shows: tutorial-NAME.svg is NAME/overview.svg."""
    return re.findall(r"\(tutorial-(\w+)\.svg\)", PAGE)


def follow(directory: Path) -> Path:
    """Runs every command of the page, the first in `directory`; returns where the results are."""
    (directory / "algorithms").symlink_to(ROOT / "algorithms")
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-e"],
        input=commands,
        text=True,
        cwd=directory,
        env=os.environ | {"PATH": path},
        check=True,
    )
    return directory / "out" / "tutorial"


def main(directory: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        results = follow(Path(temporary))
        for name in pictures():
            shutil.copy(results / name / "overview.svg", directory / f"tutorial-{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
