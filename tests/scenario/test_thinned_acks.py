"""Each flow's receiver has its own number of segments per ACK."""

import pytest

from ackclock import AckclockError, Scenario, run

FIELDS = {"duration": "10s", "rtt": "20ms", "jitter": "0s"}
LINKS = {"rate": "20mbit", "buffer": "1000packets"}, {"rate": "1gbit", "buffer": "1000packets"}


@pytest.mark.parametrize("segments", [1, 2, 4, 16, 64])
def test_an_ack_for_so_many_segments(segments):
    """A full link, where no timer of 40 ms ends a wait (64 packets are 38 ms); ACKs are counted."""
    flow = {"algorithm": "cubic", "receive_window": "400kB", "back": [2], "route": [1]}
    flow["delayed_ack_segments"] = segments
    result = run(Scenario.parse(FIELDS | {"link": list(LINKS), "flow": [flow]}))
    acks = result.queues.filter(queue=2)["sent_bytes"].max() / 52
    packets = result.flows["sent_packets"].item()
    # The first 20 or so are acknowledged one by one.
    assert acks == pytest.approx(packets / segments, rel=0.03, abs=30)
    assert result.flows["retransmitted_packets"].item() == 0


def test_65_segments_are_refused_by_name():
    flow = {"algorithm": "cubic", "delayed_ack_segments": 65}
    with pytest.raises(AckclockError, match="delayed_ack_segments = 65: write a whole number"):
        Scenario.parse(FIELDS | {"bottleneck": LINKS[0], "flow": [flow]})
