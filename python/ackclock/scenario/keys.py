"""The tables of a scenario, and their keys. `make generate` writes this file.

The fields of the structs in `crates/sim/src/scenario` and `crates/net` say what each key means, its
range and its default.
"""

from typing import ClassVar, Literal

from ackclock.scenario.table import Table, Tables


class DropTail(Table):
    """A FIFO that drops what arrives while it is full."""

    kind: Literal["drop_tail"] = "drop_tail"


class Codel(Table):
    """CoDel: drops at the head when packets have waited too long for too long.

    target: Sojourn time that a standing queue may have (RFC 8289, section 4.3). (1us to 10s)
    interval: Time for which the sojourn time must stay above the target before the first drop:
        about the largest usual round-trip time (RFC 8289, section 4.2). (10us to 100s)
    mtu: IP bytes of a full packet (default: of the scenario, at least 1500). CoDel never drops
        while no more than this waits behind a packet (RFC 8289, section 5.5). (64B to 65535B)
    ecn: Mark ECN-capable packets instead of dropping them. Linux's default.
    """

    kind: Literal["codel"] = "codel"
    target: str = "5ms"
    interval: str = "100ms"
    mtu: str | None = None
    ecn: bool = False


class FqCodel(Table):
    """FQ-CoDel: a CoDel for each flow, served in turn, new flows first.

    target: Sojourn time that a standing queue may have (RFC 8290, section 5.2.2). (1us to 10s)
    interval: Time for which the sojourn time must stay above the target before the first drop (RFC
        8290, section 5.2.1). (10us to 100s)
    quantum: IP bytes that a flow may send in its turn (default: a full packet of the scenario, at
        least 1500). The RFC's 1514 (section 5.2.4) counts the Ethernet header of one. (256B to
        1048576B)
    mtu: IP bytes of a full packet (default: of the scenario, at least 1500). CoDel never drops
        while no more than this waits. (64B to 65535B)
    ecn: Mark ECN-capable packets instead of dropping them (RFC 8290, section 5.2.5).
    """

    kind: Literal["fq_codel"] = "fq_codel"
    target: str = "5ms"
    interval: str = "100ms"
    quantum: str | None = None
    mtu: str | None = None
    ecn: bool = True


class Fq(Table):
    """fq: a FIFO for each flow, served in turn, new flows first; no flow fills the queue alone.

    flow_limit_packets: Most packets that one flow may have in the queue. Linux's default. (1 to
        10000000)
    quantum: IP bytes that a flow may send in its turn (default: two full packets of the scenario,
        of at least 1500 bytes each). Linux's 3028 counts the Ethernet headers of two. (256B to
        1048576B)
    initial_quantum: IP bytes that a new flow may send in its first turn (default: ten full
        packets). (0B to 1048576B)
    ce_threshold: Mark an ECN-capable packet that has waited longer than this in its flow's queue.
        0: mark none, as Linux by default. (0s to 4294967295us)
    """

    kind: Literal["fq"] = "fq"
    flow_limit_packets: int = 100
    quantum: str | None = None
    initial_quantum: str | None = None
    ce_threshold: str = "0s"


class Red(Table):
    """RED: marks or drops at arrival, more often the longer the average queue.

    min: Average queue below which no packet is marked, IP bytes: 5 full packets (Floyd 1997, "RED:
        Discussions of Setting Parameters"). (1B to 4GB)
    max: Average queue from which every packet is marked, IP bytes: three times the minimum (Floyd
        1997). (1B to 4GB)
    max_p: Probability of a mark just below the maximum (Floyd 1997). (1e-06 to 1)
    weight_log2: The average moves by 1/2ⁿ of its distance to the queue at each arrival. This is n:
        about 0.002 (Floyd 1997). (0 to 16)
    idle_packet: Time of a typical packet, by which the average falls while the link idles (default:
        of a full packet at its `rate`, as at the root of an interface; 0s with a `burst`). Linux
        takes it 15.6 times as long: tc writes units of 64 ns, and the kernel reads us. 0: an idle
        time changes nothing, as below a token bucket. (0s to 10s)
    gentle: Above the maximum, raise the probability from max_p to 1 at twice the maximum, and mark
        every packet only from there (Floyd 2000, "Recommendation on using the gentle variant of
        RED").
    adaptive: Every 0.5 s, adapt max_p so that the average stays near the middle (Floyd, Gummadi and
        Shenker 2001, section 3).
    ecn: Mark ECN-capable packets instead of dropping them, also above the maximum. Linux's default.
    """

    kind: Literal["red"] = "red"
    min: str = "7500B"
    max: str = "22500B"
    max_p: float = 0.1
    weight_log2: int = 9
    idle_packet: str | None = None
    gentle: bool = False
    adaptive: bool = False
    ecn: bool = False


