//! TCP sockets of the current network namespace, asked of the kernel by sock_diag(7).

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};

use crate::sys::{self, NLMSG_HEADER};

/// `struct inet_diag_req_v2`.
const REQUEST: usize = 56;
/// `struct inet_diag_msg`; attributes follow.
const ANSWER: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// The attribute with the algorithm's name.
const INET_DIAG_CONG: u16 = 4;
const ALL_STATES: u32 = !0;

/// How many TCP sockets (IPv4 and IPv6, listening ones too) use each algorithm.
pub(crate) fn sockets_by_algorithm() -> io::Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut socket = sys::netlink(libc::NETLINK_SOCK_DIAG)?;
        let mut request = vec![family as u8, libc::IPPROTO_TCP as u8];
        request.extend([1 << (INET_DIAG_CONG - 1), 0]); // what to add, padding
        request.extend(ALL_STATES.to_ne_bytes());
        request.resize(REQUEST, 0); // any addresses and ports
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
        socket.write_all(&sys::message(SOCK_DIAG_BY_FAMILY, flags, &request))?;
        let mut answer = vec![0; 1 << 16];
        loop {
            let received = socket.read(&mut answer)?;
            if !count_answers(&answer[..received], &mut counts)? {
                break;
            }
        }
    }
    Ok(counts)
}

/// Counts the sockets of one datagram; are there more to come?
fn count_answers(mut rest: &[u8], counts: &mut BTreeMap<String, usize>) -> io::Result<bool> {
    while rest.len() >= NLMSG_HEADER {
        let length = u32::from_ne_bytes(rest[..4].try_into().expect("4 bytes")) as usize;
        let kind = u16::from_ne_bytes(rest[4..6].try_into().expect("2 bytes"));
        if i32::from(kind) == libc::NLMSG_DONE {
            return Ok(false);
        }
        let message = rest.get(NLMSG_HEADER..length).unwrap_or_default();
        if i32::from(kind) == libc::NLMSG_ERROR {
            sys::refused(message)?;
        }
        if let Some(name) = algorithm(message.get(ANSWER..).unwrap_or_default()) {
            *counts.entry(name).or_default() += 1;
        }
        rest = rest
            .get(length.next_multiple_of(4).max(NLMSG_HEADER)..)
            .unwrap_or_default();
    }
    Ok(true)
}

/// The algorithm's name among a socket's attributes; a socket in TIME_WAIT has none.
fn algorithm(mut attributes: &[u8]) -> Option<String> {
    while attributes.len() >= 4 {
        let length = u16::from_ne_bytes(attributes[..2].try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(attributes[2..4].try_into().ok()?);
        if kind == INET_DIAG_CONG {
            let text = attributes.get(4..length)?.split(|byte| *byte == 0).next()?;
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}
