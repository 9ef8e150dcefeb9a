"""A connection whose other end stalls is ended."""

from __future__ import annotations

import socket
import sys

import pytest

from leaguesite.serving.listening import STALLED_S, end_stalled


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends stalled connections by itself")
def test_a_connection_has_the_limit_of_the_socket_it_came_in_at() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as browser:
        end_stalled(server)
        browser.connect(server.getsockname())
        connection, _ = server.accept()
        with connection:
            limit_ms = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert (limit_ms, browser.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)) == (STALLED_S * 1000, 0)