class Step(Table):
    """Step marking for DCTCP: marks every packet above a threshold and none below it.

    threshold_packets: Mark a packet that finds more packets than this at its arrival, the one in
        service included: 20 at 1 Gb/s, 65 at 10 Gb/s (Alizadeh et al. 2010, section 3.1 and 4). (0
        to 1000000000)
    threshold: If this is not 0, mark a packet whose sojourn time at the start of its service is
        longer, and do not use `threshold_packets`. As `ce_threshold` of Linux's `codel`. (0s to
        10s)
    """

    kind: Literal["step"] = "step"
    threshold_packets: int = 20
    threshold: str = "0s"


class Pie(Table):
    """PIE: drops at arrival with a probability that a controller derives from the delay.

    target: The queueing delay that the controller aims at (RFC 8033, section 4.2: `QDELAY_REF`).
        (1us to 10s)
    update: Time between two updates of the probability (RFC 8033, section 4.2: `T_UPDATE`). (100us
        to 10s)
    alpha_16ths_hz: How much a delay above the target raises the probability at each update: per
        second of delay, in units of 1/16 (RFC 8033, section 4.2: 1/8 Hz). (0 to 512)
    beta_16ths_hz: How much a growing delay raises the probability at each update: per second of
        growth, in units of 1/16 (RFC 8033, section 4.2: 1 1/4 Hz). (0 to 512)
    mtu: IP bytes of a full packet (default: of the scenario, at least 1500). PIE drops nothing
        while less than two of them wait. (64B to 65535B)
    ecn: Mark ECN-capable packets instead of dropping them while the probability is at most 10 %
        (RFC 8033, section 5.1). Linux's default.
    """

    kind: Literal["pie"] = "pie"
    target: str = "15ms"
    update: str = "15ms"
    alpha_16ths_hz: int = 2
    beta_16ths_hz: int = 20
    mtu: str | None = None
    ecn: bool = False


class Dualpi2(Table):
    """DualPI2: a queue of low latency for L4S packets beside one for classic packets, coupled.

    target: The queueing delay of the classic queue that the controller aims at (RFC 9332, appendix
        A.1). (1us to 1s)
    update: Time between two updates of the probability. Linux's default; RFC 9332, appendix A.1,
        has 15 ms. (100us to 1s)
    alpha_256ths_hz: How much a delay above the target raises the probability at each update: per
        second of delay, in units of 1/256. Linux's default: 0.16 Hz. (1 to 1000000)
    beta_256ths_hz: How much a growing delay raises the probability at each update: per second of
        growth, in units of 1/256. Linux's default: 3.2 Hz. (1 to 1000000)
    coupling: The L queue is marked with the base probability times this, the classic queue with its
        square (RFC 9332, section 2.1). (1 to 255)
    step: Sojourn time above which every packet of the L queue is marked. Linux's default. (0s to
        1s)
    classic_share_percent: Share of the link that the classic queue gets at least, percent. Linux's
        default. (0 to 100)
    mtu: IP bytes of a full packet (default: of the scenario, at least 1500). Less than two of them
        waiting are no reason to mark. (64B to 65535B)
    """

    kind: Literal["dualpi2"] = "dualpi2"
    target: str = "15ms"
    update: str = "16ms"
    alpha_256ths_hz: int = 41
    beta_256ths_hz: int = 819
    coupling: int = 2
    step: str = "1ms"
    classic_share_percent: int = 10
    mtu: str | None = None


class Bernoulli(Table):
    """Each packet is lost with the same probability, whatever happened to others.

    p: Probability that a packet is lost. (0 to 1)
    """

    p: float
    kind: Literal["bernoulli"] = "bernoulli"


class GilbertElliott(Table):
    """Losses in bursts: the model of Gilbert (1960) and Elliott (1963), as netem's `gemodel`.

    p: Probability that a packet changes the state from good to bad. A share p / (p + r) of the
        packets finds the bad state. (0 to 1)
    r: Probability that a packet changes the state from bad to good: the bad state lasts for 1 / r
        packets in the mean. (1e-09 to 1)
    h: Probability that a packet passes in the bad state. netem takes 1 − h. (0 to 1)
    k: Probability that a packet passes in the good state. netem takes 1 − k. (0 to 1)
    """

    p: float
    r: float
    kind: Literal["gilbert_elliott"] = "gilbert_elliott"
    h: float = 0
    k: float = 1


