"""What a run comes to, in numbers: for the screen, for programs, and over seeds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.base.table import new_table
from ackclock.estimates.estimate import Estimate
from ackclock.results import certificate, measures
from ackclock.results.result import Result

Columns = dict[str, tuple[str, float, int]]

#: Rows of flows that a summary shows.
MOST_FLOWS = 20

#: Column of a flow → key, scale, digits. A lifetime mean is from a flow's start to its end.
_FLOW_COLUMNS: Columns = {
    "goodput (Mb/s)": ("goodput_bps", 1e-6, 2),
    "lifetime (Mb/s)": ("lifetime_bps", 1e-6, 2),
    "mean cwnd (packets)": ("mean_cwnd_packets", 1, 1),
    "mean RTT (ms)": ("mean_rtt_s", 1e3, 1),
    "retransmitted (packets)": ("retransmitted_packets", 1, 0),
    "recoveries": ("recoveries", 1, 0),
    "receiver is the limit (%)": ("receiver_limited", 100, 0),
}
#: The same of a kind of session.
_SESSION_COLUMNS: Columns = {
    "carried (Mb/s)": ("carried_bps", 1e-6, 2),
    "transfers": ("transfers", 1, 0),
    "median completion (s)": ("median_completion_s", 1, 3),
}
#: The same of a queue.
_QUEUE_COLUMNS: Columns = {
    "utilisation": ("utilisation", 1, 4),
    "median delay (ms)": ("median_delay_s", 1e3, 1),
    "95 % delay (ms)": ("high_delay_s", 1e3, 1),
    "lost before it (packets)": ("lost_packets", 1, 0),
    "dropped (packets)": ("dropped_packets", 1, 0),
    "marked (packets)": ("marked_packets", 1, 0),
}
#: The same of UDP from a port of a program to another.
_UDP_COLUMNS: Columns = {
    "sent (packets)": ("sent_packets", 1, 0),
    "arrived (MB)": ("arrived_bytes", 1e-6, 3),
    "dropped (packets)": ("dropped_packets", 1, 0),
    "marked (packets)": ("marked_packets", 1, 0),
}
#: What differs from seed to seed, and has a sum, or a mean.
_SUMMED = ("packets", "cpu_time_s", "wall_time_s")
_MEASURED = {"utilisation", "jain_index", "timeouts"} | {
    key
    for columns in (_FLOW_COLUMNS, _SESSION_COLUMNS, _QUEUE_COLUMNS)
    for key, *_ in columns.values()
}


def of_stack(resolved: Mapping[str, Any], name: str) -> str:
    """The name of a flow's algorithm, with that of its QUIC stack before it: "quinn cubic"."""
    stack = resolved.get("stack")
    if stack == "udp":
        return "UDP"
    return f"{stack} {name}" if stack else name


def summarise(result: Result) -> dict[str, Any]:
    """A run in numbers that JSON can hold; None is what the run does not tell."""
    manifest = result.manifest
    # Of programs some connections are for control.
    found = _core.summary(result, "connections" in manifest)
    some = ("trace_hash", "cpu_time_s", "kernel", "certificate", "lost_acks")
    known = {key: manifest[key] for key in some if manifest.get(key) is not None}
    named = (result.column("flows", name) for name in ("algorithm", "direction"))
    flows = zip(*named, result.resolved["flows"], found["flows"], strict=True)
    return {
        "backend": manifest.get("backend", "sim"),
        "seed": result.scenario.seed,
        "duration_s": measures.duration_s(result),
        **{key: found[key] for key in ("common_s", "utilisation", "jain_index")},
        "packets": manifest["packets"],
        "wall_time_s": manifest["wall_time_s"],
        **known,
        "flows": [
            {"flow": number, "algorithm": of_stack(resolved, name), "direction": direction} | each
            for number, (name, direction, resolved, each) in enumerate(flows, 1)
        ],
        "sessions": list(_sessions(result)),
        "queues": [
            {"queue": each["queue"], "discipline": measures.discipline(result, each["queue"])}
            | each
            for each in found["queues"]
        ],
        "traces": _traces(result),
        "udp": manifest.get("udp", []),
    }


