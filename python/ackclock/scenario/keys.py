"""The keys of a scenario. `make generate` writes this file.

The fields of the structs in `crates/sim/src/scenario` say what each key means, its range and its
default.
"""

from typing import Annotated, Literal

from pydantic import AliasChoices, Field, Strict

from ackclock.scenario.kinds import Bytes, Integer, Payload, Rate, Size, Thousandths, Time
from ackclock.scenario.link_keys import Bottleneck
from ackclock.scenario.model import Model

#: IP and TCP headers of a packet, with timestamps. The wire size is the payload plus the headers.
HEADER_BYTES = 52


class Frames(Model):
    """What an application writes, the first frame as soon as it is connected."""

    size: Annotated[str, Size(1, 1_099_511_627_776, "10kB")] = Field(
        description="Size of a frame; over TCP rounded up to full segments."
    )
    every: Annotated[str, Time(1_000, 3_600_000_000_000_000, "20ms")] = Field(
        description="Time between two frames."
    )


class Write(Model):
    """A phase of what an application writes. It lasts until the next one begins."""

    at: Annotated[str, Time(0, 3_600_000_000_000_000)] = Field(
        "0s", description="When it begins: time after the flow is connected."
    )
    size: Annotated[str, Size(1, 1_099_511_627_776, "10kB")] | None = Field(
        None,
        description="Size of a write; over TCP rounded up to full segments (default: from then "
        "on there is always data).",
    )
    every: Annotated[str, Time(1_000, 3_600_000_000_000_000, "20ms")] | None = Field(
        None, description="Time between two writes (default: it writes once)."
    )
    pause: Annotated[str, Time(0, 3_600_000_000_000_000, "1s")] | None = Field(
        None,
        description="Instead of `every`: the pause from when all is acknowledged until it writes "
        "again, as who answers one request after the other.",
    )


class ReadStep(Model):
    """A change of how fast an application reads."""

    time: Annotated[str, Time(0, 3_600_000_000_000_000, "20s")] = Field(
        description="When it changes; if it then reads at all, it reads at once."
    )
    rate: Annotated[str, Rate(0, 1_000_000_000_000, "25mbit")] = Field(
        description='The rate from then on; "0bit": it does not read.'
    )


