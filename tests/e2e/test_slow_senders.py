"""Who connects and says nothing, or says it too slowly, or never stops: the connection ends, and others are served.

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

pytestmark = pytest.mark.e2e
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
IDLE = 150
PATIENCE_S = 60
PINGS = 1000 * (bytes([0x89, 0x80 | 125]) + bytes(4) + b"a" * 125)
"""Masked with zeros."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site as `make run` serves it."""
    site = Site(tmp_path_factory.mktemp("slow") / "data", "--no-demo", "--referees", "0")
    yield site
    site.close()


def ping(port: int) -> int:
    request = wire.request("ping", {})
    return httpx.post(f"http://127.0.0.1:{port}/mcp", json=request, trust_env=False, timeout=20).status_code


def connect(port: int, said: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    found.sendall(said)
    return found


def rest(connection: socket.socket) -> bytes:
    """What still comes until the other side ends the connection."""
    heard = b""
    try:
        while piece := connection.recv(65_536):
            heard += piece
    except ConnectionError:
        return heard
    return heard


def drip(connection: socket.socket, ended: threading.Event) -> None:
    """A byte now and then, as long as it is taken."""
    while not ended.wait(0.5):
        try:
            connection.sendall(b"x")
        except OSError:
            return


def test_silent_and_slow_senders_are_let_go_and_keep_nobody_waiting(site: Site) -> None:
    slow: dict[str, Callable[[], socket.socket]] = {
        "says nothing": lambda: connect(site.port),
        "half a line": lambda: connect(site.port, b"POST /mc"),
        "half a head": lambda: connect(site.port, HEAD + b"X-Slow: "),
        "half a body": lambda: connect(site.port, HEAD + b"Content-Length: 1000\r\n\r\n{"),
        "half a chunk": lambda: connect(site.port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n{"),
    }
    ended = threading.Event()
    connections = {name: start() for name, start in slow.items()}
    idle = [connect(site.port) for _ in range(IDLE)]
    drips = [threading.Thread(target=drip, args=(one, ended)) for name, one in connections.items() if "half" in name]
    for thread in drips:
        thread.start()
    assert ping(site.port) == 200
    # Each of these returns when the site has ended the connection, and fails when it does not.
    heard = {name: rest(one) for name, one in connections.items()}
    ended.set()
    for one in idle:
        assert rest(one) == b""
    for thread in drips:
        thread.join()
    for one in (*connections.values(), *idle):
        one.close()
    assert heard == dict.fromkeys(slow, b"")
    assert ping(site.port) == 200


def test_a_browser_that_talks_and_does_not_read_is_let_go(site: Site) -> None:
    """It asks for so many answers that no buffer has room for them; whoever holds it must end it some time."""
    browser = Stalled(site, "/ws/leagues/", reads_at_once=4096)
    with pytest.raises(ConnectionError):
        for _ in range(500):
            browser.say(PINGS)
    browser.close()
    assert ping(site.port) == 200


@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 1000000000"])
def test_an_endless_body_ends(site: Site, framing: bytes) -> None:
    connection = connect(site.port, HEAD + framing + b"\r\n\r\n")
    chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n" if b"chunked" in framing else b"x" * 0x8000
    # It is told 413 and goes on: what it sends is thrown away for a moment, then nobody is there any more.
    with pytest.raises(ConnectionError):
        while True:
            connection.sendall(chunk)
    connection.close()
    assert ping(site.port) == 200
