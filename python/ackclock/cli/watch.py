"""The commands for real connections: `ackclock watch`, `shell`, `capture explain`, `identify`."""

import ipaddress
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ackclock import AckclockError
from ackclock.base import units
from ackclock.base.directory import Directory
from ackclock.cli.console import (
    KERNEL,
    SCENARIOS,
    Commands,
    Output,
    Settings,
    app,
    beside,
    err,
    new_table,
    one_line_errors,
    out,
    print_json,
    print_table,
)
from ackclock.results.connections import Connection, read
from ackclock.scenario import snapshot

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.hosts.programs import Ran
    from ackclock.results.result import Result
    from ackclock.scenario.scenario import Scenario

#: Names of `--sort`, and what each sorts by; the largest comes first.
KEYS = {
    "delivery": "delivery_bytes_per_s",
    "pacing": "pacing_bytes_per_s",
    "cwnd": "cwnd_packets",
    "srtt": "srtt_us",
    "retransmissions": "retransmitted_packets",
    "sent": "acked_bytes",
    "received": "received_bytes",
}
PORTS = 2**16
#: Ends of connections that are printed.
MOST_FLOWS = 20
#: Columns of `explain`: as `NUMBERS`.
EXPLAINED = {
    "MB": ("bytes", 1e6, 3),
    "Mb/s": ("rate_bps", 1e6, 2),
    "min RTT ms": ("min_rtt_s", 1e-3, 2),
    "median ms": ("median_rtt_s", 1e-3, 2),
    "in flight kB": ("mean_in_flight_bytes", 1e3, 1),
    "most kB": ("most_in_flight_bytes", 1e3, 1),
    "retrans": ("retransmitted_packets", 1, 0),
    "recoveries": ("recoveries", 1, 0),
    "RTOs": ("timeouts", 1, 0),
}
#: Lines around the rows: title and note, head of two lines, line.
AROUND = 6
#: Each column: its head, the name of its value, the value's unit, and digits.
NUMBERS = {
    "cwnd": ("cwnd_packets", 1, 0),
    "ssthresh": ("ssthresh_packets", 1, 0),
    "srtt ms": ("srtt_us", 1e3, 2),
    "min ms": ("min_rtt_us", 1e3, 2),
    "pacing Mb/s": ("pacing_bytes_per_s", 1e6 / 8, 2),
    "delivery Mb/s": ("delivery_bytes_per_s", 1e6 / 8, 2),
    "retrans": ("retransmitted_packets", 1, 0),
    "sent MB": ("acked_bytes", 1e6, 2),
    "received MB": ("received_bytes", 1e6, 2),
}
#: What a narrow screen leaves out, the first of them first.
LEFT_OUT = ("received MB", "min ms", "pacing Mb/s", "ssthresh", "sent MB", "state", "local")


@app.command("watch", rich_help_panel="The kernel")
def watch_command(
    algorithm: Annotated[
        list[str] | None,
        typer.Option(help="Show only connections with this algorithm. Repeatable.", metavar="NAME"),
    ] = None,
    port: Annotated[
        list[int] | None,
        typer.Option(
            help="Show only connections with this port at either end. Repeatable.", metavar="PORT"
        ),
    ] = None,
    address: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only connections with this address or network, such as 10.0.0.0/8, at "
            "either end. Repeatable.",
            metavar="ADDRESS",
        ),
    ] = None,
    sort: Annotated[
        str, typer.Option(help=f"Sort by {', '.join(KEYS)}.", metavar="COLUMN")
    ] = "delivery",
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two readings.", metavar="SECONDS")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print one table and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line per reading.")] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Write the tables of docs/tables.md to this directory, for `ackclock plot`, with "
            "a flow for each socket that sends data and rows every --every seconds.",
            metavar="DIR",
        ),
    ] = None,
) -> None:
    """Watch the kernel's TCP connections: algorithm, window, RTT, rates and retransmissions.

    Examples:
        ackclock watch
        ackclock watch --algorithm cubic --sort retransmissions
        ackclock watch --port 443 --once --json
        ackclock watch --port 443 --every 0.1 --record out/web && ackclock plot out/web

    Needs no root. It shows the connections of its network namespace; Ctrl-C ends it.
    """
    with one_line_errors():
        _check_options(sort, port, record, {"--json": as_json, "--once": once})
        networks = [_network(each) for each in address or ()]

        def reading() -> list[Connection]:
            chosen = [
                each
                for each in read()
                if (not algorithm or each.algorithm in algorithm)
                and (not port or {each.local_port, each.remote_port} & set(port))
                and (not networks or _is_in(each, networks))
            ]
            return sorted(chosen, key=lambda each: getattr(each, KEYS[sort]) or 0, reverse=True)

        by = KEYS[sort]
        if record is not None:
            _record(reading, every, record)
            return
        try:
            if as_json:
                _print_lines(reading, every, once)
            elif once or not sys.stdout.isatty():
                print_table(table(reading()), less=left_out(by))
            else:
                _live(reading, every, by)
        except KeyboardInterrupt:  # the way to end it
            raise typer.Exit(130) from None


