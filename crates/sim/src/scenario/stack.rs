//! What a flow of a QUIC stack or of UDP may be.

use super::error::check;
use super::{EcnMode, Flow, Hides, Scenario, ScenarioError, StackName};
use crate::guest::HEADER_BYTES;
use crate::udp;

/// The algorithm of a flow without congestion control.
const NONE: &str = "none";
/// QUIC needs datagrams of 1200 bytes (RFC 9000, section 14).
const LEAST_DATAGRAM_BYTES: u32 = 1_200;

impl Scenario {
    /// Whether a flow is of a QUIC stack.
    pub(crate) fn has_guests(&self) -> bool {
        self.flows.iter().any(|flow| flow.stack.is_some())
    }

    /// Payload of a full datagram, bytes.
    pub(crate) fn datagram_bytes(&self) -> u16 {
        let bytes = self.packet_bytes().saturating_sub(HEADER_BYTES);
        bytes.try_into().unwrap_or(u16::MAX)
    }

    /// A rate and the algorithm `none` are for UDP, and UDP needs them.
    pub(super) fn validate_rate(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let is_udp = flow.stack == Some(StackName::Udp);
        check(
            is_udp || flow.algorithm != NONE,
            &format!("{of}.algorithm"),
            flow.algorithm.clone(),
            "only udp has none; choose an algorithm of `ackclock list`",
        )?;
        let fix = match is_udp {
            true => "udp needs one; write rate = \"20mbit\"",
            false => "only udp has one; write max_pacing_rate",
        };
        let rate = flow.rate_bps.map_or("none".into(), |bps| bps.to_string());
        check(
            flow.rate_bps.is_some() == is_udp,
            &format!("{of}.rate_bps"),
            rate,
            fix,
        )
    }

    pub(super) fn validate_stack(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let Some(name) = flow.stack.map(StackName::name) else {
            return Ok(());
        };
        let field = |field: &str| format!("{of}.{field}");
        let stack = udp::find(name);
        check(
            stack.is_some(),
            &field("stack"),
            name.into(),
            "this ackclock is built without QUIC stacks; type `make quic`",
        )?;
        let is_udp = flow.stack == Some(StackName::Udp);
        let algorithms = stack.map_or(&[][..], |stack| stack.algorithms);
        check(
            algorithms.contains(&flow.algorithm.as_str()),
            &field("algorithm"),
            flow.algorithm.clone(),
            &match is_udp {
                true => "udp has no congestion control; write \"none\"".into(),
                false => format!(
                    "{name} has {} of its own; choose one",
                    algorithms.join(", ")
                ),
            },
        )?;
        for (key, is_given) in [
            ("profile", flow.profile.is_some()),
            ("tso", flow.tso.is_some()),
            ("frames", is_udp && flow.frames.is_some()),
            ("writes", is_udp && !flow.writes.is_empty()),
            ("mss_bytes", flow.mss_bytes.is_some()),
            ("initcwnd", is_udp && flow.initcwnd.is_some()),
            ("max_pacing_rate_bps", flow.max_pacing_rate_bps.is_some()),
            ("reads", flow.reads.is_some()),
            ("read_rate_bps", flow.read_rate_bps.is_some()),
            ("sack", !flow.sack),
            ("rack", !flow.rack),
            ("tlp", !flow.tlp),
            ("timestamps", !flow.timestamps),
            ("slow_start_after_idle", !flow.slow_start_after_idle),
            ("rto_min_ns", flow.rto_min_ns.is_some()),
            (
                "send_buffer_bytes",
                is_udp && flow.send_buffer_bytes.is_some(),
            ),
            ("receive_buffer_bytes", flow.receive_buffer_bytes.is_some()),
            (
                "initial_ssthresh_packets",
                flow.initial_ssthresh_packets.is_some(),
            ),
            ("hides", flow.hides != Hides::Nothing),
            ("size_bytes", is_udp && flow.size_bytes.is_some()),
            (
                "receive_window_bytes",
                is_udp && flow.receive_window_bytes.is_some(),
            ),
            ("ecn", is_udp && !flow.ecn.is_off()),
            ("delayed_ack_segments", flow.delayed_ack_segments.is_some()),
            ("back", is_udp && !flow.back.is_empty()),
        ] {
            let fix = format!("{name} is not told so; leave it out");
            check(!is_given, &field(key), "given".into(), &fix)?;
        }
        check(
            flow.stack != Some(StackName::Quinn) || flow.initcwnd != Some(1),
            &field("initcwnd"),
            "1".into(),
            "quinn sends only what leaves room in its window, so nothing with one packet; choose 2 or more",
        )?;
        check(
            flow.ecn != EcnMode::Accurate,
            &field("ecn"),
            flow.ecn.name(),
            "QUIC's counts are accurate (RFC 9000, section 13.4); write true",
        )?;
        check(
            is_udp || u32::from(self.datagram_bytes()) >= LEAST_DATAGRAM_BYTES,
            "mss_bytes",
            self.mss_bytes.to_string(),
            "QUIC needs packets of 1228 bytes and more",
        )
    }
}
