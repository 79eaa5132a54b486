"""The kernel's TCP connections, as `ss -ti` shows them: asked for over netlink (`sock_diag(7)`).

Any user may ask. Only connections of one network namespace are there: that of the thread which
opens the socket.
"""

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ackclock.base.errors import AckclockError

#: Of `linux/netlink.h`, `linux/sock_diag.h` and `linux/inet_diag.h`.
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3
#: The groups that tell of sockets which end: SKNLGRP_INET_TCP_DESTROY and that of IPv6.
ENDING = 1 << (1 - 1) | 1 << (3 - 1)
INET_DIAG_INFO, INET_DIAG_CONG = 2, 4
HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI48x")
ANSWER = struct.Struct("=BBBB2s2s16s16s4xQ20x")
ATTRIBUTE = struct.Struct("=HH")
#: The states of `include/net/tcp_states.h`, from 1.
STATES = (
    "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait", "close",
    "close-wait", "last-ack", "listen", "closing",
)  # fmt: skip
#: Those in which a connection carries data.
CARRIES = ("established", "fin-wait-1", "close-wait", "last-ack", "closing")
#: `tcp_ca_state`
CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
#: Members of `struct tcp_info` (`linux/tcp.h`): offset and type. An older kernel tells fewer.
INFO = {
    "ca_state": (1, "B"),
    "timeouts_in_row": (2, "B"),
    "mss_bytes": (16, "I"),
    "lost_packets": (32, "I"),
    "srtt_us": (68, "I"),
    "ssthresh_packets": (76, "I"),
    "cwnd_packets": (80, "I"),
    "retransmitted_packets": (100, "I"),
    "pacing_bytes_per_s": (104, "Q"),
    "acked_bytes": (120, "Q"),
    "received_bytes": (128, "Q"),
    "min_rtt_us": (148, "I"),
    "sent_packets": (156, "I"),
    "delivery_bytes_per_s": (160, "Q"),
    "receive_window_limited_us": (176, "Q"),
    "send_buffer_limited_us": (184, "Q"),
    "delivered_packets": (192, "I"),
}
#: Of the same: packets that are sent and not acknowledged, SACKed, lost, and sent again; bytes that
#: are sent, and sent again.
FLIGHT, SENT = struct.Struct("=24xIIII"), struct.Struct("=200xQQ")
#: What the kernel writes for no limit, or not measured.
NOTHING = {"ssthresh_packets": 0x7FFFFFFF, "pacing_bytes_per_s": 2**64 - 1, "min_rtt_us": 2**32 - 1}


@dataclass(frozen=True)
class Connection:
    """One TCP connection. A value is None where the kernel does not tell it, or has no limit."""

    local: str
    local_port: int
    remote: str
    remote_port: int
    state: str
    algorithm: str | None
    ca_state: str | None = None
    cwnd_packets: int | None = None
    ssthresh_packets: int | None = None
    srtt_us: int | None = None
    min_rtt_us: int | None = None
    in_flight_packets: int | None = None
    lost_packets: int | None = None
    retransmitted_packets: int | None = None
    pacing_bytes_per_s: int | None = None
    delivery_bytes_per_s: int | None = None
    acked_bytes: int | None = None
    received_bytes: int | None = None
    mss_bytes: int | None = None
    sent_packets: int | None = None
    delivered_packets: int | None = None
    #: Packets that were sent again, and are on their way.
    resent_packets: int | None = None
    #: Retransmission timeouts since the last ACK of new data.
    timeouts_in_row: int | None = None
    receive_window_limited_us: int | None = None
    send_buffer_limited_us: int | None = None
    #: A number of the socket that no other has until the next boot.
    cookie: int = 0


def opened(groups: int = 0) -> socket.socket:
    """A socket that asks for the connections of the calling thread's network namespace.

    With `groups` (`ENDING`) it also hears of sockets that end, which needs CAP_NET_ADMIN.
    Raises `OSError`.
    """
    asked = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG)
    try:
        asked.bind((0, groups))
        asked.settimeout(0 if groups else 5)
    except OSError:
        asked.close()
        raise
    return asked