def _check_options(
    sort: str, ports: list[int] | None, record: Path | None, others: dict[str, bool]
) -> None:
    if sort not in KEYS:
        raise AckclockError(f"--sort {sort}: unknown; choose from {', '.join(KEYS)}")
    for each in ports or ():
        if not 0 < each < PORTS:
            raise AckclockError(f"--port {each}: must be between 1 and {PORTS - 1}")
    for option, given in others.items():
        if record is not None and given:
            raise AckclockError(f"--record {record} and {option}: give one of the two")


def _network(text: str) -> "ipaddress.IPv4Network | ipaddress.IPv6Network":
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise AckclockError(
            f"--address {text}: write an address or a network, such as 10.0.0.1 or 10.0.0.0/8"
        ) from None


def _is_in(
    connection: Connection, networks: "Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]"
) -> bool:
    ends = [ipaddress.ip_address(each) for each in (connection.local, connection.remote)]
    return any(end in network for network in networks for end in ends)


def _print_lines(reading: Callable[[], list[Connection]], every: float, once: bool) -> None:
    while True:
        line = {"time_s": time.time(), "connections": [asdict(each) for each in reading()]}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        if once:
            return
        time.sleep(every)


def _record(reading: Callable[[], list[Connection]], every: float, place: Path) -> None:
    """Reads on until an interrupt, and writes the tables then."""
    from ackclock.results.recorder import EVERY_S, Recorder  # noqa: PLC0415 (slow to import)

    recorder = Recorder(round(every * 1e6))
    with Directory(place) as directory:
        started_ns = time.monotonic_ns()
        recorder.take_readings(0, {"forward": reading()})
        err.print("recording; Ctrl-C ends it and writes the tables")
        with suppress(KeyboardInterrupt):
            while True:
                now_us = (time.monotonic_ns() - started_ns) // 1000
                recorder.take_readings(now_us, {"forward": reading()})
                time.sleep(EVERY_S)
        result = recorder.result((time.monotonic_ns() - started_ns) // 1000)
        directory.fill(result.write)
    for each in result.manifest["connections"][:MOST_FLOWS]:
        out.print(f"flow {each['flow']}: {each['from']} to {each['to']}")
    out.print(f"written: {place}")


def _live(reading: Callable[[], list[Connection]], every: float, by: str) -> None:
    from rich.live import Live  # noqa: PLC0415 (only this needs it)

    from ackclock.cli import screen  # noqa: PLC0415 (slow to import)

    with Live(console=out, screen=True, auto_refresh=False) as live:
        while True:
            connections = reading()
            width, height = out.size
            shown = table(connections, most=max(height - AROUND, 1))
            live.update(screen.fitted(shown, width, less=left_out(by)), refresh=True)
            time.sleep(every)


def table(connections: list[Connection], most: int | None = None) -> "Table":
    """The connections as a table of at most so many rows."""
    shown = connections[:most]
    title = units.counted(len(connections), "TCP connection")
    if left := len(connections) - len(shown):
        title += f", {left} not shown"
    made = new_table("local", "remote", "algorithm", "state", *NUMBERS, title=title)
    for each in shown:
        numbers = (
            _number(getattr(each, name), unit, digits) for name, unit, digits in NUMBERS.values()
        )
        made.add_row(
            _end(each.local, each.local_port),
            _end(each.remote, each.remote_port),
            each.algorithm or "–",
            each.ca_state or each.state,
            *numbers,
        )
    return made


def left_out(by: str) -> list[str]:
    """The columns of `LEFT_OUT`, but never the one by which the rows are sorted."""
    return [each for each in LEFT_OUT if NUMBERS.get(each, "")[:1] != (by,)]


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _number(value: float | None, unit: float = 1, digits: int = 0) -> str:
    return "–" if value is None else f"{value / unit:.{digits}f}"


@app.command("shell", rich_help_panel="The kernel")
def shell_command(
    scenario: Annotated[
        Path, typer.Argument(help="Scenario file (TOML) with the link.", metavar="SCENARIO")
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(help="Command of the client's host (default: a shell).", metavar="COMMAND"),
    ] = None,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            help="Run this command line on the server's host first. Repeatable.",
            metavar="COMMAND",
        ),
    ] = None,
    output: Output = None,
    settings: Settings = None,
    pcapng: Annotated[
        Path | None,
        typer.Option(help="Write the packets at the client's interface.", metavar="FILE"),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(parser=beside, metavar="vlinux[:SERIES]", help="In virtual time."),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(help="There each system call takes so long. [default: 1us]", metavar="TIME"),
    ] = None,
    twice: Annotated[
        bool, typer.Option("--twice", help="There: two runs, whose packets must be equal.")
    ] = False,
) -> None:
    """Run any program on a scenario's link: in real time (root), or in virtual time.

    Examples:
        ackclock shell examples/shell_link.toml --on vlinux --listen "iperf3 -s" -- iperf3 -c server
        ackclock shell examples/shell_link.toml --listen "iperf3 -s" -- iperf3 -c 10.0.0.2
        ackclock shell examples/shell_link.toml -o out/ping --pcapng ping.pcapng -- ping 10.0.0.2
        ackclock shell examples/shell_link.toml

    The client is 10.0.0.1, the server 10.0.0.2; in virtual time their names are client and server
    (docs/programs.md). The link carries what the client sends; for a link
    each way write direction = "reverse" in [[flow]]. The exit code is that of the command, or 3 if
    it ends with 0 and the link kept time badly. What the link did is printed on standard error. -o
    writes the tables of docs/tables.md, with a flow for each socket that sent data
    (docs/testbed.md).
    """
    from ackclock import Scenario  # noqa: PLC0415 (slow to import)
    from ackclock.cli.run import INVALID, changed  # noqa: PLC0415 (slow to import)
    from ackclock.hosts import shell  # noqa: PLC0415 (slow to import)
    from ackclock.results import summary  # noqa: PLC0415 (slow to import)

    out.file = sys.stderr  # standard output is the command's
    with (
        one_line_errors("nothing was written"),
        snapshot.held(),
        tempfile.TemporaryDirectory() as kept,
    ):
        chosen = changed(Scenario.from_toml(scenario), settings or [], ())
        words = command or [os.environ.get("SHELL", "/bin/sh")]
        with nullcontext() if output is None else Directory(output) as directory:
            if on in (None, KERNEL):
                _need_virtual_time(call, twice)
                ran = shell.run(chosen, words, listen=listen or (), pcapng=pcapng)
                write: Callable[[Path], object] = ran.result.write
            else:
                if not command:
                    raise AckclockError(f"--on {on}: no keyboard is there; write -- COMMAND")
                of = (chosen, words, listen or (), pcapng, on, call, Path(kept))
                ran = _in_virtual_time(*of, twice=twice)
                write = partial(_with_kept, ran.result, kept)
            if directory is not None:
                directory.fill(write)
        summed = summary.summarise(ran.result)
        for shown in summary.tables(summed):
            print_table(shown, keys=2)
        out.print(summary.totals(summed))
        for note in () if "certificate" in summed else ran.result.manifest["notes"]:
            out.print(note)
        for each in ran.result.manifest["connections"][:MOST_FLOWS]:
            out.print(f"flow {each['flow']}: {each['from']} to {each['to']}")
        for file in (output, pcapng):
            if file is not None:
                out.print(f"written: {file}")
    valid = ran.result.manifest.get("certificate", {}).get("valid", True)
    raise typer.Exit(ran.status if ran.status or valid else INVALID)


