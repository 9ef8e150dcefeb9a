"""Fixtures for the tests of the bridge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from league_sdk import bridge
from league_sdk.bridge import Bridge, Manager, Reply, Tokens
from tests.league_sdk.bridge_servers import PATIENCE_S, Behaviour, Calls, FakeServer


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bridges try again without waiting, and their servers close without waiting."""
    monkeypatch.setattr(bridge, "BACKOFF_S", 0.0)
    monkeypatch.setattr(Manager, "serve_forever", partialmethod(Manager.serve_forever, 0.01))


@pytest.fixture
def serve(hasty: None) -> Iterator[Callable[..., FakeServer]]:
    """A function that starts a server; all of them are closed after the test."""
    made: list[FakeServer] = []

    def make(says: Behaviour, port: int = 0, *, one_by_one: bool = False) -> FakeServer:
        made.append(FakeServer(says, port, one_by_one=one_by_one))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def listening(tmp_path: Path, hasty: None) -> Iterator[Callable[[FakeServer], int]]:
    """A function that starts a bridge in front of a league; it returns the bridge's port."""
    opened: list[Manager] = []

    def at(league: FakeServer) -> int:
        opened.extend(bridge.listen(Bridge(league.url, Tokens(tmp_path / "kept.json")), "127.0.0.1:0"))
        return opened[-1].server_port

    yield at
    for one in opened:
        one.shutdown()
        one.server_close()


@pytest.fixture
def calling(listening: Callable[[FakeServer], int]) -> Callable[[FakeServer], Calls]:
    """A function that starts a bridge in front of a league; it returns a function that posts to the bridge."""

    def at(league: FakeServer) -> Calls:
        bridge_address = urlsplit(f"http://127.0.0.1:{listening(league)}")

        def call(body: Any, path: str = "/mcp", **headers: str) -> Reply:
            raw, connection = (
                body if isinstance(body, bytes) else json.dumps(body).encode(),
                bridge.Connection(bridge_address),
            )
            try:
                return connection.call("POST", path, raw, headers, bridge.Limits(PATIENCE_S, 1000))
            finally:
                connection.drop()

        return call

    return at
