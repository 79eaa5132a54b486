"""The congestion controls of Linux 6.12 as Debian has them, unchanged, in the simulator.

A rule that ackclock has itself gives the same trace hash in both.
"""

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, run
from ackclock.base.kernel_part import kernel_part
from common import needs_kernel

TWINS = [
    "bbr",
    "bic",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
]
OTHERS = ["cdg", "lp", "nv"]


def trace(algorithm, hz, **bottleneck):
    """Two flows for 12 s at 50 Mb/s: slow start, losses, and what the rule does then."""
    scenario = Scenario(
        duration="12s",
        hz=hz,
        rtt="40ms",
        bottleneck=Bottleneck(rate="50mbit", buffer="1bdp", **bottleneck),
        flows=[Flow(algorithm=str(algorithm), start_spread="1s") for _ in range(2)],
    )
    result = run(scenario)
    assert result.flows["delivered_bytes"].sum() > 900_000  # LP yields at each loss
    return result.manifest["trace_hash"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_a_file_of_linux_does_what_its_twin_does(files, name):
    file = files / f"tcp_{name}.c"
    assert trace(file, 250) == trace(name, 250)
    assert trace(file, 1000) == trace(name, 1000)
    assert trace(file, 250, loss=0.001) == trace(name, 250, loss=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_linux_without_a_twin_runs(files, name):
    assert trace(files / f"tcp_{name}.c", 250) == trace(files / f"tcp_{name}.c", 250)


#: What the verifier of Linux 6.18 refuses of the files as they are: the line.
REFUSED = {"bbr": 835, "cdg": 221, "cubic": 305, "highspeed": 131, "hybla": 150}


@pytest.mark.slow
@needs_kernel
def test_bpf_takes_a_file_or_says_where_it_does_not(files):
    for name in [*TWINS, *OTHERS]:
        found = kernel_part().check(str(files / f"tcp_{name}.c"))
        first = found["problems"][:1]
        places = [line.split(": ")[0].split(":")[1] for line in first]
        assert places == ([str(REFUSED[name])] if name in REFUSED else []), name


@pytest.mark.slow
def test_a_module_parameter_is_a_parameter(files):
    file = files / "tcp_cubic.c"
    assert trace(f"{file}:beta=512,hystart=0", 250) == trace("cubic:beta=0.5,hystart=0", 250)
    with pytest.raises(AckclockError, match="cubic has no parameter `gamma`; its parameters: "):
        trace(f"{file}:gamma=1", 250)
