//! What quinn alone says: quinn-proto, the state machine of quinn (<https://github.com/quinn-rs/quinn>).

#[path = "guest.rs"]
#[allow(clippy::duplicate_mod, reason = "one text, two crates (ADR 24)")]
mod guest;

use crate::host::{Ids, BURST, TAG_BYTES};
use ackclock_sim::guest::{End, State};
use bytes::{Bytes, BytesMut};
use guest::{common_hooks, common_limits, untagged_bytes, Control, Plain};
use quinn_proto as proto;
use quinn_proto::congestion::{BbrConfig, Controller, ControllerMetrics};
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, PacketKey};
use quinn_proto::{
    Connection, ConnectionId, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, RttEstimator,
    SendStream, ServerConfig, Transmit,
};
use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use guest::open;

/// The ID of a connection as an argument, and a configuration as one's self.
type IdArgument<'a> = &'a ConnectionId;
type ConfigSelf = Arc<Plain>;

fn set_ids(config: &mut EndpointConfig, end: End) {
    config.cid_generator(move || Box::new(Ids::for_end(end)));
}

fn endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), true, None)
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, data, answer)
}

fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    text: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, BURST, text)
}

/// Returns how many bytes the stream takes.
fn write(to: &mut SendStream<'_>, text: &'static [u8]) -> Option<usize> {
    let written = to.write_chunks(&mut [Bytes::from_static(text)]);
    written.ok().map(|written| written.bytes)
}

fn control(connection: &Connection) -> Option<&dyn Controller> {
    Some(connection.congestion_state())
}

fn rtt(connection: &Connection) -> Option<Duration> {
    Some(connection.rtt())
}

fn count_packets(connection: &Connection, state: &mut State) {
    let path = connection.stats().path;
    (state.sent_packets, state.lost_packets) = (path.sent_packets, path.lost_packets);
}

impl Controller for Control {
    common_hooks!();

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.watch.rtt(rtt.min());
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let before = self.inner.window();
        (self.inner).on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        (self.watch).congestion(is_persistent_congestion, before, self.inner.window());
    }
}

impl PacketKey for Plain {
    common_limits!();

    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        payload.truncate(untagged_bytes(payload)?);
        Ok(())
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Plain)
    }
}

impl AeadKey for Plain {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.resize(data.len() + TAG_BYTES, 0);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let bytes = untagged_bytes(data)?;
        Ok(&mut data[..bytes])
    }
}
