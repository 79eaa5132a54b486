//! The state of senders at each ACK, streamed from the kernel.

use std::collections::VecDeque;
use std::fs;
use std::mem::size_of;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, RingBuffer,
    RingBufferBuilder,
};
use object::{Object as _, ObjectSymbol as _};

use super::load::with_log;
use super::{compile, require, KernelError};

/// What a socket gives its algorithm, bytes.
pub(crate) const CA_PRIV_SIZE: usize = 104;
/// Room for 95 000 records, which is a second of ACKs at 2 Gb/s.
const RING_BYTES: u32 = 1 << 24;

/// Which sockets are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Senders with this local or remote port.
    Port(u16),
    /// Those named by [`Telemetry::watch`].
    Watched,
}

/// A sender's state when an ACK arrives, before it is handled: what the ACK before it, and
/// the packets sent since, have left. `struct record` of bpf/telemetry.bpf.c.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRecord {
    /// `CLOCK_MONOTONIC` of this process, ns.
    pub time_ns: u64,
    /// `SO_COOKIE` of the socket.
    pub cookie: u64,
    /// Congestion window, packets.
    pub cwnd_packets: u32,
    /// Slow-start threshold, packets; 2147483647 before the first loss.
    pub ssthresh_packets: u32,
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// packets_out − (sacked_out + lost_out) + retrans_out.
    pub in_flight_packets: u32,
    /// Port of the sender.
    pub local_port: u16,
    /// Port of the receiver.
    pub remote_port: u16,
    /// `enum tcp_ca_state`: 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss.
    pub state: u32,
    /// Bytes that were acknowledged before (`snd_una`).
    pub una_bytes: u64,
    /// Bytes that were sent before (`snd_nxt`).
    pub nxt_bytes: u64,
    /// ACK number, in bytes.
    pub ack_bytes: u64,
    /// SACK blocks: begin and end, in bytes; 0: none.
    pub sacks: [[u64; 2]; 3],
    /// The algorithm's private state; [`Registered::private_fields`](super::Registered::private_fields)
    /// names what is in it.
    pub ca_priv: [u8; CA_PRIV_SIZE],
}

/// A running stream of records; dropping it ends it.
///
/// Records wait in a ring of 16 MiB, and are counted as lost where it is full: call
/// [`poll`](Self::poll) at least every 100 ms.
pub struct Telemetry {
    ring: RingBuffer<'static>,
    arrived: Arc<Mutex<VecDeque<AckRecord>>>,
    object: Object,
    _link: Link,
}

impl Telemetry {
    /// Begins to record.
    ///
    /// # Errors
    /// Missing privileges; a kernel without BTF.
    pub fn start(filter: Filter) -> Result<Self, KernelError> {
        Self::start_with_ring(filter, RING_BYTES)
    }