class BadTimes(Table):
    """Gilbert's and Elliott's model by time: good and bad times of exponential lengths.

    good: Mean length of a good time, in which no packet is lost. (1us to 1000h)
    bad: Mean length of a bad time. (1us to 1000h)
    h: Probability that a packet passes in a bad time. (0 to 1)
    """

    good: str
    bad: str
    kind: Literal["bad_times"] = "bad_times"
    h: float = 0


class Outages(Table):
    """Outages at regular times, in which every packet is lost.

    every: Time from the start of an outage to the next one, and until the first. (1us to 1000h)
    lasts: How long each lasts. (1us to 1000h)
    """

    every: str
    lasts: str
    kind: Literal["outages"] = "outages"


class Reorder(Table):
    """Packets that come late.

    p: Probability that a packet comes late. (0 to 1)
    delay: How much later it reaches the queue. Packets that come meanwhile overtake it. (1ns to
        100s)
    """

    p: float
    delay: str


class Policer(Table):
    """Rate and burst of a policer. Packets that it lets pass go on to the queue of the link.

    rate: Rate of its tokens, IP headers included. (1kbit to 1tbit)
    burst: Size of its bucket, full at the start: what may pass at once after an idle time. (64B to
        17592186044416B)
    """

    rate: str
    burst: str


class RateStep(Table):
    """A change of a link's rate.

    time: When the rate changes, also of what is left of a packet in service. (0s to 1000h)
    rate: The rate from then on; "0bit": nothing leaves. (1kbit to 1tbit, or 0bit)
    """

    time: str
    rate: str


class DelayStep(Table):
    """A change of the delay behind a link.

    time: When the delay changes. Packets that have left the link before keep theirs; none
        overtakes. (0s to 1000h)
    delay: The delay from then on. (0s to 100s)
    """

    time: str
    delay: str


class LossStep(Table):
    """A change of the probability of a loss.

    time: When the probability changes. (0s to 1000h)
    p: Probability that a packet is lost from then on, whatever `loss` says; 1: the link is down. (0
        to 1)
    """

    time: str
    p: float


class DelayJitter(Table):
    """The delays of a path that differ from packet to packet.

    by: How far a delay is from the mean: of `uniform` at most, of `normal` the standard deviation.
        (1ns to 100s)
    distribution: Distribution of the delays, as of netem. None is below 0.
    overtaking: Whether packets overtake each other, as with netem without a rate. Otherwise they
        keep their order.
    """

    by: str
    distribution: Literal["uniform", "normal", "pareto"] = "uniform"
    overtaking: bool = False


