use super::super::clock::{virtual_jiffies, FIRST_JIFFY};
use super::super::profile::Kernel;
use super::*;
use crate::scenario::Profile;
use ackclock_host::{Algorithm, HostConfig};

const S: u64 = 1_000_000_000;

/// The head of `mod.rs` says who serves each field and each hook, and names its test.
#[test]
fn the_table_is_complete() {
    let (fields, this) = (
        include_str!("../../../../host/src/sock.rs"),
        include_str!("mod.rs"),
    );
    let rows: Vec<_> = this
        .lines()
        .filter(|line| line.starts_with("//! | ") && !line.ends_with("| test |"))
        .collect();
    let holders = ["sk_host", "sk", "inet_conn", "reserved"];
    let mut checked = 0;
    for name in [
        "CcHost",
        "Sock",
        "InetConnectionSock",
        "TcpSock",
        "AckSample",
        "RateSample",
        "TcpCongestionOps",
    ] {
        let (_, body) = fields.split_once(&format!("pub struct {name} {{")).unwrap();
        let (body, _) = body.split_once('}').unwrap();
        for line in body
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pub "))
        {
            let (field, _) = line.split_once(':').unwrap();
            let named = |row: &&&str| {
                let (first, _) = row["//! | ".len()..].split_once(" | ").unwrap();
                first
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| word == field)
            };
            let count = rows.iter().filter(named).count();
            assert!(count > 0 || holders.contains(&field), "{field} has no row");
            checked += count;
        }
    }
    assert!(checked > 60, "{checked}");
    let read = |path: String| std::fs::read_to_string(&path).expect(&path);
    let root = env!("CARGO_MANIFEST_DIR");
    for row in &rows {
        let cell = row.trim_end_matches(" |").rsplit_once(" | ").unwrap().1;
        for test in cell.split('`').skip(1).step_by(2) {
            if let Some((module, name)) = test.split_once("::tests::") {
                let own = format!("{root}/src/tcp/{module}/tests.rs");
                let text = std::fs::read_to_string(own)
                    .unwrap_or_else(|_| read(format!("{root}/src/tcp/{module}.rs")));
                assert!(text.contains(&format!("fn {name}()")), "{test}");
            } else if test != "ackclock-host" {
                assert!(read(format!("{root}/{test}")).contains("#[test]"), "{test}");
            }
        }
    }
}

#[test]
fn what_a_connection_begins_with() {
    for (profile, cwnd, pacing) in [
        (Profile::Linux6, 10, true),
        (Profile::Linux2_6_25, 3, false),
    ] {
        let kernel = Kernel::for_profile(profile);
        let algorithm = Algorithm::configure("reno").unwrap();
        let cc = CongestionControl::new(&algorithm, HostConfig::default());
        let initial_cwnd = kernel.initial_cwnd(cc.tp().mss_cache);
        let host = Host::new(cc, kernel.clock(250, 0), initial_cwnd, pacing, S);
        let (tp, sk) = (host.tp(), &host.tp().inet_conn.sk);
        assert_eq!((tp.snd_cwnd, tp.snd_cwnd_clamp), (cwnd, u32::MAX));
        assert_eq!(tp.snd_ssthresh, TCP_INFINITE_SSTHRESH);
        assert_eq!((sk.sk_gso_max_size, sk.sk_pacing_shift), (65_536, 10));
        assert_eq!(
            sk.sk_max_pacing_rate,
            u64::MAX,
            "the application sets no limit"
        );
        assert_eq!(sk.sk_pacing_status, u32::from(pacing));
        assert_eq!(host.state(), CaState::Open);
    }
}

/// 4 ms ticks, the first at 1 ms.
#[test]
fn the_clock_ticks_at_its_phase() {
    let algorithm = Algorithm::configure("reno").unwrap();
    let cc = CongestionControl::new(&algorithm, HostConfig::default());
    let clock = Kernel::for_profile(Profile::Linux6).clock(250, 1_000_000);
    let mut host = Host::new(cc, clock, 10, false, 0);
    assert_eq!(host.jiffies_of_us(4_001), 2);
    for (now_ns, jiffies) in [
        (999_999, 0),
        (1_000_000, 1),
        (4_999_999, 1),
        (13_000_000, 4),
    ] {
        host.clock(now_ns);
        assert_eq!(
            (
                host.jiffies(),
                host.tp().tcp_mstamp,
                host.tp().tcp_clock_cache
            ),
            (
                (FIRST_JIFFY + virtual_jiffies(250)) as u32 + jiffies,
                now_ns / 1_000,
                now_ns
            )
        );
    }
}

#[test]
fn sequence_numbers_count_bytes_and_wrap() {
    let mut host = reno(Profile::Linux6, 10);
    host.publish_una(3);
    host.publish_nxt(1 << 32);
    assert_eq!((host.tp().snd_una, host.tp().snd_nxt), (3 * 1448, 0));
    // 2³² bytes are 2 966 137 segments and 920 bytes.
    host.publish_una(2_966_137);
    host.publish_nxt(2_966_138);
    let tp = host.tp();
    assert_eq!((tp.snd_una.wrapping_add(920), tp.snd_nxt), (0, 1448 - 920));
}

