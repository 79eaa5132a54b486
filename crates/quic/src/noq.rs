//! What noq alone says: noq-proto, the state machine of noq (<https://github.com/n0-computer/noq>).

#[path = "guest.rs"]
#[allow(clippy::duplicate_mod, reason = "one text, two crates (ADR 24)")]
mod guest;

use crate::host::{Ids, BURST, TAG_BYTES};
use ackclock_sim::guest::{End, State};
use bytes::{Bytes, BytesMut};
use guest::{common_hooks, common_limits, untagged_bytes, Control, Plain};
use noq_proto as proto;
use noq_proto::congestion::{Bbr3Config as BbrConfig, Controller, ControllerMetrics};
use noq_proto::crypto::{CryptoError, HandshakeTokenKey, PacketKey};
use noq_proto::{
    Connection, ConnectionId, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    PathId, RttEstimator, SendStream, ServerConfig, Transmit,
};
use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use guest::open;

/// The ID of a connection as an argument, and a configuration as one's self.
type IdArgument = ConnectionId;
type ConfigSelf<'a> = &'a Plain;

fn set_ids(config: &mut EndpointConfig, end: End) {
    config.cid_generator(Arc::new(move || Box::new(Ids::for_end(end))));
}

fn endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), true)
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(from, None), ecn, data, answer)
}

fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    text: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(BURST)?, text)
}

/// Returns how many bytes the stream takes.
fn write(to: &mut SendStream<'_>, text: &'static [u8]) -> Option<usize> {
    to.write_chunks(&mut &mut [Bytes::from_static(text)][..])
        .ok()
}

fn control(connection: &Connection) -> Option<&dyn Controller> {
    connection.congestion_state(PathId::ZERO)
}

fn rtt(connection: &Connection) -> Option<Duration> {
    connection.rtt(PathId::ZERO)
}

/// The watch has counted them.
fn count_packets(_: &Connection, _: &mut State) {}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Controller for Control {
    common_hooks!();

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.watch.seen().sent_packets += 1;
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.watch.rtt(rtt.min());
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        last_pn: u64,
    ) {
        let before = self.inner.window();
        (self.inner).on_congestion_event(now, sent, persistent, is_ecn, lost_bytes, last_pn);
        (self.watch).congestion(persistent, before, self.inner.window());
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.watch.seen().lost_packets += 1;
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        (self.inner).on_ack_frequency_update(threshold, max_ack_delay);
    }
}

impl PacketKey for Plain {
    common_limits!();

    fn encrypt(&self, _: PathId, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(
        &self,
        _: PathId,
        _: u64,
        _: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        payload.truncate(untagged_bytes(payload)?);
        Ok(())
    }
}

impl HandshakeTokenKey for Plain {
    fn seal(&self, _: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        data.resize(data.len() + TAG_BYTES, 0);
        Ok(())
    }

    fn open<'a>(&self, _: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let bytes = untagged_bytes(data)?;
        Ok(&data[..bytes])
    }
}