    /// As [`start`](Self::start), with a ring of `ring_bytes`, a power of 2 of at least a page.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_ring(filter: Filter, ring_bytes: u32) -> Result<Self, KernelError> {
        require("recording what TCP does")?;
        let elf = compile::built_in("telemetry.bpf.c");
        let arrived = Arc::new(Mutex::new(VecDeque::new()));
        let (started, log) = with_log(|| {
            let mut open = ObjectBuilder::default().open_memory(elf)?;
            set_filter(&mut open, elf, filter);
            map_mut(&mut open, "records").set_max_entries(ring_bytes)?;
            let object = open.load()?;
            let sink = Arc::clone(&arrived);
            let records = map(&object, "records");
            let offset_ns = time_namespace_offset_ns();
            let mut ring = RingBufferBuilder::new();
            ring.add(&records, move |bytes| {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                let mut record = AckRecord::from_bytes(bytes);
                record.time_ns = record.time_ns.wrapping_add_signed(offset_ns);
                sink.push_back(record);
                0
            })?;
            let ring = ring.build()?;
            let program = object.progs_mut().next().expect("telemetry.bpf.c has one");
            let link = program.attach()?;
            Ok::<_, libbpf_rs::Error>((ring, object, link))
        });
        let (ring, object, link) = started.map_err(|error| {
            KernelError::system("record what TCP does", format!("{error} {}", log.trim()))
        })?;
        Ok(Self {
            ring,
            arrived,
            object,
            _link: link,
        })
    }

    /// Watches the socket with that `SO_COOKIE` too, under [`Filter::Watched`].
    ///
    /// # Errors
    /// More than 65536 sockets.
    pub fn watch(&self, cookie: u64) -> Result<(), KernelError> {
        map(&self.object, "cookies")
            .update(&cookie.to_ne_bytes(), &[1], MapFlags::ANY)
            .map_err(|error| KernelError::system(format!("watch socket {cookie}"), error))
    }

    /// The records that came since, in order of time per socket; waits for up to `timeout`
    /// for the ring to fill by a quarter. A signal ends the wait.
    ///
    /// # Errors
    /// None that is known.
    pub fn poll(
        &mut self,
        timeout: Duration,
    ) -> Result<impl Iterator<Item = AckRecord> + use<>, KernelError> {
        let cannot = |error| KernelError::system("read what TCP did", error);
        if !timeout.is_zero() {
            match self.ring.poll(timeout) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(cannot(error)),
                _ => {}
            }
        }
        self.ring.consume().map_err(cannot)?;
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *arrived).into_iter())
    }

    /// Records so far that found the ring full.
    ///
    /// # Errors
    /// None that is known.
    pub fn lost(&self) -> Result<u64, KernelError> {
        let per_cpu = map(&self.object, "lost")
            .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| KernelError::system("count lost records", error))?;
        let counts = per_cpu.unwrap_or_default();
        let number = |bytes: &Vec<u8>| u64::from_ne_bytes(bytes[..8].try_into().expect("8 bytes"));
        Ok(counts.iter().map(number).sum())
    }
}

impl AckRecord {
    fn from_bytes(bytes: &[u8]) -> Self {
        assert!(bytes.len() >= size_of::<Self>());
        // SAFETY: the program writes a whole `struct record`, of which this is the mirror, and
        // any bytes are a AckRecord.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }
}

/// What `CLOCK_MONOTONIC` of this process is ahead of the kernel's, which BPF reads: 0 but in
/// a time namespace (time_namespaces(7)), such as that of a restored container.
fn time_namespace_offset_ns() -> i64 {
    let offsets = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let monotonic = offsets.lines().find_map(|line| {
        let mut words = line.strip_prefix("monotonic")?.split_whitespace();
        let seconds: i64 = words.next()?.parse().ok()?;
        let nanoseconds: i64 = words.next()?.parse().ok()?;
        seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
    });
    monotonic.unwrap_or(0)
}

fn map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Map<'a> {
    let found = object.maps().find(|map| map.name() == name);
    found.expect("telemetry.bpf.c defines it")
}

fn map_mut<'a>(open: &'a mut OpenObject, name: &str) -> libbpf_rs::OpenMapMut<'a> {
    let found = open.maps_mut().find(|map| map.name() == name);
    found.expect("telemetry.bpf.c defines it")
}

fn set_filter(open: &mut OpenObject, elf: &[u8], filter: Filter) {
    let elf = object::File::parse(elf).expect("libbpf has parsed it");
    let at = |name: &str| {
        let mut symbols = elf.symbols();
        let found = symbols.find(|symbol| symbol.name() == Ok(name));
        found.expect("telemetry.bpf.c defines it").address() as usize
    };
    let mut rodata = open
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
        .expect("the filter is in .rodata");
    let value = rodata.initial_value_mut().expect("it has a value");
    match filter {
        Filter::Port(port) => {
            value[at("filter_port")..][..2].copy_from_slice(&port.to_ne_bytes());
        }
        Filter::Watched => value[at("filter_by_cookie")] = 1,
    }
}