class Bottleneck(Table):
    """The shared link and the queue before it.

    buffer: Size of the queue, the packet in service included: "100packets", "2MB", "50ms" (what the
        link carries in that time) or "1bdp" (of the longest RTT of the flows that pass it, delays
        of links included).
    rate: Rate of the link, IP headers included: "250mbit". Required, except with a `trace`, whose
        mean rate it is then. (1kbit to 1tbit)
    drop_every_packets: Drop every Nth data packet of each direction before it reaches the queue
        (default: drop none). (2 to 9223372036854775807)
    drop_packets: Drop the data packets of each direction with these numbers before they reach the
        queue: 1 is the first, and a retransmission counts as one more (default: drop none).
    queue: The queue discipline: its name, or a table of its `kind` and its parameters.
    delay: Propagation delay behind the link, beside the `rtt` of each flow. (0s to 100s)
    burst: What may leave at once after an idle time: the size of a token bucket, as of Linux's
        `tbf`. "0B": a wire, on which each packet takes its time. (0B to 17592186044416B)
    loss: Random loss of packets before they reach the queue: of each one with this probability,
        0.001, or a table of its `kind` and its parameters (default: none).
    duplicate: Probability that a packet is sent twice. The copy follows it to the queue. (0 to 1)
    reorder: Packets that reach the queue late, so that others overtake them: a table of their
        probability `p` and their extra `delay` (default: none).
    policer: A policer before the queue: drops what exceeds its `rate` and its `burst` (default:
        none).
    trace: File of a recorded link, as of mahimahi, instead of `rate`: times of the opportunities to
        deliver a packet of 1500 bytes, in ms, one each line, repeated without end.
    tick: Time between two ticks of a router that works at its timer's ticks, as dummynet: a packet
        leaves at the first tick after its service, and takes room until then. Packets of a tick go
        on at 1 Gb/s, or at the rate if that is faster. "0s": leaves at once. (0s to 1s)
    delay_jitter: Delays behind the link that differ from packet to packet: a table of how far they
        are from `delay`, `by` (default: none).
    limit_packets: Most packets that the queue and the delay behind the link hold together, as
        netem's `limit` (default: no limit). (1 to 4000000000)
    at: Where the link is: `sender`: the interface of the host that sends, the first link of its
        flows, so that TCP small queues keep its queue short.
    timeline: File of the link in time, CSV or Parquet: a column `time_s`, and those that change of
        `rate_mbit`, `delay_ms`, `loss` and `up` (0: every packet is lost), or in other units. Or a
        delay in ms on each line, for 10 ms each, as LeoReplayer's.
    rate_at: Changes of the rate, each with its `time` and its `rate` from then on, also of what is
        left of a packet; "0bit": nothing leaves (default: none).
    delay_at: Changes of the delay behind the link, each with its `time` and its `delay` from then
        on; no packet overtakes (default: none).
    loss_at: Changes of the loss, each with its `time` and its probability `p` from then on,
        whatever `loss` says; 1: the link is down (default: none).
    """

    tables: ClassVar[Tables] = {
        "queue": {
            "drop_tail": DropTail,
            "codel": Codel,
            "fq_codel": FqCodel,
            "fq": Fq,
            "red": Red,
            "step": Step,
            "pie": Pie,
            "dualpi2": Dualpi2,
        },
        "loss": {
            "bernoulli": Bernoulli,
            "gilbert_elliott": GilbertElliott,
            "bad_times": BadTimes,
            "outages": Outages,
        },
        "reorder": Reorder,
        "policer": Policer,
        "delay_jitter": DelayJitter,
        "rate_at": RateStep,
        "delay_at": DelayStep,
        "loss_at": LossStep,
    }

    buffer: str
    rate: str | None = None
    drop_every_packets: int | None = None
    drop_packets: tuple[int, ...] = ()
    queue: DropTail | Codel | FqCodel | Fq | Red | Step | Pie | Dualpi2 = DropTail.of(
        {"kind": "drop_tail"}
    )
    delay: str = "0s"
    burst: str = "0B"
    loss: Bernoulli | GilbertElliott | BadTimes | Outages | None = None
    duplicate: float = 0
    reorder: Reorder | None = None
    policer: Policer | None = None
    trace: str | None = None
    tick: str = "0s"
    delay_jitter: DelayJitter | None = None
    limit_packets: int | None = None
    at: Literal["network", "sender"] = "network"
    timeline: str | None = None
    rate_at: tuple[RateStep, ...] = ()
    delay_at: tuple[DelayStep, ...] = ()
    loss_at: tuple[LossStep, ...] = ()


class Frames(Table):
    """What an application writes, the first frame as soon as it is connected.

    size: Size of a frame; over TCP rounded up to full segments. (1B to 1099511627776B)
    every: Time between two frames. (1us to 1000h)
    """

    size: str
    every: str


class Write(Table):
    """A phase of what an application writes. It lasts until the next one begins.

    at: When it begins: time after the flow is connected. (0s to 1000h)
    size: Size of a write; over TCP rounded up to full segments (default: from then on there is
        always data). (1B to 1099511627776B)
    every: Time between two writes (default: it writes once). (1us to 1000h)
    pause: Instead of `every`: the pause from when all is acknowledged until it writes again, as who
        answers one request after the other. (0s to 1000h)
    """

    at: str = "0s"
    size: str | None = None
    every: str | None = None
    pause: str | None = None


class ReadStep(Table):
    """A change of how fast an application reads.

    time: When it changes; if it then reads at all, it reads at once. (0s to 1000h)
    rate: The rate from then on; "0bit": it does not read. (1kbit to 1tbit, or 0bit)
    """

    time: str
    rate: str


