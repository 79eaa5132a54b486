//! What a flow of a QUIC stack or of UDP may be.

use super::able::Host;
use super::error::check;
use super::{Flow, Scenario, ScenarioError, StackName};
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

    /// The algorithm `none` is for UDP, and UDP needs a rate.
    pub(super) fn validate_rate(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let is_udp = flow.stack == Some(StackName::Udp);
        check(
            is_udp || flow.algorithm != NONE,
            &format!("{of}.algorithm"),
            &flow.algorithm,
            "only udp has none; choose an algorithm of `ackclock list`",
        )?;
        check(
            !is_udp || flow.rate_bps.is_some(),
            &format!("{of}.rate_bps"),
            "none",
            "udp needs one; write rate = \"20mbit\"",
        )
    }

    pub(super) fn validate_stack(&self, of: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let Some(each) = flow.stack else {
            return Ok(());
        };
        let name = each.name();
        let field = |field: &str| format!("{of}.{field}");
        let stack = udp::find(name);
        check(
            stack.is_some(),
            &field("stack"),
            name,
            if cfg!(target_arch = "wasm32") {
                "QUIC stacks run in the native engine of Linux only; leave it out"
            } else {
                "this ackclock is built without QUIC stacks; type `make quic`"
            },
        )?;
        let is_udp = each == StackName::Udp;
        let algorithms = stack.map_or(&[][..], |stack| stack.algorithms);
        check(
            algorithms.contains(&flow.algorithm.as_str()),
            &field("algorithm"),
            &flow.algorithm,
            &match is_udp {
                true => "udp has no congestion control; write \"none\"".into(),
                false => format!(
                    "{name} has {} of its own; choose one",
                    algorithms.join(", ")
                ),
            },
        )?;
        self.check_flow_on(Host::of(each), of, flow)?;
        check(
            is_udp || u32::from(self.datagram_bytes()) >= LEAST_DATAGRAM_BYTES,
            "mss_bytes",
            self.mss_bytes,
            "QUIC needs packets of 1228 bytes and more",
        )
    }
}
