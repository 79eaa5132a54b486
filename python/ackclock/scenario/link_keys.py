"""The keys of a link. `make generate` writes this file.

The fields of the structs in `crates/net` say what each key means, its range and its
default.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Strict

from ackclock.scenario.kinds import (
    Billionths,
    File,
    Integer,
    Millionths,
    Rate,
    Room,
    Size,
    Time,
    Trace,
)
from ackclock.scenario.model import Model, or_short, tagged


class DropTail(Model):
    """A FIFO that drops what arrives while it is full."""

    kind: Literal["drop_tail"] = "drop_tail"


class Codel(Model):
    """CoDel: drops at the head when packets have waited too long for too long."""

    kind: Literal["codel"] = "codel"
    target: Annotated[str, Time(1_000, 10_000_000_000, "5ms")] = Field(
        "5ms", description="Sojourn time that a standing queue may have (RFC 8289, section 4.3)."
    )
    interval: Annotated[str, Time(10_000, 100_000_000_000, "100ms")] = Field(
        "100ms",
        description="Time for which the sojourn time must stay above the target before the first "
        "drop: about the largest usual round-trip time (RFC 8289, section 4.2).",
    )
    mtu: Annotated[str, Size(64, 65_535, "1500B")] | None = Field(
        None,
        description="IP bytes of a full packet (default: of the scenario, at least 1500). CoDel "
        "never drops while no more than this waits behind a packet (RFC 8289, "
        "section 5.5).",
    )
    ecn: Annotated[bool, Strict()] = Field(
        False, description="Mark ECN-capable packets instead of dropping them. Linux's default."
    )


class FqCodel(Model):
    """FQ-CoDel: a CoDel for each flow, served in turn, new flows first."""

    kind: Literal["fq_codel"] = "fq_codel"
    target: Annotated[str, Time(1_000, 10_000_000_000, "5ms")] = Field(
        "5ms", description="Sojourn time that a standing queue may have (RFC 8290, section 5.2.2)."
    )
    interval: Annotated[str, Time(10_000, 100_000_000_000, "100ms")] = Field(
        "100ms",
        description="Time for which the sojourn time must stay above the target before the first "
        "drop (RFC 8290, section 5.2.1).",
    )
    quantum: Annotated[str, Size(256, 1_048_576, "1500B")] | None = Field(
        None,
        description="IP bytes that a flow may send in its turn (default: a full packet of the "
        "scenario, at least 1500). The RFC's 1514 (section 5.2.4) counts the "
        "Ethernet header of one.",
    )
    mtu: Annotated[str, Size(64, 65_535, "1500B")] | None = Field(
        None,
        description="IP bytes of a full packet (default: of the scenario, at least 1500). CoDel "
        "never drops while no more than this waits.",
    )
    ecn: Annotated[bool, Strict()] = Field(
        True,
        description="Mark ECN-capable packets instead of dropping them (RFC 8290, section 5.2.5).",
    )


class Fq(Model):
    """fq: a FIFO for each flow, served in turn, new flows first; no flow fills the queue alone."""

    kind: Literal["fq"] = "fq"
    flow_limit_packets: Annotated[int, Integer(1, 10_000_000)] = Field(
        100, description="Most packets that one flow may have in the queue. Linux's default."
    )
    quantum: Annotated[str, Size(256, 1_048_576, "3kB")] | None = Field(
        None,
        description="IP bytes that a flow may send in its turn (default: two full packets of the "
        "scenario, of at least 1500 bytes each). Linux's 3028 counts the Ethernet "
        "headers of two.",
    )
    initial_quantum: Annotated[str, Size(0, 1_048_576, "15kB")] | None = Field(
        None,
        description="IP bytes that a new flow may send in its first turn (default: ten full "
        "packets).",
    )
    ce_threshold: Annotated[str, Time(0, 4_294_967_295_000)] = Field(
        "0s",
        description="Mark an ECN-capable packet that has waited longer than this in its flow's "
        "queue. 0: mark none, as Linux by default.",
    )


class Red(Model):
    """RED: marks or drops at arrival, more often the longer the average queue."""

    kind: Literal["red"] = "red"
    min: Annotated[str, Size(1, 4_000_000_000, "7500B")] = Field(
        "7500B",
        description="Average queue below which no packet is marked, IP bytes: 5 full packets "
        '(Floyd 1997, "RED: Discussions of Setting Parameters").',
    )
    max: Annotated[str, Size(1, 4_000_000_000, "22500B")] = Field(
        "22500B",
        description="Average queue from which every packet is marked, IP bytes: three times the "
        "minimum (Floyd 1997).",
    )
    max_p: Annotated[float, Millionths(1, 1_000_000)] = Field(
        0.1, description="Probability of a mark just below the maximum (Floyd 1997)."
    )
    weight_log2: Annotated[int, Integer(0, 16)] = Field(
        9,
        description="The average moves by 1/2ⁿ of its distance to the queue at each arrival. "
        "This is n: about 0.002 (Floyd 1997).",
    )
    idle_packet: Annotated[str, Time(0, 10_000_000_000)] = Field(
        "0s",
        description="Time that the link needs for a typical packet. After an idle time the "
        "average is as if packets of this time had found an empty queue (Floyd and "
        "Jacobson 1993, section 4). 0: an idle time does not change the average, as "
        "in Linux below a token bucket.",
    )
    gentle: Annotated[bool, Strict()] = Field(
        False,
        description="Above the maximum, raise the probability from max_p to 1 at twice the "
        'maximum, and mark every packet only from there (Floyd 2000, "Recommendation '
        'on using the gentle variant of RED").',
    )
    adaptive: Annotated[bool, Strict()] = Field(
        False,
        description="Every 0.5 s, adapt max_p so that the average stays near the middle (Floyd, "
        "Gummadi and Shenker 2001, section 3).",
    )
    ecn: Annotated[bool, Strict()] = Field(
        False,
        description="Mark ECN-capable packets instead of dropping them, also above the maximum. "
        "Linux's default.",
    )


class Step(Model):
    """Step marking for DCTCP: marks every packet above a threshold and none below it."""

    kind: Literal["step"] = "step"
    threshold_packets: Annotated[int, Integer(0, 1_000_000_000)] = Field(
        20,
        description="Mark a packet that finds more packets than this at its arrival, the one in "
        "service included: 20 at 1 Gb/s, 65 at 10 Gb/s (Alizadeh et al. 2010, "
        "section 3.1 and 4).",
    )
    threshold: Annotated[str, Time(0, 10_000_000_000)] = Field(
        "0s",
        description="If this is not 0, mark a packet whose sojourn time at the start of its "
        "service is longer, and do not use `threshold_packets`. As `ce_threshold` of "
        "Linux's `codel`.",
    )


class Pie(Model):
    """PIE: drops at arrival with a probability that a controller derives from the delay."""

    kind: Literal["pie"] = "pie"
    target: Annotated[str, Time(1_000, 10_000_000_000, "15ms")] = Field(
        "15ms",
        description="The queueing delay that the controller aims at (RFC 8033, section 4.2: "
        "`QDELAY_REF`).",
    )
    update: Annotated[str, Time(100_000, 10_000_000_000, "15ms")] = Field(
        "15ms",
        description="Time between two updates of the probability (RFC 8033, section 4.2: "
        "`T_UPDATE`).",
    )
    alpha_16ths_hz: Annotated[int, Integer(0, 512)] = Field(
        2,
        description="How much a delay above the target raises the probability at each update: "
        "per second of delay, in units of 1/16 (RFC 8033, section 4.2: 1/8 Hz).",
    )
    beta_16ths_hz: Annotated[int, Integer(0, 512)] = Field(
        20,
        description="How much a growing delay raises the probability at each update: per second "
        "of growth, in units of 1/16 (RFC 8033, section 4.2: 1 1/4 Hz).",
    )
    mtu: Annotated[str, Size(64, 65_535, "1500B")] | None = Field(
        None,
        description="IP bytes of a full packet (default: of the scenario, at least 1500). PIE "
        "drops nothing while less than two of them wait.",
    )
    ecn: Annotated[bool, Strict()] = Field(
        False,
        description="Mark ECN-capable packets instead of dropping them while the probability is "
        "at most 10 % (RFC 8033, section 5.1). Linux's default.",
    )


class Dualpi2(Model):
    """DualPI2: a queue of low latency for L4S packets beside one for classic packets, coupled."""

    kind: Literal["dualpi2"] = "dualpi2"
    target: Annotated[str, Time(1_000, 1_000_000_000, "15ms")] = Field(
        "15ms",
        description="The queueing delay of the classic queue that the controller aims at (RFC "
        "9332, appendix A.1).",
    )
    update: Annotated[str, Time(100_000, 1_000_000_000, "16ms")] = Field(
        "16ms",
        description="Time between two updates of the probability. Linux's default; RFC 9332, "
        "appendix A.1, has 15 ms.",
    )
    alpha_256ths_hz: Annotated[int, Integer(1, 1_000_000)] = Field(
        41,
        description="How much a delay above the target raises the probability at each update: "
        "per second of delay, in units of 1/256. Linux's default: 0.16 Hz.",
    )
    beta_256ths_hz: Annotated[int, Integer(1, 1_000_000)] = Field(
        819,
        description="How much a growing delay raises the probability at each update: per second "
        "of growth, in units of 1/256. Linux's default: 3.2 Hz.",
    )
    coupling: Annotated[int, Integer(1, 255)] = Field(
        2,
        description="The L queue is marked with the base probability times this, the classic "
        "queue with its square (RFC 9332, section 2.1).",
    )
    step: Annotated[str, Time(0, 1_000_000_000, "1ms")] = Field(
        "1ms",
        description="Sojourn time above which every packet of the L queue is marked. Linux's "
        "default.",
    )
    classic_share_percent: Annotated[int, Integer(0, 100)] = Field(
        10,
        description="Share of the link that the classic queue gets at least, percent. Linux's "
        "default.",
    )
    mtu: Annotated[str, Size(64, 65_535, "1500B")] | None = Field(
        None,
        description="IP bytes of a full packet (default: of the scenario, at least 1500). Less "
        "than two of them waiting are no reason to mark.",
    )


class Bernoulli(Model):
    """Each packet is lost with the same probability, whatever happened to others."""

    p: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        description="Probability that a packet is lost."
    )
    kind: Literal["bernoulli"] = "bernoulli"


class GilbertElliott(Model):
    """Losses in bursts: the model of Gilbert (1960) and Elliott (1963), as netem's `gemodel`."""

    p: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        description="Probability that a packet changes the state from good to bad. A share p / "
        "(p + r) of the packets finds the bad state."
    )
    r: Annotated[float, Billionths(1, 1_000_000_000)] = Field(
        description="Probability that a packet changes the state from bad to good: the bad state "
        "lasts for 1 / r packets in the mean."
    )
    kind: Literal["gilbert_elliott"] = "gilbert_elliott"
    h: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        0, description="Probability that a packet passes in the bad state. netem takes 1 − h."
    )
    k: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        1, description="Probability that a packet passes in the good state. netem takes 1 − k."
    )


