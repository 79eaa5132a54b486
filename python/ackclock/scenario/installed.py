"""What hosts as installed give: Linux's own limit of the receive buffer ends the window."""

from ackclock import _core
from ackclock.base import units
from ackclock.scenario.scenario import Scenario

#: No more than both: a path of which nothing is said.
RATE_BPS, RTT_NS = 10**9, 10**8


def note(scenario: Scenario) -> str | None:
    """One line if a flow is far or fast, and its installed hosts would not fill its bottleneck.

    Of several such flows it names the one that would get the least.
    """
    if scenario.host:
        return None
    links = scenario.links or (scenario.bottleneck,)
    number, found = 1, []
    for flow in scenario.flows:
        profile = flow.profile or scenario.profile
        rmem, window = _core.installed_window(profile, flow.mss or scenario.mss) or (0, 0)
        route = flow.route or range(1, len(links) + 1)
        delays = (links[n - 1].delay for n in (*route, *flow.back))
        rtt_ns = sum(map(units.duration_ns, (flow.rtt or scenario.rtt or "", *delays)))
        # "0bit": the rates of a trace are not looked at.
        rate_bps = min(units.rate_bps(links[n - 1].rate or "0bit") for n in route)
        bps = window * 8e9 / rtt_ns
        own = flow.stack or flow.receive_window or flow.receive_buffer
        if rmem and not own and (rate_bps > RATE_BPS or rtt_ns > RTT_NS) and bps < rate_bps:
            found.append((bps, number, profile, rmem))
        number += flow.count
    if not found:
        return None
    bps, number, profile, rmem = min(found)
    return (
        f"note: flow {number}: {profile} as installed (tcp_rmem of {rmem >> 20} MiB) gives at most "
        f'{bps / 1e6:.0f} Mb/s here; host = "as installed" simulates it'
    )
