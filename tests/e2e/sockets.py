"""Clients of a page's socket, without a browser."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.e2e.site import Instructor, wait_for


class Watcher:
    """One socket on a page, which keeps the page's fragments as static/js/live.js does.

    A thread of its own reads it, and connects again when the socket is closed.

    Args:
        site: the web process it is on.
        path: of the page's socket, such as ``/ws/leagues/fall/``.
        headers: more headers of the handshake.
    """

    def __init__(self, site: Instructor, path: str, headers: Mapping[str, str] | None = None) -> None:
        self._url = f"ws://{urlsplit(site.url).netloc}{path}?packed=gzip"
        self._headers = headers
        self._origin = site.url
        self.fragments: dict[str, str] = {}
        self.seq = 0
        self.connections = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        wait_for("the page's snapshot", lambda: self.fragments)

    def _watch(self) -> None:
        while not self._ending.is_set():
            try:
                self._read()
            except (ConnectionClosed, OSError):
                self._ending.wait(0.2)

    def _read(self) -> None:
        with connect(
            self._url, origin=self._origin, additional_headers=self._headers, compression=None, proxy=None
        ) as page:
            self.connections += 1
            self.seq = 0
            while not self._ending.is_set():
                try:
                    raw = page.recv(timeout=0.2)
                except TimeoutError:
                    continue
                self._take(json.loads(gzip.decompress(raw) if isinstance(raw, bytes) else raw), page)

    def _take(self, frame: dict[str, Any], page: Any) -> None:
        if frame["type"] == "heartbeat":
            if frame["seq"] != self.seq:
                page.send('{"type":"resync"}')
            return
        if frame["type"] == "frame" and frame["from"] != self.seq:
            page.send('{"type":"resync"}')
        else:
            self.seq = frame["seq"]
            self.fragments = {**self.fragments, **frame["fragments"]}
        page.send('{"type":"ack"}')

    def close(self) -> None:
        """Close the socket."""
        self._ending.set()
        self._thread.join(5)


class Stalled:
    """A browser that opens a page's socket and then reads nothing, and says nothing by itself.

    Args:
        site: the web process it is on.
        path: such as ``/ws/leagues/fall/``.
        receive_buffer_bytes: the size of its receive buffer; 0: what the system chooses.
    """

    def __init__(self, site: Instructor, path: str, receive_buffer_bytes: int = 0) -> None:
        where = urlsplit(site.url)
        self._socket = socket.socket()
        self._socket.settimeout(10)
        if receive_buffer_bytes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._socket.connect((where.hostname, where.port))
        lines = [f"GET {path} HTTP/1.1", f"Host: {where.netloc}", f"Origin: {site.url}", "Connection: Upgrade"]
        lines += ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        assert self._socket.recv(12) == b"HTTP/1.1 101"

    def say(self, frames: bytes) -> None:
        """Send frames, and wait until the server's system has taken them.

        Raises:
            ConnectionError: the server has closed the connection.
        """
        self._socket.settimeout(60)
        self._socket.sendall(frames)

    def is_dropped(self) -> bool:
        """Whether the server has closed the connection; reads what it had sent before."""
        self._socket.settimeout(0.05)
        try:
            while self._socket.recv(65536):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
