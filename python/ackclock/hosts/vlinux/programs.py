"""Programs in the virtual machine: what guest/programs.c starts, and what it tells of them."""

import os
import shlex
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.base.errors import AckclockError
from ackclock.hosts.programs import CLOSES_S, words_of
from ackclock.hosts.vlinux import records
from ackclock.hosts.vlinux.network import FlowPath, Network
from ackclock.results import connections
from ackclock.results.recorder import Recorder
from ackclock.scenario.scenario import paths_of

#: What each call of a program takes, ns, unless it is told.
CALL_NS = 1_000
#: Threads of all programs together.
MOST_THREADS = 4_096
#: Characters of what a program prints that a manifest keeps.
MOST_PRINTED = 1 << 16
#: Flows of the scenario have the ports above it, by their numbers.
FIRST_PORT = 10_000
#: With what sockets begin in Linux.
DEFAULT = "kernel:cubic"
#: Directories that begin empty.
EMPTY = ("/tmp", "/run", "/dev/shm")  # noqa: S108 (the names of the machine's)
#: Kinds and hosts, as guest/programs.c counts them.
SERVES, COMMANDS, STANDS_BESIDE = range(3)
CLIENT, SERVER = range(2)
SIDES = {"client": CLIENT, "server": SERVER}
#: Variables that name the files with the certificates that a program trusts.
TRUST = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_READING = records.layout("programs.c", "reading")
_CONVERSATION = np.dtype(
    [("address", "u4"), ("from_port", "u2"), ("to_port", "u2"), ("protocol", "u4"), ("_", "u4")]
    + [(name, "u8") for name in records.COUNT.names or ()]
)


@dataclass(frozen=True)
class Program:
    """A program of one of the two hosts."""

    words: list[str]
    host: int
    kind: int
    start_ns: int = 0
    stop_ns: int | None = None
    call_ns: int = CALL_NS
    environment: Sequence[str] = ()
    #: Paths of what stands in its directory.
    files: Sequence[str] = ()
    #: Its place in the scenario.
    number: int = 0


@dataclass(frozen=True)
class Hosts:
    """The two hosts, and what runs there."""

    network: Network
    way: FlowPath
    #: Of each host the algorithm with which sockets begin: as a spec, and as the kernel names it.
    algorithms: Sequence[tuple[str, str]]
    programs: list[Program]
    #: Bytes of each packet at the client that are captured; 0: none is.
    snaplen: int = 0
    directory: Path = field(default_factory=Path.cwd)

    @property
    def addresses(self) -> tuple[str, str]:
        """Of the client, and of the server."""
        return self.network.address(self.way, 1), self.network.address(self.way)

    def lines(self) -> list[str]:
        """Of the guest's plan."""
        spaces = (self.network.sender(self.way), self.network.receiver(self.way))
        names = [name for _, name in self.algorithms]
        may = " ".join(dict.fromkeys(("reno", *names)))
        lines = [
            f"set - /proc/sys/kernel/threads-max {MOST_THREADS}",
            # Else those of Linux are for its first namespace.
            f"set - /proc/sys/net/ipv4/tcp_allowed_congestion_control {may}",
        ]
        for space, name in zip(spaces, names, strict=True):
            lines += [
                f"set {space} /proc/sys/net/ipv4/tcp_congestion_control {name}",
                f"set {space} /proc/sys/net/ipv6/conf/lo/disable_ipv6 0",
                f"up {space} lo",
            ]
        lingers_ns = round(CLOSES_S * 1e9) + 2 * self.way.rtt_ns
        ends = (word for pair in zip(spaces, self.addresses, strict=True) for word in pair)
        lines.append(f"hosts {' '.join(ends)} {lingers_ns} {self.snaplen} {self.directory}")
        for number, each in enumerate(self.programs):
            stop = "-" if each.stop_ns is None else each.stop_ns
            numbers = f"{number} {each.host} {each.kind} {each.start_ns} {stop} {each.call_ns}"
            lines.append(f"program {numbers}")
        return lines

    def put(self, directory: Path) -> None:
        """The words and the environment of each program, as the guest reads them, and its files."""
        (directory / "given").mkdir()
        for number, each in enumerate(self.programs):
            _put(directory / f"{number}.words", each.words)
            _put(directory / f"{number}.environment", [*self._environment(), *each.environment])
            for path in map(Path, each.files):
                to = directory / "given" / path.name
                if path.is_dir():
                    shutil.copytree(path, to, dirs_exist_ok=True)
                else:
                    shutil.copy2(path, to)

    def _environment(self) -> list[str]:
        certificate, key = "/run/ackclock/cert.pem", "/run/ackclock/key.pem"
        own = dict(zip(("ACKCLOCK_CLIENT", "ACKCLOCK_SERVER"), self.addresses, strict=True))
        if shutil.which("openssl"):
            own |= dict.fromkeys((*TRUST, "ACKCLOCK_CERT"), certificate) | {"ACKCLOCK_KEY": key}
        return [f"{name}={value}" for name, value in sorted({**os.environ, **own}.items())]

    def told(self, directory: Path) -> list[dict[str, Any]]:
        """Of each program its command, its times, and its status as a shell tells it.

        In the order of the scenario. Raises `AckclockError` if one could not be started, or a
        server has no port.
        """
        found = {}
        for number, each in enumerate(self.programs):
            for file, says in (("failed", "cannot be started ({})"), ("gave_up", "{}")):
                if text := records.text_of(directory / f"{number}.{file}"):
                    empty = (
                        each.words[0].startswith(EMPTY) * f"; {', '.join(EMPTY)} are empty there"
                    )
                    raise AckclockError(f"{shlex.join(each.words)}: {says.format(text)}{empty}")
            found[each.number, number] = _told(directory, number, each)
        return [found[key] for key in sorted(found)]

    def conversations(self, directory: Path) -> list[tuple[bool, int, int, int, dict[str, int]]]:
        """Whether the server sent, protocol, ports, and what happened to packets with data."""
        server = int.from_bytes(socket.inet_aton(self.addresses[SERVER]), "big")
        return [
            (
                int(row["address"]) == server,
                int(row["protocol"]),
                int(row["from_port"]),
                int(row["to_port"]),
                _tally(row),
            )
            for row in np.fromfile(directory / "conversations.bin", _CONVERSATION)
        ]


