"""Ports of 127.0.0.1 that nothing listens at, and that no other of the first eight workers of a run takes."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Iterator

MIN_PORT, MAX_PORT, PORT_SHARES = 10_240, 32_768, 8


def _own_ports() -> Iterator[int]:
    """All ports of this test process, over and over, from a random one on.

    They lie below those that systems give to outgoing connections, and none of the other seven has them: a program
    that is started again finds its port free.
    """
    worker = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0) % PORT_SHARES
    share = (MAX_PORT - MIN_PORT) // PORT_SHARES
    first = MIN_PORT + worker * share
    begin = secrets.randbelow(share)
    while True:
        yield from (first + (begin + number) % share for number in range(share))


_ports = _own_ports()


def free_port(host: str = "127.0.0.1", together: int = 1) -> int:
    """A port that nothing listens at now; with ``together``, the first of this many consecutive free ports."""
    free_in_a_row: list[int] = []
    while len(free_in_a_row) < together:
        port = next(_ports)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                free_in_a_row = []
                continue
        # The generator goes on from the last port to the first one; these two are not consecutive.
        free_in_a_row = [*free_in_a_row, port] if not free_in_a_row or port == free_in_a_row[-1] + 1 else [port]
    return free_in_a_row[0]
