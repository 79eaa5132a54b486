"""A key that some host has not answered does not compile (`crates/sim/src/scenario/able.rs`)."""

import os
import re
import shutil
import subprocess

import pytest

from common import ROOT

#: A struct, and its file.
STRUCTS = {
    "Scenario": "crates/sim/src/scenario/mod.rs",
    "Flow": "crates/sim/src/scenario/flow.rs",
    "Session": "crates/sim/src/scenario/session.rs",
    "Bottleneck": "crates/net/src/link/mod.rs",
}
ABLE = "crates/sim/src/scenario/able.rs"


def patch(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow
def test_a_key_compiles_once_each_host_has_answered(tmp_path):
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("crates", "algorithms", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)

    def errors():
        """Where the compiler's errors are, and what they say."""
        command = "cargo check --release --offline --locked -p ackclock-sim"
        home = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")}
        done = subprocess.run(
            command.split(), cwd=tmp_path, env=home, capture_output=True, text=True, check=False
        )
        found = re.findall(r"^error\S*: (.*)\n +--> (\S+?):", done.stderr, re.MULTILINE)
        assert (done.returncode == 0) == (found == []), done.stderr
        return found

    for struct, file in STRUCTS.items():
        field = "    #[serde(default)]\n    #[allow(missing_docs)]\n    pub dummy: bool,\n"
        patch(tmp_path / file, f"pub struct {struct} {{\n", f"pub struct {struct} {{\n{field}")
    assert errors() == [("pattern requires `..` due to inaccessible fields", ABLE)] * 4

    able = tmp_path / ABLE
    for struct in STRUCTS:
        stacks = "[Yes, Yes, Yes, Yes]" if struct == "Flow" else "_"
        start = re.search(rf"rows! {{ \w+ of {struct}:\n", able.read_text())[0]
        patch(able, start, f"{start}    dummy = (is false) {stacks} [Yes, Yes];\n")
    assert errors() == [("mismatched types", ABLE)] * 4

    text = able.read_text()
    able.write_text(re.sub(r"(dummy = .*) \[Yes, Yes\];", r"\1 [Yes, Yes, Yes];", text))
    assert errors() == []
