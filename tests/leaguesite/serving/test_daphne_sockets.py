"""The web server (daphne) limits WebSocket messages and bodies, and buffers little for a browser that does not read.

The server is a process of its own (``tests/leaguesite/socket_server.py``), and clients connect to it over TCP.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from types import SimpleNamespace

import pytest

from league_sdk.protocol.limits import MAX_BODY_BYTES
from leaguesite.serving.daphne_sockets import MAX_FRAGMENTS, MAX_MESSAGE_BYTES, STALLED_TIMEOUT_S, end_stalled
from leaguesite.serving.paths import MAX_FORM_BYTES
from tests.e2e.site import ROOT, free_port

PATIENCE_S = 30.0
BUFFER_BYTES = 16 * 1024
MORE_THAN_BUFFERS_BYTES = 16 * 1024 * 1024
"""Far more than all the buffers between browser and server hold."""
PIECE, PIECES = 65536, 1000
"""The bytes of a piece, and the number of pieces, that the server sends to fill the buffers."""
TEXT, CONTINUATION, PING, FINAL = 0x1, 0x0, 0x9, 0x80
"""The first byte of a WebSocket frame: three opcodes, and the flag of a message's last frame (RFC 6455, 5.2)."""


@contextmanager
def serving(unfinished_s: float) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The server, which waits ``unfinished_s`` for the rest of a message; yields its port and its process."""
    port = free_port()
    command = [sys.executable, "-m", "tests.leaguesite.socket_server", str(port), str(unfinished_s)]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert line_of(process) == "ready"
            yield port, process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    with serving(3600) as port_served:
        yield port_served


@pytest.fixture(scope="module")
def hasty_port() -> Iterator[int]:
    """The port of a server that waits only 0.2 s for the rest of a message."""
    with serving(0.2) as (port, _process):
        yield port


@pytest.fixture
def port(server: tuple[int, subprocess.Popen[str]]) -> int:
    return server[0]


@contextmanager
def asking(port: int, path: bytes) -> Iterator[socket.socket]:
    """A client that has asked for a WebSocket and has not read the answer yet."""
    with socket.socket() as client:
        # Set before it connects, because the handshake tells the server how much this side buffers.
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            client.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        client.settimeout(PATIENCE_S)
        client.connect(("127.0.0.1", port))
        lines = [b"GET " + path + b" HTTP/1.1", b"Host: here", b"Connection: Upgrade", b"Upgrade: websocket"]
        lines += [b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", b"", b""]
        client.sendall(b"\r\n".join(lines))
        yield client


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """A client whose WebSocket was accepted."""
    with asking(port, b"/") as client:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        assert head.startswith(b"HTTP/1.1 101")
        yield client


def header(kind: int, length: int) -> bytes:
    """The header of a client's frame with ``length`` bytes of payload, which a mask of zeros leaves as they are."""
    if length < 126:
        return bytes([kind, 0x80 | length]) + bytes(4)
    if length < 65536:
        return bytes([kind, 0x80 | 126]) + struct.pack("!H", length) + bytes(4)
    return bytes([kind, 0x80 | 127]) + struct.pack("!Q", length) + bytes(4)


def frame(kind: int, content: bytes = b"") -> bytes:
    return header(kind, len(content)) + content


def read_bytes(connection: socket.socket, length: int) -> bytes:
    """Read exactly ``length`` bytes."""
    received = b""
    while len(received) < length:
        piece = connection.recv(length - len(received))
        assert piece
        received += piece
    return received


def answer(connection: socket.socket) -> bytes:
    """Read one frame whose header is two bytes, and return its payload."""
    return read_bytes(connection, read_bytes(connection, 2)[1])