class Flow(Model):
    """One TCP connection that always has data to send, or `count` of them."""

    algorithm: str = Field(
        description="NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` "
        "or the path of a C file. `kernel:NAME` is Linux's own algorithm, only on "
        "the kernel and on vlinux."
    )
    stack: Literal["quinn", "noq", "udp"] | None = Field(
        None,
        description="What sends and receives in place of Linux's TCP: the QUIC stack `quinn` or "
        "`noq`, whose own CUBIC, Reno or BBR `algorithm` is then; or `udp` at a "
        "constant `rate`, with the algorithm `none` (default: Linux's TCP).",
    )
    profile: (
        Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6", "linux-7"] | None
    ) = Field(None, description="TCP stack of its two hosts (default: the scenario's `profile`).")
    tso: Annotated[bool, Strict()] | None = Field(
        None,
        description="Whether its hosts send bursts that the network card cuts into packets "
        "(default: the scenario's `tso`; that of its own `profile`, if the scenario "
        "says nothing).",
    )
    direction: Literal["forward", "reverse"] = Field(
        "forward",
        description="Direction of its data: `forward` or `reverse`. With a reverse flow or "
        "session the reverse path gets the same bottleneck, where ACKs and data "
        "share a queue.",
    )
    route: tuple[Annotated[int, Integer(1, 1_000)], ...] = Field(
        (), description="Numbers of the links that its data passes, in order (default: every link)."
    )
    back: tuple[Annotated[int, Integer(1, 1_000)], ...] = Field(
        (), description="Numbers of the links that its ACKs pass, in order (default: none)."
    )
    rtt: Annotated[str, Time(1_000, 100_000_000_000, "100ms")] | None = Field(
        None,
        description="Round-trip propagation delay (default: the scenario's `rtt`). The delays of "
        "the links on its way come on top.",
    )
    rtt_exponential: Annotated[str, Time(0, 100_000_000_000)] = Field(
        "0s",
        description="Mean of an extra delay added to `rtt`, drawn once per connection from an "
        "exponential distribution.",
    )
    start: Annotated[str, Time(0, 3_600_000_000_000_000)] = Field(
        "0s",
        description="Time at which it connects; of a session: at which its first pause starts.",
    )
    start_spread: Annotated[str, Time(0, 3_600_000_000_000_000)] = Field(
        "0s", description="Longest extra delay after `start`, drawn uniformly from 0 to this."
    )
    stop: Annotated[str, Time(0, 3_600_000_000_000_000)] | None = Field(
        None, description="Time at which its application stops sending (default: never)."
    )
    frames: Frames | None = Field(
        None,
        description="Its application writes a frame each so often, as sound and video do, and "
        "otherwise nothing: a table of the `size` of a frame (whole segments over "
        "TCP) and the time `every` (default: it always has data to send).",
    )
    size: Annotated[str, Payload(1, 1_000_000_000_000_000_000)] | None = Field(
        None,
        description="Data that it sends in all, over TCP in whole segments; of a session: the "
        'mean size of a transfer. "2MB" or "600packets" (default: one connection '
        "without end).",
    )
    receive_window: Annotated[str, Size(1, 1_000_000_000_000_000)] | None = Field(
        None, description="Receive window (default: no limit)."
    )
    receive_buffer: Annotated[str, Size(24_000, 1_000_000_000_000_000)] | None = Field(
        None,
        description="Most of its receive buffer (`tcp_rmem`), by which Linux tunes the window "
        "(default: it is constant).",
    )
    send_buffer: Annotated[str, Size(1, 1_000_000_000_000_000)] | None = Field(
        None, description="Sender's buffer for unacknowledged data (default: no limit)."
    )
    read_rate: Annotated[str, Rate(0, 1_000_000_000_000, "20mbit")] | None = Field(
        None,
        description='How fast the application of its receiver reads, "0bit": not at all. What it '
        "leaves fills `receive_buffer`, or twice `receive_window` (default: it reads "
        "all).",
    )
    mss: Annotated[int, Bytes(64, 65_483)] | None = Field(
        None,
        description="Payload of a full segment in bytes, at most the scenario's `mss`, as from a "
        "smaller MTU at both hosts (default: the scenario's `mss`).",
    )
    initcwnd: Annotated[int, Integer(1, 1_000)] | None = Field(
        None,
        description="Packets of the initial window, as a route's `initcwnd` (default: 10; of "
        "Linux 2.6 as RFC 3390).",
    )
    max_pacing_rate: Annotated[str, Rate(1_000, 1_000_000_000_000)] | None = Field(
        None,
        description="Highest rate at which its sender paces, without headers, as "
        "`SO_MAX_PACING_RATE`; with one it paces, whatever `pacing` says (default: "
        "no limit).",
    )
    sack: Annotated[bool, Strict()] = Field(
        True,
        description="Whether both hosts use SACK (RFC 2018; `tcp_sack` of today's Linux); else "
        "NewReno (RFC 6582).",
    )
    rack: Annotated[bool, Strict()] = Field(
        True,
        description="Whether time tells what is lost (RACK; `tcp_recovery` until Linux 6.16); "
        "else three SACKed segments above it do (RFC 6675), or as many as the path "
        "reorders.",
    )
    tlp: Annotated[bool, Strict()] = Field(
        True,
        description="Whether it sends tail loss probes (RFC 8985; `tcp_early_retrans` of today's "
        "Linux).",
    )
    timestamps: Annotated[bool, Strict()] = Field(
        True,
        description="Whether both hosts send timestamps (RFC 7323; `tcp_timestamps` of today's "
        "Linux), 12 bytes of each header. Without them SACK has room for a fourth "
        "block.",
    )
    slow_start_after_idle: Annotated[bool, Strict()] = Field(
        True,
        description="Whether its window shrinks when it has not been used for a timeout (RFC "
        "2861; `tcp_slow_start_after_idle`).",
    )
    rto_min: Annotated[str, Time(1_000_000, 120_000_000_000, "5ms")] | None = Field(
        None,
        description="A timeout exceeds the RTT by this or more, as a route's `rto_min` at both "
        "hosts: no ACK is delayed for as long (default: 200 ms).",
    )
    initial_ssthresh_packets: Annotated[int, Integer(2, 2_147_483_647)] | None = Field(
        None,
        description="ssthresh at the start, as from a route's cached metric (default: no limit).",
    )
    ecn: Literal[False, True, "accurate"] = Field(
        False,
        description="Whether both hosts use ECN (RFC 3168), if the path lets the first SYN "
        'through. `"accurate"`: the receiver counts marks, and each ACK tells the '
        "count (RFC 9768).",
    )
    delayed_ack_segments: Annotated[int, Integer(1, 64)] | None = Field(
        None, description="Full segments per ACK (default: the scenario's `delayed_ack_segments`)."
    )
    reads: Literal["at once", "bulk"] | None = Field(
        None,
        description="When the application of its receiver reads (default: the scenario's `reads`).",
    )
    hides: Literal["nothing", "losses", "marks"] = Field(
        "nothing",
        description="What its receiver hides from it, to get more than its share: `nothing`; "
        "`losses`, so that it acknowledges packets that never came; or `marks`, of "
        "which it echoes none.",
    )
    rate: Annotated[str, Rate(1_000, 1_000_000_000_000, "20mbit")] | None = Field(
        None, description="How fast `udp` sends, IP headers included."
    )
    count: Annotated[int, Integer(1, 100_000)] = Field(
        1, description="Number of flows like this one."
    )
    writes: tuple[Write, ...] = Field(
        (),
        description="What its application writes on the one connection, phase after phase: a "
        "list of tables of `at`, `size` (whole segments over TCP), `every` and "
        "`pause`. `frames` is the same with one phase (default: it always has data "
        "to send).",
    )
    read_rate_at: tuple[ReadStep, ...] = Field(
        (), description="When `read_rate` changes: a list of tables of `time` and `rate`."
    )


