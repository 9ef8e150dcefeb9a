"""Request lines and bodies in forms that few programs use: a real site answers them, or refuses them in words."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from tests import wire
from tests.e2e.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.long]
PING = json.dumps(wire.request("ping", {})).encode()
PATIENCE_S = 60
LINES = ["POST *", "OPTIONS *", "POST mcp", "CONNECT 127.0.0.1:80", "POST http:///mcp", "POST http://a@127.0.0.1/mcp"]
LINES += ["POST ftp://127.0.0.1/mcp", "GET http:/mcp"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site without referees."""
    site = Site(tmp_path_factory.mktemp("forms") / "data", "--no-demo", "--referees", "0")
    yield site
    site.close()


def send(site: Site, line: str, body: bytes = PING, host: str = "127.0.0.1", **headers: str) -> tuple[int, Any]:
    """Send a request with this request line; returns the status and the decoded body."""
    head = [
        line,
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        with HTTPResponse(connection) as answer:
            answer.begin()
            return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("scheme", ["http", "HTTP", "https"])
def test_an_address_in_the_request_line_is_taken(site: Site, scheme: str) -> None:
    # Its host counts, and the one in the header does not (RFC 9112, 3.2.2).
    status, answer = send(site, f"POST {scheme}://127.0.0.1:{site.port}/mcp HTTP/1.1", host="evil.example")
    assert (status, answer["id"], "result" in answer) == (200, 1, True)


def test_an_address_in_the_request_line_passes_no_check(site: Site) -> None:
    line = "POST http://evil.example/mcp HTTP/1.1"
    status, answer = send(site, line)
    assert (status, answer["error"]["data"]["context"]["field"]) == (400, "Host")
    status, answer = send(site, f"POST http://127.0.0.1:{site.port}/mcp HTTP/1.1", b" " * 70_000)
    assert (status, answer["error"]["code"]) == (413, -32600)


@pytest.mark.parametrize("line", LINES)
def test_what_is_neither_a_path_nor_an_address_is_refused_in_words(site: Site, line: str) -> None:
    status, answer = send(site, f"{line} HTTP/1.1")
    assert (status, answer["error"]["code"]) == (400, -32600)
    assert answer["error"]["data"]["context"]["field"] == "request line"


@pytest.mark.parametrize("path", ["/mcp", "/", "/register"])
def test_a_compressed_body_is_called_compressed(site: Site, path: str) -> None:
    status, answer = send(site, f"POST {path} HTTP/1.1", gzip.compress(PING), Content_Encoding="gzip")
    assert (status, answer["error"]["code"]) == (200, -32600)
    assert answer["error"]["data"]["context"]["field"] == "Content-Encoding"
    assert send(site, f"POST {path} HTTP/1.1", Content_Encoding="identity")[1].get("error", {}).get("code") != -32600
