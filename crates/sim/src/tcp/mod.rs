//! A TCP connection as Linux has it: two state machines that do no I/O. Times go in, packets come out.
//!
//! A [`Sender`] has data, a [`Receiver`] takes them. Both are established: the [`Handshake`] is over.
//! Data are counted in segments of one MSS, only the last segment of a flow may be smaller. Data go one
//! way; for both ways use two connections. Nothing here knows a network, a clock or another
//! connection, so that a caller decides what happens to each packet, and when.
//!
//! # The calls
//!
//! | when | call | it gives |
//! |---|---|---|
//! | a data packet arrives | [`Receiver::handle_segment`], with ECN [`handle_marked_segment`](Receiver::handle_marked_segment) | an ACK, or nothing yet |
//! | [`Receiver::poll_timeout`] is due | [`Receiver::handle_timeout`] | a delayed ACK |
//! | an ACK arrives | [`Sender::handle_ack`] | |
//! | [`Sender::poll_timeout`] is due | [`Sender::handle_timeout`] | |
//! | after each of these calls to the sender, and once at the start, at the same time | [`Sender::poll_transmit`], until it returns `None` | a burst each time: [`Transmit`] |
//! | whenever you like | [`Sender::tp`], [`take_events`](Sender::take_events), [`totals`](Sender::totals) | what algorithms see, what has happened |
//!
//! * Times are nanoseconds and never decrease, at each end for itself.
//! * `poll_transmit` gives `None` when cwnd, the receive window, the send buffer, pacing or the data allow
//!   no more. Only then has the sender judged whether cwnd was the limit: do not stop earlier.
//! * A timeout changes with each call: ask again, keep no old one. `u64::MAX` means that none is set. One that
//!   is due at once is for what small queues hold back: handle the other ACKs of that time first, or call
//!   [`Sender::end_softirq`].
//! * The caller keeps the time at which each packet was sent. The receiver gets it, and the ACK has it as
//!   its echo, as with timestamps (RFC 7323).
//! * What is lost the caller never delivers. What is late, doubled or out of order it delivers so.
//!
//! # Who does what
//!
//! `input` has the way of an ACK, in the steps of `tcp_input.c`; `output` what is sent, as
//! `tcp_output.c`; `timeouts` what the clock causes, as `tcp_timer.c`. They call the mechanisms, each of
//! which has a file and a state of its own: `scoreboard` and `loss` (what is lost), `recovery` (how cwnd
//! falls), `rtt`, `rate`, `pacing`, `bursts`, `write_queue`, `limits`, `validate`, `ecn`. `host` shows the
//! socket to the algorithm, and calls its hooks. [`profile`] says which mechanism a kernel has. A file
//! needs only files below it in this order: mechanisms do not know the sender.
//!
//! # An example
//!
//! A thousand segments over a link of 1 segment/ms and 10 ms of delay each way, by CUBIC:
//!
//! ```
//! use ackclock_host::{Algorithm, CongestionControl, HostConfig};
//! use ackclock_sim::scenario::{EcnMode, Profile};
//! use ackclock_sim::tcp::profile::{Kernel, Switches};
//! use ackclock_sim::tcp::{FlowLimits, Handshake, Receiver, Sender};
//! use std::collections::VecDeque;
//!
//! const MS: u64 = 1_000_000;
//! let (kernel, switches) = (Kernel::for_profile(Profile::Linux6), Switches::usual(Profile::Linux6));
//! let cubic = Algorithm::configure("cubic")?;
//! let cc = CongestionControl::new(&cubic, HostConfig { hz: 1000, ..HostConfig::default() });
//! let limits = FlowLimits { segments: 1000, receive_window: u64::MAX, send_buffer: u64::MAX };
//! let handshake = Handshake { now_ns: 20 * MS, rtt_ns: 20 * MS, ecn: EcnMode::Off , one_packet: false};
//! let mut sender = Sender::new(cc, &kernel, &switches, limits, handshake, 0);
//! let mut receiver = Receiver::new(&kernel, &switches, kernel.clock(1000, 0), 20 * MS);
//!
//! let (mut data, mut acks) = (VecDeque::new(), VecDeque::new());
//! let (mut now_ns, mut link_free_ns, mut called) = (20 * MS, 0, true);
//! while !sender.is_complete() {
//!     while let Some(burst) = called.then(|| sender.poll_transmit(now_ns)).flatten() {
//!         for segment in burst.range() {
//!             link_free_ns = now_ns.max(link_free_ns) + MS;
//!             data.push_back((link_free_ns + 10 * MS, segment, now_ns, burst.pushes(segment)));
//!         }
//!     }
//!     let data_ns = data.front().map_or(u64::MAX, |packet| packet.0);
//!     let ack_ns = acks.front().map_or(u64::MAX, |&(at_ns, _)| at_ns);
//!     let due_ns = sender.poll_timeout().min(receiver.poll_timeout());
//!     now_ns = data_ns.min(ack_ns).min(due_ns);
//!     let mut answer = None;
//!     called = receiver.poll_timeout() != now_ns && data_ns != now_ns;
//!     if receiver.poll_timeout() == now_ns {
//!         answer = receiver.handle_timeout(now_ns);
//!     } else if data_ns == now_ns {
//!         let (_, segment, sent_ns, pushed) = data.pop_front().unwrap();
//!         answer = receiver.handle_segment(now_ns, segment, sent_ns, pushed, segment == 999);
//!     } else if sender.poll_timeout() == now_ns {
//!         sender.handle_timeout(now_ns);
//!     } else {
//!         sender.handle_ack(now_ns, &acks.pop_front().unwrap().1);
//!     }
//!     acks.extend(answer.map(|ack| (now_ns + 10 * MS, ack)));
//! }
//! assert_eq!(sender.totals(), (1000, 0, 0));
//! // The link was never idle: a thousand milliseconds, and once around.
//! assert!(now_ns < 1_100 * MS);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Facts about Linux are in `docs/tcp-endpoint.md`.

mod ack;
mod advertised_window;
mod bursts;
mod clock;
mod constants;
mod ecn;
mod flags;
mod header_prediction;
mod host;
mod input;
mod limits;
mod loss;
mod output;
mod own_interface;
mod pacing;
mod plan;
pub mod profile;
mod ranges;
mod rate;
mod receive_buffer;
mod receiver;
mod receiver_rtt;
mod recorded;
mod recovery;
mod report;
mod rtt;
mod sack_list;
mod scoreboard;
mod sender;
mod small_queue;
mod timeouts;
mod timers;
mod transmit;
mod validate;
mod write_queue;
mod writes;
mod written;

pub use ack::Ack;
pub(crate) use ack::{Extras, Flags, Full, MOST_SACKS};
pub use clock::Clock;
pub use ecn::Marks;
pub use limits::FlowLimits;
pub use ranges::Range;

pub(crate) use plan::{Linux2_6, Linux6, Plan, Predicted};
pub use receive_buffer::ReceiveBuffer;
pub(crate) use receiver::Packet;
pub use receiver::Receiver;
pub use recorded::Would;
pub(crate) use scoreboard::{Retransmission, Rings, Slot, FIRST_CAPACITY};
pub use sender::{Handshake, Sender, SenderEvent};
pub use transmit::Transmit;
pub(crate) use writes::Push;
pub(crate) use written::ENDLESS;
