//! A QUIC stack of quinn's family as a guest (ADR 24): the text of quinn and of noq, which was once
//! quinn, each over its own types. `super` is the stack: its crate, `proto`, and what it alone says.

use super::proto::congestion::{Controller, ControllerFactory, CubicConfig, NewRenoConfig};
use super::proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys, PacketKey,
    Session, UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{
    self, ClientConfig, ConnectError, Connection, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    ServerConfig, Side, StreamEvent, StreamId, TimeSource, TransportConfig, TransportError, VarInt,
};
use super::{BbrConfig, ConfigSelf, IdArgument};
use crate::handshake::Handshake;
use crate::host::{self, address, other, Application, Clock, Ids, Ready, ID_BYTES, TAG_BYTES};
use crate::watch::Watch;
use ackclock_net::queue::Ecn;
use ackclock_sim::guest::{Datagram, End, Event, Guest, Settings, State};
use bytes::BytesMut;
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The streams that it sends on or reads. What waits for an answer is a stream of its own.
    streams: Vec<StreamId>,
    ready: Ready,
    text: Vec<u8>,
}

struct Quic {
    clock: Clock,
    hosts: [Host; 2],
    watch: Watch,
    application: Application,
    /// Streams that are finished, and not yet acknowledged.
    finished: usize,
}

/// A connection whose client sends on one stream after the other.
pub(crate) fn open(settings: &Settings) -> Box<dyn Guest> {
    let clock = Clock::new();
    let watch = Watch::default();
    let transport = |watch: Watch| {
        let mut config = TransportConfig::default();
        let window = settings.flow.receive_window_bytes.map(VarInt::from_u64);
        let window = window.and_then(Result::ok).unwrap_or(VarInt::MAX);
        let watched = Watched {
            algorithm: settings.flow.algorithm.clone(),
            initial_window: settings.initial_window(),
            watch,
        };
        config
            .initial_mtu(settings.datagram_bytes)
            .mtu_discovery_config(None)
            .max_idle_timeout(None)
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(settings.flow.send_buffer_bytes.unwrap_or(u64::MAX))
            .congestion_controller_factory(Arc::new(watched));
        Arc::new(config)
    };
    let host = |end: End, server: Option<ServerConfig>| {
        let mut config = EndpointConfig::new(Arc::new(Plain));
        super::set_ids(&mut config, end);
        config.rng_seed(Some(host::seed(settings, end)));
        // A size that is out of the stack's range leaves its own.
        let _ = config.max_udp_payload_size(settings.datagram_bytes);
        Host {
            endpoint: super::endpoint(config, server),
            connection: None,
            streams: Vec::new(),
            ready: Ready::default(),
            text: Vec::new(),
        }
    };
    let mut server = ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
    server.transport_config(transport(Watch::default()));
    server.time_source(Arc::new(Plain));
    let mut hosts = [host(End::Sender, None), host(End::Receiver, Some(server))];
    let mut client = ClientConfig::new(Arc::new(Plain));
    client.transport_config(transport(watch.clone()));
    client.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[0xac; 20])));
    let now = clock.at(settings.now_ns);
    let opened = (hosts[0].endpoint).connect(now, client, address(End::Receiver), "receiver");
    hosts[0].connection = Some(opened.expect("address and version are the stack's own"));
    Box::new(Quic {
        clock,
        hosts,
        watch,
        application: Application::new(settings),
        finished: 0,
    })
}

impl Quic {
    fn connection(&mut self, end: End) -> Option<&mut Connection> {
        let (_, connection) = self.hosts[end as usize].connection.as_mut()?;
        Some(connection)
    }

