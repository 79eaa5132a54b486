//! A path that no TCP window fills is refused before it runs.

use ackclock_sim::Scenario;

fn scenario(rate_bps: u64, rtt_ns: u64, flows: usize, receive_window: &str) -> String {
    let flow = format!(
        r#"{{"algorithm":"cubic","direction":"forward","rtt_ns":{rtt_ns},"rtt_exponential_ns":0,
        "start_ns":0,"start_spread_ns":0,"stop_ns":null,"size_bytes":null,
        "receive_window_bytes":{receive_window},"send_buffer_bytes":null,
        "initial_ssthresh_packets":null}}"#
    );
    format!(
        r#"{{"seed":1,"duration_ns":1000000000,"profile":"linux-6","hz":250,"mss_bytes":1448,
        "header_bytes":52,"jitter_ns":0,"delayed_ack_segments":2,"reads":"at_once","tso":true,"pacing":false,
        "bottleneck":{{"rate_bps":{rate_bps},"buffer":{{"packets":100}},
        "drop_every_packets":null}},"flows":[{}],"sessions":[],"sample_interval_ns":0}}"#,
        vec![flow; flows].join(",")
    )
}

#[test]
fn a_window_beyond_the_sequence_space_is_refused() {
    let terabit = 1_000_000_000_000;
    let error = Scenario::from_json(&scenario(terabit, 1_000_000_000, 1, "null")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bottleneck.rate_bps = \"1tbit\": flow 1, with a round trip of 1s, needs a window of 125000000000 \
         bytes for its share of the rate; TCP allows at most 1073741824 (RFC 7323). Write \
         receive_window = \"1GiB\" for flow 1, or lower the rate or the RTT"
    );
    for (rtt_ns, flows, window) in [
        (8_000_000, 1, "null"),
        (1_000_000_000, 1, "1073741824"),
        (1_000_000_000, 120, "null"),
    ] {
        Scenario::from_json(&scenario(terabit, rtt_ns, flows, window)).unwrap();
    }
    assert!(Scenario::from_json(&scenario(terabit, 9_000_000, 1, "null")).is_err());
    // Delays of links count.
    let late = scenario(terabit, 8_000_000, 1, "null").replace(
        "\"drop_every_packets\":null",
        "\"drop_every_packets\":null,\"delay_ns\":1000000",
    );
    assert!(Scenario::from_json(&late).is_err());
    let faster = scenario(1_000_000, 1_000_000_000, 1, "null").replace(
        "\"drop_every_packets\":null",
        "\"drop_every_packets\":null,\"rate_at\":[{\"time_ns\":1,\"rate_bps\":1000000000000}]",
    );
    let error = Scenario::from_json(&faster).unwrap_err().to_string();
    assert!(
        error.starts_with("bottleneck.rate_at = \"1tbit\": flow 1"),
        "{error}"
    );
}
