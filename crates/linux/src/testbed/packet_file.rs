//! The packets at a device as a pcapng file. A thread without real-time priority writes it, so that
//! no disk delays a packet.

use super::TestbedError;
use ackclock_sim::capture::pcapng;
use std::fs::File;
use std::io::Write as _;
use std::sync::mpsc::{channel, Sender};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that are handed to the writer together.
const PART_BYTES: usize = 1 << 18;
/// Link type "raw IP" (LINKTYPE_RAW).
const RAW_IP: u16 = 101;

/// Collects packets and hands them to the writer.
#[derive(Debug)]
pub(super) struct PacketFile {
    part: Vec<u8>,
    writer: Sender<Vec<u8>>,
    worker: JoinHandle<std::io::Result<()>>,
    snaplen: u32,
    /// Time of day at time 0 of the packets, nanoseconds.
    epoch_ns: u64,
}

impl PacketFile {
    /// Begins a file whose packets have `snaplen` bytes at most.
    pub(super) fn new(mut file: File, snaplen: u32) -> Result<Self, TestbedError> {
        let (writer, parts) = channel::<Vec<u8>>();
        let worker = thread::Builder::new()
            .name("ackclock-pcapng".into())
            .spawn(move || parts.iter().try_for_each(|part| file.write_all(&part)))
            .map_err(TestbedError::host("start a thread"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            part: pcapng::head(RAW_IP, &[("client", "")], snaplen),
            writer,
            worker,
            snaplen,
            epoch_ns: now.map_or(0, |now| now.as_nanos() as u64),
        })
    }

    /// Adds a packet. Its time counts from when the file began.
    pub(super) fn write(&mut self, at_ns: u64, outbound: bool, packet: &[u8]) {
        let at_ns = self.epoch_ns + at_ns;
        let place = (0, at_ns, outbound);
        let whole = packet.len() as u32;
        pcapng::packet(&mut self.part, place, packet, whole, self.snaplen);
        if self.part.len() >= PART_BYTES {
            let part = std::mem::replace(&mut self.part, Vec::with_capacity(2 * PART_BYTES));
            let _ = self.writer.send(part); // a writer that has failed tells it in `finish`
        }
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<(), TestbedError> {
        let _ = self.writer.send(self.part);
        drop(self.writer);
        let written = self.worker.join();
        written
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(TestbedError::host("write the packets"))
    }
}
