"""The wheel for every machine, in an environment of its own."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import portable_wheel
from ackclock import Scenario, _core, run
from common import ROOT

instance = pytest.importorskip("ackclock.engine.instance")
pytestmark = pytest.mark.skipif(
    not instance.ENGINE.exists(), reason="engine.wasm is not built: make lab"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return portable_wheel.build(tmp_path_factory.mktemp("wheel"))


def test_what_is_in_it(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        [about] = [name for name in names if name.endswith("/METADATA")]
        metadata = file.read(about).decode()
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    assert "ackclock/explore/static/lab/engine.wasm" in names
    plain = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: wasmtime")]
    assert "extra" not in plain[0]


def test_it_runs_where_nothing_else_is(wheel, tmp_path):
    """The packages that it needs are borrowed; no index, no compiler, no native library."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index"]
    subprocess.run([*install, "--no-deps", "-q", wheel], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    borrowed = Path(pytest.__file__).parent.parent
    (packages / "borrowed.pth").write_text(f"{borrowed}\n")
    (tmp_path / "here").mkdir()

    def call(*words):
        done = subprocess.run(
            [environment / "bin" / "ackclock", *words],
            cwd=tmp_path / "here",
            env={"PATH": "/nowhere", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert call("--version").startswith(f"ackclock {_core.engine_version()}\n")
    call("examples")
    told = call("run", "examples/two_cubic.toml", "--json", "-o", "out")
    assert '"trace_hash": "0f29bfd68ab9e350"' in told
    call("plot", "out", "-o", "out.png")
    assert (tmp_path / "here" / "out.png").stat().st_size > 10_000
    [kept] = (tmp_path / ".cache" / "ackclock").iterdir()  # compiled once
    assert kept.suffix == ".cwasm"


def test_the_hash_is_the_native_one():
    result = run(Scenario.from_toml(ROOT / "examples/two_cubic.toml"))
    assert result.manifest["trace_hash"] == "0f29bfd68ab9e350"