def _need_virtual_time(call: str | None, twice: bool) -> None:
    for option in (call is not None and f"--call {call}", twice and "--twice"):
        if option:
            raise AckclockError(f"{option}: needs --on vlinux")


def _in_virtual_time(
    scenario: "Scenario",
    words: list[str],
    listen: Sequence[str],
    pcapng: Path | None,
    on: str,
    call: str | None,
    keep: Path,
    *,
    twice: bool,
) -> "Ran":
    from ackclock.hosts.vlinux import shell  # noqa: PLC0415 (only this needs it)
    from ackclock.hosts.vlinux.programs import CALL_NS  # noqa: PLC0415
    from ackclock.hosts.vlinux.sources import SERIES  # noqa: PLC0415

    series = on.partition(":")[2] or SERIES
    call_ns = CALL_NS if call is None else units.duration_ns(call)
    how: dict[str, Any] = {
        "listen": listen,
        "pcapng": pcapng,
        "series": series,
        "call_ns": call_ns,
        "keep": keep,
    }
    if not twice:
        return shell.run(scenario, words, **how)
    ran, packets = shell.run_twice(scenario, words, **how)
    out.print(f"equal twice: {units.counted(packets, 'packet')}, and what was printed")
    return ran


def _with_kept(result: "Result", kept: str, directory: Path) -> None:
    """The tables, and what programs printed and wrote."""
    result.write(directory)
    shutil.copytree(kept, directory, dirs_exist_ok=True)


