//! Candidates follow a record of packets.

use ackclock_host::{Algorithm, HostConfig, TCP_INFINITE_SSTHRESH};
use ackclock_py_tables::refuse;
use ackclock_sim::follow::{Host, Packet, What};
use ackclock_sim::scenario::{EcnMode, Profile};
use ackclock_sim::tcp::profile::{Kernel, Switches};
use ackclock_sim::tcp::Handshake;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Numbers of a packet: time, kind, segments from and to, time of the echo, three SACK blocks, flags.
const WORDS: usize = 12;

/// The host of a sender, and how its connection began. Times are ns, sizes bytes and packets.
#[derive(FromPyObject)]
pub struct Of {
    profile: String,
    hz: u32,
    tick_phase_ns: u64,
    mss: u32,
    initcwnd: Option<u32>,
    ssthresh: Option<u32>,
    established_ns: u64,
    rtt_ns: u64,
    pacing: bool,
    tso: bool,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    seed: u64,
    slack_ns: u64,
}

fn packets(bytes: &[u8]) -> Vec<Packet> {
    let words = bytes.chunks_exact(8);
    let words = words.map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
    let words: Vec<u64> = words.collect();
    let of = |of: &[u64]| Packet {
        at_ns: of[0],
        what: match of[1] {
            0 => What::New,
            1 => What::Again,
            _ => What::Ack,
        },
        segments: (of[2], of[3]),
        echo_ns: of[4],
        sacks: [(of[5], of[6]), (of[7], of[8]), (of[9], of[10])],
        flags: [1, 2, 4].map(|bit| of[11] & bit != 0),
    };
    words.chunks_exact(WORDS).map(of).collect()
}

/// What algorithms would have sent of a record, open loop: for each of them, and each of its packets,
/// segments that it would have sent more from there on until the next packet (below 0: fewer before), its
/// cwnd, and what is in flight, 32 bits each. `packets`: numbers of 64 bits: time, kind (0 new data, 1 sent
/// again, 2 an ACK), segments from and to, time of the echo, three SACK blocks, flags (1 D-SACK, 2 ECE, 4
/// another window).
///
/// Raises AckclockError.
#[pyfunction]
pub fn follow<'py>(
    py: Python<'py>,
    candidates: Vec<(String, Of)>,
    packets: &[u8],
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let packets = self::packets(packets);
    let candidates = candidates.iter().map(|(spec, of)| {
        let configured = Algorithm::configure(spec).map_err(|error| refuse(error.to_string()))?;
        let profile = serde_json::from_value(of.profile.clone().into());
        Ok((configured, profile.map_err(refuse)?, of))
    });
    let candidates = candidates.collect::<PyResult<Vec<(_, Profile, _)>>>()?;
    let mut found = Vec::new();
    for (configured, profile, of) in &candidates {
        let rows =
            py.detach(|| ackclock_sim::follow::follow(configured, &of.host(*profile), &packets));
        let words = rows
            .iter()
            .flat_map(|row| [row.error as u32, row.cwnd, row.in_flight]);
        let bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
        found.push(PyBytes::new(py, &bytes));
        py.check_signals()?;
    }
    Ok(found)
}

impl Of {
    fn host(&self, profile: Profile) -> Host {
        let kernel = Kernel::shared(profile);
        Host {
            profile,
            switches: Switches {
                tso: self.tso,
                pacing: self.pacing,
                initcwnd: self.initcwnd,
                sack: self.sack,
                timestamps: self.timestamps,
                long_way: true,
                ..Switches::usual(profile)
            },
            config: HostConfig {
                hz: self.hz,
                era: kernel.era,
                random_seed: self.seed,
                mss_bytes: self.mss,
                initial_cwnd: self.initcwnd.unwrap_or(kernel.initial_cwnd(self.mss)),
                initial_ssthresh: self.ssthresh.unwrap_or(TCP_INFINITE_SSTHRESH),
                flow: 0,
            },
            handshake: Handshake {
                now_ns: self.established_ns,
                rtt_ns: self.rtt_ns,
                ecn: if self.ecn {
                    EcnMode::Classic
                } else {
                    EcnMode::Off
                },
                one_packet: false,
            },
            tick_phase_ns: self.tick_phase_ns,
            slack_ns: self.slack_ns,
        }
    }
}
