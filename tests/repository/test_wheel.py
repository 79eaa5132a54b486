"""The wheel works in an environment of its own, without clang, libelf and the sources."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from ackclock import _core
from common import ROOT
from explorer import Server

pytestmark = pytest.mark.slow  # it compiles the simulator again, for every Linux
MATURIN = Path(sys.executable).with_name("maturin")


def maturin(command, directory, *options):
    done = subprocess.run(
        [MATURIN, command, "--out", directory, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (file,) = directory.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Of what `make quic` compiled; its library needs no other than manylinux allows."""
    options = ("--release", "--locked", "--features", "quic", "--auditwheel", "check")
    directory = tmp_path_factory.mktemp("wheel")
    return maturin("build", directory, *options, "--interpreter", sys.executable)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The directory of the installed commands. The packages that ackclock needs are borrowed."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index"]
    subprocess.run([*install, "--no-deps", "-q", wheel], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    borrowed = Path(pytest.__file__).parent.parent
    (packages / "borrowed.pth").write_text(f"{borrowed}\n")
    return environment / "bin"


@pytest.fixture
def command(installed, tmp_path):
    """Runs the installed command where no compiler is."""
    (tmp_path / "no-tools").mkdir()
    (tmp_path / "here").mkdir()

    def call(*arguments):
        return subprocess.run(
            [installed / "ackclock", *arguments],
            cwd=tmp_path / "here",
            env={"PATH": str(tmp_path / "no-tools"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return call


def test_it_is_the_wheel_that_runs(installed):
    code = "import ackclock, ackclock._core as c; print(ackclock.__file__, c.__file__)"
    done = subprocess.run(
        [installed / "python", "-c", code], capture_output=True, text=True, check=True
    )
    assert all(str(installed.parent) in path for path in done.stdout.split())


def test_it_has_types(installed, tmp_path):
    (tmp_path / "mine.py").write_text("import ackclock\n\nreveal_type(ackclock.run)\n")
    mypy = [Path(sys.executable).with_name("mypy"), "--config-file=", "mine.py"]
    python = f"--python-executable={installed / 'python'}"
    done = subprocess.run(
        [*mypy, python], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "def (scenario: ackclock.scenario.scenario.Scenario, *, progress: " in done.stdout
    assert "-> ackclock.results.result.Result" in done.stdout
    assert done.returncode == 0


def test_the_commands(command):
    version = command("--version").stdout
    assert version.startswith(f"ackclock {_core.engine_version()}\nresults of version ")
    assert "cubic" in command("list").stdout
    assert command("examples").stdout == "written: examples\n"
    for scenario in ("two_cubic.toml", "cellular.toml"):
        done = command("run", f"examples/{scenario}")
        assert done.returncode == 0, done.stderr
    assert command("reproduce", "cubicfc/fig2", "--quick", "-o", "out").returncode == 0


def test_without_a_compiler_and_the_kernel_part(command):
    assert command("new", "my_cc").returncode == 0
    done = command("run", "examples/two_cubic.toml", "--algorithm", "./my_cc.c")
    assert command("examples").returncode == 0
    done = command("run", "examples/two_cubic.toml", "--algorithm", "./my_cc.c")
    assert done.returncode == 1
    assert "no C compiler was found (tried cc, gcc, clang); install one" in done.stderr
    assert done.stderr.count("\n") == 1
    done = command("doctor")
    assert done.stderr == (
        "error: the kernel part of ackclock is not installed. "
        "Type `pip install 'ackclock[kernel]'`\n"
    )


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here")
def test_a_file_of_ones_own(installed, tmp_path):
    """The headers that it includes are in the wheel."""
    for words in (["new", "my_cc"], ["examples"]):
        subprocess.run([installed / "ackclock", *words], cwd=tmp_path, check=True)
    run = ["run", "examples/two_cubic.toml", "--algorithm", "./my_cc.c"]
    done = subprocess.run([installed / "ackclock", *run], cwd=tmp_path, check=False)
    assert done.returncode == 0


def test_the_page(installed, tmp_path):
    server = Server(tmp_path, command=installed / "ackclock")
    for path in ("/", "/static/main.js", "/static/uplot/uPlot.esm.js", "/api/about"):
        assert server.ask("GET", path).status == 200, path
    assert server.close() == ""


def test_what_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    assert not [name for name in names if "_kernel" in Path(name).name]
    assert not [name for name in names if "__pycache__" in name or name.endswith(".wasm")]
    ours = ROOT / "python"
    for pattern in (
        "**/*.py",
        "**/*.[ch]",
        "**/*.toml",
        "**/guest/*",
        "**/static/**/*",
        "py.typed",
    ):
        for path in ours.glob(pattern):
            if path.is_file() and path.suffix != ".wasm":  # of the site, which has no server
                assert str(path.relative_to(ours)) in names
    for licence in (ROOT / "LICENSES").iterdir():
        assert any(name.endswith(f"/licenses/LICENSES/{licence.name}") for name in names)


def test_the_source_distribution(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: maturin packs what git knows")
    with tarfile.open(maturin("sdist", tmp_path)) as file:
        names = {name.split("/", 1)[1] for name in file.getnames()}
    assert {"PKG-INFO", "Cargo.lock", "algorithms/tcp_cubic.c", "examples/my_cc.c"} <= names
    assert {"crates/py/src/lib.rs", "LICENSES/Apache-2.0.txt", "Makefile"} <= names


def test_one_version():
    """Of the crates, of both distributions, and of what each requires of the other."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    project, kernel = (
        tomllib.loads((ROOT / path).read_text())["project"]
        for path in ("pyproject.toml", "crates/py-kernel/pyproject.toml")
    )
    version = workspace["version"]
    assert (project["version"], kernel["version"]) == (version, version)
    assert project["optional-dependencies"]["kernel"] == [f"ackclock-kernel=={version}"]
    assert kernel["dependencies"] == [f"ackclock=={version}"]
    cff = (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^version: {re.escape(version)}$", cff, re.MULTILINE)
