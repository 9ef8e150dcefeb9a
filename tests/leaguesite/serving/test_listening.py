"""A connection whose other end stalls is ended."""

from __future__ import annotations

import socket
import sys

import pytest

from leaguesite.serving.listening import STALLED_S, listen_at


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends stalled connections by itself")
def test_a_connection_has_the_limit_of_the_socket_it_came_in_at() -> None:
    with listen_at("127.0.0.1", 0) as server, socket.create_connection(server.getsockname()) as browser:
        connection, _ = server.accept()
        with connection:
            limit_ms = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        assert (limit_ms, browser.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)) == (STALLED_S * 1000, 0)


def test_ipv6() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        server = listen_at("::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with server:
        assert server.family == socket.AF_INET6