class Flow(Table):
    """One TCP connection that always has data to send, or `count` of them.

    algorithm: NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` or the
        path of a C file. `kernel:NAME` is Linux's own algorithm, only on the kernel and on vlinux.
    stack: What sends and receives in place of Linux's TCP: the QUIC stack `quinn` or `noq`, whose
        own CUBIC, Reno or BBR `algorithm` is then; or `udp` at a constant `rate`, with the
        algorithm `none` (default: Linux's TCP).
    profile: TCP stack of its two hosts (default: the scenario's `profile`).
    tso: Whether its hosts send bursts that the network card cuts into packets (default: the
        scenario's `tso`; that of its own `profile`, if the scenario says nothing).
    direction: Direction of its data: `forward` or `reverse`. With a reverse flow or session the
        reverse path gets the same bottleneck, where ACKs and data share a queue.
    route: Numbers of the links that its data passes, in order (default: every link).
    back: Numbers of the links that its ACKs pass, in order (default: none).
    rtt: Round-trip propagation delay (default: the scenario's `rtt`). The delays of the links on
        its way come on top. (1us to 100s)
    rtt_exponential: Mean of an extra delay added to `rtt`, drawn once per connection from an
        exponential distribution. (0s to 100s)
    start: Time at which it connects; of a session: at which its first pause starts. (0s to 1000h)
    start_spread: Longest extra delay after `start`, drawn uniformly from 0 to this. (0s to 1000h)
    stop: Time at which its application stops sending (default: never). (0s to 1000h)
    frames: Its application writes a frame each so often, as sound and video do, and otherwise
        nothing: a table of the `size` of a frame (whole segments over TCP) and the time `every`
        (default: it always has data to send).
    size: Data that it sends in all, over TCP in whole segments; of a session: the mean size of a
        transfer. "2MB" or "600packets" (default: one connection without end).
    receive_window: Receive window (default: no limit). (1B to 1000000GB)
    receive_buffer: Most of its receive buffer (`tcp_rmem`), by which Linux tunes the window
        (default: it is constant). (24kB to 1000000GB)
    send_buffer: Sender's buffer for unacknowledged data (default: no limit). (1B to 1000000GB)
    read_rate: How fast the application of its receiver reads, "0bit": not at all. What it leaves
        fills `receive_buffer`, or twice `receive_window` (default: it reads all). (1kbit to 1tbit,
        or 0bit)
    mss: Payload of a full segment in bytes, at most the scenario's `mss`, as from a smaller MTU at
        both hosts (default: the scenario's `mss`). (64 to 65483)
    initcwnd: Packets of the initial window, as a route's `initcwnd` (default: 10; of Linux 2.6 as
        RFC 3390). (1 to 1000)
    max_pacing_rate: Highest rate at which its sender paces, without headers, as
        `SO_MAX_PACING_RATE`; with one it paces, whatever `pacing` says (default: no limit). (1kbit
        to 1tbit)
    sack: Whether both hosts use SACK (RFC 2018; `tcp_sack` of today's Linux); else NewReno (RFC
        6582).
    rack: Whether time tells what is lost (RACK; `tcp_recovery` until Linux 6.16); else three SACKed
        segments above it do (RFC 6675), or as many as the path reorders.
    tlp: Whether it sends tail loss probes (RFC 8985; `tcp_early_retrans` of today's Linux).
    timestamps: Whether both hosts send timestamps (RFC 7323; `tcp_timestamps` of today's Linux), 12
        bytes of each header. Without them SACK has room for a fourth block.
    slow_start_after_idle: Whether its window shrinks when it has not been used for a timeout (RFC
        2861; `tcp_slow_start_after_idle`).
    rto_min: A timeout exceeds the RTT by this or more, as a route's `rto_min` at both hosts: no ACK
        is delayed for as long (default: 200 ms). (1ms to 120s)
    initial_ssthresh_packets: ssthresh at the start, as from a route's cached metric (default: no
        limit). (2 to 2147483647)
    ecn: Whether both hosts use ECN (RFC 3168), if the path lets the first SYN through.
        `"accurate"`: the receiver counts marks, and each ACK tells the count (RFC 9768).
    delayed_ack_segments: Full segments per ACK (default: the scenario's `delayed_ack_segments`). (1
        to 64)
    reads: When the application of its receiver reads (default: the scenario's `reads`).
    gro: The device of its receiver merges packets (GRO) until it has been quiet for so long
        (`gro_flush_timeout`), so that TCP takes up to 64 KiB as one (default: it merges none). (1us
        to 1ms)
    hides: What its receiver hides from it, to get more than its share: `nothing`; `losses`, so that
        it acknowledges packets that never came; or `marks`, of which it echoes none.
    rate: How fast `udp` sends, IP headers included. (1kbit to 1tbit)
    count: Number of flows like this one. (1 to 100000)
    writes: What its application writes on the one connection, phase after phase: a list of tables
        of `at`, `size` (whole segments over TCP), `every` and `pause`. `frames` is the same with
        one phase (default: it always has data to send).
    read_rate_at: When `read_rate` changes: a list of tables of `time` and `rate`.
    """

    tables: ClassVar[Tables] = {"frames": Frames, "writes": Write, "read_rate_at": ReadStep}

    algorithm: str
    stack: Literal["quinn", "noq", "udp"] | None = None
    profile: (
        Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6", "linux-7"] | None
    ) = None
    tso: bool | None = None
    direction: Literal["forward", "reverse"] = "forward"
    route: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    rtt: str | None = None
    rtt_exponential: str = "0s"
    start: str = "0s"
    start_spread: str = "0s"
    stop: str | None = None
    frames: Frames | None = None
    size: str | None = None
    receive_window: str | None = None
    receive_buffer: str | None = None
    send_buffer: str | None = None
    read_rate: str | None = None
    mss: int | None = None
    initcwnd: int | None = None
    max_pacing_rate: str | None = None
    sack: bool = True
    rack: bool = True
    tlp: bool = True
    timestamps: bool = True
    slow_start_after_idle: bool = True
    rto_min: str | None = None
    initial_ssthresh_packets: int | None = None
    ecn: Literal[False, True, "accurate"] = False
    delayed_ack_segments: int | None = None
    reads: Literal["at once", "bulk"] | None = None
    gro: str | None = None
    hides: Literal["nothing", "losses", "marks"] = "nothing"
    rate: str | None = None
    count: int = 1
    writes: tuple[Write, ...] = ()
    read_rate_at: tuple[ReadStep, ...] = ()