def is_dropped(connection: socket.socket) -> bool:
    """Whether the server ends the connection without a close frame; TimeoutError if it does not end it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_message_of_the_maximum_size_is_read_in_one_fragment_or_several(port: int) -> None:
    long = b"a" * MAX_MESSAGE_BYTES
    half = long[: MAX_MESSAGE_BYTES // 2]
    with connected(port) as browser:
        for frames in (
            frame(FINAL | TEXT, long),
            frame(TEXT, half) + frame(FINAL | CONTINUATION, half),
            frame(TEXT) + (MAX_FRAGMENTS - 2) * frame(CONTINUATION) + frame(FINAL | CONTINUATION, long),
            frame(TEXT, half) + frame(FINAL | PING) + frame(FINAL | CONTINUATION, half),
        ):
            browser.sendall(frames)
            text = answer(browser)
            # A ping between two fragments is answered, too: with an empty pong.
            assert (text or answer(browser)) == str(MAX_MESSAGE_BYTES).encode()


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(header(FINAL | TEXT, MAX_MESSAGE_BYTES + 1), id="announced"),
        pytest.param(header(TEXT, MAX_MESSAGE_BYTES + 1), id="announced in a first fragment"),
        pytest.param(frame(TEXT, b"a" * MAX_MESSAGE_BYTES) + header(CONTINUATION, 1), id="in two fragments"),
        pytest.param(header(TEXT, 4 * 1024 * 1024), id="announced in a first fragment, of megabytes"),
        pytest.param(header(FINAL | TEXT, 2**62), id="announced, far too large"),
        pytest.param(frame(TEXT) + MAX_FRAGMENTS * frame(CONTINUATION), id="too many empty fragments"),
    ],
)
def test_a_message_that_is_too_large_or_in_too_many_fragments_drops_the_socket(port: int, frames: bytes) -> None:
    with connected(port) as browser:
        browser.sendall(frames)
        assert is_dropped(browser)


def test_a_socket_that_sends_before_it_is_accepted_is_dropped(port: int) -> None:
    with asking(port, b"/never/") as stranger, pytest.raises(ConnectionError):
        for _ in range(1000):
            stranger.sendall(b"a" * 1024)


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param(frame(TEXT, b"a"), id="another fragment is missing"),
        pytest.param(header(FINAL | TEXT, 5) + b"a", id="the rest of the payload is missing"),
        pytest.param(header(FINAL | TEXT, 5)[:1], id="the rest of the header is missing"),
        pytest.param(header(FINAL | PING, 5), id="the rest of a ping is missing"),
    ],
)
def test_a_message_that_is_never_complete_drops_the_socket(hasty_port: int, frames: bytes) -> None:
    with connected(hasty_port) as browser:
        browser.sendall(frame(FINAL | TEXT, b"whole"))
        assert answer(browser) == b"5"
        browser.sendall(frames)
        assert is_dropped(browser)


def test_the_application_waits_while_nobody_reads(server: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = server
    with connected(port) as browser:
        browser.sendall(frame(FINAL | TEXT, b"fill 1"))
        assert line_of(process) == "kept waiting"


def test_the_application_goes_on_when_the_browser_reads(server: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = server
    with connected(port) as browser:
        browser.sendall(frame(FINAL | TEXT, f"fill {PATIENCE_S}".encode()))
        for _ in range(PIECES):
            assert read_bytes(browser, 10) == bytes([0x82, 127]) + struct.pack("!Q", PIECE)
            read_bytes(browser, PIECE)
        assert line_of(process) == "everything was taken"


def test_a_stream_waits_while_nobody_reads(server: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = server
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as reader:
        # Two requests: the second one's answer begins while the end of the first one's still waits to be read.
        reader.sendall(2 * b"GET /fill/1 HTTP/1.1\r\nHost: here\r\n\r\n")
        assert line_of(process) == "kept waiting"
        assert line_of(process) == "kept waiting"


def test_a_stream_goes_on_when_its_reader_reads(server: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = server
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as reader:
        reader.sendall(f"GET /fill/{PATIENCE_S} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
        answer = HTTPResponse(reader)
        answer.begin()
        assert len(answer.read()) == PIECE * PIECES
        assert line_of(process) == "everything was taken"


def test_pings_are_not_read_while_the_browser_does_not_read_the_answers(port: int) -> None:
    pings = 100 * frame(FINAL | PING, b"a" * 125)
    with connected(port) as browser:
        browser.settimeout(1)
        with pytest.raises(TimeoutError):
            for _ in range(MORE_THAN_BUFFERS_BYTES // len(pings)):
                browser.sendall(pings)
        # Other browsers are served meanwhile, and this one is as soon as it reads.
        with connected(port) as other:
            other.sendall(frame(FINAL | TEXT, b"here"))
            assert answer(other) == b"4"
        browser.settimeout(PATIENCE_S)
        assert read_bytes(browser, 127) == bytes([0x8A, 125]) + b"a" * 125


@pytest.mark.parametrize("code", [1000, 1013, 4404])
def test_a_socket_is_closed_with_the_code_that_the_site_says(port: int, code: int) -> None:
    with connected(port) as browser:
        browser.sendall(frame(FINAL | TEXT, f"close {code}".encode()))
        assert read_bytes(browser, 4) == bytes([0x88, 2]) + struct.pack("!H", code)


@pytest.mark.parametrize(("path", "max_bytes"), [("/mcp", MAX_BODY_BYTES), ("/check", MAX_FORM_BYTES)])
def test_a_body_that_is_too_large_is_answered_with_413_before_all_of_it_has_come(
    port: int, path: str, max_bytes: int
) -> None:
    piece = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sender:
        sender.sendall(f"POST {path} HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(max_bytes // 0x8000):
            sender.sendall(piece)
        sender.sendall(b"1\r\nx\r\n")
        answer = HTTPResponse(sender)
        answer.begin()
        error = json.loads(answer.read())["error"]
    assert (answer.status, answer.headers["Connection"]) == (413, "close")
    assert (error["code"], error["data"]["error_code"], error["data"]["context"]) == (
        -32600,
        "E002",
        {
            "field": "body",
            "seen": f'"more than {max_bytes} bytes"',
            "expected": f"at most {max_bytes} bytes",
            "expected_format": f"at most {max_bytes} bytes",
        },
    )


def test_a_server_that_stops_answers_open_requests_and_closes_sockets_with_1012() -> None:
    with serving(3600) as (port, process), connected(port) as browser:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as page:
            page.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert line_of(process) == "asked"
            process.terminate()
            assert read_bytes(browser, 4) == bytes([0x88, 2]) + struct.pack("!H", 1012)
            assert read_bytes(page, 12) == b"HTTP/1.1 200"
        browser.close()
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends stalled connections by itself")
def test_a_connection_inherits_the_stall_timeout_of_the_listening_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as browser:
        end_stalled(SimpleNamespace(socket=server))
        browser.connect(server.getsockname())
        connection, _ = server.accept()
        with connection:
            limit_ms = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert (limit_ms, browser.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)) == (
            STALLED_TIMEOUT_S * 1000,
            0,
        )