capture_group = Commands()
app.add_typer(capture_group, name="capture", rich_help_panel=SCENARIOS)


@capture_group.callback()
def _group() -> None:
    """Captures of packets: tell what limited each sender."""


@capture_group.command("explain")
def explain_command(
    capture: Annotated[
        Path, typer.Argument(help="Capture of packets, pcap or pcapng.", metavar="CAPTURE")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; docs/captures.md describes the keys.")
    ] = False,
) -> None:
    """Tell of each TCP connection in a capture what its sender was limited by.

    Examples:
        ackclock run examples/two_cubic.toml --pcapng o.pcapng && ackclock capture explain o.pcapng
        tcpdump -i eth0 -s 96 -w web.pcap tcp port 443; ackclock capture explain web.pcap

    The capture must be of the sender's host: RTT and bytes in flight are those from the place of
    the capture on. Needs tshark, which reads the file.
    """
    from ackclock.results.capture import explain  # noqa: PLC0415 (only this needs it)

    with one_line_errors():
        found = explain(capture)
        told = [each.numbers() for each in found]
        if as_json:
            print_json(told, indent=2)
            return
        if not told:
            out.print(f"{capture}: no TCP connection carried data")
            return
        table = new_table("from", "to", *EXPLAINED, "limited by")
        for each in told[:MOST_FLOWS]:
            numbers = (
                _number(each[name], unit, digits) for name, unit, digits in EXPLAINED.values()
            )
            limited = each["limited"] or {}
            shares = sorted(limited, key=lambda name: -(limited[name] or 0))
            said = [
                f"{name} {limited[name]:.0%}" for name in shares if round(limited[name] or 0, 2)
            ]
            table.add_row(each["from"], each["to"], *numbers, ", ".join(said) or "–")
        print_table(table, keys=2)
        if (more := len(told) - MOST_FLOWS) > 0:
            out.print(f"… and {more} more; --json has all")
        if flat := ", ".join(each["from"] for each in told[:MOST_FLOWS] if each["flat"]):
            out.print(
                f"{flat}: as much data stays in flight, and nothing is lost: a small send buffer "
                "(SO_SNDBUF) may be what looks like cwnd"
            )
        if copies := max(each["copies"] for each in told):
            out.print(
                f"the capture shows {copies} packets of a connection twice; copies are left out"
            )
        if any(each["captured_at"] == "receiver" for each in told):
            out.print("–: captured where the data arrives; what the sender does is not seen there")
        if any(each.is_cut for each in found):
            out.print("some ACKs are cut, with their SACK blocks: capture more, as tcpdump -s 128")