def of_scenario(canonical: Mapping[str, Any], network: Network, names: Mapping[str, str]) -> Hosts:
    """The programs of a scenario in canonical form; `names`: of algorithms in the kernel."""
    given = canonical["programs"]
    specs = [DEFAULT] * len(SIDES)
    taken: dict[str, str] = {}
    found = []
    for number, each in enumerate(given):
        host = SIDES[each["side"]]
        specs[host] = each["algorithm"] or DEFAULT
        waits = host == SERVER and not each["start_ns"]
        found.append(
            Program(
                words_of(each["command"], "command = "),
                host,
                SERVES if waits else STANDS_BESIDE,
                each["start_ns"],
                each["stop_ns"],
                each["call_ns"],
                _variables(each["environment"]),
                _paths(each["files"], taken),
                number,
            )
        )
    # The guest begins them one by one: servers first.
    found.sort(key=lambda each: (each.kind, each.start_ns))
    assert network.programs is not None
    return Hosts(network, network.programs, [(spec, names[spec]) for spec in specs], found)


def _variables(text: str) -> list[str]:
    """Those of an environment. Raises `AckclockError`."""
    found = words_of(text, "environment = ") if text.strip() else []
    for each in found:
        if "=" not in each[1:]:
            raise AckclockError(f"environment = {text}: {each} is none; write NAME=VALUE")
    return found


def _paths(files: str, taken: dict[str, str]) -> list[str]:
    """Those of files, which are there; `taken`: by their names. Raises `AckclockError`."""
    found = paths_of(files)
    for each in found:
        if not Path(each).exists():
            raise AckclockError(f"files = {files}: {each}: no such file or directory")
        other = taken.setdefault(Path(each).name, each)
        if other != each:
            raise AckclockError(f"files = {files}: {each} and {other} have one name; rename one")
    return found


def _put(path: Path, strings: Sequence[str]) -> None:
    path.write_bytes(b"".join(os.fsencode(each) + b"\0" for each in strings))


def _told(directory: Path, number: int, of: Program) -> dict[str, Any]:
    told: dict[str, Any] = {
        "command": shlex.join(of.words),
        "side": ("client", "server")[of.host],
        "status": None,
    }
    file = directory / f"{number}.status"
    if file.exists():
        code, *times_ns = map(int, file.read_text().split())
        status = os.waitstatus_to_exitcode(code)
        told["status"] = status if status >= 0 else 128 - status
        told |= dict(zip(("start_s", "end_s"), (ns / 1e9 for ns in times_ns), strict=True))
    for name in ("out", "err"):
        printed = directory / f"{number}.{name}"
        text = printed.read_text(errors="replace") if printed.exists() else ""
        told[name] = text[-MOST_PRINTED:]
    return told


def _tally(row: Any) -> dict[str, int]:
    lost = ("link_lost_packets", "policed_packets")
    tally = {name: int(row[name]) for name in (*lost, "marked_packets")}
    tally["dropped_packets"] = int(row["dropped"]) + sum(tally[name] for name in lost)
    if row["protocol"] == socket.IPPROTO_UDP:  # TCP counts for itself
        tally |= {"sent_packets": int(row["sent"]), "arrived_bytes": int(row["arrived"])}
    return tally


def recorded(directory: Path, interval_us: int, flows: int = 0) -> Recorder:
    """The connections, as they were read, without those of so many flows of the scenario."""
    own = range(FIRST_PORT + 1, FIRST_PORT + flows + 1)
    recorder, data, at = Recorder(interval_us), (directory / "connections.bin").read_bytes(), 0
    now: dict[str, Sequence[connections.Connection]] = {}
    now_us = -1
    while at < len(data):
        head = np.frombuffer(data, _READING, 1, at)[0]
        at += _READING.itemsize
        answer = data[at : at + int(head["size"])]
        at += len(answer)
        time_us, direction = (
            int(head["time_ns"]) // 1000,
            ("forward", "reverse")[head["from_server"]],
        )
        if now and time_us != now_us:
            recorder.take_readings(now_us, now)
            now = {}
        found = [
            each
            for each in connections.told(answer)
            if each.local_port not in own and each.remote_port not in own
        ]
        if head["ended"]:
            recorder.ended(time_us, direction, found)
            continue
        now_us = time_us
        now[direction] = [*now.get(direction, ()), *found]
    if now:
        recorder.take_readings(now_us, now)
    return recorder
