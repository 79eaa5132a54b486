//! Packet scripts (docs/packet-scripts.md) in the simulator. `crates/linux` runs the same scripts
//! on the real kernel.

pub mod scripts;

use ackclock_sim::packet_script::{run, Output, Script, Seen};
use ackclock_sim::tcp::Marks;
use scripts::{only, scripts};

#[test]
fn packet_scripts() {
    let mut wrong = String::new();
    for script in scripts() {
        let seen = run(&script, |_| 0).unwrap();
        let comparison = script.compare(&seen, true);
        if comparison.differs_at_us.is_some() {
            wrong += &comparison.listing;
        } else if only().is_some() {
            println!("{}", comparison.listing);
        }
    }
    assert!(
        wrong.is_empty(),
        "the simulator answers otherwise:\n{wrong}"
    );
}

/// The kernel handles a packet some 0.1 ms late, now more and now less. If that decided what it
/// answers, a script would hold there only now and then.
#[test]
fn a_tenth_of_a_millisecond_decides_nothing() {
    let mut wrong = String::new();
    for script in scripts() {
        for seed in 0..20 {
            let late_us = |at_us: u64| {
                50 + ((at_us ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 150
            };
            let seen = run(&script, late_us).unwrap();
            let comparison = script.compare(&seen, false);
            if comparison.differs_at_us.is_some() {
                wrong += &comparison.listing;
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "it depends on 0.1 ms:\n{wrong}");
}

// --- the language itself

/// Each mistake names the file, the line and what to write.
#[test]
fn mistakes_are_named() {
    for (text, wanted) in [
        (
            "+1 < ack 2",
            "s.pkt:1: +1 < ack 2: write `sender`, `receiver` or `socket` first",
        ),
        ("", "s.pkt: the first line must be `sender` or `receiver`"),
        ("sender\n> 2:2", "s.pkt:2: > 2:2: `2:2` has no segment"),
        (
            "sender\n< ack x",
            "`x` is not a number of segments from 0 to 10000",
        ),
        ("sender\n< ack 1 sack 1:2 3:4 5:6 7:8", "three blocks fit"),
        ("sender\n< ack 1 3:4", "`3:4`: write `sack A:B …`"),
        ("sender\n= cwnd", "`cwnd` has no value"),
        (
            "sender\n= rtt 5",
            "`rtt` is not one of cwnd, ssthresh, state",
        ),
        ("sender\n= state opened", "`state` has no such value"),
        ("sender\n+x nothing", "`x` is not a time in ms"),
        ("sender\n< 0:2 push", "not an event here: write `< ack N …`"),
        (
            "receiver\n< 0:2 ect",
            "`ect` is not one of ce, cwr, not-ect",
        ),
        ("receiver\n< ack 1", "not an event here: write `< A:B`"),
        (
            "sender\nnothing\n> 0:2\nrtt 5",
            "settings come before the first event",
        ),
    ] {
        let error = Script::parse("s", text).unwrap_err();
        assert!(error.contains(wanted), "{text:?}: {error}");
    }
}

/// What is wrong, late, missing or too much is marked: the first difference only.
#[test]
fn the_first_difference_is_marked() {
    let text = "sender\ntolerance 2\n> 0:4 by 2\n+5 < ack 2\n> 4:8 by any\n+5 nothing";
    let script = Script::parse("s", text).unwrap();
    let seen = |rows: &[(f64, (u64, u64))]| -> Vec<Seen> {
        let burst = |&(at_us, range)| Seen {
            at_us,
            output: Output::Burst {
                segments: range,
                push: range.1 - range.0 > 1,
                marks: Marks::default(),
            },
        };
        rows.iter().map(burst).collect()
    };
    let right = [
        (0.0, (0, 2)),
        (0.0, (2, 4)),
        (5_000.0, (4, 5)),
        (5_000.0, (5, 8)),
    ];
    let differs = |rows: &[(f64, (u64, u64))], exact| {
        let comparison = script.compare(&seen(rows), exact);
        let marked = comparison
            .listing
            .lines()
            .filter(|row| row.starts_with("-->"));
        assert!(marked.count() == usize::from(comparison.differs_at_us.is_some()));
        comparison.differs_at_us
    };
    assert_eq!(differs(&right, true), None);
    assert_eq!(
        differs(&right[..3], true),
        Some(5_000.0),
        "a part is missing"
    );
    assert_eq!(differs(&right[..1], true), Some(0.0), "the rest is missing");
    let mut other = right;
    other[1].1 = (2, 3);
    assert_eq!(differs(&other, true), Some(0.0));
    let mut late = right;
    late[3].0 = 6_999.0;
    assert_eq!(
        differs(&late, true),
        Some(6_999.0),
        "the simulator must be exact"
    );
    assert_eq!(differs(&late, false), None);
    late[3].0 = 7_001.0;
    assert_eq!(differs(&late, false), Some(7_001.0));
    let more = [&right[..], &[(9_000.0, (8, 9))]].concat();
    assert_eq!(differs(&more, true), Some(9_000.0), "one too many");
}