class BadTimes(Model):
    """Gilbert's and Elliott's model by time: good and bad times of exponential lengths."""

    good: Annotated[str, Time(1_000, 3_600_000_000_000_000, "5s")] = Field(
        description="Mean length of a good time, in which no packet is lost."
    )
    bad: Annotated[str, Time(1_000, 3_600_000_000_000_000, "16700us")] = Field(
        description="Mean length of a bad time."
    )
    kind: Literal["bad_times"] = "bad_times"
    h: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        0, description="Probability that a packet passes in a bad time."
    )


class Outages(Model):
    """Outages at regular times, in which every packet is lost."""

    every: Annotated[str, Time(1_000, 3_600_000_000_000_000, "15s")] = Field(
        description="Time from the start of an outage to the next one, and until the first."
    )
    lasts: Annotated[str, Time(1_000, 3_600_000_000_000_000, "16700us")] = Field(
        description="How long each lasts."
    )
    kind: Literal["outages"] = "outages"


class Reorder(Model):
    """Packets that come late."""

    p: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        description="Probability that a packet comes late."
    )
    delay: Annotated[str, Time(1, 100_000_000_000, "10ms")] = Field(
        description="How much later it reaches the queue. Packets that come meanwhile overtake it."
    )


class Policer(Model):
    """Rate and burst of a policer. Packets that it lets pass go on to the queue of the link."""

    rate: Annotated[str, Rate(1_000, 1_000_000_000_000, "20mbit")] = Field(
        description="Rate of its tokens, IP headers included."
    )
    burst: Annotated[str, Size(64, 17_592_186_044_416, "100kB")] = Field(
        description="Size of its bucket, full at the start: what may pass at once after an idle "
        "time."
    )


