"""Thousands of flows are behind one door: without that folder the simulator simulates."""

import os
import shutil
import subprocess

import pytest

from common import ROOT

#: What leads there, in engine.rs.
DOOR = (
    "mod many;\n",
    "use many::Many;\n",
    """    let in_rounds = options.rounds || flows.len() > FEW && options.allow_fast_path();
    if in_rounds && scenario.changes.is_empty() {
        if let Some(many) = Many::take(scenario, &topology, &mut flows) {
            return Simulation::new(scenario, flows, many, options).run_rounds(control);
        }
    }
""",
)
#: Of the tests in crates/sim/tests.
MODULES = ("conservation", "sessions", "traces")


@pytest.mark.slow
def test_the_simulator_does_without_many_flows():
    # Cargo keeps what it builds by path: another folder each time would fill the disk.
    copy = ROOT / "target" / "without-many"
    shutil.rmtree(copy, ignore_errors=True)
    listing = ["git", "ls-files", "Cargo.*", "crates", "algorithms", "examples", "vectors"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    sim = copy / "crates/sim"
    shutil.rmtree(sim / "src/engine/many")
    # Only what is run is compiled.
    (sim / "tests/main.rs").write_text("".join(f"mod {name};\n" for name in ("common", *MODULES)))
    engine = sim / "src/engine.rs"
    text = engine.read_text()
    for part in DOOR:
        assert text.count(part) == 1, part
        text = text.replace(part, "")
    engine.write_text(text)
    # The dependencies are built already. Crates of another version do not take the place of ours.
    workspace = copy / "Cargo.toml"
    workspace.write_text(workspace.read_text().replace('"0.1.0"', '"0.1.0-without-many"'))
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(ROOT / "target"),
        "PROPTEST_RNG_SEED": "1",
    }
    chosen = ("--lib", "--test", "all", "--", "tests::", *(f"{name}::" for name in MODULES))
    done = subprocess.run(
        ["cargo", "test", "--offline", "--package", "ackclock-sim", *chosen],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
