"""aioquic's HTTP/3: /4000000 is 4 MB. For quic.toml."""

import asyncio
import os

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent


class Server(QuicConnectionProtocol):
    """Answers each request of a connection."""

    http: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        """What aioquic tells."""
        self.http = self.http or H3Connection(self._quic)
        for each in self.http.handle_event(event):
            if isinstance(each, HeadersReceived):
                path = dict(each.headers)[b":path"].decode()
                self.http.send_headers(each.stream_id, [(b":status", b"200")])
                self.http.send_data(each.stream_id, bytes(int(path[1:])), end_stream=True)
                self.transmit()


async def main() -> None:
    """Serves until it is ended."""
    how = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    how.congestion_control_algorithm = os.environ.get("ALGORITHM", "cubic")
    how.load_cert_chain(os.environ["ACKCLOCK_CERT"], os.environ["ACKCLOCK_KEY"])
    await serve("0.0.0.0", 443, configuration=how, create_protocol=Server)  # noqa: S104 (a namespace)
    await asyncio.Future()


asyncio.run(main())