class RateStep(Model):
    """A change of a link's rate."""

    time: Annotated[str, Time(0, 3_600_000_000_000_000, "20s")] = Field(
        description="When the rate changes, also of what is left of a packet in service."
    )
    rate: Annotated[str, Rate(0, 1_000_000_000_000, "25mbit")] = Field(
        description='The rate from then on; "0bit": nothing leaves.'
    )


class DelayStep(Model):
    """A change of the delay behind a link."""

    time: Annotated[str, Time(0, 3_600_000_000_000_000, "20s")] = Field(
        description="When the delay changes. Packets that have left the link before keep theirs; "
        "none overtakes."
    )
    delay: Annotated[str, Time(0, 100_000_000_000, "50ms")] = Field(
        description="The delay from then on."
    )


class LossStep(Model):
    """A change of the probability of a loss."""

    time: Annotated[str, Time(0, 3_600_000_000_000_000, "20s")] = Field(
        description="When the probability changes."
    )
    p: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        description="Probability that a packet is lost from then on, whatever `loss` says; 1: "
        "the link is down."
    )


class DelayJitter(Model):
    """The delays of a path that differ from packet to packet."""

    by: Annotated[str, Time(1, 100_000_000_000, "10ms")] = Field(
        description="How far a delay is from the mean: of `uniform` at most, of `normal` the "
        "standard deviation."
    )
    distribution: Literal["uniform", "normal", "pareto"] = Field(
        "uniform", description="Distribution of the delays, as of netem. None is below 0."
    )
    overtaking: Annotated[bool, Strict()] = Field(
        False,
        description="Whether packets overtake each other, as with netem without a rate. "
        "Otherwise they keep their order.",
    )


