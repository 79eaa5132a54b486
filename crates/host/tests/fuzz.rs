//! Hooks called as a kernel may: our files bear it, and planted faults are found.

use ackclock_host::{fuzz, Algorithm};

const ALGORITHMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../algorithms");

fn path(name: &str) -> String {
    format!("{ALGORITHMS}/tcp_{name}.c")
}

#[test]
fn our_files_are_clean() {
    let mut all = Algorithm::all()
        .iter()
        .map(Algorithm::name)
        .collect::<Vec<_>>();
    assert!(all.len() >= 28);
    all.retain(|name| std::path::Path::new(&path(name)).exists());
    let mut bad = vec![];
    for name in all {
        bad.extend(fuzz(&path(name), 200, true).unwrap());
    }
    for skeleton in ["my_cc.c", "my_cc_full.c"] {
        let file = format!("{ALGORITHMS}/../examples/{skeleton}");
        bad.extend(fuzz(&file, 1000, true).unwrap());
    }
    assert_eq!(bad, Vec::<String>::new());
}

/// What is wrong, a file, a line of it, what stands there instead, and what is told.
const FAULTS: [[&str; 5]; 10] = [
    [
        "a shift too far",
        "hybla",
        "1U << min(rho_3ls >> 3, 16U)",
        "1U << (rho_3ls >> 3)",
        "function hybla_cong_avoid: shifts by more bits",
    ],
    [
        "a division by zero",
        "westwood",
        "if (ca->rtt && delta > max(ca->rtt, least))",
        "if (ca->rtt || least)",
        "divides by zero",
    ],
    [
        "a signed number that overflows",
        "yeah",
        "(u64)cwnd * (rtt - base) / rtt",
        "(s32)cwnd * (s32)(rtt - base) / (s32)rtt",
        "function tcp_yeah_cong_avoid: multiplies to more than a signed number holds",
    ],
    [
        "an index beyond a table",
        "highspeed",
        "next < HSTCP_ROWS && ",
        "",
        "takes an index beyond its array",
    ],
    [
        "an endless loop",
        "highspeed",
        "step; step >>= 1",
        "step || cwnd > 89053; step >>= 1",
        "a hook does not return (after 1 s)",
    ],
    [
        "a window of 0",
        "hybla",
        "tcp_sk(sk)->snd_cwnd = ca->rho_3ls >> 3",
        "tcp_sk(sk)->snd_cwnd = ca->rho_3ls >> 4",
        "leaves snd_cwnd at 0, of which Linux warns",
    ],
    [
        "a threshold below 2",
        "veno",
        "return max(cwnd / 2, 2U)",
        "return cwnd / 2",
        "; at least 2 packets (RFC 5681, 3.1): max(…, 2U); called as ssthresh()",
    ],
    [
        "no sample, and a pointer to it",
        "illinois",
        "min(sample->pkts_acked, 0xffffU)",
        "min((sample->rtt_us < 0 ? (const struct ack_sample *)0 : sample)->pkts_acked, 0xffffU)",
        "function illinois_pkts_acked: reads through a null pointer",
    ],
    [
        "a clock of long ago",
        "htcp",
        "u64 d = diff - hz",
        "s32 d = diff - hz",
        "more than a signed number holds",
    ],
    [
        "a cast that loses bits",
        "yeah",
        "(u64)cwnd * (rtt - base) / rtt",
        "(u64)cwnd * ((rtt - base) / 1000) / (u8)(rtt / 1000 + 1)",
        "divides by zero",
    ],
];

#[test]
fn planted_faults_are_found() {
    let directory = tempfile::tempdir().unwrap();
    for [what, name, line, instead, told] in FAULTS {
        let text = std::fs::read_to_string(path(name)).unwrap();
        assert!(text.contains(line), "{what}");
        let file = directory.path().join(format!("{name}.c"));
        std::fs::write(&file, text.replace(line, instead)).unwrap();
        let found = fuzz(file.to_str().unwrap(), 400, true).unwrap();
        let found = found.unwrap_or_else(|| panic!("{what} is not found"));
        assert!(
            found.contains(told) && found.contains("; called as "),
            "{what}: {found}"
        );
    }
}
