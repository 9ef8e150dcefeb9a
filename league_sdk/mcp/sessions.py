"""Sessions of the versions of MCP that begin with ``initialize`` (2024-11-05 to 2025-11-25).

Each lives in the process that gave its id; a proxy sends a request to that process by the id.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.mcp.errors import InvalidParams, SessionGone
from league_sdk.mcp.listening import MAX_URIS, Filter, Listener
from league_sdk.mcp.requests import Mailbox, RequestId

MAX_SESSIONS = 2_000
"""Above this limit the caller with the most sessions loses one of its own."""
IDLE_S = 1_800.0
"""A session that is not used for this long, and has no stream and no request under way, is forgotten when the next one
opens; its client initialises again."""


@dataclass(eq=False)
class Session:
    """What one client has said in its handshake and since.

    Attributes:
        id: unguessable.
        caller: where it came from.
        version: the version of the protocol, as agreed.
        capabilities: what the client has declared.
        used_at: seconds of the server's clock.
        log_level: from which level on it wants lines of log; None for none.
        asked: our requests that it has not answered yet.
        running: its requests that are not answered yet.
        wanted: of which changes it wants to be told.
        mailbox: the stream of its GET; None without one.
        listener: what tells it of changes; None without a stream.
        loop: the event loop of its requests and its stream; None as long as there are none.
    """

    id: str
    caller: str
    version: str
    capabilities: Mapping[str, Any]
    used_at: float
    log_level: str | None = None
    asked: dict[RequestId, asyncio.Future[Mapping[str, Any]]] = field(default_factory=dict)
    running: dict[RequestId, asyncio.Future[Any]] = field(default_factory=dict)
    wanted: Filter = field(default_factory=Filter)
    mailbox: Mailbox | None = None
    listener: Listener | None = None
    loop: asyncio.AbstractEventLoop | None = None

    def subscribe(self, uri: str) -> None:
        """Tell this session of changes of a resource.

        Raises:
            InvalidParams: it is told of too many already.
        """
        if uri not in self.wanted.uris and len(self.wanted.uris) >= MAX_URIS:
            raise InvalidParams(f"A session has at most {MAX_URIS} subscriptions.")
        self.wanted.uris.add(uri)

    def answer(self, message_id: RequestId, response: Mapping[str, Any]) -> None:
        """Take the client's response to one of our requests; a response to anything else is ignored."""
        future = self.asked.pop(message_id, None)
        if future is not None and not future.done():
            future.set_result(response)

    def cancel(self, message_id: Any) -> None:
        """Stop a request of the client that it no longer needs."""
        task = self.running.get(message_id) if isinstance(message_id, str | int | float) else None
        if task is not None:
            task.cancel()

    def end(self) -> None:
        """Stop everything that goes on in this session; from any thread."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        for work in [*self.running.values(), *self.asked.values()]:
            work.cancel()
        if self.mailbox is not None:
            self.mailbox.end()


class Sessions:
    """The sessions of a process; its methods may be called from any thread.

    Args:
        now: seconds of a clock that does not go back.
        max_sessions: open at the same time.
    """

    def __init__(self, now: Callable[[], float], *, max_sessions: int = MAX_SESSIONS) -> None:
        self._now, self._max = now, max_sessions
        self._lock = threading.Lock()
        self._all: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._all)

    def open(self, caller: str, version: str, capabilities: Mapping[str, Any]) -> Session:
        """A new session.

        Args:
            caller: where the client is.
            version: as agreed.
            capabilities: what the client declares.
        """
        session = Session(secrets.token_urlsafe(24), caller, version, capabilities, self._now())
        with self._lock:
            ended = [self._all.pop(session_id) for session_id in self._idle()]
            if len(self._all) >= self._max:
                ended.append(self._all.pop(self._least_needed()))
            self._all[session.id] = session
        for one in ended:
            one.end()
        return session

    def get(self, session_id: str) -> Session:
        """A session that a client names, which counts as used now.

        Raises:
            SessionGone: there is no such session.
        """
        session = self._all.get(session_id)
        if session is None:
            raise SessionGone
        session.used_at = self._now()
        return session

    def end(self, session_id: str) -> None:
        """End a session.

        Raises:
            SessionGone: there is no such session.
        """
        with self._lock:
            session = self._all.pop(session_id, None)
        if session is None:
            raise SessionGone
        session.end()

    def close(self) -> None:
        """End all of them: the server stops."""
        with self._lock:
            ended, self._all = list(self._all.values()), {}
        for session in ended:
            session.end()

    def _idle(self) -> list[str]:
        oldest = self._now() - IDLE_S
        return [
            one.id for one in self._all.values() if one.used_at < oldest and not one.running and one.mailbox is None
        ]

    def _least_needed(self) -> str:
        """The session to close: of the caller with the most, the least recently used; those without a stream first."""
        busiest_caller = Counter(one.caller for one in self._all.values()).most_common(1)[0][0]
        its_sessions = [one for one in self._all.values() if one.caller == busiest_caller]
        return min(its_sessions, key=lambda one: (one.mailbox is not None, one.used_at)).id
