"""The sockets that a web process listens at."""

from __future__ import annotations

import socket

BACKLOG = 2048
"""So many may knock at once while the process is busy; whom the system turns away tries again after a second."""
STALLED_S = 30
"""A connection whose other end takes nothing for so long is ended by the system, also one that we have closed: what
was written to it would wait in memory for ever otherwise."""


def end_stalled(listening: socket.socket) -> None:
    """Have the connections that come in here ended when they stall. Where the system cannot (not Linux), nothing."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listening.setsockopt(socket.IPPROTO_TCP, option, STALLED_S * 1000)
