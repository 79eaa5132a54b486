//! The sender alone, where its rules are easily got wrong: probes, timers, F-RTO, old kernels.

use crate::common;

use ackclock_host::{Algorithm, CaState, Configured};
use ackclock_sim::scenario::Profile;
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::{FlowLimits, Receiver};
use common::script::{Script, RTT, UNLIMITED};
use common::{dumbbell, flow, simulate, MS, S};

fn reno() -> Configured {
    Algorithm::configure("reno").unwrap()
}

/// A flow of so many segments.
fn finite(segments: u64) -> Script {
    Script::with(
        Profile::Linux6,
        &reno(),
        FlowLimits {
            segments,
            ..UNLIMITED
        },
    )
}

/// RFC 5682, 2.1 step 2b: without new data, conventional recovery at once.
#[test]
fn frto_without_new_data_retransmits() {
    let mut script = finite(10);
    script.ack(100, 5, &[]);
    script.timeout().timeout();
    assert_eq!(script.sender.state(), CaState::Loss);
    script.ack(100, 6, &[]);
    assert_eq!(script.sent, [(6, 8)]);
}

/// RFC 5682, 2.1 step 2b: afterwards an original that arrives does not undo the timeout.
#[test]
fn frto_without_new_data_trusts_no_original() {
    let mut script = finite(10);
    script.ack(100, 5, &[]);
    script.timeout().timeout();
    script.ack(100, 6, &[]).ack(100, 9, &[]);
    assert_eq!(script.sender.state(), CaState::Loss);
    assert!(script.ssthresh() < 0x7fff_ffff);
}

/// A tail loss probe is not counted as a retransmission in flight.
#[test]
fn a_probe_does_not_block_fast_retransmit() {
    let mut script = finite(10);
    script.timeout();
    assert_eq!(script.sent, [(9, 10)]);
    assert_eq!(script.sender.packets_in_flight(), 10);
    script.ack(1, 0, &[(1, 4)]);
    assert_eq!(script.sent, [(0, 1)]);
}

/// Ten segments and the three retransmissions of the first that were lost after them.
#[test]
fn a_loss_counts_once() {
    let mut script = finite(10);
    for _ in 0..5 {
        script.timeout();
    }
    assert_eq!(script.sender.totals().2, 10 + 3);
}

#[test]
fn a_probe_keeps_to_the_send_buffer() {
    let limits = FlowLimits {
        send_buffer: 5,
        ..UNLIMITED
    };
    let mut script = Script::with(Profile::Linux6, &reno(), limits);
    assert_eq!(script.sent, [(0, 5)]);
    script.timeout();
    assert_eq!(script.sent, [(4, 5)]);
}

/// An ACK first lets leave what is written, five segments here. Then the application fills the send
/// buffer again; of these four one waits for a larger burst. Of nine none would.
#[test]
fn an_ack_lets_leave_what_is_written_first() {
    let limits = FlowLimits {
        send_buffer: 15,
        ..UNLIMITED
    };
    let mut script = Script::with(Profile::Linux6, &reno(), limits);
    assert_eq!(script.sent, [(0, 10)], "the initial window");
    script.ack(100, 4, &[]);
    assert_eq!(script.sent, [(10, 17)]);
}

/// The timer is set after the state machine: Open again, so a probe and not the timeout.
#[test]
fn the_ack_that_ends_recovery_arms_a_probe() {
    let mut script = Script::new(Profile::Linux6);
    script.grow_to(20);
    let una = script.sender.una();
    script.ack(100, una, &[(una + 1, una + 5)]);
    script.ack(50, una, &[(una + 1, una + 20)]);
    script.ack(50, una + 21, &[]);
    assert_eq!(script.sender.state(), CaState::Open);
    assert!(script.sender.poll_timeout() < script.now_ns + 250 * MS);
}

/// A SACK of what was sent before the head was last sent is progress.
#[test]
fn sacks_of_older_data_restart_the_timeout() {
    let mut script = Script::new(Profile::Linux6);
    script.grow_to(40);
    let una = script.sender.una();
    script.ack(100, una, &[(una + 1, una + 5)]);
    let before_ns = script.sender.poll_timeout();
    script.ack(50, una, &[(una + 1, una + 20)]);
    assert!(script.sender.poll_timeout() >= before_ns + 40 * MS);
}

/// RFC 3522 after a probe and a timeout: the probe's own ACK shows the timeout spurious.
#[test]
fn a_timeout_after_a_probe_is_undone() {
    let mut script = finite(30);
    script.ack(100, 10, &[]).ack(100, 29, &[]);
    script.timeout();
    let probe_ns = script.now_ns;
    assert_eq!(script.sent, [(29, 30)]);
    script.timeout();
    assert_eq!(script.sender.state(), CaState::Loss);
    script.ack_with(10, 30, &[], false, probe_ns);
    assert_eq!(script.ssthresh(), 0x7fff_ffff);
}

