"""The kernel's TCP connections, as `ss -ti` shows them: asked for over netlink (`sock_diag(7)`).

Any user may ask. Only connections of the same network namespace are there.
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
INET_DIAG_INFO, INET_DIAG_CONG = 2, 4
HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI48x")
ANSWER = struct.Struct("=BBBB2s2s16s16s12x20x")
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
    "mss_bytes": (16, "I"),
    "in_flight_packets": (24, "I"),
    "lost_packets": (32, "I"),
    "srtt_us": (68, "I"),
    "ssthresh_packets": (76, "I"),
    "cwnd_packets": (80, "I"),
    "retransmitted_packets": (100, "I"),
    "pacing_bytes_per_s": (104, "Q"),
    "acked_bytes": (120, "Q"),
    "received_bytes": (128, "Q"),
    "min_rtt_us": (148, "I"),
    "delivery_bytes_per_s": (160, "Q"),
}
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


def read() -> list[Connection]:
    """Every TCP connection of this network namespace that carries data.

    Raises `AckclockError` where the kernel cannot be asked.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG) as asked:
            asked.settimeout(5)
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


def _of_family(asked: socket.socket, family: int) -> Iterator[Connection]:
    wanted = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1)
    states = sum(1 << (STATES.index(state) + 1) for state in CARRIES)
    body = REQUEST.pack(family, socket.IPPROTO_TCP, wanted, states)
    length = HEADER.size + len(body)
    asked.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, family, 0) + body)
    while True:
        data = asked.recv(1 << 16)
        while data:
            length, kind, _, _, _ = HEADER.unpack_from(data)
            message, data = data[HEADER.size : length], data[(length + 3) & ~3 :]
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                number = -struct.unpack_from("=i", message)[0]
                raise OSError(number, os.strerror(number))
            yield _connection(message)


def _connection(message: bytes) -> Connection:
    family, state, _, _, local_port, remote_port, local, remote = ANSWER.unpack_from(message)
    size = 4 if family == socket.AF_INET else 16
    attributes = dict(_attributes(message[ANSWER.size :]))
    info = attributes.get(INET_DIAG_INFO, b"")
    algorithm = attributes.get(INET_DIAG_CONG, b"").rstrip(b"\0").decode(errors="replace")
    values = {
        name: struct.unpack_from("=" + kind, info, offset)[0]
        for name, (offset, kind) in INFO.items()
        if len(info) >= offset + struct.calcsize(kind)
    }
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
