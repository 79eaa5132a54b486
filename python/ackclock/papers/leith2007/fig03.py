"""Figure 3: two CUBIC flows with the same RTT share fairly in the long run.

"Ratio of throughputs of two Cubic TCP flows with the same RTT ... as path propagation delay is
varied. Flow throughputs are averaged over the last 200s of each test run and so approximate
asymptotic behaviour, neglecting initial transients. Results are shown for 10Mbit/sec and
250Mbit/sec bottleneck bandwidths. The bottleneck queue size is 100% BDP, no web traffic" (caption);
delays are "16ms, 40ms, 80ms, 160ms, 200ms" (section II.C). "Provided tests are run for a
sufficiently long period [...] the flows do asymptotically converge to an approximately fair share"
(section IV).
"""

from ackclock.figures import Claim, Figure, Variant
from ackclock.papers.leith2007 import _ratios as ratios
from ackclock.papers.leith2007 import _testbed as testbed

RTTS_MS = (16, 40, 80, 160, 200)
SAME = ratios.pair(
    [testbed.CUBIC] * 2,
    RTTS_MS,
    variants=[
        *testbed.BUFFERS,
        Variant("duration", "20 min", ["duration=1200s"]),
        Variant("jitter", "5 ms", ["jitter=5ms"]),
    ],
)
RATIO = ratios.column(SAME, "last_ratio", "flow 1 / flow 2", "≈ 1")

FIGURE = Figure(
    plot=ratios.plot({"CUBIC": RATIO}, "throughput of flow 1 / flow 2"),
    quantities=ratios.everywhere(RATIO),
    claims=[
        Claim(
            "leith2007.fig3.asymptotic-fair",
            "In the long run CUBIC flows with the same RTT get about the same throughput",
            [each.within(0.7, 1.4).ours for each in ratios.everywhere(RATIO)],
            paper="≈ 1",
            quote="“the flows do asymptotically converge to an approximately fair share” (IV)",
            reported=True,
        )
    ],
)
