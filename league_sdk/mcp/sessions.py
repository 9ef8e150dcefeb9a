"""Sessions of the versions of MCP that begin with ``initialize`` (2024-11-05 to 2025-11-25).

Its id says what was agreed, signed and bound to its caller: every process with the key goes on with it. What goes on in
it (a stream, a question) is where it began; the other processes are told what concerns it (decision 43).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from league_sdk.mcp.errors import InvalidParams, SessionGone
from league_sdk.mcp.listening import MAX_URIS, Filter, Listener
from league_sdk.mcp.requests import Mailbox, RequestId
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import NotJson

MAX_SESSIONS = 2_000
"""Above this limit the caller with the most sessions loses one of its own."""
IDLE_S = 1_800.0
"""What a process knows of a session that is not used for this long, and has no stream and no request under way, is
forgotten when the next one opens; its subscriptions are gone then."""
LIFETIME_S = 86_400.0
"""After this time the client has to initialise again."""
ANYBODY = ""
"""In place of the caller in the signature of a session that is bound to none."""
MAX_ENDED = 20_000
"""How many sessions that were ended are remembered; an older one would begin anew, with nothing that was in it."""


@dataclass(eq=False)
class Session:
    """What one client has said in its handshake and since.

    Attributes:
        id: what was agreed, signed.
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
    # Every session is told of changed lists; it need not subscribe to them.
    wanted: Filter = field(default_factory=lambda: Filter({"tools", "prompts", "resources"}))
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
        key: signs the ids; processes that serve the same clients need the same key.
        now: seconds of a clock that all these processes share.
        max_sessions: known at the same time.

    Attributes:
        tell_others: sends a dictionary to these processes, each of which calls :meth:`hear` with it; it may get lost.
    """

    def __init__(self, key: bytes, now: Callable[[], float], *, max_sessions: int = MAX_SESSIONS) -> None:
        self._key, self._now, self._max = key, now, max_sessions
        self._lock = threading.Lock()
        self._all: dict[str, Session] = {}
        self._ended: dict[str, None] = {}
        self.tell_others: Callable[[dict[str, Any]], None] = lambda message: None

    def __len__(self) -> int:
        return len(self._all)

    def open(self, caller: str, version: str, capabilities: Mapping[str, Any], *, bound: bool = True) -> Session:
        """A new session.

        Args:
            caller: where the client is.
            bound: only this caller may use it. Not if it has shown no token: an agent gets its own in a session, and
                shows it from then on.
            version: as agreed.
            capabilities: what the client declares.
        """
        said = {"v": version, "c": sorted(capabilities), "e": self._now() + LIFETIME_S, "n": secrets.token_hex(8)}
        payload = base64.urlsafe_b64encode(rpc.dumps(said)).decode().rstrip("=")
        session_id = f"{payload}.{self._sign(payload, caller if bound else ANYBODY)}"
        return self._keep(Session(session_id, caller, version, dict(capabilities), self._now()))

    def _keep(self, session: Session) -> Session:
        with self._lock:
            ended = [self._all.pop(session_id) for session_id in self._idle()]
            if len(self._all) >= self._max:
                ended.append(self._all.pop(self._least_needed()))
            self._all[session.id] = session
        for one in ended:
            one.end()
        return session

    def get(self, session_id: str, caller: str) -> Session:
        """A session that a client names, which counts as used now; one of another process goes on here.

        Args:
            session_id: as the client sent it.
            caller: where the client is; a session belongs to one caller.

        Raises:
            SessionGone: there is no such session of this caller, or it is over.
        """
        version, capabilities = self._read(session_id, caller)
        session = self._all.get(session_id)
        if session is None:
            session = self._keep(Session(session_id, caller, version, capabilities, self._now()))
        session.used_at = self._now()
        return session

    def end(self, session_id: str, caller: str) -> None:
        """End a session, in every process.

        Raises:
            SessionGone: there is no such session of this caller, or it is over.
        """
        self._read(session_id, caller)
        self._forget(session_id)
        self.tell_others({"session": session_id, "end": True})

    def _forget(self, session_id: str) -> None:
        with self._lock:
            session = self._all.pop(session_id, None)
            self._ended[session_id] = None
            while len(self._ended) > MAX_ENDED:
                del self._ended[next(iter(self._ended))]
        if session is not None:
            session.end()

    def hear(self, message: Mapping[str, Any]) -> None:
        """Take what another process was told of a session; on the event loop."""
        session_id = str(message.get("session"))
        if message.get("end"):
            self._forget(session_id)
            return
        try:
            session = self.get(session_id, str(message.get("caller")))
        except SessionGone:
            return
        if "answer" in message:
            session.answer(*message["answer"])
        elif "cancel" in message:
            session.cancel(message["cancel"])
        elif "level" in message:
            session.log_level = message["level"]
        elif "subscribe" in message:
            with suppress(InvalidParams):
                session.subscribe(message["subscribe"])
        elif "unsubscribe" in message:
            session.wanted.uris.discard(str(message["unsubscribe"]))

    def _read(self, session_id: str, caller: str) -> tuple[str, dict[str, Any]]:
        """Version and capabilities that an id says.

        Raises:
            SessionGone: it was not made for this caller, is too old, or was ended.
        """
        payload, _dot, signature = session_id.rpartition(".")
        given = signature.encode("utf-8", "replace")
        signed = [hmac.compare_digest(given, self._sign(payload, one).encode()) for one in (caller, ANYBODY)]
        if not any(signed) or session_id in self._ended:
            raise SessionGone
        try:
            said = rpc.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (binascii.Error, ValueError, NotJson):
            raise SessionGone from None
        if said["e"] < self._now():
            raise SessionGone
        return said["v"], {name: {} for name in said["c"]}

    def _sign(self, payload: str, caller: str) -> str:
        text = f"mcp session {payload} {caller}".encode("utf-8", "replace")
        # 128 bits: some clients keep no id that is longer than 255 characters.
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:32]

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
