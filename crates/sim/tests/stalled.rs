//! A hook that does not return is seen from outside, by the CPU time of its thread.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ackclock_net::buffer::Buffer;
use ackclock_net::link::Bottleneck;
use ackclock_sim::scenario::{Flow, Profile, Reads};
use ackclock_sim::{run, Control, RunError, Scenario};

fn scenario(algorithm: &str) -> Scenario {
    Scenario {
        seed: 1,
        duration_ns: 20_000_000_000,
        profile: Profile::Linux6,
        hz: 250,
        mss_bytes: 1448,
        header_bytes: 52,
        jitter_ns: 0,
        delayed_ack_segments: 2,
        reads: Reads::AtOnce,
        tso: true,
        pacing: false,
        sack_cost_ns: 0,
        bottleneck: Bottleneck::drop_tail(100_000_000, Buffer::Packets(100)),
        links: Vec::new(),
        flows: vec![
            Flow::endless("reno", 20_000_000),
            Flow::endless(algorithm, 20_000_000),
        ],
        sessions: vec![],
        changes: Vec::new(),
        programs: Vec::new(),
        sample_interval_ns: 0,
    }
}

fn start(scenario: &Scenario) -> (Arc<Control>, thread::JoinHandle<Result<u64, RunError>>) {
    let control = Arc::new(Control::default());
    let (scenario, shared) = (scenario.clone(), Arc::clone(&control));
    let thread = thread::spawn(move || Ok(run(&scenario, &shared)?.packets));
    (control, thread)
}

#[test]
fn an_endless_hook_stalls_its_run() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless.c");
    let text = "#include \"tcp_cc.h\"\n\
        CC_HOOK(u32, e_ssthresh, struct sock *sk) { for (volatile u32 i = 0; ; i++) ; return 2; }\n\
        CC_ALGORITHM(e, \"e\", .ssthresh = e_ssthresh, .cong_avoid = tcp_reno_cong_avoid);\n";
    std::fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let scenario = scenario(path);
    // Left behind, it ends with this process.
    let (control, thread) = start(&scenario);
    while control.stalled() < Duration::from_secs(1) {
        assert!(!thread.is_finished());
        thread::sleep(Duration::from_millis(20));
    }
    let error = RunError::stalled(&scenario).to_string();
    assert!(
        error.starts_with(&format!(
            "{path}: a hook has run for 5 s of CPU time and does not return"
        )),
        "{error}"
    );
}

#[test]
fn a_run_that_gets_on_never_stalls() {
    let (control, thread) = start(&scenario("cubic"));
    while !thread.is_finished() {
        assert!(control.stalled() < Duration::from_secs(1));
        thread::sleep(Duration::from_millis(20));
    }
    assert!(thread.join().unwrap().unwrap() > 10_000);
    assert_eq!(control.stalled(), Duration::ZERO);
}