def read(asked: socket.socket | None = None) -> list[Connection]:
    """Every TCP connection of a network namespace that carries data.

    `asked` is a socket that `opened` made (default: one of this namespace).
    Raises `AckclockError` where the kernel cannot be asked.
    """
    try:
        if asked is None:
            with opened() as own:
                return read(own)
        return [
            connection
            for family in (socket.AF_INET, socket.AF_INET6)
            for connection in _of_family(asked, family)
        ]
    except (OSError, AttributeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AckclockError(
            f"the kernel does not list its connections ({reason}); it needs CONFIG_INET_DIAG "
            "(module tcp_diag)"
        ) from None


def ended(heard: socket.socket) -> list[Connection]:
    """The connections that have ended since the last call, as they were then.

    `heard` is a socket that `opened(ENDING)` made.
    """
    found: list[Connection] = []
    while True:
        try:
            data = heard.recv(1 << 16)
        except BlockingIOError:
            return found
        except OSError:  # more than it has room for; `read` shows that they are gone
            continue
        found += told(data)


def told(data: bytes) -> list[Connection]:
    """Those that an answer of the kernel (`sock_diag`) has."""
    return [
        _connection(message) for kind, message in _messages(data) if kind == SOCK_DIAG_BY_FAMILY
    ]


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each netlink message."""
    while data:
        length, kind, _, _, _ = HEADER.unpack_from(data)
        message, data = data[HEADER.size : length], data[(length + 3) & ~3 :]
        yield kind, message


def _of_family(asked: socket.socket, family: int) -> Iterator[Connection]:
    wanted = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1)
    states = sum(1 << (STATES.index(state) + 1) for state in CARRIES)
    body = REQUEST.pack(family, socket.IPPROTO_TCP, wanted, states)
    length = HEADER.size + len(body)
    asked.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, family, 0) + body)
    while True:
        for kind, message in _messages(asked.recv(1 << 16)):
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                number = -struct.unpack_from("=i", message)[0]
                raise OSError(number, os.strerror(number))
            yield _connection(message)


def _connection(message: bytes) -> Connection:
    family, state, _, _, local_port, remote_port, local, remote, cookie = ANSWER.unpack_from(
        message
    )
    size = 4 if family == socket.AF_INET else 16
    attributes = dict(_attributes(message[ANSWER.size :]))
    info = attributes.get(INET_DIAG_INFO, b"")
    algorithm = attributes.get(INET_DIAG_CONG, b"").rstrip(b"\0").decode(errors="replace")
    values = {
        name: struct.unpack_from("=" + kind, info, offset)[0]
        for name, (offset, kind) in INFO.items()
        if len(info) >= offset + struct.calcsize(kind)
    }
    if len(info) >= FLIGHT.size:
        unacked, sacked, lost, resent = FLIGHT.unpack_from(info)
        values |= {
            "resent_packets": resent,
            "in_flight_packets": max(unacked + resent - sacked - lost, 0),
        }
    if len(info) >= SENT.size:
        # Without SYN and FIN, which `acked_bytes` counts as a byte each.
        sent_bytes, again_bytes = SENT.unpack_from(info)
        values["acked_bytes"] = min(values["acked_bytes"], sent_bytes - again_bytes)
    for name, nothing in NOTHING.items():
        if values.get(name) == nothing:
            values[name] = None
    if "ca_state" in values:
        values["ca_state"] = CA_STATES[min(values["ca_state"], len(CA_STATES) - 1)]
    return Connection(
        local=_address(local[:size]),
        local_port=int.from_bytes(local_port, "big"),
        remote=_address(remote[:size]),
        remote_port=int.from_bytes(remote_port, "big"),
        state=STATES[state - 1] if 0 < state <= len(STATES) else str(state),
        algorithm=algorithm or None,
        cookie=cookie,
        **values,
    )


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        if length < ATTRIBUTE.size:
            return
        yield kind, data[ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def _address(packed: bytes) -> str:
    address = ipaddress.ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