class Session(Table):
    """Background traffic, one connection after another: web traffic, downloads.

    A session waits, opens a connection, sends, and starts again when all data is acknowledged.

    algorithm: NAME[@PRESET][:PARAMETER=VALUE,…]. NAME is an algorithm of `ackclock list` or the
        path of a C file. `kernel:NAME` is Linux's own algorithm, only on the kernel and on vlinux.
    profile: TCP stack of its two hosts (default: the scenario's `profile`).
    tso: Whether its hosts send bursts that the network card cuts into packets (default: the
        scenario's `tso`; that of its own `profile`, if the scenario says nothing).
    direction: Direction of its data: `forward` or `reverse`. With a reverse flow or session the
        reverse path gets the same bottleneck, where ACKs and data share a queue.
    route: Numbers of the links that its data passes, in order (default: every link).
    back: Numbers of the links that its ACKs pass, in order (default: none).
    rtt: Round-trip propagation delay (default: the scenario's `rtt`). The delays of the links on
        its way come on top. (1us to 100s)
    rtt_exponential: Mean of an extra delay added to `rtt`, drawn once per connection from an
        exponential distribution. (0s to 100s)
    start: Time at which it connects; of a session: at which its first pause starts. (0s to 1000h)
    start_spread: Longest extra delay after `start`, drawn uniformly from 0 to this. (0s to 1000h)
    size: Data that it sends in all, over TCP in whole segments; of a session: the mean size of a
        transfer. "2MB" or "600packets" (default: one connection without end).
    receive_window: Receive window (default: no limit). (1B to 1000000GB)
    receive_buffer: Most of its receive buffer (`tcp_rmem`), by which Linux tunes the window
        (default: it is constant). (24kB to 1000000GB)
    send_buffer: Sender's buffer for unacknowledged data (default: no limit). (1B to 1000000GB)
    mss: Payload of a full segment in bytes, at most the scenario's `mss`, as from a smaller MTU at
        both hosts (default: the scenario's `mss`). (64 to 65483)
    initcwnd: Packets of the initial window, as a route's `initcwnd` (default: 10; of Linux 2.6 as
        RFC 3390). (1 to 1000)
    max_pacing_rate: Highest rate at which its sender paces, without headers, as
        `SO_MAX_PACING_RATE`; with one it paces, whatever `pacing` says (default: no limit). (1kbit
        to 1tbit)
    sack: Whether both hosts use SACK (RFC 2018; `tcp_sack` of today's Linux); else NewReno (RFC
        6582).
    rack: Whether time tells what is lost (RACK; `tcp_recovery` until Linux 6.16); else three SACKed
        segments above it do (RFC 6675), or as many as the path reorders.
    tlp: Whether it sends tail loss probes (RFC 8985; `tcp_early_retrans` of today's Linux).
    timestamps: Whether both hosts send timestamps (RFC 7323; `tcp_timestamps` of today's Linux), 12
        bytes of each header. Without them SACK has room for a fourth block.
    slow_start_after_idle: Whether its window shrinks when it has not been used for a timeout (RFC
        2861; `tcp_slow_start_after_idle`).
    rto_min: A timeout exceeds the RTT by this or more, as a route's `rto_min` at both hosts: no ACK
        is delayed for as long (default: 200 ms). (1ms to 120s)
    initial_ssthresh_packets: ssthresh at the start, as from a route's cached metric (default: no
        limit). (2 to 2147483647)
    ecn: Whether both hosts use ECN (RFC 3168), if the path lets the first SYN through.
        `"accurate"`: the receiver counts marks, and each ACK tells the count (RFC 9768).
    delayed_ack_segments: Full segments per ACK (default: the scenario's `delayed_ack_segments`). (1
        to 64)
    reads: When the application of its receiver reads (default: the scenario's `reads`).
    gro: The device of its receiver merges packets (GRO) until it has been quiet for so long
        (`gro_flush_timeout`), so that TCP takes up to 64 KiB as one (default: it merges none). (1us
        to 1ms)
    gap: Mean pause before each connection, drawn from an exponential distribution. (0s to 1000h)
    pareto: Shape of a Pareto distribution of sizes (default: equal sizes). (1.001 to 100)
    lognormal: Standard deviation of the logarithm of lognormal sizes (default: equal sizes). (0.001
        to 10)
    route_ssthresh: Whether each connection starts with the ssthresh that the route kept of those
        before (`tcp_update_metrics`): Linux 2.6 does so, and later kernels if
        `tcp_no_ssthresh_metrics_save` is 0. The first one starts with `initial_ssthresh_packets`.
        Each session has a route of its own.
    count: Number of sessions like this one. (1 to 100000)
    """

    algorithm: str
    profile: (
        Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6", "linux-7"] | None
    ) = None
    tso: bool | None = None
    direction: Literal["forward", "reverse"] = "forward"
    route: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    rtt: str | None = None
    rtt_exponential: str = "0s"
    start: str = "0s"
    start_spread: str = "0s"
    size: str | None = None
    receive_window: str | None = None
    receive_buffer: str | None = None
    send_buffer: str | None = None
    mss: int | None = None
    initcwnd: int | None = None
    max_pacing_rate: str | None = None
    sack: bool = True
    rack: bool = True
    tlp: bool = True
    timestamps: bool = True
    slow_start_after_idle: bool = True
    rto_min: str | None = None
    initial_ssthresh_packets: int | None = None
    ecn: Literal[False, True, "accurate"] = False
    delayed_ack_segments: int | None = None
    reads: Literal["at once", "bulk"] | None = None
    gro: str | None = None
    gap: str = "0s"
    pareto: float | None = None
    lognormal: float | None = None
    route_ssthresh: bool = False
    count: int = 1


