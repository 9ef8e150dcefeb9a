"""Malformed HTTP sent to the real servers: they refuse it or close the connection, and go on serving others."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.scaled import WebProcess, scaled_site
from tests.e2e.site import Site
from tests.fuzz.profile import SEED, long_count
from tests.sizes import examples

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
QUICK, LONG = examples(120), 3_000
TIMEOUT_S = 20
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
FAILURE = re.compile(r"\b(ERROR|CRITICAL) \w+ (?!django\.security)|[Uu]nhandled")
"""Lines of the site's log that report a failure; a refused Host, an error of ``django.security``, is none."""
PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'
STARTS = [
    *(b"POST /mcp HTTP/1.1", b"GET / HTTP/1.1", b"GET /leagues/ HTTP/1.0", b"POST /mcp HTTP/9.9", b"POST /mcp", b""),
    *(b"G\x00T / HTTP/1.1", b"GET  /  HTTP/1.1", b"GET /\xff\xfe HTTP/1.1", b"GET http://evil.example/ HTTP/1.1"),
    *(
        b"CONNECT evil.example:80 HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"GET /%00%zz?\xc3\x28 HTTP/1.1",
        b"\x16\x03\x01\x02\x00",
    ),
    *(b"PRI * HTTP/2.0", b"GET /" + b"a" * 70_000 + b" HTTP/1.1", b"POST /leagues/../mcp HTTP/1.1"),
]
HEADERS = [
    *(
        b"Host: 127.0.0.1",
        b"Host: evil.example",
        b"Host:",
        b"Host: 127.0.0.1\r\nHost: evil.example",
        b"Host : 127.0.0.1",
    ),
    *(b"Content-Type: application/json", b"Content-Length: 40", b"Content-Length: 41", b"Content-Length: -1"),
    *(b"Content-Length: 4\r\nContent-Length: 40", b"Content-Length: 0x28", b"Content-Length: 99999999999999999999999"),
    *(
        b"Content-Length: +40",
        b"Content-Length: 4, 40",
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: chunked, x",
    ),
    *(b"Transfer-Encoding: identity", b"Transfer-Encoding : chunked", b"Transfer-Encoding: \x0bchunked"),
    *(
        b"Connection: close",
        b"Connection: Upgrade\r\nUpgrade: websocket",
        b"Sec-WebSocket-Key: x",
        b"Expect: 100-continue",
    ),
    *(b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Version: -1", b"X: " + b"y" * 70_000, b" folded", b"no colon"),
    *(b": nameless", b"N\x00l: 1", b"X: \xff\xfe", b"X: a\rb", b"Cookie: =;;=\x7f", b"Upgrade: h2c", b"Origin: null"),
]
BODIES = [
    *(
        PING,
        b"",
        b"\xff" * 40,
        b"28\r\n" + PING + b"\r\n0\r\n\r\n",
        b"zz\r\nxx\r\n0\r\n\r\n",
        b"-1\r\n\r\n",
        b"0\r\n\r\n",
    ),
    *(
        b"fffffffffffffffff\r\n" + PING,
        b"28;" + b"e" * 5000 + b"\r\n" + PING + b"\r\n0\r\nX: y\r\n\r\n",
        b"x" * 100_000,
    ),
    PING + b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
]


def drawn(count: int, server: str) -> Iterator[bytes]:
    """``count`` random requests to a server, the same in every run with the same seed."""
    rng = random.Random(f"{SEED} raw bytes to {server}")
    for _ in range(count):
        ends = rng.choice([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"])
        lines = [rng.choice(STARTS), *rng.sample(HEADERS, rng.randrange(6))]
        raw = ends.join(lines) + ends * 2 + rng.choice(BODIES)
        for _ in range(rng.choice([0, 0, 1, 5])):
            at = rng.randrange(len(raw) + 1)
            raw = raw[:at] + rng.randbytes(rng.randrange(3)) + raw[at + rng.randrange(3) :]
        yield raw[: rng.choice([len(raw), len(raw), rng.randrange(len(raw) + 1)])]


def exchange(port: int, raw: bytes) -> bytes:
    """Send the bytes, close our side for sending, and return what the server sends until it closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as wire:
        received = b""
        try:
            wire.sendall(raw)
            wire.shutdown(socket.SHUT_WR)
            while part := wire.recv(65536):
                received += part
        except TimeoutError:
            raise
        except OSError:
            # The server closed before it had read everything.
            return received
        return received


def send_all(site: Site | WebProcess, count: int, server: str) -> None:
    """Send random requests; assert that none fails inside, and that the server goes on serving."""
    for number, raw in enumerate(drawn(count, server), start=1):
        reply = exchange(site.port, raw)
        statuses = [int(one) for one in STATUS.findall(reply)]
        assert all(one < 500 for one in statuses), (raw[:3000], reply[:500])
        assert reply == b"" or reply.startswith((b"HTTP/1.", b"<", b"\x88")), (raw[:3000], reply[:200])
        if number % 20 == 0:
            assert site.http.get("/health").status_code == 200, raw[:3000]
    assert site.process.poll() is None
    failures = [line for line in site.log().splitlines() if FAILURE.search(line)]
    assert not failures, failures[:5]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Site]:
    """``manage.py host`` on daphne, without referees."""
    site = Site(tmp_path / "data", "--no-demo", "--referees", "0")
    yield site
    site.close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebProcess]:
    """``manage.py web``, with PostgreSQL and Redis."""
    with scaled_site(tmp_path) as (site, _redis):
        yield site.start_web()[0]


@pytest.mark.long
def test_malformed_http_is_no_failure_of_the_host(host: Site) -> None:
    send_all(host, QUICK, "host")


@pytest.mark.long
def test_malformed_http_is_no_failure_of_the_host_at_length(
    host: Site, record_property: Callable[[str, object], None]
) -> None:
    send_all(host, long_count(LONG), "host")
    record_property("inputs", long_count(LONG))


@pytest.mark.long
def test_malformed_http_is_no_failure_of_a_web_process_at_length(
    web: WebProcess, record_property: Callable[[str, object], None]
) -> None:
    send_all(web, long_count(LONG), "web")
    record_property("inputs", long_count(LONG))
