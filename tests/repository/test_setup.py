"""`scripts/require.sh` says what is missing and how to get it."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from ackclock.base.kernel_part import NOT_BUILT
from common import ROOT


@pytest.fixture
def require(tmp_path):
    """Runs `require.sh` where nothing but the shell's own tools and `besides` are."""
    for tool in ("sh", "sed", "grep", "tr", "uniq"):
        (tmp_path / tool).symlink_to(shutil.which(tool))

    def call(*tools, **besides):
        for name, text in ({"id": "echo 1000"} | besides).items():
            script = tmp_path / name.replace("_", "-")
            script.write_text(f"#!/bin/sh\n{text}\n")
            script.chmod(0o755)
        return subprocess.run(
            [ROOT / "scripts" / "require.sh", *tools],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_missing_tools_are_named(require):
    done = require("cargo", "python", "clang")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    for words in ("Rust 1.85", "rustup.rs", "Python 3.11", "clang"):
        assert words in line


def test_the_command_to_type(require):
    """One line, with the packages of all that is missing; an old Rust counts as none."""
    done = require("cc", "cargo", "--", "libelf", apt_get="exit 1", cargo="echo cargo 1.63.0")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    command = "apt-get install -y --no-install-recommends gcc libc6-dev "
    assert f"; the kernel part is not built. As root type: {command}" in line
    assert re.search(r" cargo(-web)? rustc(-web)? make pkg-config libelf-dev zlib1g-dev$", line)


def test_what_is_only_wanted(require):
    """It is said what does not work, and the rest goes on."""
    done = require("cc", "cargo", "--", "clang", "libelf", cc=":", cargo="echo cargo 1.85.0")
    assert done.returncode == 0
    assert done.stderr.startswith("missing: clang, libelf; the kernel part is not built. ")


def test_root_installs_what_is_missing(require, tmp_path):
    typed = tmp_path / "typed"
    install = f'echo "$*" >>{typed}; echo stray >&2; cd {tmp_path}; echo : >clang'
    done = require("clang", id="echo 0", apt_get=f"{install}; /bin/chmod +x clang")
    assert (done.returncode, done.stdout, done.stderr) == (0, "installing clang\n", "")
    assert typed.read_text().endswith(" --no-install-recommends clang\n")


def test_apt_fails(require):
    done = require("clang", id="echo 0", apt_get="echo no network >&2; exit 100")
    assert done.returncode == 1
    assert done.stderr == (
        "no network\nmissing: clang; the kernel part is not built. apt-get could not install it.\n"
    )


def test_without_the_kernel_part(tmp_path):
    """The simulator works; what needs the kernel says in one line what is not built."""
    hide = (
        "import sys; sys.modules['ackclock._kernel'] = None; "
        "from ackclock.cli.main import main; main()"
    )

    def call(*arguments):
        return subprocess.run(
            [sys.executable, "-c", hide, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    scenario = str(ROOT / "examples" / "short_flow.toml")
    assert call("run", scenario).returncode == 0
    for command in (
        ["doctor"],
        ["status"],
        ["deploy", "cubic"],
        ["undeploy", "cubic"],
        ["run", scenario, "--on", "kernel"],
        ["compare", scenario, "--on", "kernel"],
    ):
        done = call(*command)
        assert done.returncode == 1, command
        *_, last = done.stderr.splitlines()
        assert last == f"error: {NOT_BUILT}", command
    assert list(tmp_path.iterdir()) == []


LOG = """\
test laws::one ... ok
test laws::two ... FAILED
test result: FAILED. 40 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
SKIPPED: deploying needs root
...s.F                                                                   [100%]
FAILED tests/results/test_result.py::test_a - AssertionError: assert 1 == 2
ERROR tests/cli/test_cli.py::test_b
SKIPPED [20] tests/hosts/test_testbed.py:24: the testbed cannot run: capabilities: none | few
1 failed, 4 passed, 20 skipped, 1 error in 65.23s (0:01:05)
SKIPPED [3] cargo test: deploying needs root
SKIPPED [1] cargo test: crates/linux: the kernel part is not built
"""


def test_the_table_of_fresh_systems(tmp_path, monkeypatch):
    """What a log tells becomes the row of its condition; the other rows stay."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import fresh  # noqa: PLC0415 (a script)

    outcome = fresh._outcome(LOG, 1)
    assert outcome.passed == 40 - 3 + 4
    assert outcome.failed == [
        "laws::two",
        "tests/results/test_result.py::test_a",
        "tests/cli/test_cli.py::test_b",
    ]
    assert sum(outcome.skipped.values()) == 24
    assert fresh._outcome("", 0).failed == []
    assert fresh._outcome("make: *** Error 2\n", 2).failed == ["exit code 2: make: *** Error 2"]

    page = tmp_path / "results.md"
    monkeypatch.setattr(fresh, "PAGE", page)
    fresh._write(fresh.ROWS["busy"], outcome, "abc")
    fresh._write(fresh.ROWS["user"], fresh._outcome("", 0), "old")
    fresh._write(fresh.ROWS["user"], outcome, "abc")
    header, _, user, busy = page.read_text().splitlines()
    assert header == fresh.HEADER
    assert user.startswith(
        "| an ordinary user | all | 41 | laws::two<br>tests/results/test_result.py::test_a"
    )
    assert "<br>3: deploying needs root<br>" in user
    assert r"none \| few" in user
    assert busy.startswith("| root, 8 busy processes | part | 41 |")

    outcome.times_s = {"make demo": 151.4, "make test": 600.0}
    demo = "first figure after 122 s: out/demo/index.html\n"
    outcome.first_figure_s = fresh._outcome(demo, 0).first_figure_s
    assert outcome.took == "`make demo` 2:31 (first figure 2:02), `make test` 10:00"
    assert fresh._outcome("passed: a run and its picture\npassed: a C file\n", 0).passed == 2


def test_an_active_environment_of_the_user_is_left_alone():
    """Maturin installs into $VIRTUAL_ENV, wherever that is."""
    mine = os.environ | {"VIRTUAL_ENV": "/elsewhere", "CONDA_PREFIX": "/elsewhere"}
    done = subprocess.run(
        ["make", "-pn", "help"], cwd=ROOT, env=mine, capture_output=True, text=True, check=True
    )
    assert f"\nVIRTUAL_ENV := {ROOT}/.venv\n" in done.stdout
    assert "unexport CONDA_PREFIX" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("name", ["pages", "release"])
def test_a_workflow_runs_what_is_here(name):
    """Actions stay what they were read as: each is a commit. What `make` is told exists."""
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    uses = re.findall(r"uses: (\S+)", text)
    assert uses
    assert [each for each in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    made = re.findall(r"\bmake ([\w-]+)", text)
    assert made
    assert set(made) <= set(targets)