def _traces(result: Result) -> list[dict[str, Any]]:
    """The recorded links: a trace in another unit than ms shows in its mean rate and length."""
    links = [result.resolved["bottleneck"], *result.resolved.get("links", ())]
    written = result.scenario.links or (result.scenario.bottleneck,)
    return [
        {
            "queue": number,
            "file": link.trace,
            "mean_bps": resolved["rate_bps"],
            "length_s": resolved["trace_ms"][-1] / 1e3,
        }
        for number, (link, resolved) in enumerate(zip(written, links, strict=True), 1)
        if link.trace is not None
    ]


def trace_lines(summary: dict[str, Any]) -> list[str]:
    """Rate and length of each recorded link, in words."""
    return [
        f"queue {trace['queue']}: {trace['file']} has a mean of {trace['mean_bps'] / 1e6:.4g} Mb/s "
        f"and repeats after {trace['length_s']:.4g} s"
        for trace in summary["traces"]
    ]


def _sessions(result: Result) -> Iterator[dict[str, Any]]:
    """One entry per [[session]] of the scenario."""
    if not result.scenario.sessions:
        return
    completions_us, first = measures.completions_us(result), 1
    from_s, until_s = measures.common_s(result)
    (sessions,) = measures.columns_of(result.transfers, "session")
    for session in result.scenario.sessions:
        last = first + session.count - 1
        rows = result.sessions[first - 1 : last]
        own = completions_us.filter((sessions >= first) & (sessions <= last))
        median_us: Any = own.quantile(0.5, "linear")
        yield {
            "first": first,
            "last": last,
            "algorithm": session.algorithm,
            "carried_bps": _finite(8 * int(rows["common_bytes"].sum()) / (until_s - from_s)),
            "transfers": int(rows["transfers"].sum()),
            "median_completion_s": None if median_us is None else _finite(float(median_us) / 1e6),
        }
        first = last + 1


