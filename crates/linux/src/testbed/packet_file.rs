//! The packets at a device as a pcapng file. A thread without real-time priority writes it, so that
//! no disk delays a packet.

use super::TestbedError;
use std::fs::File;
use std::io::Write as _;
use std::sync::mpsc::{channel, Sender};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that are handed to the writer together.
const PART_BYTES: usize = 1 << 18;
/// Link type "raw IP" (LINKTYPE_RAW).
const RAW_IP: u16 = 101;
/// Values of `epb_flags`.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

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
            part: head(snaplen),
            writer,
            worker,
            snaplen,
            epoch_ns: now.map_or(0, |now| now.as_nanos() as u64),
        })
    }

    /// Adds a packet. Its time counts from when the file began.
    pub(super) fn write(&mut self, at_ns: u64, outbound: bool, packet: &[u8]) {
        let at_ns = self.epoch_ns + at_ns;
        let kept = packet.len().min(self.snaplen as usize);
        let mut body = Vec::with_capacity(kept + 48);
        for value in [
            0,
            (at_ns >> 32) as u32,
            at_ns as u32,
            kept as u32,
            packet.len() as u32,
        ] {
            body.extend(value.to_le_bytes());
        }
        body.extend(&packet[..kept]);
        body.resize(body.len().next_multiple_of(4), 0);
        let flags = if outbound { OUTBOUND } else { INBOUND };
        option(&mut body, 2, &flags.to_le_bytes()); // epb_flags
        option(&mut body, 0, &[]);
        enclose(&mut self.part, 6, &body);
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

/// The section, and its one interface.
fn head(snaplen: u32) -> Vec<u8> {
    let mut section = Vec::new();
    section.extend(0x1a2b_3c4d_u32.to_le_bytes());
    section.extend([1, 0, 0, 0]); // version 1.0
    section.extend((-1_i64).to_le_bytes()); // of unknown length
    option(&mut section, 4, b"ackclock"); // shb_userappl
    option(&mut section, 0, &[]);
    let mut interface = Vec::new();
    interface.extend(RAW_IP.to_le_bytes());
    interface.extend([0, 0]);
    interface.extend(snaplen.to_le_bytes());
    option(&mut interface, 2, b"client"); // if_name
    option(&mut interface, 9, &[9]); // if_tsresol: nanoseconds
    option(&mut interface, 0, &[]);
    let mut head = Vec::with_capacity(2 * PART_BYTES);
    enclose(&mut head, 0x0a0d_0d0a, &section);
    enclose(&mut head, 1, &interface);
    head
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    block.resize(block.len().next_multiple_of(4), 0);
}

/// Adds a block with its type and, at both ends, its length.
fn enclose(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (body.len() as u32 + 12).to_le_bytes();
    file.extend(kind.to_le_bytes());
    file.extend(length);
    file.extend(body);
    file.extend(length);
}
