//! Whatever the scenario: no packet appears or vanishes, data arrives in order and
//! once, windows are kept, and a seed repeats everything.

use crate::common;

use ackclock_sim::record::EventKind;
use ackclock_sim::scenario::{Direction, Write};
use ackclock_sim::{Census, Options, Run, RunResult};
use common::drawn::{scenarios, scenarios_on_a_dumbbell, short_and_long_scenarios};
use common::{simulate, simulate_with};
use proptest::prelude::*;

fn tables_are_equal(one: &RunResult, other: &RunResult) -> Result<(), TestCaseError> {
    prop_assert_eq!(&one.flows, &other.flows);
    prop_assert_eq!(&one.samples, &other.samples);
    prop_assert_eq!(&one.queues, &other.queues);
    prop_assert_eq!(&one.events, &other.events);
    prop_assert_eq!(&one.sessions, &other.sessions);
    prop_assert_eq!(&one.transfers, &other.transfers);
    Ok(())
}

proptest! {
    #[test]
    fn nothing_is_lost_unaccounted(scenario in scenarios(), events in any::<bool>()) {
        let options = Options { events, ..Options::default() };
        let Run { result, census, .. } = simulate_with(&scenario, options);
        let Census { acks_sent, acks_received, acks_dropped, acks_on_the_way, .. } = census;
        let [data, acks, handshakes] = census.queued;
        prop_assert_eq!(census.in_network, data + acks + handshakes);
        let link = &scenario.bottleneck;
        let predictable = link.is_predictable() && link.burst_bytes == 0;
        // A read behind an ACK takes the long way.
        let sessions = scenario.sessions.iter().map(|session| &session.flow);
        let reads = (scenario.flows.iter().chain(sessions))
            .any(|flow| flow.receive_buffer_bytes.is_some() || flow.read_rate_bps.is_some());
        let predicted = !events && !scenario.has_routes() && predictable && !reads;
        prop_assert!(!predicted || census.in_network == 0);
        prop_assert_eq!(census.sent + census.copied, census.received + census.dropped + data);
        if scenario.is_two_way() {
            prop_assert_eq!(acks_sent, acks_received + acks_dropped + acks_on_the_way + acks);
        } else {
            prop_assert_eq!((acks_sent, acks_dropped), (0, 0));
        }
        let (flows, sessions) = (&result.flows, &result.sessions);
        let sum = |ours: &[u64], theirs: &[u64]| ours.iter().chain(theirs).sum::<u64>();
        let sent = sum(&flows.sent_packets, &sessions.sent_packets);
        prop_assert_eq!((census.sent, sent), (sent + census.fins, result.packets));
        let dropped = sum(&flows.dropped_packets, &sessions.dropped_packets);
        prop_assert!((dropped..=dropped + census.fins).contains(&census.dropped));
        // Every arrival was new data or a duplicate of what was there; new data is what
        // the application got in order plus what waits for a gap to be filled.
        prop_assert_eq!(
            census.received,
            census.in_order + census.out_of_order + census.duplicates
        );

        for (row, flow) in scenario.flows.iter().enumerate() {
            let delivered = result.flows.delivered_bytes[row];
            prop_assert!(delivered <= flow.size_bytes.unwrap_or(u64::MAX));
            if result.flows.completed_us[row] > 0 && flow.stop_ns.is_none() {
                // What all writes are together, in whole segments; those that go on are at least once.
                let mss = u64::from(scenario.mss_of(flow));
                let whole = |write: &Write| Some(write.size_bytes?.next_multiple_of(mss));
                let written: Option<u64> = flow.writes.iter().map(whole).sum();
                let goes_on = |write: &Write| write.every_ns.or(write.pause_ns).is_some();
                match flow.writes.last() {
                    None => prop_assert_eq!(Some(delivered), flow.size_bytes),
                    Some(last) => {
                        prop_assert!(!goes_on(last) && Some(delivered) >= written);
                        if !flow.writes.iter().any(goes_on) {
                            prop_assert_eq!(Some(delivered), written);
                        }
                    }
                }
            }
            let fins = census.fins;
            prop_assert!(result.flows.retransmitted_packets[row] <= result.flows.sent_packets[row] + fins);
            if delivered > 0 {
                prop_assert!(result.flows.min_rtt_us[row] + 1_000 > flow.rtt_ns / 1_000);
            }
        }

        // A session's transfers follow each other, and what they carried adds up.
        let transfers = &result.transfers;
        for (row, session) in scenario.sessions.iter().enumerate() {
            let own = (0..transfers.len()).filter(|&each| transfers.session[each] == row as u32 + 1);
            let (mut done, mut carried, mut free_us) = (0, 0, session.flow.start_ns / 1_000);
            for each in own {
                prop_assert!(transfers.start_us[each] >= free_us);
                prop_assert!(transfers.size_bytes[each] >= 1);
                free_us = transfers.completed_us[each];
                if free_us == 0 {
                    free_us = u64::MAX;
                    continue;
                }
                let handshake_and_data_us = 2 * session.flow.rtt_ns / 1_000;
                prop_assert!(free_us >= transfers.start_us[each] + handshake_and_data_us);
                carried += transfers.size_bytes[each];
                done += 1;
            }
            prop_assert_eq!(sessions.transfers[row], done);
            prop_assert!(sessions.delivered_bytes[row] >= carried);
        }

        // The link was never faster than its rate.
        for row in 0..result.queues.len() {
            let bits = u128::from(result.queues.sent_bytes[row]) * 8 * 1_000_000;
            let queue = result.queues.queue[row] as usize;
            let links = if scenario.links.is_empty() { 0 } else { queue - 1 };
            let link = links.checked_sub(1).map_or(&scenario.bottleneck, |i| &scenario.links[i]);
            let mut time_us = u128::from(result.queues.time_us[row]);
            if let Some(times_ms) = &link.trace_ms {
                // Its opportunities may be at the start of its period.
                time_us += u128::from(times_ms[times_ms.len() - 1]) * 1_000;
            }
            let slack = 1_000_000 + u128::from(link.burst_bytes) * 8 * 1_000_000;
            prop_assert!(bits <= u128::from(link.most_bps()) * time_us + slack);
        }

        let samples = &result.samples;
        for row in 0..samples.len() {
            let flow = &scenario.flows[samples.flow[row] as usize - 1];
            prop_assert!(samples.cwnd_packets[row] >= 1);
            // What a slow reader leaves fills twice the window.
            let buffers = if flow.read_rate_bps.is_some() { 2 } else { 1 };
            let window = flow.receive_window_bytes.map_or(u64::MAX, |window| buffers * window);
            let window = window.min(flow.send_buffer_bytes.unwrap_or(u64::MAX));
            // F-RTO of Linux 2.6 counts the head twice after a timeout. In Linux 6 the first segment, and each that
            // waits for it, let the window grow by two, up to where it ends then.
            let window = window / u64::from(scenario.mss_of(flow));
            let is_late = samples.delivered_packets[row] > window.saturating_mul(3).saturating_add(300);
            let most = window.saturating_add(if is_late { 2 } else { 255 });
            let in_flight = u64::from(samples.in_flight_packets[row]);
            prop_assert!(in_flight <= most, "flow {}: {in_flight} in flight, of {most}", samples.flow[row]);
        }
        let of_flow = |wanted: u32| (0..samples.len()).filter(move |&row| samples.flow[row] == wanted);
        for number in 1..=scenario.flows.len() as u32 {
            let delivered: Vec<_> = of_flow(number).map(|row| samples.delivered_packets[row]).collect();
            prop_assert!(delivered.windows(2).all(|pair| pair[0] <= pair[1]));
        }

        // A sender recovers before it recovers again.
        for number in 1..=scenario.flows.len() as u32 {
            let mut recovering = false;
            for row in (0..result.events.len()).filter(|&row| result.events.flow[row] == number) {
                match result.events.kind[row] {
                    EventKind::Recovery => {
                        prop_assert!(!recovering);
                        recovering = true;
                    }
                    EventKind::Recovered | EventKind::Timeout | EventKind::Undo => recovering = false,
                    _ => (),
                }
            }
        }
    }

    /// Whether queues know departures at once or take an event for each packet: the tables are
    /// equal.
    #[test]
    fn events_give_the_tables_that_are_predicted(mut scenario in scenarios_on_a_dumbbell()) {
        if !scenario.sessions.is_empty() {
            // Predicted packets still draw jitter when the transfer that they belong to is over.
            scenario.jitter_ns = 0;
        }
        let run = |events| simulate_with(&scenario, Options { events, ..Options::default() }).result;
        let (predicted, evented) = (run(false), run(true));
        tables_are_equal(&predicted, &evented)?;
    }

    /// Whether flows handle events in order of time or take turns in rounds.
    #[test]
    fn rounds_change_nothing(mut scenario in scenarios_on_a_dumbbell()) {
        scenario.sessions.clear();
        for flow in &mut scenario.flows {
            flow.direction = Direction::Forward;
        }
        scenario.changes.clear(); // flows of a branch handle their events in order
        scenario.jitter_ns = scenario.jitter_ns.max(1); // and so do hosts that count the same jiffies
        let run = |rounds| simulate_with(&scenario, Options { rounds, ..Options::default() });
        let (in_rounds, timely) = (run(true), run(false));
        if !in_rounds.in_rounds {
            // The buffer holds packets for more than two seconds, or a round has no packet.
            return Ok(());
        }
        let (rounds, census_of_rounds) = (in_rounds.result, in_rounds.census);
        let (timely, census) = (timely.result, timely.census);
        prop_assert_eq!(timely.trace_hash, rounds.trace_hash);
        prop_assert_eq!(timely.flows, rounds.flows);
        prop_assert_eq!(timely.samples, rounds.samples);
        prop_assert_eq!(timely.queues, rounds.queues);
        prop_assert_eq!(timely.events, rounds.events);
        prop_assert_eq!(census, census_of_rounds);
    }

    /// Whether the common packet takes its short ways or not (ADR 17).
    #[test]
    fn no_short_way_changes_anything(scenario in short_and_long_scenarios(), events in any::<bool>()) {
        let run = |long_way| {
            let options = Options { events, long_way, ..Options::default() };
            let Run { result, census, .. } = simulate_with(&scenario, options);
            (result, census)
        };
        let ((short, short_census), (long, long_census)) = (run(false), run(true));
        tables_are_equal(&short, &long)?;
        prop_assert_eq!(short_census, long_census);
        prop_assert_eq!(short.trace_hash, long.trace_hash);
    }

    #[test]
    fn a_seed_repeats_everything(scenario in scenarios(), events in any::<bool>()) {
        let run = || simulate_with(&scenario, Options { events, ..Options::default() }).result;
        let (first, second) = (run(), run());
        prop_assert_eq!(first.trace_hash, second.trace_hash);
        prop_assert_eq!(first.samples, second.samples);
        prop_assert_eq!(first.events, second.events);
        prop_assert_eq!(first.transfers, second.transfers);
    }
}

proptest! {
    // A case has eight runs.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 32))]

    /// Whatever runs beside a run, and on whichever thread it is: its result is the same.
    #[test]
    fn threads_change_nothing(scenarios in proptest::collection::vec(scenarios(), 4)) {
        let run = |scenario| simulate(scenario);
        let alone: Vec<_> = scenarios.iter().map(run).collect();
        let together: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = scenarios.iter().map(|each| scope.spawn(move || run(each))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (alone, together) in alone.iter().zip(&together) {
            prop_assert_eq!(alone.trace_hash, together.trace_hash);
            prop_assert_eq!(&alone.samples, &together.samples);
            prop_assert_eq!(&alone.queues, &together.queues);
        }
    }
}
