"""Writes the files that repeat in another form what Rust declares: `make generate`.

`tests/test_docs.py` checks that each is up to date.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from ackclock import scenario, tables

ROOT = Path(__file__).parent.parent


def stubs() -> str:
    """The types of `ackclock._core`, which pyo3 stores in the library that it builds."""
    maturin = Path(sys.executable).with_name("maturin")
    with tempfile.TemporaryDirectory() as directory:
        command = f"{maturin} generate-stubs --quiet --locked --profile release --out {directory}"
        subprocess.run(command.split(), cwd=ROOT, check=True, capture_output=True)
        return Path(directory, "ackclock", "_core.pyi").read_text(encoding="utf-8")


#: File → its text.
FILES = {
    "docs/scenario.md": scenario.markdown,
    "docs/tables.md": tables.markdown,
    "python/ackclock/_core.pyi": stubs,
}


def main() -> None:
    for file, text in FILES.items():
        (ROOT / file).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