#[test]
fn growth_is_stamped() {
    let mut host = reno(Profile::Linux6, 10);
    host.set_usage(true, 10);
    host.clock(2 * S);
    host.grow(2);
    assert_eq!(
        (host.tp().snd_cwnd, host.tp().snd_cwnd_stamp),
        (12, (FIRST_JIFFY + virtual_jiffies(1_000)) as u32 + 2_001)
    );
}

#[test]
fn sending_is_dated() {
    let mut host = reno(Profile::Linux6, 10);
    let first = (FIRST_JIFFY + virtual_jiffies(1_000)) as u32;
    assert_eq!(host.tp().lsndtime, 0);
    host.date_idleness();
    assert_eq!(host.tp().lsndtime, first + 1_001);
    host.clock(S + 2_500_000);
    host.note_sent();
    assert_eq!(host.tp().lsndtime, first + 1_003);
}

#[test]
fn deliveries_are_dated() {
    let mut host = reno(Profile::Linux6, 10);
    host.clock(S + 2_000);
    host.note_delivered(0);
    assert_eq!(host.tp().delivered_mstamp, 0, "nothing was delivered");
    host.note_delivered(1);
    assert_eq!(host.tp().delivered_mstamp, 1_000_002);
    host.clock(S + 9_000);
    host.stamp_delivered();
    assert_eq!(host.tp().delivered_mstamp, 1_000_009);
}

/// `usecs_to_jiffies` rounds up; back-off doubles jiffies, up to 120 s.
#[test]
fn the_timeout_is_in_jiffies() {
    let algorithm = Algorithm::configure("reno").unwrap();
    let cc = CongestionControl::new(&algorithm, HostConfig::default());
    let clock = Kernel::for_profile(Profile::Linux6).clock(250, 0);
    let mut host = Host::new(cc, clock, 10, false, S);
    for (rto_us, backoffs, jiffies) in [
        (200_000, 0, 50),
        (200_001, 0, 51),
        (200_001, 2, 204),
        (1_000_000, 6, 16_000),
        (1_000_000, 7, 30_000),
        (1_000_000, 90, 30_000),
        (120_000_000, 0, 30_000),
    ] {
        host.publish_rto(rto_us);
        (0..backoffs).for_each(|_| host.back_off_rto());
        assert_eq!(host.tp().inet_conn.icsk_rto, jiffies, "{rto_us} {backoffs}");
    }
}

/// `tcp_rate_check_app_limited`, and its end in `tcp_rate_gen`.
#[test]
fn an_application_that_writes_too_little() {
    let mut host = reno(Profile::Linux6, 10);
    host.counts().sent(10);
    host.check_app_limited();
    assert_eq!(host.tp().app_limited, 0, "cwnd was the limit");
    host.set_cwnd(11);
    host.counts().lost(false);
    host.check_app_limited();
    assert_eq!(host.tp().app_limited, 0, "a lost packet waits");
    host.counts().retransmitted();
    host.check_app_limited();
    assert_eq!(host.tp().app_limited, 1 + 10);
    host.counts().delivered(10);
    host.note_delivered(10);
    assert_eq!(host.tp().app_limited, 11, "what was out is delivered");
    host.counts().delivered(1);
    host.note_delivered(1);
    assert_eq!(host.tp().app_limited, 0, "and more");
}

#[test]
fn a_reduction_is_undone() {
    let mut host = reno(Profile::Linux6, 20);
    host.set_ssthresh(12);
    assert_eq!(host.current_ssthresh(), 15, "three quarters of cwnd");
    host.set_prior_ssthresh(15);
    host.begin_reduction();
    assert_eq!((host.tp().prior_cwnd, host.tp().snd_ssthresh), (20, 10));
    host.set_state(CaState::Recovery);
    assert!(host.in_cwnd_reduction());
    assert_eq!(host.current_ssthresh(), 10, "it is that already");
    host.set_cwnd(7);
    host.undo();
    assert_eq!((host.tp().snd_cwnd, host.tp().snd_ssthresh), (20, 15));
    host.set_prior_ssthresh(0);
    host.set_cwnd(7);
    host.undo();
    assert_eq!(host.tp().snd_cwnd, 7, "there was nothing to restore");
}

#[test]
fn windows_that_no_sender_can_live_with() {
    let mut host = reno(Profile::Linux6, MAX_CWND);
    assert_eq!(host.fault(), None);
    host.set_cwnd(MAX_CWND + 1);
    assert_eq!(host.fault(), Some(("snd_cwnd", MAX_CWND + 1, MAX_CWND)));
    host.set_cwnd(1);
    host.set_ssthresh(0);
    assert_eq!(
        host.fault(),
        Some(("snd_ssthresh", 0, TCP_INFINITE_SSTHRESH))
    );
}
