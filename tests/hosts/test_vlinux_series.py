"""Another Linux than 6.12 in virtual time: `ackclock linux build --series 7.3`."""

from functools import partial

import pytest

from ackclock import AckclockError, Flow, Scenario, run
from ackclock.hosts import vlinux
from ackclock.studies import diverge

SERIES = "7.3"
USUAL = {
    "duration": "3s",
    "rtt": "20ms",
    "bottleneck": {"rate": "20mbit", "buffer": "20packets"},
    "flows": (Flow(algorithm="cubic"),),
}
CODEL = {"rate": "20mbit", "buffer": "1000packets", "burst": "1600B"} | {
    "queue": {"kind": "codel", "ecn": True}
}
#: What is new, or was a rule of Linux 6 alone → what a scenario has of it.
NEW = {
    "compressed ACKs at 3 ms": {"rtt": "3ms"},
    "compressed ACKs at 9 ms": {"rtt": "9ms"},
    "ECN": {"bottleneck": CODEL, "flows": (Flow(algorithm="cubic", ecn=True),)},
    "accurate ECN": {"bottleneck": CODEL, "flows": (Flow(algorithm="cubic", ecn="accurate"),)},
    "Prague": {"bottleneck": CODEL, "flows": (Flow(algorithm="prague", ecn="accurate"),)},
    "DualPI2": {
        "duration": "6s",
        "bottleneck": CODEL | {"queue": "dualpi2"},
        "flows": (
            Flow(algorithm="prague", ecn="accurate"),
            Flow(algorithm="cubic", start="0.7s"),
        ),
    },
    "a finite flow": {"flows": (Flow(algorithm="reno", size="1400packets"),)},
}


@pytest.mark.slow
@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("name", NEW)
def test_every_packet_is_that_of_linux_7(name):
    each = Scenario(**USUAL | NEW[name] | {"profile": "linux-7"})
    assert diverge.diverge(each, on=f"vlinux:{SERIES}").first is None


@pytest.mark.slow
@pytest.mark.usefixtures("machine", "newer")
def test_two_kernels_differ_where_their_profiles_do():
    """And the finding names both."""
    each = Scenario(**USUAL | {"jitter": "0s"})
    kernels = diverge.diverge(each, on=f"vlinux:{SERIES}", beside="vlinux")
    packets, manifests = {}, {}
    for profile in "linux-6", "linux-7":
        take = partial(packets.__setitem__, profile)
        manifests[profile] = run(each.replace(profile=profile), on_packets=take).manifest
    first, profiles = kernels.first, diverge.between(each, packets, manifests).first
    assert (first.flow, first.before) == (profiles.flow, profiles.before)
    assert first.before > 100
    assert "the same packet is 90.000 us earlier on Linux 7.3" in kernels.title()
    assert [*kernels.json()["packets"]] == ["vlinux", f"vlinux:{SERIES}"]


def test_what_linux_7_alone_has():
    accurate = Scenario(**USUAL | {"flows": (Flow(algorithm="cubic", ecn="accurate"),)})
    vlinux.check(accurate, SERIES)
    refused = r'flow 1: ecn = "accurate": .*before 7\.0 does not negotiate'
    with pytest.raises(AckclockError, match=refused):
        vlinux.check(accurate)
    dualpi2 = Scenario(**USUAL | {"bottleneck": CODEL | {"queue": "dualpi2"}})
    vlinux.check(dualpi2, SERIES)
    with pytest.raises(AckclockError, match=r"dualpi2.*: .*before 7\.0 has no .* vlinux:7\.3"):
        vlinux.check(dualpi2)
    with pytest.raises(AckclockError, match=r'profile = "linux-7": .*its TCP is linux-6'):
        vlinux.check(Scenario(**USUAL | {"profile": "linux-7"}))
