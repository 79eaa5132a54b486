"""What an algorithm must get past before it is asked more: one hard path, and four easy links."""

from ackclock.questions.card import Question, measured, used
from ackclock.questions.scenarios import dumbbell
from ackclock.scenario.keys import Frames
from ackclock.scenario.scenario import Flow, Scenario


def trial(algorithm: str) -> Scenario:
    """Everything that calls a hook, in 12 s: marks, losses, reordering, a timeout, pauses."""
    link = {
        "queue": {"kind": "codel", "ecn": True},
        "loss": 0.005,
        "reorder": {"p": 0.01, "delay": "10ms"},
        "rate_at": [{"time": "5s", "rate": "6kbit"}, {"time": "7s", "rate": "10mbit"}],
    }
    of = dumbbell(
        algorithm, rate="10mbit", rtt_ms=40, duration="12s", link=link, flow={"ecn": True}
    )
    pauses = Flow(algorithm=algorithm, frames=Frames(size="100kB", every="1s"))
    return of.replace(flows=(*of.flows, pauses))


def link(algorithm: str, link: str) -> Scenario:
    """20 s of one flow, or of one beside CUBIC."""
    if link == "1 % lost":
        return dumbbell(algorithm, rate="12mbit", rtt_ms=40, duration="20s", link={"loss": 0.01})
    if link == "beside CUBIC":
        return dumbbell(
            algorithm, other="cubic", others=1, rate="24mbit", rtt_ms=40, duration="20s"
        )
    rtt_ms = {"12 Mb/s, 40 ms": 40, "12 Mb/s, 160 ms": 160}[link]
    return dumbbell(algorithm, rate="12mbit", rtt_ms=rtt_ms, duration="20s")


_CARRIES = "carries next to nothing on an empty link"
_LOSES = "more than half of what it sends is lost"

#: The row "links".
LINKS = Question(
    "links",
    "Does it carry data on four easy links?",
    "5.1.2 should",
    link,
    {"link": ("12 Mb/s, 40 ms", "12 Mb/s, 160 ms", "1 % lost", "beside CUBIC")},
    (
        *(
            used(f"utilisation, {name}", link=name).unsafe_from(0.1, _CARRIES)
            for name in ("12 Mb/s, 40 ms", "12 Mb/s, 160 ms")
        ),
        used("utilisation, 1 % lost", link="1 % lost"),
        measured("queue delay, 12 Mb/s, 40 ms, p95", "delay_p95_ms", 5, link="12 Mb/s, 40 ms"),
        measured(
            "packets lost, 12 Mb/s, 40 ms", "loss_percent", 0.5, link="12 Mb/s, 40 ms"
        ).unsafe_from(50.0, _LOSES),
        measured("throughput of a CUBIC flow beside it", "others_mbps", 1, link="beside CUBIC"),
    ),
    seeds=1,
)
