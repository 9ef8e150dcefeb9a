"""Runs the real ASGI application in the test's thread, with requests and WebSockets as a server passes them on.

Only the network is left out: middleware, limits and handlers are the site's own. As all of it runs in one thread, it
sees the test's database, whose changes are rolled back after every input.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import given
from hypothesis.strategies import SearchStrategy

from agents_registry.rate_limits.attempts import attempts
from leaguesite.serving import threads
from leaguesite.serving.handler import OneHopHandler
from matches.live import hub as hubs
from matches.live import socket
from storage import databases
from tests.fuzz.profile import many, seeded

TIMEOUT_S = 30
T = TypeVar("T")
Header = tuple[bytes, bytes]


class InPlace(Executor):
    """Runs each function at once in the calling thread, as if no event loop were running there."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        loop = asyncio.events._get_running_loop()
        asyncio.events._set_running_loop(None)
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        finally:
            asyncio.events._set_running_loop(loop)
        return done


class Errors(logging.Handler):
    """Collects everything that is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        # A Host that is not this site's is refused; Django logs that as an error.
        if not record.name.startswith("django.security"):
            self.seen.append(self.format(record))


@dataclass(frozen=True, repr=False)
class Request:
    """One HTTP request; ``target`` is the path and query in its first line, ``parts`` the number of its pieces."""

    method: str
    target: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    parts: int = 1

    def __repr__(self) -> str:
        body = f"{self.body[:3000]!r} ({len(self.body)} bytes)"
        return f"{self.method} {self.target[:500]} {self.headers!r} in {self.parts} parts: {body}"

    def scope(self) -> dict[str, Any]:
        path, _mark, query = self.target.partition("?")
        named = {name for name, _ in self.headers}
        host = () if b"host" in named else ((b"host", b"testserver"),)
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": quote(path, safe="/%:@!$&'()*+,;=~").encode(),
            "query_string": query.encode("latin1", "replace"),
            "root_path": "",
            "headers": [*host, *self.headers],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
        }


@contextmanager
def noting(what: object) -> Iterator[None]:
    """Note on any exception what was sent, so that it can be sent again."""
    try:
        yield
    except Exception as error:
        error.add_note(f"sent: {what!r}")
        raise


def for_each_input(drawn: SearchStrategy[T], act: Callable[[T], object], count: int, *share: object) -> int:
    """Call ``act`` with ``count`` drawn inputs, seeded by ``share``; returns how many there were."""
    sent = 0

    @many(count)
    @seeded(*share)
    @given(drawn)
    def send_one(value: T) -> None:
        nonlocal sent
        with noting(value):
            act(value)
        sent += 1

    send_one()
    return sent


@dataclass(frozen=True)
class Answer:
    """A response of the site, decompressed."""

    status: int
    headers: dict[str, list[str]]
    body: bytes


class Site:
    """The application and its event loop."""

    def __init__(self, errors: Errors) -> None:
        self.errors = errors
        self.loop = asyncio.new_event_loop()
        self._app = OneHopHandler()

    def send(self, request: Request) -> Answer:
        """Send one request; fails when anything is logged as an error.

        Raises:
            AssertionError: the server failed, or what it sent is no HTTP response.
        """
        # Rate limits are not tested here.
        attempts.forget_all()
        self.errors.seen.clear()
        answer = self.loop.run_until_complete(asyncio.wait_for(self._exchange(request), TIMEOUT_S))
        assert not self.errors.seen, self.errors.seen
        assert answer.status < 500, answer
        return answer

    async def _exchange(self, request: Request) -> Answer:
        step = max(1, -(-len(request.body) // request.parts))
        parts = [request.body[at : at + step] for at in range(0, len(request.body), step)] or [b""]
        incoming = iter(
            {"type": "http.request", "body": part, "more_body": number < len(parts)}
            for number, part in enumerate(parts, start=1)
        )
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            for message in incoming:
                return message
            # The caller stays until it has its answer.
            return await asyncio.get_running_loop().create_future()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(request.scope(), receive, send)  # type: ignore[arg-type]
        start, *rest = sent
        assert start["type"] == "http.response.start"
        assert [one.get("more_body", False) for one in rest] == [True] * (len(rest) - 1) + [False]
        headers: dict[str, list[str]] = {}
        for name, value in start["headers"]:
            assert b"\n" not in name + value, "a header of several lines"
            assert b"\r" not in name + value, "a header of several lines"
            headers.setdefault(name.decode("ascii").lower(), []).append(value.decode("latin1"))
        content = b"".join(one["body"] for one in rest)
        if headers.pop("content-encoding", []) == ["gzip"] and content:
            content = gzip.decompress(content)
        return Answer(start["status"], headers, content)

    def close(self) -> None:
        """Close the event loop."""
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site, run in this thread."""
    for name in threads.THREADS:
        monkeypatch.setitem(threads.THREADS, name, InPlace())
    monkeypatch.setattr(hubs.hub, "executor", InPlace())
    monkeypatch.setattr(databases, "close_old_connections", lambda: None)
    # Repeated requests for snapshots would have to wait, which would only slow the tests down.
    monkeypatch.setattr(socket.TIMES, "snapshot_interval_s", 0.0)
    errors = Errors()
    # Some of Django's loggers do not propagate to the root logger.
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in ("django", "django.request"))]
    listening = [one for one in loggers if one.parent is None or not one.propagate]
    for one in listening:
        one.addHandler(errors)
    # Refusals are logged as warnings, and there are very many.
    logging.disable(logging.WARNING)
    for signal in (request_started, request_finished):
        # Django would take a connection inside the test's transaction for a broken one, and close it.
        signal.disconnect(close_old_connections)
    running = Site(errors)
    yield running
    running.close()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    logging.disable(logging.NOTSET)
    for one in listening:
        one.removeHandler(errors)