    /// What an end's connection tells its endpoint and its application.
    fn settle(&mut self, end: End, now_ns: u64) {
        let host = &mut self.hosts[end as usize];
        let Some((handle, connection)) = &mut host.connection else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = host.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match (event, end) {
                (proto::Event::Connected, End::Sender) => {
                    self.application.begin(now_ns);
                    self.watch.tell(Event::Established);
                }
                (proto::Event::ConnectionLost { .. }, End::Sender) => {
                    let window = super::control(connection).map_or(0, Controller::window);
                    self.watch.congestion(true, window, window);
                }
                (proto::Event::Stream(StreamEvent::Finished { .. }), End::Sender) => {
                    self.finished -= 1;
                    let is_all = self.finished == 0 && host.streams.is_empty();
                    if is_all && self.application.answered(now_ns) {
                        self.watch.tell(Event::Completed);
                    }
                }
                (proto::Event::Stream(StreamEvent::Opened { dir }), End::Receiver) => {
                    while let Some(stream) = connection.streams().accept(dir) {
                        host.streams.push(stream);
                    }
                }
                _ => (),
            }
        }
        if end == End::Receiver {
            host.streams.retain(|stream| {
                let mut reader = connection.recv_stream(*stream);
                let Ok(mut chunks) = reader.read(false) else {
                    return false;
                };
                let goes_on = loop {
                    match chunks.next(usize::MAX) {
                        Ok(Some(chunk)) => self.application.read_bytes += chunk.bytes.len() as u64,
                        end => break end.is_err(),
                    }
                };
                let _ = chunks.finalize();
                goes_on
            });
        }
    }

    /// The application writes.
    fn write(&mut self, now_ns: u64) {
        let host = &mut self.hosts[End::Sender as usize];
        let application = &mut self.application;
        let (Some((_, connection)), true) = (&mut host.connection, application.is_writing()) else {
            return;
        };
        application.advance(now_ns);
        let window = super::control(connection).map_or(0, Controller::window);
        loop {
            let text = application.next(now_ns, window);
            let is_over = text.is_empty() && application.ends(now_ns);
            let begins = !text.is_empty() || (is_over && self.finished == 0);
            if begins && host.streams.is_empty() {
                host.streams.extend(connection.streams().open(Dir::Uni));
            }
            let Some(stream) = host.streams.first() else {
                break;
            };
            let mut sends = connection.send_stream(*stream);
            if text.is_empty() {
                if (is_over || application.asks()) && sends.finish().is_ok() {
                    host.streams.clear();
                    self.finished += 1;
                }
                break;
            }
            let Some(bytes) = super::write(&mut sends, text) else {
                break;
            };
            application.written_bytes += bytes as u64;
        }
        application.is_finished = application.ends(now_ns);
    }
}

impl Guest for Quic {
    fn poll_transmit(&mut self, end: End, now_ns: u64) -> Option<Datagram> {
        if end == End::Sender {
            self.write(now_ns);
        }
        let now = self.clock.at(now_ns);
        let host = &mut self.hosts[end as usize];
        if host.ready.is_empty() {
            host.text.clear();
            let (_, connection) = host.connection.as_mut()?;
            let sent = super::poll_transmit(connection, now, &mut host.text)?;
            let text = &host.text[..sent.size];
            host.ready.take(text, sent.segment_size, ours(sent.ecn));
        }
        host.ready.next()
    }

    fn receive(&mut self, end: End, now_ns: u64, datagram: Datagram) {
        let now = self.clock.at(now_ns);
        let data = BytesMut::from(&datagram.bytes[..]);
        let (from, ecn) = (
            address(other(end)),
            EcnCodepoint::from_bits(datagram.ecn as u8),
        );
        let host = &mut self.hosts[end as usize];
        host.text.clear();
        match super::handle(&mut host.endpoint, now, from, ecn, data, &mut host.text) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut host.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                host.text.clear();
                let accepted = host.endpoint.accept(incoming, now, &mut host.text, None);
                host.connection = accepted.ok().or(host.connection.take());
            }
            Some(DatagramEvent::Response(sent)) => {
                let text = &host.text[..sent.size];
                host.ready.take(text, sent.segment_size, ours(sent.ecn));
            }
            None => (),
        }
        self.settle(end, now_ns);
    }

    fn poll_timeout(&mut self, end: End) -> u64 {
        let at = (self.connection(end)).and_then(|connection| connection.poll_timeout());
        let at_ns = at.map_or(u64::MAX, |at| self.clock.ns(at));
        match end {
            End::Sender => at_ns.min(self.application.next_ns()),
            End::Receiver => at_ns,
        }
    }

    fn handle_timeout(&mut self, end: End, now_ns: u64) {
        let now = self.clock.at(now_ns);
        if let Some(connection) = self.connection(end) {
            connection.handle_timeout(now);
        }
        self.settle(end, now_ns);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.watch.seen().events.pop_front()
    }

    fn state(&self) -> State {
        let connection = self.hosts[End::Sender as usize].connection.as_ref();
        let connection = connection.map(|(_, connection)| connection);
        let mut state =
            (self.watch).state(self.application.read_bytes, connection.and_then(super::rtt));
        if let Some(control) = connection.and_then(super::control) {
            state.cwnd_bytes = control.window();
            state.ssthresh_bytes = control.metrics().ssthresh.filter(|bytes| *bytes < u64::MAX);
        }
        connection.inspect(|connection| super::count_packets(connection, &mut state));
        state
    }
}

