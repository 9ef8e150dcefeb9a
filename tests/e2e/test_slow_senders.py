"""The site closes connections that send nothing, too slowly or without end, and serves other callers meanwhile.

The times are the site's own limits, not this machine's: ten seconds, plus what a busy machine may add.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests import wire
from tests.e2e.site import Site
from tests.e2e.sockets import Stalled

pytestmark = [pytest.mark.e2e, pytest.mark.long]
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
IDLE_CONNECTIONS = 150
PATIENCE_S = 60
PINGS = 1000 * (bytes([0x89, 0x80 | 125]) + bytes(4) + b"a" * 125)
"""A thousand WebSocket pings of 125 bytes, masked with zeros."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site without referees."""
    site = Site(tmp_path_factory.mktemp("slow") / "data", "--no-demo", "--referees", "0")
    yield site
    site.close()


def ping(port: int) -> int:
    request = wire.request("ping", {})
    return httpx.post(f"http://127.0.0.1:{port}/mcp", json=request, trust_env=False, timeout=20).status_code


def connect(port: int, sent: bytes = b"") -> socket.socket:
    """A connection over which some bytes have been sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    connection.sendall(sent)
    return connection


def read_to_end(connection: socket.socket) -> bytes:
    """Everything that the other side sends until it closes the connection."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionError:
        return received
    return received


def send_slowly(connection: socket.socket, ended: threading.Event) -> None:
    """Send a byte every half second until the site closes the connection or the test has ended."""
    while not ended.wait(0.5):
        try:
            connection.sendall(b"x")
        except OSError:
            return


def test_the_site_closes_silent_and_slow_connections_and_serves_others(site: Site) -> None:
    slow: dict[str, Callable[[], socket.socket]] = {
        "says nothing": lambda: connect(site.port),
        "half a line": lambda: connect(site.port, b"POST /mc"),
        "half a head": lambda: connect(site.port, HEAD + b"X-Slow: "),
        "half a body": lambda: connect(site.port, HEAD + b"Content-Length: 1000\r\n\r\n{"),
        "half a chunk": lambda: connect(site.port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n{"),
    }
    ended = threading.Event()
    connections = {name: start() for name, start in slow.items()}
    idle = [connect(site.port) for _ in range(IDLE_CONNECTIONS)]
    senders = [
        threading.Thread(target=send_slowly, args=(one, ended)) for name, one in connections.items() if "half" in name
    ]
    for thread in senders:
        thread.start()
    assert ping(site.port) == 200
    # Each of these returns when the site has ended the connection, and fails when it does not.
    received = {name: read_to_end(one) for name, one in connections.items()}
    ended.set()
    for one in idle:
        assert read_to_end(one) == b""
    for thread in senders:
        thread.join()
    for one in (*connections.values(), *idle):
        one.close()
    assert received == dict.fromkeys(slow, b"")
    assert ping(site.port) == 200


def test_the_site_drops_a_browser_that_sends_and_does_not_read(site: Site) -> None:
    """The browser asks for more answers than any buffer holds, so the site has to close the connection."""
    browser = Stalled(site, "/ws/leagues/", receive_buffer_bytes=4096)
    with pytest.raises(ConnectionError):
        for _ in range(500):
            browser.say(PINGS)
    browser.close()
    assert ping(site.port) == 200


@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 1000000000"])
def test_the_site_closes_a_connection_with_an_endless_body(site: Site, framing: bytes) -> None:
    connection = connect(site.port, HEAD + framing + b"\r\n\r\n")
    chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n" if b"chunked" in framing else b"x" * 0x8000
    # The site answers 413, throws away what the caller still sends for a moment, and then closes the connection.
    with pytest.raises(ConnectionError):
        while True:
            connection.sendall(chunk)
    connection.close()
    assert ping(site.port) == 200
