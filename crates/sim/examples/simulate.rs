//! Runs a canonical scenario (JSON file) and prints its summary; with a second
//! argument, writes the samples there as CSV. For work on the engine itself.

use ackclock_sim::{run, Control, Scenario};
use std::io::Write;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: simulate SCENARIO.json [SAMPLES.csv]")?;
    let scenario = Scenario::from_json(&std::fs::read_to_string(path)?)?;
    let start = Instant::now();
    let result = run(&scenario, &Control::default())?;
    let elapsed_s = start.elapsed().as_secs_f64();
    let rate = result.packets as f64 / elapsed_s / 1e6;
    println!(
        "{:.1} M packets in {elapsed_s:.2} s: {rate:.2} M packets/s, trace {:016x}",
        result.packets as f64 / 1e6,
        result.trace_hash
    );
    let flows = &result.flows;
    for row in 0..flows.len() {
        println!(
            "flow {}: delivered {} MB, sent {}, retransmitted {}, dropped {}, recoveries {}, timeouts {}, undos {}",
            flows.flow[row],
            flows.delivered_bytes[row] / 1_000_000,
            flows.sent_packets[row],
            flows.retransmitted_packets[row],
            flows.dropped_packets[row],
            flows.recoveries[row],
            flows.timeouts[row],
            flows.undos[row]
        );
    }
    if let Some(path) = arguments.next() {
        let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
        writeln!(out, "time_us,flow,cwnd,ssthresh,srtt_us,in_flight,delivered,delivered_bytes,lost,retransmitted,state")?;
        let s = &result.samples;
        for i in 0..s.len() {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{}",
                s.time_us[i],
                s.flow[i],
                s.cwnd_packets[i],
                s.ssthresh_packets[i],
                s.srtt_us[i],
                s.in_flight_packets[i],
                s.delivered_packets[i],
                s.delivered_bytes[i],
                s.lost_packets[i],
                s.retransmitted_packets[i],
                s.state[i].0
            )?;
        }
    }
    Ok(())
}