/// Builds the congestion control with this name of ours.
struct Watched {
    algorithm: String,
    /// Bytes; none: its own.
    initial_window: Option<u64>,
    watch: Watch,
}

impl ControllerFactory for Watched {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        macro_rules! build {
            ($config:ty) => {{
                let mut config = <$config>::default();
                if let Some(bytes) = self.initial_window {
                    config.initial_window(bytes);
                }
                Arc::new(config).build(now, mtu)
            }};
        }
        let inner = match self.algorithm.as_str() {
            "reno" => build!(NewRenoConfig),
            "cubic" => build!(CubicConfig),
            _ => build!(BbrConfig),
        };
        let watch = self.watch.clone();
        Box::new(Control { inner, watch })
    }
}

/// A congestion control of the stack's, and who looks at it.
pub(super) struct Control {
    pub(super) inner: Box<dyn Controller>,
    pub(super) watch: Watch,
}

/// The hooks of a congestion control that every stack has.
macro_rules! common_hooks {
    () => {
        fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
            self.watch.seen().in_flight_bytes += bytes;
            self.inner.on_sent(now, bytes, last_packet_number);
        }

        fn on_end_acks(
            &mut self,
            now: Instant,
            in_flight: u64,
            app_limited: bool,
            largest_packet_num_acked: Option<u64>,
        ) {
            self.watch.acked(in_flight);
            (self.inner).on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        }

        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.inner.on_mtu_update(new_mtu);
        }

        fn window(&self) -> u64 {
            self.inner.window()
        }

        fn metrics(&self) -> ControllerMetrics {
            self.inner.metrics()
        }

        fn clone_box(&self) -> Box<dyn Controller> {
            let (inner, watch) = (self.inner.clone_box(), self.watch.clone());
            Box::new(Self { inner, watch })
        }

        fn initial_window(&self) -> u64 {
            self.inner.initial_window()
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    };
}

/// Keys that change nothing, the clock of a server and the configuration of either side.
pub(super) struct Plain;

fn session(side: Side, params: &TransportParameters) -> Box<dyn Session> {
    let mut own = Vec::new();
    params.write(&mut own);
    Box::new(Greeting(side, Handshake::new(side == Side::Client, own)))
}

struct Greeting(Side, Handshake);

impl Session for Greeting {
    fn initial_keys(&self, _: IdArgument, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.1.is_over()
    }

    fn read_handshake(&mut self, text: &[u8]) -> Result<bool, TransportError> {
        self.1.read(text);
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let read = |mut text: &[u8]| TransportParameters::read(self.0, &mut text);
        let params = self.1.peers_params().map(read).transpose();
        params.map_err(Into::into)
    }

    fn write_handshake(&mut self, to: &mut Vec<u8>) -> Option<Keys> {
        self.1.write(to).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _: IdArgument, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl crypto::ClientConfig for Plain {
    fn start_session(
        self: ConfigSelf,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(session(Side::Client, params))
    }
}

impl crypto::ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: IdArgument) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: IdArgument, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: ConfigSelf, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        session(Side::Server, params)
    }
}

/// What the keys of every stack say of a packet.
macro_rules! common_limits {
    () => {
        fn tag_len(&self) -> usize {
            TAG_BYTES
        }

        fn confidentiality_limit(&self) -> u64 {
            u64::MAX
        }

        fn integrity_limit(&self) -> u64 {
            u64::MAX
        }
    };
}

pub(super) use {common_hooks, common_limits};

/// Bytes of a packet's text without the tag of no meaning behind it.
pub(super) fn untagged_bytes(text: &[u8]) -> Result<usize, CryptoError> {
    text.len().checked_sub(TAG_BYTES).ok_or(CryptoError)
}

fn keys() -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(Plain),
            remote: Box::new(Plain),
        },
        packet: packet_keys(),
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: Box::new(Plain),
        remote: Box::new(Plain),
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG_BYTES
    }
}

impl HmacKey for Plain {
    fn sign(&self, data: &[u8], to: &mut [u8]) {
        host::sign(data, to);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl TimeSource for Plain {
    fn now(&self) -> SystemTime {
        host::day()
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.draw())
    }

    fn cid_len(&self) -> usize {
        ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

fn ours(ecn: Option<EcnCodepoint>) -> Ecn {
    ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8))
}
