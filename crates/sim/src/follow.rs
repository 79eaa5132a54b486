//! What an algorithm would have sent where another sender got its ACKs: open loop. The candidate
//! never drifts, as it takes the recorded packets for its own.

use crate::scenario::Profile;
use crate::tcp::profile::{Kernel, Switches};
use crate::tcp::{Ack, FlowLimits, Handshake, Sender, Would};
use ackclock_host::{Configured, CongestionControl, HostConfig};

/// A packet of a record, at the sender.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When the interface saw it.
    pub at_ns: u64,
    /// What it was.
    pub what: What,
    /// New segments, or those that were sent again; of an ACK the second is the next expected one.
    pub segments: (u64, u64),
    /// When the segment was sent that the ACK echoes.
    pub echo_ns: u64,
    /// SACK blocks, the first first; empty ones are none.
    pub sacks: [(u64, u64); 3],
    /// The ACK has a D-SACK, ECE, another window.
    pub flags: [bool; 3],
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// New data.
    New,
    /// Data that was sent before.
    Again,
    /// An ACK.
    Ack,
}

/// The host of a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Its kernel.
    pub profile: Profile,
    /// Its switches.
    pub switches: Switches,
    /// What its algorithm gets.
    pub config: HostConfig,
    /// How the connection began.
    pub handshake: Handshake,
    /// When its clock first ticks.
    pub tick_phase_ns: u64,
    /// How late it may answer: a window that is not used for so long is an error.
    pub slack_ns: u64,
}

/// A row for each packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// Segments that the candidate would have sent more from here on until the next packet; below 0: fewer
    /// up to here.
    pub error: i32,
    /// Its window.
    pub cwnd: u32,
    /// What is in flight.
    pub in_flight: u32,
}

/// Lets a candidate follow a record.
pub fn follow(configured: &Configured, host: &Host, packets: &[Packet]) -> Vec<Row> {
    let kernel = Kernel::for_profile(host.profile);
    let cc = CongestionControl::new(configured, host.config);
    let limits = FlowLimits {
        segments: u64::MAX,
        receive_window: u64::MAX,
        send_buffer: u64::MAX,
    };
    let phase_ns = host.tick_phase_ns;
    let mut sender = Sender::new(
        cc,
        &kernel,
        &host.switches,
        limits,
        host.handshake,
        phase_ns,
    );
    sender.follow();
    let mut rows = Vec::with_capacity(packets.len());
    let (mut pending, mut last_ack_ns) = (None, host.handshake.now_ns);
    for (place, packet) in packets.iter().enumerate() {
        let now_ns = packet.at_ns;
        settle(&mut rows, &mut pending, &sender, now_ns, host.slack_ns);
        if let Some(at_ns) = sender.run_reordering(now_ns) {
            pending = place
                .checked_sub(1)
                .map(|row| (row, sender.would_send(at_ns)));
            settle(&mut rows, &mut pending, &sender, now_ns, host.slack_ns);
        }
        let early = match packet.what {
            What::Ack => 0,
            _ => early(&sender, now_ns, host.slack_ns, packet.segments),
        };
        let over = match packet.what {
            What::Ack => {
                last_ack_ns = now_ns;
                sender.handle_ack(now_ns, &ack(packet));
                0
            }
            What::New => sender.follow_new(now_ns, (packet.segments.1 - packet.segments.0) as u32),
            What::Again => {
                let srtt_ns = u64::from(sender.tp().srtt_us) * 125;
                let silence = now_ns > last_ack_ns + srtt_ns;
                sender.follow_again(now_ns, packet.segments, silence)
            }
        };
        // What leaves, or comes, at the same time is one turn.
        let goes_on = packets
            .get(place + 1)
            .is_some_and(|next| next.at_ns == now_ns && next.what != What::Ack);
        if !goes_on {
            pending = Some((place, sender.would_send(now_ns)));
        }
        rows.push(Row {
            error: -(over.max(early) as i32),
            cwnd: sender.tp().snd_cwnd,
            in_flight: sender.packets_in_flight(),
        });
        if sender.fault().is_some() {
            break;
        }
    }
    rows
}

/// What a candidate would have sent until `now_ns`.
fn settle(
    rows: &mut [Row],
    pending: &mut Option<(usize, Would)>,
    sender: &Sender,
    now_ns: u64,
    slack_ns: u64,
) {
    let Some((row, would)) = pending.take() else {
        return;
    };
    if would.segments == 0 || now_ns <= would.from_ns.saturating_add(slack_ns) {
        return;
    }
    let mut segments = would.segments;
    if would.paces {
        let passed_ns = now_ns - would.from_ns - slack_ns;
        segments = segments.min(1 + paced(sender, passed_ns));
    }
    rows[row].error += segments as i32;
}

/// Segments that leave at the pacing rate in some time.
fn paced(sender: &Sender, ns: u64) -> u32 {
    let tp = sender.tp();
    let bytes = u128::from(tp.inet_conn.sk.sk_pacing_rate) * u128::from(ns) / 1_000_000_000;
    (bytes / u128::from(tp.mss_cache)).min(1 << 20) as u32
}

/// How many of these segments pacing would have held back.
fn early(sender: &Sender, now_ns: u64, slack_ns: u64, segments: (u64, u64)) -> u32 {
    let tp = sender.tp();
    let until_ns = tp.tcp_wstamp_ns;
    if tp.inet_conn.sk.sk_pacing_status == 0 || until_ns <= now_ns + slack_ns {
        return 0;
    }
    (1 + paced(sender, until_ns - now_ns - slack_ns)).min((segments.1 - segments.0) as u32)
}

fn ack(packet: &Packet) -> Ack {
    let sacks = packet
        .sacks
        .iter()
        .copied()
        .filter(|&(start, end)| start < end);
    let mut ack = Ack::new(packet.segments.1, packet.echo_ns).with_sacks(sacks, packet.flags[0]);
    if packet.flags[1] {
        ack = ack.with_ece(0);
    }
    if packet.flags[2] {
        ack = ack.with_new_window();
    }
    ack
}