/// FACK: a retransmission is lost when a segment sent after it is SACKed.
#[test]
fn fack_finds_a_lost_retransmission() {
    let mut script = Script::new(Profile::Linux2_6_25);
    script.grow_to(40);
    let una = script.sender.una();
    script.ack(100, una, &[(una + 1, una + 5)]);
    let next = script.nxt;
    for sacked in 6..40 {
        script.ack(1, una, &[(una + 1, una + sacked)]);
    }
    assert!(script.nxt > next);
    script.ack(100, una, &[(next, next + 1), (una + 1, una + 40)]);
    assert!(script.sent.contains(&(una, una + 1)), "{:?}", script.sent);
}

/// Linux 2.6 stays in Disorder for a round trip after Recovery, so that D-SACKs can undo it.
#[test]
fn disorder_follows_recovery_in_2_6() {
    let mut script = Script::new(Profile::Linux2_6_25);
    script.grow_to(20);
    let una = script.sender.una();
    script.ack(100, una, &[(una + 1, una + 5)]);
    let high = script.nxt;
    for sacked in 6..20 {
        script.ack(1, una, &[(una + 1, una + sacked)]);
    }
    script.ack(86, high - 1, &[]).ack(1, high, &[]);
    assert_eq!(script.sender.state(), CaState::Disorder);
    script.ack(100, script.nxt, &[]);
    script.ack(100, script.nxt, &[]);
    assert_eq!(script.sender.state(), CaState::Open);
}

/// If the first segment is lost, each one behind it makes the window grow, and gets an ACK at once
/// (`tcp_grow_window`). Each such ACK ends quick ACKs, so that the first segments in order do not get 17.
/// Then three ACKs leave before compression starts. On the virtual Linux two of 40 flows whose packets
/// are lost with 12 % began so.
#[test]
fn a_lost_first_segment_ends_the_quick_acks() {
    let linux_6 = Profile::Linux6;
    let kernel = Kernel::for_profile(linux_6);
    let clock = kernel.clock(1000, 0);
    let mut receiver = Receiver::new(&kernel, &Switches::usual(linux_6), clock, RTT);
    let answered = (1..=10)
        .filter(|&k| {
            receiver
                .handle_segment(RTT + k, k, k, false, false)
                .is_some()
        })
        .count();
    assert_eq!(answered, 10);
    let mut answers = |segments: &[u64]| -> Vec<bool> {
        let mut arrives = |&k| {
            receiver
                .handle_segment(2 * RTT + k, k, k, false, false)
                .is_some()
        };
        segments.iter().map(&mut arrives).collect()
    };
    // The first fills the gap, and has an ACK.
    assert_eq!(answers(&[0, 12]), [true, true]);
    assert_eq!(answers(&[13, 14, 15, 16]), [true, true, false, false]);
}

/// The first segment comes again longer than a timeout after one behind it: 16 quick ACKs, and the window
/// that grows makes them 17.
#[test]
fn a_late_first_segment_begins_the_quick_acks() {
    let linux_6 = Profile::Linux6;
    let kernel = Kernel::for_profile(linux_6);
    let clock = kernel.clock(1000, 0);
    let mut receiver = Receiver::new(&kernel, &Switches::usual(linux_6), clock, RTT);
    assert!(receiver.handle_segment(RTT, 1, 1, false, false).is_some());
    let mut arrives = |k| receiver.handle_segment(S + k, k, k, false, false).is_some();
    assert!(arrives(0));
    let quick = (2..=20).take_while(|&k| arrives(k)).count();
    assert_eq!(quick, 16);
}

/// A SYN's answer is on its way longer than the first timeout: it is waited for all the same.
#[test]
fn a_retried_syn_keeps_its_answer() {
    for (rtt_ns, duration_ns) in [(3 * S / 2, 10 * S), (100 * S, 400 * S)] {
        let mut scenario = dumbbell(Profile::Linux6, 10_000_000, 100, vec![flow("reno", rtt_ns)]);
        scenario.duration_ns = duration_ns;
        let result = simulate(&scenario);
        let established_us = result.events.time_us[0];
        assert!((rtt_ns / 1_000..rtt_ns / 1_000 + 100).contains(&established_us));
        assert!(result.flows.delivered_bytes[0] > 0);
    }
}

/// Round trips that do not fit srtt's 32 bits are cut off, not wrapped.
#[test]
fn an_absurd_rtt_does_not_wrap() {
    let mut script = Script::new(Profile::Linux6);
    script.ack(4_300_000, 2, &[]);
    assert_eq!(script.sender.min_rtt_us(), (1 << 28) - 1);
    assert!(script.sender.tp().srtt_us >> 3 > 10_000_000);
}

#[test]
fn a_flow_stopped_before_it_connects_is_complete() {
    let mut stopped = flow("reno", 50 * MS);
    stopped.stop_ns = Some(1);
    let result = simulate(&dumbbell(Profile::Linux6, 10_000_000, 100, vec![stopped]));
    assert!(result.flows.completed_us[0] > 0);
}