@app.command("identify", rich_help_panel=SCENARIOS)
def identify_command(
    capture: Annotated[
        Path, typer.Argument(help="Capture of packets, pcap or pcapng.", metavar="CAPTURE")
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            help="Compare with NAME[@PRESET][:PARAM=VALUE,…]. Repeatable. [default: all of ours]",
            metavar="ALGORITHM",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; docs/captures.md describes the keys.")
    ] = False,
) -> None:
    """Tell which algorithm each sender of a capture runs, or that it is none of ours.

    Examples:
        ackclock run examples/one_flow.toml --pcapng out.pcapng && ackclock identify out.pcapng
        tcpdump -i eth0 -s 128 -w web.pcap tcp port 443; ackclock identify web.pcap

    The capture must be of the sender's host. A sender of ours with each algorithm gets the recorded
    ACKs, and says what it would have sent (docs/captures.md). Needs tshark, which reads the file.
    """
    from ackclock.captures.identify import identify  # noqa: PLC0415 (only this needs it)
    from ackclock.captures.record import records  # noqa: PLC0415

    with one_line_errors():
        read = records(capture)
        found = [identify(each, algorithm) for each in read]
        if as_json:
            print_json([each.numbers() for each in found], indent=2)
            return
        if not found:
            out.print(f"{capture}: no TCP connection carried data")
            return
        table = new_table("from", "to", "packets", "algorithm")
        for each in found[:MOST_FLOWS]:
            of = each.record.of
            table.add_row(of.sender, of.receiver, str(of.packets), each.verdict)
        print_table(table, keys=2)
        for each in found[:MOST_FLOWS]:
            out.print(f"{each.record.of.sender}: {each.why}")
        if (more := len(found) - MOST_FLOWS) > 0:
            out.print(f"… and {more} more; --json has all")


ImportedCapture = Annotated[
    Path, typer.Argument(help="Capture at the sender, pcap or pcapng.", metavar="CAPTURE")
]
Ran_ = Annotated[
    str | None,
    typer.Option(
        "--ran", help="What its senders ran (default: what `identify` says).", metavar="SPEC"
    ),
]


@app.command("import-capture", rich_help_panel=SCENARIOS)
def import_capture_command(
    capture: ImportedCapture, ran: Ran_ = None, output: Output = None
) -> None:
    """Read the path of a capture as a scenario: rate, RTT, buffer, losses.

    Examples:
        ackclock import-capture web.pcapng > path.toml && ackclock compare path.toml
        ackclock import-capture web.pcapng -o out/path

    Comments say from what each number was read, and how sure it is. -o also runs the scenario, and
    draws it over the capture (docs/captures.md).
    """
    from ackclock.captures.beside import import_capture  # noqa: PLC0415 (only this needs it)

    with one_line_errors("nothing was written"):
        with nullcontext() if output is None else Directory(output) as directory:
            found = import_capture(capture, ran)
            if directory is not None:
                directory.fill(found.write)
        if output is None:
            sys.stdout.write(found.read.text())
            return
        for each in found.read.told:
            out.print(each.line)
        for unknown in found.read.unknown:
            out.print(f"not told: {unknown}")
        out.print(found.said())
        out.print(f"written: {output}")


@app.command("advise", rich_help_panel=SCENARIOS)
def advise_command(
    capture: ImportedCapture,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare these, with commas between them. [default: cubic,bbr,reno]",
            metavar="ALGORITHMS",
        ),
    ] = None,
    ran: Ran_ = None,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="Repeat each so often.")] = 5,
    output: Output = None,
) -> None:
    """Say what algorithms would do on the path of a capture, with intervals.

    Examples:
        ackclock advise web.pcapng
        ackclock advise web.pcapng --algorithm cubic,bbr3,./my_cc.c --seeds 20 -o out/advice

    The path is that of `import-capture`; the table is that of `compare` (docs/compare.md). -o
    writes a page, with the scenario.
    """
    from ackclock.captures.beside import completions, import_capture  # noqa: PLC0415 (slow to import)
    from ackclock.questions import on_link  # noqa: PLC0415 (slow to import)

    with one_line_errors("nothing was written"):
        with nullcontext() if output is None else Directory(output) as directory:
            found = import_capture(capture, ran)
            chosen = on_link.algorithms(algorithm or ["cubic,bbr,reno"])
            table = on_link.on_link(found.read.scenario, chosen, seeds=seeds)
            facts = completions(found.read.scenario, chosen, seeds)
            if directory is not None:
                directory.fill(lambda place: found.write(place, table, facts))
        for each in found.read.told:
            out.print(each.line)
        (cells,) = table.tables().values()
        shown = new_table(*cells.header)
        for row in cells.rows:
            shown.add_row(*row)
        print_table(shown)
        for note in [*facts, *table.notes()]:
            out.print(note)
        if output is not None:
            out.print(f"written: {output}")