def over_seeds(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Runs of a scenario that differ by their seed, as one: an `Estimate` for each number."""
    # In real time one that kept it badly speaks for all.
    first = min(runs, key=lambda run: run.get("certificate", {"valid": True})["valid"])
    if len({len(run["flows"]) for run in runs}) > 1:
        raise AckclockError("its programs connect otherwise with each seed: run each alone")
    return {key: first[key] for key in first if key not in ("seed", "trace_hash", "udp")} | {
        "seeds": [run["seed"] for run in runs],
        # Starts may be drawn: each run has its own interval then.
        "common_s": first["common_s"]
        if all(run["common_s"] == first["common_s"] for run in runs)
        else None,
        **{key: _estimate(runs, key) for key in ("utilisation", "jain_index")},
        **{key: sum(run[key] for run in runs) for key in first if key in _SUMMED},
        **{
            kind: [
                {key: _estimate(same, key) if key in _MEASURED else same[0][key] for key in same[0]}
                for same in zip(*(run[kind] for run in runs), strict=True)
            ]
            for kind in ("flows", "sessions", "queues")
        },
    }


def _estimate(rows: Sequence[dict[str, Any]], key: str) -> Estimate | None:
    from ackclock.estimates.stats import mean_ci  # noqa: PLC0415 (imports numpy)

    values = [row[key] for row in rows if row[key] is not None]
    return mean_ci(values) if values else None


def json_ready(value: Any) -> Any:
    """A summary with each `Estimate` as an object of mean, low, high and n."""
    if isinstance(value, Estimate):
        ends = {"low": _finite(value.low), "high": _finite(value.high)}
        return {"mean": value.mean, **ends, "n": value.n}
    if isinstance(value, dict):
        return {key: json_ready(each) for key, each in value.items()}
    return [json_ready(each) for each in value] if isinstance(value, list) else value


def tables(summary: dict[str, Any]) -> list[Table]:
    """What each flow got, and what the sessions did."""
    shown = []
    if summary["flows"]:
        rows = [(str(flow["flow"]), flow) for flow in summary["flows"][:MOST_FLOWS]]
        shown.append(_table("flow", rows, flow_columns(summary)))
    if summary["sessions"]:
        rows = [
            (f"{each['first']}–{each['last']}" if each["last"] > each["first"]
             else str(each["first"]), each)
            for each in summary["sessions"]
        ]  # fmt: skip
        shown.append(_table("sessions", rows, _over(summary, _SESSION_COLUMNS)))
    if udp := summary.get("udp", [])[:MOST_FLOWS]:
        shown.append(_table("UDP from", [(each["from"], each) for each in udp], _UDP_COLUMNS, "to"))
    queues = summary["queues"]
    special = [each for each in queues if each["discipline"] != "drop_tail" or _loses(each)]
    if len(queues) > 1 or special:
        rows = [(str(each["queue"]), each) for each in queues]
        shown.append(_table("queue", rows, _QUEUE_COLUMNS, "discipline"))
    return shown


def flow_columns(summary: dict[str, Any]) -> Columns:
    """Column of a flow → key, scale, digits; none that would say the same, or nothing."""
    columns = _over(summary, _FLOW_COLUMNS)
    if not any(_mean(flow["receiver_limited"]) >= 0.005 for flow in summary["flows"]):
        del columns["receiver is the limit (%)"]
    if all(flow["lifetime_bps"] == flow["goodput_bps"] for flow in summary["flows"]):
        del columns["lifetime (Mb/s)"]
    return columns


def _over(summary: dict[str, Any], columns: Columns) -> Columns:
    """The columns; that of the rates in the common interval says which it is."""
    match summary["common_s"]:
        case None:
            over = "while all are active"
        case [0.0, until_s] if until_s == summary["duration_s"]:
            over = "whole run"
        case [from_s, until_s]:
            over = f"{from_s:.4g}–{until_s:.4g} s"
    (rate, how), *rest = columns.items()
    return {f"{rate.removesuffix(' (Mb/s)')} {over} (Mb/s)": how, **dict(rest)}


def _loses(queue: dict[str, Any]) -> bool:
    return bool(_mean(queue["lost_packets"]))


def _mean(value: Any) -> float:
    return (value.mean if isinstance(value, Estimate) else value) or 0


def _table(
    name: str,
    rows: list[tuple[str, dict[str, Any]]],
    columns: Columns,
    kind: str = "algorithm",
) -> Table:
    table = new_table(name, kind)
    for header in columns:
        table.add_column(header, justify="right")
    for label, row in rows:
        cells = [number(row[key], scale, digits) for key, scale, digits in columns.values()]
        table.add_row(label, Path(row[kind]).name, *cells)
    return table


def totals(summary: dict[str, Any]) -> str:
    """All flows together, and what it cost."""
    more = len(summary["flows"]) - MOST_FLOWS
    text = f"… and {more} more flows\n" if more > 0 else ""
    text += (
        f"utilisation {number(summary['utilisation'], 1, 4)}, "
        f"Jain index {number(summary['jain_index'], 1, 4)}\n"
    )
    if "seeds" in summary:
        seeds = summary["seeds"]
        text += f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}: mean (95 % interval)\n"
    return text + "\n".join(
        [f"{summary['packets']} data packets in {_time(summary)}, {_host(summary)}"]
        + (certificate.shown(summary["certificate"]) if "certificate" in summary else [])
    )


def _time(summary: dict[str, Any]) -> str:
    """How long it took. Linux runs by a clock of its own, whoever else has the processor."""
    if "cpu_time_s" in summary:
        return f"{summary['cpu_time_s']:.2f} s of processor time"
    return f"{summary['wall_time_s']:.2f} s"


def _host(summary: dict[str, Any]) -> str:
    """Where it ran."""
    if summary.get("trace_hash"):
        return f"trace {summary['trace_hash']}"
    if "kernel" not in summary:
        return "now or earlier"
    lost = summary.get("lost_acks", 0)
    missing = f"\n{lost} ACKs are missing in acks.parquet" if lost else ""
    return f"Linux {summary['kernel']}{missing}"


def number(value: float | Estimate | None, scale: float, digits: int) -> str:
    """A number for people; an estimate of several runs with its interval."""
    if value is None:
        return "—"
    if not isinstance(value, Estimate):
        return f"{value * scale:.{digits}f}"
    digits = digits or 1  # a mean of counts
    text = f"{value.mean * scale:.{digits}f}"
    if value.n > 1:
        text += f" ({value.low * scale:.{digits}f} … {value.high * scale:.{digits}f})"
    return text


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
