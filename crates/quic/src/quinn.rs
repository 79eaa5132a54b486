//! quinn-proto, the state machine of quinn (<https://github.com/quinn-rs/quinn>).

use crate::handshake::Handshake;
use crate::host::{self, address, other, Application, Clock, Ids, Ready, BURST, TAG_BYTES};
use crate::shared::shared;
use crate::watch::Watch;
use ackclock_sim::guest::{Datagram, End, Event, Guest, Settings, State};
use bytes::{Bytes, BytesMut};
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, KeyPair,
    Keys, PacketKey, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ClientConfig, ConnectError, Connection, ConnectionHandle, ConnectionId, DatagramEvent, Dir,
    Endpoint, EndpointConfig, RttEstimator, ServerConfig, Side, StreamEvent, StreamId,
    TransportConfig, TransportError, VarInt,
};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The streams that it sends on or reads. What waits for an answer is a stream of its own.
    streams: Vec<StreamId>,
    ready: Ready,
    text: Vec<u8>,
}

struct Quinn {
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
        let mut of = TransportConfig::default();
        let window = settings.flow.receive_window_bytes.map(VarInt::from_u64);
        let window = window.and_then(Result::ok).unwrap_or(VarInt::MAX);
        let watched = Watched {
            algorithm: settings.flow.algorithm.clone(),
            initial_window: settings.initial_window(),
            watch,
        };
        of.initial_mtu(settings.datagram_bytes)
            .mtu_discovery_config(None)
            .max_idle_timeout(None)
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(settings.flow.send_buffer_bytes.unwrap_or(u64::MAX))
            .congestion_controller_factory(Arc::new(watched));
        Arc::new(of)
    };
    let host = |end: End, server: Option<ServerConfig>| {
        let mut config = EndpointConfig::new(Arc::new(Plain));
        config.cid_generator(move || Box::new(Ids::of(end)));
        config.rng_seed(Some(host::seed(settings, end)));
        // A size that is out of quinn's range leaves its own.
        let _ = config.max_udp_payload_size(settings.datagram_bytes);
        Host {
            endpoint: Endpoint::new(Arc::new(config), server.map(Arc::new), true, None),
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
    hosts[0].connection = Some(opened.expect("address and version are those of quinn"));
    Box::new(Quinn {
        clock,
        hosts,
        watch,
        application: Application::new(settings),
        finished: 0,
    })
}

impl Quinn {
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
                (quinn_proto::Event::Connected, End::Sender) => {
                    self.application.begin(now_ns);
                    self.watch.tell(Event::Established);
                }
                (quinn_proto::Event::ConnectionLost { .. }, End::Sender) => {
                    let window = connection.congestion_state().window();
                    self.watch.congestion(true, window, window);
                }
                (quinn_proto::Event::Stream(StreamEvent::Finished { .. }), End::Sender) => {
                    self.finished -= 1;
                    let is_all = self.finished == 0 && host.streams.is_empty();
                    if is_all && self.application.answered(now_ns) {
                        self.watch.tell(Event::Completed);
                    }
                }
                (quinn_proto::Event::Stream(StreamEvent::Opened { dir }), End::Receiver) => {
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
        let window = connection.congestion_state().window();
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
            let Ok(written) = sends.write_chunks(&mut [Bytes::from_static(text)]) else {
                break;
            };
            application.written_bytes += written.bytes as u64;
        }
        application.is_finished = application.ends(now_ns);
    }
}

impl Guest for Quinn {
    fn poll_transmit(&mut self, end: End, now_ns: u64) -> Option<Datagram> {
        if end == End::Sender {
            self.write(now_ns);
        }
        let now = self.clock.at(now_ns);
        let host = &mut self.hosts[end as usize];
        if host.ready.is_empty() {
            host.text.clear();
            let (_, connection) = host.connection.as_mut()?;
            let sent = connection.poll_transmit(now, BURST, &mut host.text)?;
            let text = &host.text[..sent.size];
            host.ready.take(text, sent.segment_size, ours(sent.ecn));
        }
        host.ready.next()
    }

    fn receive(&mut self, end: End, now_ns: u64, datagram: Datagram) {
        let now = self.clock.at(now_ns);
        let data = BytesMut::from(&datagram.bytes[..]);
        let (from, ecn) = (address(other(end)), theirs(datagram.ecn));
        let host = &mut self.hosts[end as usize];
        host.text.clear();
        match (host.endpoint).handle(now, from, None, ecn, data, &mut host.text) {
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
        let at = self.connection(end).and_then(Connection::poll_timeout);
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
        let srtt = connection.map(|(_, connection)| connection.rtt());
        let mut state = self.watch.state(self.application.read_bytes, srtt);
        if let Some((_, connection)) = connection {
            let (path, control) = (connection.stats().path, connection.congestion_state());
            state.cwnd_bytes = control.window();
            state.ssthresh_bytes = control.metrics().ssthresh.filter(|bytes| *bytes < u64::MAX);
            state.sent_packets = path.sent_packets;
            state.lost_packets = path.lost_packets;
        }
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
            "bbr" => build!(BbrConfig),
            _ => build!(CubicConfig),
        };
        let watch = self.watch.clone();
        Box::new(Control { inner, watch })
    }
}

/// A congestion control of quinn's, and who looks at it.
struct Control {
    inner: Box<dyn Controller>,
    watch: Watch,
}

impl Controller for Control {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.watch.seen().in_flight_bytes += bytes;
        self.inner.on_sent(now, bytes, last_packet_number);
    }

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
}

shared!(quinn_proto);

fn session(side: Side, params: &TransportParameters) -> Box<dyn Session> {
    let mut own = Vec::new();
    params.write(&mut own);
    Box::new(Greeting(side, Handshake::new(side == Side::Client, own)))
}

struct Greeting(Side, Handshake);

impl Session for Greeting {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
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

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
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
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(session(Side::Client, params))
    }
}

impl crypto::ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        session(Side::Server, params)
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let bytes = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(bytes);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
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
        let bytes = data.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        Ok(&mut data[..bytes])
    }
}
