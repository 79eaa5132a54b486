"""`scripts/require.sh` says what is missing and how to get it."""

import shutil
import subprocess

from conftest import ROOT


def test_missing_tools_are_named(tmp_path):
    for tool in ("sh", "sed", "id"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = subprocess.run(
        [ROOT / "scripts" / "require.sh", "cargo", "python", "clang"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    for words in ("Rust 1.85", "rustup.rs", "Python 3.11", "clang"):
        assert words in done.stderr
