"""`scripts/require.sh` says what is missing and how to get it."""

import re
import shutil
import subprocess
import sys

import pytest

from ackclock.kernel_part import NOT_BUILT
from conftest import ROOT


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
    assert "; the kernel part is not built. As root type: apt-get install gcc libc6-dev " in line
    assert re.search(r" cargo(-web)? rustc(-web)? make pkg-config libelf-dev zlib1g-dev$", line)


def test_what_is_only_wanted(require):
    """It is said what does not work, and the rest goes on."""
    done = require("cc", "cargo", "--", "clang", "libelf", cc=":", cargo="echo cargo 1.85.0")
    assert done.returncode == 0
    assert done.stderr.startswith("missing: clang, libelf; the kernel part is not built. ")


def test_root_installs_what_is_missing(require, tmp_path):
    clang = tmp_path / "clang"
    install = f'[ "$1" = update ] || {{ echo "$*" >&2; echo : >{clang}; }}'
    done = require("clang", id="echo 0", apt_get=install + f"; /bin/chmod -f +x {clang}; :")
    assert done.returncode == 0
    assert done.stdout == "installing clang\n"
    assert done.stderr.endswith(" --no-install-recommends clang\n")


def test_without_the_kernel_part(tmp_path):
    """The simulator works; what needs the kernel says in one line what is not built."""
    hide = (
        "import sys; sys.modules['ackclock._kernel'] = None; from ackclock.cli import main; main()"
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
        ["compare", scenario],
    ):
        done = call(*command)
        assert done.returncode == 1, command
        *_, last = done.stderr.splitlines()
        assert last == f"error: {NOT_BUILT}", command
    assert list(tmp_path.iterdir()) == []
