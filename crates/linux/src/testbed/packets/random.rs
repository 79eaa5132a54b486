//! Packet scripts that nobody wrote: the simulator's own connections over a path that loses
//! packets. The kernel gets the ACKs that the simulated sender got, and must send what it sent.

use ackclock_host::{Algorithm, CongestionControl, HostConfig};
use ackclock_net::rng::Stream;
use ackclock_sim::packet_script::{Echo, Input, Script};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{Ack, FlowLimits, Handshake, Receiver, Sender};
use std::collections::VecDeque;
use std::fmt::Write as _;

const MS: u64 = 1_000_000;
/// Time 0 of a script, ns: the phase of the ticks that the kernel's test chooses.
const START_NS: u64 = 1_020_300_000;
const HZ: u32 = 250;
const MSS: u32 = 1448;
/// RTT of the handshake. Data takes longer, so that no answer to a retransmission can seem to come
/// too early if the kernel's timer was late.
const RTT_NS: u64 = 98 * MS;
const ONE_WAY_NS: [u64; 2] = [48 * MS, 64 * MS];
/// ACKs arrive at whole milliseconds, far enough apart for the 1 ms of TSO's deferral.
const ACKS_APART_NS: u64 = 3 * MS;
const PACKETS_APART_NS: u64 = 1_500_000;
const LASTS_NS: u64 = 2_500 * MS;
/// More than the script sends.
const WRITES: u64 = 690;
const SENT: u64 = 650;

/// A connection over a path that loses `lost` packets in a thousand, of data and of ACKs, and whose
/// queue holds `queue` packets.
pub(super) fn script(seed: u64, lost: [u64; 2], queue: u64) -> Script {
    let mut dice = Stream::named(seed, "packets");
    let kernel = Kernel::for_profile(Profile::Linux6);
    let switches = Switches::usual(Profile::Linux6);
    let cc = CongestionControl::new(
        &Algorithm::configure("reno").unwrap(),
        HostConfig {
            hz: HZ,
            era: kernel.era,
            random_seed: 1,
            mss_bytes: MSS,
            initial_cwnd: kernel.initial_cwnd(MSS),
            initial_ssthresh: 0x7fff_ffff,
            flow: 1,
        },
    );
    let limits = FlowLimits {
        segments: WRITES,
        receive_window: u64::MAX,
        send_buffer: u64::MAX,
    };
    let mut sender = Sender::new(
        cc,
        &kernel,
        &switches,
        limits,
        Handshake {
            now_ns: START_NS,
            rtt_ns: RTT_NS,
            ecn: false.into(),
            one_packet: false,
        },
        0,
    );
    let clock = kernel.clock(HZ, 0);
    let mut receiver = Receiver::new(&kernel, &switches, clock, RTT_NS);
    let mut echo = Echo::new(START_NS - RTT_NS);
    let mut text = format!("sender\nrtt 98\nwrite {WRITES}\n");
    let mut data: VecDeque<(u64, u64, u64, bool)> = VecDeque::new();
    let mut acks: VecDeque<(u64, Ack)> = VecDeque::new();
    let (mut now_ns, mut line_ns, mut sent, mut called, mut by_timer) =
        (START_NS, START_NS, 0, true, false);
    let mut line = |now_ns: u64, tolerance: &str, event: &str| {
        let ms = (now_ns - line_ns) as f64 / MS as f64;
        line_ns = now_ns;
        writeln!(text, "+{ms}{tolerance} {event}").unwrap();
    };
    loop {
        while let Some(burst) = called.then(|| sender.poll_transmit(now_ns)).flatten() {
            let segments = (burst.first, burst.first + u64::from(burst.segments));
            let push = if burst.pushed { "push" } else { "plain" };
            let tolerance = if by_timer { "~45" } else { "" };
            line(
                now_ns,
                tolerance,
                &format!("> {}:{} {push}", segments.0, segments.1),
            );
            echo.sent(segments, now_ns);
            sent = sent.max(segments.1);
            for segment in segments.0..segments.1 {
                let free_ns = data.back().map_or(0, |last| last.0 + PACKETS_APART_NS);
                let arrives_ns = free_ns.max(now_ns + ONE_WAY_NS[0]);
                let waits_ns = arrives_ns - now_ns - ONE_WAY_NS[0];
                if dice.up_to(999) >= lost[0] && waits_ns < queue * PACKETS_APART_NS {
                    let pushed = burst.pushed && segment + 1 == segments.1;
                    data.push_back((arrives_ns, segment, now_ns, pushed));
                }
            }
        }
        if sent >= SENT || now_ns >= START_NS + LASTS_NS {
            break;
        }
        let data_ns = data.front().map_or(u64::MAX, |packet| packet.0);
        let ack_ns = acks.front().map_or(u64::MAX, |ack| ack.0);
        let next_ns = data_ns.min(ack_ns).min(receiver.poll_timeout());
        let timeout_ns = sender.poll_timeout();
        (by_timer, called) = (timeout_ns <= next_ns, true);
        now_ns = next_ns.min(timeout_ns);
        if by_timer {
            sender.handle_timeout(now_ns);
        } else if ack_ns == now_ns {
            let (_, ack) = acks.pop_front().unwrap();
            let input = Input::Ack {
                ack: ack.ack,
                sacks: ack.sacks().to_vec(),
                duplicate: ack.has_duplicate(),
                original: false,
                ece: false,
                window: None,
            };
            line(now_ns, "", &input.to_string());
            // The script's ACKs do not change the window field.
            let ack = Ack::new(ack.ack, echo.timestamp(ack.ack, false))
                .with_sacks(ack.sacks().iter().copied(), ack.has_duplicate());
            sender.handle_ack(now_ns, &ack);
        } else {
            called = false;
            let answer = if data_ns == now_ns {
                let (_, segment, sent_ns, pushed) = data.pop_front().unwrap();
                receiver.handle_segment(now_ns, segment, sent_ns, pushed, false)
            } else {
                receiver.handle_timeout(now_ns)
            };
            if let Some(ack) = answer.filter(|_| dice.up_to(999) >= lost[1]) {
                let ms = (now_ns + ONE_WAY_NS[1] - START_NS).div_ceil(MS);
                let free_ns = acks.back().map_or(0, |last| last.0 + ACKS_APART_NS);
                acks.push_back((free_ns.max(START_NS + ms * MS), ack));
            }
        }
    }
    Script::parse(&format!("random {seed}"), &text).unwrap_or_else(|error| panic!("{error}"))
}
