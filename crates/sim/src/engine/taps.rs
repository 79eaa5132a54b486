//! What the hosts' interfaces see, for [`Capture`].

use crate::capture::{Capture, Data, Side};
use crate::flow::Flow;
use crate::header::Header;
use crate::tcp::Transmit;
use ackclock_net::queue::Ecn;

/// The capture, if there is one: it is told what happens at `now_ns`.
#[inline(always)]
pub(super) fn at<'a, 'b>(
    capture: &'a mut Option<Box<Capture<'b>>>,
    now_ns: u64,
) -> Option<&'a mut Capture<'b>> {
    let capture = capture.as_deref_mut()?;
    capture.clock(now_ns);
    Some(capture)
}

/// The packets of a burst leave their sender.
#[inline(always)]
pub(super) fn sent(
    capture: &mut Option<Box<Capture<'_>>>,
    (element, flow): (usize, &Flow<'_>),
    now_ns: u64,
    burst: Transmit,
) {
    if let Some(capture) = at(capture, now_ns) {
        capture.fin_ends(element, flow.fin_end());
        for segment in burst.range() {
            let data = Data::new(segment, now_ns, burst);
            capture.see_data(now_ns, (element, Side::Sender), data);
        }
    }
}

/// A data packet reaches its receiver, and what it causes leaves there.
#[cold]
pub(super) fn receive(
    capture: &mut Capture<'_>,
    (element, flow): (usize, &mut Flow<'_>),
    at_ns: u64,
    data: Data,
) {
    // ACKs of timers that are due before it come first, but the file is in order of time.
    capture.see_data(at_ns, (element, Side::Receiver), data);
    let field = flow.control_field();
    let Data {
        segment,
        sent_ns,
        burst,
    } = data;
    flow.receive_tapped(at_ns, sent_ns, segment, burst, |leaves_ns, ack| {
        capture.ack_leaves(leaves_ns, element, field, ack);
    });
}

/// A packet of a handshake leaves its last link at `at_ns`.
#[cold]
pub(super) fn control(
    capture: &mut Capture<'_>,
    (element, flow): (usize, &Flow<'_>),
    at_ns: u64,
    field: Ecn,
    header: &Header,
) {
    let at_ns = at_ns + flow.forth_ns;
    match *header {
        Header::Syn { answered } => {
            capture.syn_arrives(at_ns, element, field, answered);
            // Where ACKs pass queues, the answer is an event of its own.
            if answered && flow.path.acks.is_none() {
                capture.syn_ack_leaves(at_ns, element, flow.control_field());
            }
        }
        Header::Established => capture.established_arrives(at_ns, element, field),
        _ => (),
    }
}
