"""Figure 14: two CUBIC flows at 1 Mb/s, one of them starved.

"Two Cubic TCP flows. 1Mbps link, flow 1 RTT 160ms, flow 2 RTT 16ms" (caption). "At low cwnds Cubic
TCP is observed exhibit gross unfairness ... one flow is essentially starved of bandwidth. This
effect appears to be associated with quantisation of the Cubic TCP increase function and cwnd
backoff" (section VI).
"""

from ackclock import Scenario
from ackclock.figures import Check, Claim, Experiment, Figure, grid
from ackclock.papers.leith2007 import _starved as starved
from ackclock.papers.leith2007 import _testbed as testbed

_BUFFERS = {"1bdp": "BDP of 160 ms", "2packets": "2 packets, the BDP of 16 ms rounded up"}


def _today(buffer: str) -> Scenario:
    """Algorithm 1's text, on a path as today's Linux can make it."""
    of = testbed.scenario(1, [testbed.TEXT] * 2, starved.RTTS_MS, starts_s=(0, 0), buffer=buffer)
    pipe = of.bottleneck.replace(tick="0s")
    return of.replace(profile="linux-6", tso=None, bottleneck=pipe)


FIGURE = Figure(
    plot=starved.histories(starved.BOTH),
    quantities=[
        *starved.SMALLER.everywhere(pair=starved.BOTH),
        *starved.SMALLER.everywhere(pair=starved.STANDARD),
        *(starved.against_standard(starved.BOTH, pipe) for pipe in starved.PIPES),
    ],
    claims=[
        Claim(
            "leith2007.fig14.starvation-1M",
            "Of two CUBIC flows at 1 Mb/s one is starved",
            starved.starved(starved.BOTH),
            paper="gross unfairness",
            quote="“one flow is essentially starved of bandwidth” (VI)",
            readings=starved.with_any_buffer(starved.BOTH),
        )
    ],
    kernel=Check(
        setup="The figure itself, with Algorithm 1 as printed. "
        "The TCP around the algorithm is of today.",
        experiment=Experiment(
            "as printed",
            grid(buffer=list(_BUFFERS)),
            _today,
            starved.row,
            says={"buffer": _BUFFERS},
        ),
        quantities={"share of the smaller flow": "smaller_share", "timeouts": "timeouts"},
    ),
)
