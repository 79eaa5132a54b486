//! Another algorithm takes over an open connection.

use ackclock_host::{Algorithm, CongestionControl, HostConfig};

fn configure(spec: &str) -> ackclock_host::Configured {
    Algorithm::configure(spec).unwrap()
}

/// CUBIC with a window of 50 packets and a state of its own.
fn cubic() -> CongestionControl {
    let mut cc = CongestionControl::new(&configure("cubic"), HostConfig::default());
    cc.init();
    let tp = cc.tp_mut();
    (tp.snd_cwnd, tp.prior_ssthresh, tp.snd_ssthresh) = (50, 40, 20);
    tp.inet_conn.sk.sk_host.jiffies = 1_000_000;
    cc.cong_avoid(1_448, 2);
    assert!(cc.tp().inet_conn.icsk_ca_priv.iter().any(|word| *word != 0));
    cc
}

/// `tcp_reinit_congestion_control`
#[test]
fn the_window_stays_and_the_private_state_does_not() {
    let mut cc = cubic();
    let cwnd = cc.tp().snd_cwnd;
    cc.change(&configure("reno"));
    assert_eq!(cc.algorithm().name(), "reno");
    let tp = cc.tp();
    assert_eq!(
        (tp.snd_cwnd, tp.prior_ssthresh, tp.snd_ssthresh),
        (cwnd, 0, 20)
    );
    assert!(tp.inet_conn.icsk_ca_priv.iter().all(|word| *word == 0));
    assert_eq!(cc.ssthresh(), cwnd / 2);
    cc.change(&configure("bbr"));
    assert_eq!(cc.tp().inet_conn.sk.sk_pacing_status, 1, "its init has run");
}

/// Linux does nothing then (`tcp_set_congestion_control`); who writes a parameter of the module changes
/// what its hooks read.
#[test]
fn the_same_algorithm_keeps_its_state() {
    let mut cc = cubic();
    let state = cc.tp().inet_conn.icsk_ca_priv;
    cc.change(&configure("cubic:beta=0.5"));
    assert_eq!(cc.tp().inet_conn.icsk_ca_priv, state);
    assert_eq!(cc.ssthresh(), cc.tp().snd_cwnd / 2);
    assert_eq!(cc.tp().prior_ssthresh, 40);
}