class Session(Model):
    """Background traffic, one connection after another: web traffic, downloads.

    A session waits, opens a connection, sends, and starts again when all data is acknowledged.
    """

    algorithm: str = Field(
        description="NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` "
        "or the path of a C file. `kernel:NAME` is Linux's own algorithm, only on "
        "the kernel and on vlinux."
    )
    profile: (
        Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6", "linux-7"] | None
    ) = Field(None, description="TCP stack of its two hosts (default: the scenario's `profile`).")
    tso: Annotated[bool, Strict()] | None = Field(
        None,
        description="Whether its hosts send bursts that the network card cuts into packets "
        "(default: the scenario's `tso`; that of its own `profile`, if the scenario "
        "says nothing).",
    )
    direction: Literal["forward", "reverse"] = Field(
        "forward",
        description="Direction of its data: `forward` or `reverse`. With a reverse flow or "
        "session the reverse path gets the same bottleneck, where ACKs and data "
        "share a queue.",
    )
    route: tuple[Annotated[int, Integer(1, 1_000)], ...] = Field(
        (), description="Numbers of the links that its data passes, in order (default: every link)."
    )
    back: tuple[Annotated[int, Integer(1, 1_000)], ...] = Field(
        (), description="Numbers of the links that its ACKs pass, in order (default: none)."
    )
    rtt: Annotated[str, Time(1_000, 100_000_000_000, "100ms")] | None = Field(
        None,
        description="Round-trip propagation delay (default: the scenario's `rtt`). The delays of "
        "the links on its way come on top.",
    )
    rtt_exponential: Annotated[str, Time(0, 100_000_000_000)] = Field(
        "0s",
        description="Mean of an extra delay added to `rtt`, drawn once per connection from an "
        "exponential distribution.",
    )
    start: Annotated[str, Time(0, 3_600_000_000_000_000)] = Field(
        "0s",
        description="Time at which it connects; of a session: at which its first pause starts.",
    )
    start_spread: Annotated[str, Time(0, 3_600_000_000_000_000)] = Field(
        "0s", description="Longest extra delay after `start`, drawn uniformly from 0 to this."
    )
    size: Annotated[str, Payload(1, 1_000_000_000_000_000_000)] | None = Field(
        None,
        description="Data that it sends in all, over TCP in whole segments; of a session: the "
        'mean size of a transfer. "2MB" or "600packets" (default: one connection '
        "without end).",
    )
    receive_window: Annotated[str, Size(1, 1_000_000_000_000_000)] | None = Field(
        None, description="Receive window (default: no limit)."
    )
    receive_buffer: Annotated[str, Size(24_000, 1_000_000_000_000_000)] | None = Field(
        None,
        description="Most of its receive buffer (`tcp_rmem`), by which Linux tunes the window "
        "(default: it is constant).",
    )
    send_buffer: Annotated[str, Size(1, 1_000_000_000_000_000)] | None = Field(
        None, description="Sender's buffer for unacknowledged data (default: no limit)."
    )
    mss: Annotated[int, Bytes(64, 65_483)] | None = Field(
        None,
        description="Payload of a full segment in bytes, at most the scenario's `mss`, as from a "
        "smaller MTU at both hosts (default: the scenario's `mss`).",
    )
    initcwnd: Annotated[int, Integer(1, 1_000)] | None = Field(
        None,
        description="Packets of the initial window, as a route's `initcwnd` (default: 10; of "
        "Linux 2.6 as RFC 3390).",
    )
    max_pacing_rate: Annotated[str, Rate(1_000, 1_000_000_000_000)] | None = Field(
        None,
        description="Highest rate at which its sender paces, without headers, as "
        "`SO_MAX_PACING_RATE`; with one it paces, whatever `pacing` says (default: "
        "no limit).",
    )
    sack: Annotated[bool, Strict()] = Field(
        True,
        description="Whether both hosts use SACK (RFC 2018; `tcp_sack` of today's Linux); else "
        "NewReno (RFC 6582).",
    )
    rack: Annotated[bool, Strict()] = Field(
        True,
        description="Whether time tells what is lost (RACK; `tcp_recovery` until Linux 6.16); "
        "else three SACKed segments above it do (RFC 6675), or as many as the path "
        "reorders.",
    )
    tlp: Annotated[bool, Strict()] = Field(
        True,
        description="Whether it sends tail loss probes (RFC 8985; `tcp_early_retrans` of today's "
        "Linux).",
    )
    timestamps: Annotated[bool, Strict()] = Field(
        True,
        description="Whether both hosts send timestamps (RFC 7323; `tcp_timestamps` of today's "
        "Linux), 12 bytes of each header. Without them SACK has room for a fourth "
        "block.",
    )
    slow_start_after_idle: Annotated[bool, Strict()] = Field(
        True,
        description="Whether its window shrinks when it has not been used for a timeout (RFC "
        "2861; `tcp_slow_start_after_idle`).",
    )
    rto_min: Annotated[str, Time(1_000_000, 120_000_000_000, "5ms")] | None = Field(
        None,
        description="A timeout exceeds the RTT by this or more, as a route's `rto_min` at both "
        "hosts: no ACK is delayed for as long (default: 200 ms).",
    )
    initial_ssthresh_packets: Annotated[int, Integer(2, 2_147_483_647)] | None = Field(
        None,
        description="ssthresh at the start, as from a route's cached metric (default: no limit).",
    )
    ecn: Literal[False, True, "accurate"] = Field(
        False,
        description="Whether both hosts use ECN (RFC 3168), if the path lets the first SYN "
        'through. `"accurate"`: the receiver counts marks, and each ACK tells the '
        "count (RFC 9768).",
    )
    delayed_ack_segments: Annotated[int, Integer(1, 64)] | None = Field(
        None, description="Full segments per ACK (default: the scenario's `delayed_ack_segments`)."
    )
    reads: Literal["at once", "bulk"] | None = Field(
        None,
        description="When the application of its receiver reads (default: the scenario's `reads`).",
    )
    gap: Annotated[str, Time(0, 3_600_000_000_000_000)] = Field(
        "0s",
        description="Mean pause before each connection, drawn from an exponential distribution.",
    )
    pareto: Annotated[float, Thousandths(1_001, 100_000)] | None = Field(
        None, description="Shape of a Pareto distribution of sizes (default: equal sizes)."
    )
    lognormal: Annotated[float, Thousandths(1, 10_000)] | None = Field(
        None,
        description="Standard deviation of the logarithm of lognormal sizes (default: equal "
        "sizes).",
    )
    route_ssthresh: Annotated[bool, Strict()] = Field(
        False,
        description="Whether each connection starts with the ssthresh that the route kept of "
        "those before (`tcp_update_metrics`): Linux 2.6 does so, and later kernels "
        "if `tcp_no_ssthresh_metrics_save` is 0. The first one starts with "
        "`initial_ssthresh_packets`. Each session has a route of its own.",
    )
    count: Annotated[int, Integer(1, 100_000)] = Field(
        1, description="Number of sessions like this one."
    )