class Bottleneck(Model):
    """The shared link and the queue before it."""

    buffer: Annotated[str, Room(1, 4_294_967_296)] = Field(
        description='Size of the queue, the packet in service included: "100packets", "2MB", '
        '"50ms" (what the link carries in that time) or "1bdp" (of the longest RTT '
        "of the flows that pass it, delays of links included)."
    )
    rate: Annotated[str, Rate(1_000, 1_000_000_000_000)] | None = Field(
        None,
        description='Rate of the link, IP headers included: "250mbit". Required, except with a '
        "`trace`, whose mean rate it is then.",
    )
    drop_every_packets: Annotated[int, Integer(2, 9_223_372_036_854_775_807)] | None = Field(
        None,
        description="Drop every Nth data packet of each direction before it reaches the queue "
        "(default: drop none).",
    )
    drop_packets: tuple[Annotated[int, Integer(1, 9_223_372_036_854_775_807)], ...] = Field(
        (),
        description="Drop the data packets of each direction with these numbers before they "
        "reach the queue: 1 is the first, and a retransmission counts as one more "
        "(default: drop none).",
    )
    queue: Annotated[
        DropTail | Codel | FqCodel | Fq | Red | Step | Pie | Dualpi2,
        Field(discriminator="kind"),
        BeforeValidator(tagged),
    ] = Field(
        DropTail(),
        description="The queue discipline: its name, or a table of its `kind` and its parameters.",
    )
    delay: Annotated[str, Time(0, 100_000_000_000)] = Field(
        "0s", description="Propagation delay behind the link, beside the `rtt` of each flow."
    )
    burst: Annotated[str, Size(0, 17_592_186_044_416)] = Field(
        "0B",
        description="What may leave at once after an idle time: the size of a token bucket, as "
        'of Linux\'s `tbf`. "0B": a wire, on which each packet takes its time.',
    )
    loss: (
        Annotated[
            Bernoulli | GilbertElliott | BadTimes | Outages,
            Field(discriminator="kind"),
            BeforeValidator(or_short("bernoulli", "p")),
        ]
        | None
    ) = Field(
        None,
        description="Random loss of packets before they reach the queue: of each one with this "
        "probability, 0.001, or a table of its `kind` and its parameters (default: "
        "none).",
    )
    duplicate: Annotated[float, Billionths(0, 1_000_000_000)] = Field(
        0, description="Probability that a packet is sent twice. The copy follows it to the queue."
    )
    reorder: Reorder | None = Field(
        None,
        description="Packets that reach the queue late, so that others overtake them: a table of "
        "their probability `p` and their extra `delay` (default: none).",
    )
    policer: Policer | None = Field(
        None,
        description="A policer before the queue: drops what exceeds its `rate` and its `burst` "
        "(default: none).",
    )
    trace: Annotated[str, Trace(1, 1_000_000)] | None = Field(
        None,
        description="File of a recorded link, as of mahimahi, instead of `rate`: times of the "
        "opportunities to deliver a packet of 1500 bytes, in ms, one each line, "
        "repeated without end.",
    )
    tick: Annotated[str, Time(0, 1_000_000_000)] = Field(
        "0s",
        description="Time between two ticks of a router that works at its timer's ticks, as "
        "dummynet: a packet leaves at the first tick after its service, and takes "
        "room until then. Packets of a tick go on at 1 Gb/s, or at the rate if that "
        'is faster. "0s": leaves at once.',
    )
    delay_jitter: DelayJitter | None = Field(
        None,
        description="Delays behind the link that differ from packet to packet: a table of how "
        "far they are from `delay`, `by` (default: none).",
    )
    limit_packets: Annotated[int, Integer(1, 4_000_000_000)] | None = Field(
        None,
        description="Most packets that the queue and the delay behind the link hold together, as "
        "netem's `limit` (default: no limit).",
    )
    at: Literal["network", "sender"] = Field(
        "network",
        description="Where the link is: `sender`: the interface of the host that sends, the "
        "first link of its flows, so that TCP small queues keep its queue short.",
    )
    timeline: Annotated[str, File(1, 1_000_000)] | None = Field(
        None,
        description="File of the link in time, CSV or Parquet: a column `time_s`, and those that "
        "change of `rate_mbit`, `delay_ms`, `loss` and `up` (0: every packet is "
        "lost), or in other units. Or a delay in ms on each line, for 10 ms each, as "
        "LeoReplayer's.",
    )
    rate_at: tuple[RateStep, ...] = Field(
        (),
        description="Changes of the rate, each with its `time` and its `rate` from then on, also "
        'of what is left of a packet; "0bit": nothing leaves (default: none).',
    )
    delay_at: tuple[DelayStep, ...] = Field(
        (),
        description="Changes of the delay behind the link, each with its `time` and its `delay` "
        "from then on; no packet overtakes (default: none).",
    )
    loss_at: tuple[LossStep, ...] = Field(
        (),
        description="Changes of the loss, each with its `time` and its probability `p` from then "
        "on, whatever `loss` says; 1: the link is down (default: none).",
    )
