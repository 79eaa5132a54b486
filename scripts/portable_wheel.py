"""Builds the wheel for every machine: `scripts/wheels.sh` calls it.

It has the engine as WebAssembly in the place of the library, and needs wasmtime.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / "python"
MATURIN = Path(sys.executable).with_name("maturin")


def build(directory: Path) -> Path:
    """Builds it; returns its path."""
    engine = PYTHON / "ackclock/explore/static/lab/engine.wasm"
    files = [engine, *sorted(PYTHON.rglob("*"))]
    content = {
        path.relative_to(PYTHON).as_posix(): path.read_bytes()
        for path in files
        if path.is_file() and path.suffix not in {".so", ".pyc"}
    }
    with tempfile.TemporaryDirectory() as place:
        command = [str(MATURIN), "pep517", "write-dist-info", "--metadata-directory", place]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        for path in Path(place).rglob("*"):
            if path.is_file():
                content[path.relative_to(place).as_posix()] = path.read_bytes()
    [about] = [name.removesuffix("/WHEEL") for name in content if name.endswith(".dist-info/WHEEL")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = project["optional-dependencies"]["portable"]
    _change(content, f"{about}/WHEEL", "Purelib: false", "Purelib: true")
    _change(content, f"{about}/WHEEL", "Tag: .*", "Tag: py3-none-any")
    lines = "".join(f"Requires-Dist: {each}\n" for each in needs)
    _change(content, f"{about}/METADATA", "^Requires-Dist", f"{lines}Requires-Dist")
    record = [f"{name},{_digest(each)},{len(each)}\n" for name, each in content.items()]
    content[f"{about}/RECORD"] = "".join([*record, f"{about}/RECORD,,\n"]).encode()
    directory.mkdir(parents=True, exist_ok=True)
    made = directory / f"{about.removesuffix('.dist-info')}-py3-none-any.whl"
    with ZipFile(made, "w", ZIP_DEFLATED) as file:
        for name, each in content.items():
            file.writestr(name, each)
    return made


def _change(content: dict[str, bytes], name: str, old: str, new: str) -> None:
    text, count = re.subn(old, new, content[name].decode(), count=1, flags=re.MULTILINE)
    assert count == 1, f"{name} has no {old}"
    content[name] = text.encode()


def _digest(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
