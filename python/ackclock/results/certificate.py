"""The certificate of a run on a real kernel: whether it kept time; docs/testbed.md."""

from typing import Any


def shown(certificate: dict[str, Any]) -> list[str]:
    """The lines that show a certificate to people: the link, its timing, notes, problems."""

    def known(value: float | None, scale: float, digits: str) -> str:
        return "—" if value is None else format(value * scale, digits)

    lost = certificate["tun_dropped_packets"] + certificate["lost_elsewhere_packets"]
    achieved_bps = certificate["achieved_rate_bps"]
    ran = (
        "was never busy enough to tell its rate, or its delay varies"
        if achieved_bps is None
        else (
            f"ran at {achieved_bps / 1e6:.3f} of {certificate['rate_bps'] / 1e6:g} Mb/s while busy"
        )
    )
    link = (
        f"link: {ran}; minimum RTT "
        f"{known(certificate['min_rtt_excess_us'], 1, '+.0f')} µs from nominal; "
        f"{lost} packets lost outside the links"
    )
    if marked := certificate.get("marked_packets"):
        link += f"; {marked} marks set, {certificate['ce_received_packets']} received"
    late = ", ".join(
        f"{name} {certificate[f'lateness_{key}_us']:.0f}"
        for name, key in (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999"), ("worst", "max"))
    )
    lateness = (
        f"timing: {certificate['delivered_packets']} packets left the link late by {late} µs "
        f"(limits: p99 {certificate['bound_p99_us']:.0f}, "
        f"worst {certificate['bound_max_us']:.0f}); "
        f"the emulator used {certificate['cpu']:.0%} of a core, load {certificate['load']:.1f}, "
        f"{certificate['stolen']:.1%} of the time stolen by other machines"
    )
    lines = [link, lateness]
    lines += certificate["notes"]
    lines += [f"INVALID: {problem}" for problem in certificate["problems"]]
    return lines + advice(certificate)


def advice(certificate: dict[str, Any]) -> list[str]:
    """What to do about a run whose packets were late; nothing if they were in time."""
    is_late = any(
        certificate[f"lateness_{of}_us"] > certificate[f"bound_{of}_us"] for of in ("p99", "max")
    )
    return ["this machine is busy: try --on vlinux, or a lower rate"] * is_late