class Change(Table):
    """What goes another way from a time on, of a flow or a link: a branch of the run without it.

    at: When: after everything earlier, and before everything at this time. (1ns to 1000h)
    flow: Number of a flow, for its `algorithm`, `drop_packets` or `keep_packets`. (1 to 100000)
    algorithm: The flow's algorithm from then on. The connection stays, as with `TCP_CONGESTION`; of
        the same algorithm only parameters change.
    drop_packets: How many of its next data packets are lost before the first queue; 0: no more are.
        (0 to 1000000)
    keep_packets: How many of its next data packets that would be lost are not: a full queue makes
        room; 0: no more. (0 to 1000000)
    link: Number of a link, for its `rate`, `delay` or `loss`; 1: the bottleneck. (1 to 1000)
    rate: Its rate from then on; "0bit": nothing leaves. (1kbit to 1tbit, or 0bit)
    delay: The delay behind it from then on. (0s to 100s)
    loss: Probability that a packet is lost from then on. (0 to 1)
    """

    at: str
    flow: int | None = None
    algorithm: str | None = None
    drop_packets: int | None = None
    keep_packets: int | None = None
    link: int | None = None
    rate: str | None = None
    delay: str | None = None
    loss: float | None = None


class Program(Table):
    """A program on one of two hosts, which `--on vlinux` runs as it is (docs/programs.md).

    A lone bottleneck is there in both directions.

    command: Its words, as a shell reads them.
    side: Its host: `"client"`, whose data passes the links, or `"server"`.
    start: When it begins. Servers with the same time begin one by one, each once the one before has
        a port, and clients after them. (0s to 1000h)
    stop: When it is asked to end (SIGTERM); without it, it may run to the end of the scenario. (0s
        to 1000h)
    call: What each of its system calls takes: computing takes no time. (0s to 1s)
    environment: Variables of its environment beside the user's, as a shell reads them: `"A=1 B='of
        two words'"`.
    files: Files and directories that stand in its directory, as a shell reads them: `"nginx.conf
        'my page'"`. Paths begin at the scenario file; it finds them by their last names.
    algorithm: The algorithm with which sockets of its host begin (default: Linux's own,
        `kernel:cubic`).
    rtt: RTT without queues, one for all programs (default: the scenario's). (1ns to 100s)
    """

    command: str
    side: Literal["client", "server"] = "client"
    start: str = "0s"
    stop: str | None = None
    call: str = "1us"
    environment: str = ""
    files: str = ""
    algorithm: str | None = None
    rtt: str | None = None


