//! Whatever happens, every algorithm keeps a window: RTTs of 0 and of hours, cwnd at its
//! limits, wrapping clocks and sequence numbers, hooks in any order.

mod common;

use ackclock_host::{AckSample, Algorithm, CaEvent, CaState, Era};
use common::Flow;

#[test]
fn no_sequence_of_events_breaks_an_algorithm() {
    let states = [
        CaState::Open,
        CaState::Disorder,
        CaState::Cwr,
        CaState::Recovery,
        CaState::Loss,
    ];
    let events = [
        CaEvent::TxStart,
        CaEvent::CwndRestart,
        CaEvent::CompleteCwr,
        CaEvent::Loss,
    ];
    let windows = [1, 2, 3, 10, 100, 5000, 999_999];
    let rtts = [-1, 0, 1, 40, 9_999, 100_000, 20_000_000, i32::MAX];
    let mut specs: Vec<String> = Vec::new();
    for algorithm in Algorithm::all() {
        specs.push(algorithm.name().to_string());
        let presets = algorithm.presets().iter();
        specs.extend(presets.map(|preset| format!("{}@{}", algorithm.name(), preset.name)));
    }
    for (spec, era) in specs
        .iter()
        .flat_map(|s| [(s, Era::Linux6), (s, Era::Linux2_6)])
    {
        let mut flow = Flow::avoiding_in(era, spec, 10);
        let mut random = 88_172_645_463_325_252_u64;
        let mut pick = |n: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 33) as usize % n
        };
        // Near the end of every wrapping clock and number.
        let (mut now_us, mut step) = (4_293_900_000_000, 1);
        for _ in 0..20_000 {
            step = if pick(50) == 0 { 1 << pick(34) } else { step };
            now_us += step;
            flow.at(now_us);
            match pick(24) {
                0 => flow.cc.set_state(states[pick(states.len())]),
                1 => flow.cc.cwnd_event(events[pick(events.len())]),
                2 => {
                    let ssthresh = flow.cc.ssthresh();
                    assert!(ssthresh >= 2, "{spec}: ssthresh {ssthresh}");
                    flow.tp().snd_ssthresh = ssthresh;
                    flow.tp().prior_cwnd = flow.cwnd();
                }
                3 => assert!(flow.cc.undo_cwnd() >= 1, "{spec}"),
                4 => flow.tp().snd_cwnd = windows[pick(windows.len())],
                5 => flow.tp().snd_cwnd_cnt = pick(2_000_000) as u32,
                6 => flow.tp().snd_ssthresh = [2, 100, 0x7fff_ffff][pick(3)],
                7 => flow.tp().srtt_us = [0, 1, 800_000, u32::MAX][pick(4)],
                8 => flow.tp().is_cwnd_limited ^= 1,
                9 => flow.cc.pkts_acked(&AckSample {
                    pkts_acked: [0, 1, 1_000_000, u32::MAX][pick(4)],
                    rtt_us: rtts[pick(rtts.len())],
                    in_flight: 0,
                }),
                _ => flow.ack(rtts[pick(rtts.len())], 1 + pick(44) as u32),
            }
            let (cwnd, ssthresh) = (flow.cwnd(), flow.tp().snd_ssthresh);
            assert!(
                cwnd >= 1 && ssthresh >= 2,
                "{spec} {era:?}: {cwnd}, {ssthresh}"
            );
            if cwnd > 1_000_000 {
                flow.tp().snd_cwnd = 1_000_000;
            }
        }
    }
}
