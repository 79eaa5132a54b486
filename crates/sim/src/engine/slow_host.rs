//! A host whose processor needs time for an ACK with SACK blocks, as those of Linux 2.6 did: for each
//! block they walk over the packets that are not yet acknowledged (Leith et al. 2007, section II).

use crate::flow::Connection;

/// ACKs that wait for a busy host at most: `max_backlog` of Leith et al. 2007, table I.
const BACKLOG: u64 = 2_500;

/// Looks whether the host can take the ACK that is due, if one is. If it takes one with SACK blocks,
/// it is busy for `cost_ns` per packet. Returns how many ACKs found no room; None if the ACK waits
/// because the host is busy.
#[cold]
pub(super) fn take_ack(
    connection: &mut Connection,
    busy_until_ns: &mut u64,
    cost_ns: u64,
    now_ns: u64,
) -> Option<u64> {
    if connection.acks.arrived(now_ns).is_none() {
        return Some(0);
    }
    if now_ns < *busy_until_ns {
        connection.acks.delay_first(*busy_until_ns);
        return None;
    }
    // No ACK has left the backlog since the host became busy.
    let dropped = connection.acks.drop_beyond(BACKLOG, now_ns);
    let walks = (connection.acks.arrived(now_ns)).is_some_and(|ack| ack.has_sacks());
    if walks {
        let packets = u64::from(connection.sender.tp().packets_out);
        *busy_until_ns = now_ns + cost_ns * packets;
    }
    Some(dropped)
}