class ScenarioKeys(Table):
    """What to run. It needs a duration, a bottleneck and at least one flow, session or program.

    duration: Simulated time. (1ns to 1000h)
    rtt: Round-trip propagation delay of each flow that has no `rtt` of its own. (1us to 100s)
    seed: Random seed. Equal seeds give equal results. (0 to 9223372036854775807)
    profile: TCP stack of the hosts: `linux-6`, `linux-7`, `linux-2.6.32`, `linux-2.6.25` or
        `linux-2.6.18` (docs/profiles.md).
    hz: Timer ticks per second of the hosts' kernel (Linux's HZ). (24 to 10000)
    mss: Payload of a full segment in bytes. Headers add 52 bytes. (64 to 65483)
    jitter: Longest delay before a host handles an ACK, drawn uniformly from 0 to this. It breaks
        phase effects, as real hosts do. ACKs keep their order. (0s to 1s)
    delayed_ack_segments: Full segments per ACK; 1: no delayed ACKs, more than 2: ACKs thinned by
        their receiver. (1 to 64)
    reads: When the application of a receiver reads. `"at once"`: as soon as data arrives; a
        receiver with `linux-6` then also acknowledges the end of each burst. `"bulk"`: each 256 KiB
        (SO_RCVLOWAT).
    tso: Whether hosts send bursts that the network card cuts into packets (default: true for
        `linux-6`, false for the others). With `tso`, Linux 2.6 saves data for bursts of up to 64
        KB.
    pacing: Whether senders space their packets at `sk_pacing_rate`, as with fq.
    sack_cost: Time that a sending host needs for each ACK with SACK blocks, for each packet that is
        not yet acknowledged: Linux 2.6 walks over them. At most 2500 ACKs wait meanwhile (Leith et
        al. 2007). (0s to 1ms)
    sample_interval: Time between two samples; "0s": no samples. (0s to 1000h)
    host: `"as installed"`: where nothing else is written, a `receive_buffer` of 6 MiB, or 32 MiB
        with `linux-7` (`tcp_rmem`), and `hz` 250 (docs/vlinux.md).
    bottleneck: The shared link: link 1.
    links: More links, numbered from 2: packets pass links in series.
    flows: Flows, numbered from 1 in every table.
    sessions: Sources of background traffic, numbered from 1 in their own tables.
    changes: What goes another way from a time on: a branch of the run without it.
    programs: Programs on two hosts, beside the flows; only Linux in virtual time runs them.
    """

    tables: ClassVar[Tables] = {
        "bottleneck": Bottleneck,
        "link": Bottleneck,
        "flow": Flow,
        "session": Session,
        "change": Change,
        "program": Program,
    }

    duration: str
    rtt: str | None = None
    seed: int = 1
    profile: Literal["linux-2.6.18", "linux-2.6.25", "linux-2.6.32", "linux-6", "linux-7"] = (
        "linux-6"
    )
    hz: int = 1000
    mss: int = 1448
    jitter: str = "20us"
    delayed_ack_segments: int = 2
    reads: Literal["at once", "bulk"] = "at once"
    tso: bool | None = None
    pacing: bool = False
    sack_cost: str = "0s"
    sample_interval: str = "100ms"
    host: Literal["as installed"] | None = None
    bottleneck: Bottleneck
    links: tuple[Bottleneck, ...] = ()
    flows: tuple[Flow, ...] = ()
    sessions: tuple[Session, ...] = ()
    changes: tuple[Change, ...] = ()
    programs: tuple[Program, ...] = ()

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

    @property
    def change(self) -> tuple[Change, ...]:
        """The same as `changes`, by its name in a scenario file."""
        return self.changes

    @property
    def program(self) -> tuple[Program, ...]:
        """The same as `programs`, by its name in a scenario file."""
        return self.programs