class ScenarioKeys(Model):
    """What to run. It needs a duration, a bottleneck and at least one flow or session."""

    duration: Annotated[str, Time(1, 3_600_000_000_000_000, "60s")] = Field(
        description="Simulated time."
    )
    rtt: Annotated[str, Time(1_000, 100_000_000_000, "100ms")] | None = Field(
        None, description="Round-trip propagation delay of each flow that has no `rtt` of its own."
    )
    seed: Annotated[int, Integer(0, 9_223_372_036_854_775_807)] = Field(
        1, description="Random seed. Equal seeds give equal results."
    )
    profile: Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6", "linux-7"] = Field(
        "linux-6",
        description="TCP stack of the hosts: `linux-6`, `linux-7`, `linux-2.6.32`, "
        "`linux-2.6.25` or `linux-2.6.18` (docs/profiles.md).",
    )
    hz: Annotated[int, Integer(24, 10_000)] = Field(
        1000, description="Timer ticks per second of the hosts' kernel (Linux's HZ)."
    )
    mss: Annotated[int, Bytes(64, 65_483)] = Field(
        1448, description="Payload of a full segment in bytes. Headers add 52 bytes."
    )
    jitter: Annotated[str, Time(0, 1_000_000_000, "20us")] = Field(
        "20us",
        description="Longest delay before a host handles an ACK, drawn uniformly from 0 to this. "
        "It breaks phase effects, as real hosts do. ACKs keep their order.",
    )
    delayed_ack_segments: Annotated[int, Integer(1, 64)] = Field(
        2,
        description="Full segments per ACK; 1: no delayed ACKs, more than 2: ACKs thinned by "
        "their receiver.",
    )
    reads: Literal["at once", "bulk"] = Field(
        "at once",
        description='When the application of a receiver reads. `"at once"`: as soon as data '
        "arrives; a receiver with `linux-6` then also acknowledges the end of each "
        'burst. `"bulk"`: each 256 KiB (SO_RCVLOWAT).',
    )
    tso: Annotated[bool, Strict()] | None = Field(
        None,
        description="Whether hosts send bursts that the network card cuts into packets (default: "
        "true for `linux-6`, false for the others). With `tso`, Linux 2.6 saves data "
        "for bursts of up to 64 KB.",
    )
    pacing: Annotated[bool, Strict()] = Field(
        False, description="Whether senders space their packets at `sk_pacing_rate`, as with fq."
    )
    sack_cost: Annotated[str, Time(0, 1_000_000)] = Field(
        "0s",
        description="Time that a sending host needs for each ACK with SACK blocks, for each "
        "packet that is not yet acknowledged: Linux 2.6 walks over them. At most "
        "2500 ACKs wait meanwhile (Leith et al. 2007).",
    )
    sample_interval: Annotated[str, Time(0, 3_600_000_000_000_000, "100ms")] = Field(
        "100ms", description='Time between two samples; "0s": no samples.'
    )
    bottleneck: Bottleneck = Field(None)  # type: ignore[assignment]
    links: tuple[Bottleneck, ...] = Field(
        (), validation_alias=AliasChoices("link", "links"), serialization_alias="link"
    )
    flows: tuple[Flow, ...] = Field(
        (), validation_alias=AliasChoices("flow", "flows"), serialization_alias="flow"
    )
    sessions: tuple[Session, ...] = Field(
        (), validation_alias=AliasChoices("session", "sessions"), serialization_alias="session"
    )

    @property
    def link(self) -> tuple[Bottleneck, ...]:
        """The same as `links`, by its name in a scenario file."""
        return self.links

    @property
    def flow(self) -> tuple[Flow, ...]:
        """The same as `flows`, by its name in a scenario file."""
        return self.flows

    @property
    def session(self) -> tuple[Session, ...]:
        """The same as `sessions`, by its name in a scenario file."""
        return self.sessions
