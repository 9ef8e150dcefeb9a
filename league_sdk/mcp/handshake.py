"""The handshake era (2024-11-05 to 2025-11-25): ``initialize`` first, then a session.

In a session the server can also send requests and notifications to the client, on a stream.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from league_sdk.mcp import features
from league_sdk.mcp.asking import CAPABILITIES, Question
from league_sdk.mcp.context import LOG_LEVELS, Context, Emit
from league_sdk.mcp.errors import (
    BadRequest,
    CapabilityMissing,
    Failed,
    InvalidParams,
    McpError,
    MethodNotFound,
    ToolError,
)
from league_sdk.mcp.listening import Listeners
from league_sdk.mcp.registry import Registry
from league_sdk.mcp.requests import HttpRequest, Mailbox, Message, RequestId, answered, stream_reply
from league_sdk.mcp.sessions import Session, Sessions
from league_sdk.mcp.versions import (
    DEFAULT_HANDSHAKE_VERSION,
    HANDSHAKE_VERSIONS,
    SESSION_HEADER,
    VERSION_HEADER,
    Era,
)
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Reply

logger = logging.getLogger(__name__)

_ASKED = re.compile("ask-[0-9a-f]{16}")
"""The ids of our own requests."""
MAX_TOLD_BYTES = 4096
"""What other processes are told of a session is smaller: whoever sends more answers a form of ours with a book."""
MAX_TOLD_NUMBER = 2**63
MAX_ASK_S = 600.0
"""How long a person may take to answer a question."""


class HandshakeContext(Context):
    """See :class:`Context`.

    Args:
        session: None for a client that has none; it cannot be asked anything.
    """

    era = Era.HANDSHAKE

    def __init__(self, message: Message, session: Session | None, request: HttpRequest, emit: Emit) -> None:
        declared = session.capabilities if session is not None and request.accepts("text/event-stream") else {}
        super().__init__(principal=request.principal, capabilities=declared, scope=request.scope, emit=emit)
        self._session = session
        self._log_level = session.log_level if session is not None else None
        self.read_progress_token(message.params)

    async def _ask(self, questions: Mapping[str, Question], bound: bool) -> dict[str, dict[str, Any]]:
        return {name: await self._ask_one(name, question) for name, question in questions.items()}

    async def _ask_one(self, name: str, question: Question) -> dict[str, Any]:
        if self._session is None:
            raise CapabilityMissing([question.capability])
        request_id = f"ask-{secrets.token_hex(8)}"
        self._session.loop = asyncio.get_running_loop()
        future: asyncio.Future[Mapping[str, Any]] = self._session.loop.create_future()
        self._session.asked[request_id] = future
        try:
            await self._emit({"jsonrpc": "2.0", "id": request_id} | question.as_json())
            async with asyncio.timeout(MAX_ASK_S):
                response = await future
        except TimeoutError:
            raise ToolError(f"Nobody answered {name!r} in time.") from None
        finally:
            self._session.asked.pop(request_id, None)
        if "error" in response:
            raise ToolError(f"The client could not ask {name!r}.")
        try:
            return question.check(response.get("result"), name)
        except InvalidParams as error:
            raise ToolError(f"The client's answer is not valid: {error.message}") from None


class HandshakeEra:
    """Serves the requests of the handshake era.

    Args:
        registry: what is offered.
        sessions: the sessions of the clients.
        listeners: who wants to be told of changes.
    """

    def __init__(self, registry: Registry, sessions: Sessions, listeners: Listeners) -> None:
        self._registry = registry
        self._sessions = sessions
        self._listeners = listeners

    async def serve(self, request: HttpRequest, message: Message) -> Reply:
        """Answer a message.

        Raises:
            McpError: it is refused.
        """
        _check_version(request)
        if message.method == "initialize" and message.id is not None:
            return self._initialize(request, message)
        session = self._session(request)
        if message.response is not None:
            if session is not None and message.id is not None:
                self._take_answer(session, message.id, message.response)
            return Reply(202)
        if message.id is None:
            if session is not None and message.method == "notifications/cancelled":
                self._cancel(session, message.params.get("requestId"))
            return Reply(202)
        return await self._request(request, message, session)

    def open_stream(self, request: HttpRequest) -> Reply:
        """GET: the stream on which a session is told of changes.

        Raises:
            McpError: no session is named, there is no such session, or its caller has too many streams.
        """
        _check_version(request)
        session = self._session(request)
        if session is None:
            raise BadRequest("Mcp-Session-Id is missing: call initialize first.")
        if session.mailbox is not None:
            # The client lost its connection before we noticed: the new stream is the one that it reads.
            session.mailbox.end()
            self._stop_telling(session)
        session.loop = asyncio.get_running_loop()
        mailbox = session.mailbox = Mailbox()

        def tell(method: str, params: dict[str, Any]) -> None:
            mailbox.put({"jsonrpc": "2.0", "method": method, "params": params})

        def closed() -> None:
            if session.mailbox is mailbox:
                self._stop_telling(session)

        session.listener = self._listeners.add(session.wanted, session.caller, tell, mailbox.end)
        return stream_reply(mailbox.stream(closed), {VERSION_HEADER: session.version})

    def end(self, request: HttpRequest) -> Reply:
        """DELETE: the client needs its session no longer.

        Raises:
            McpError: there is no such session.
        """
        session = self._session(request)
        if session is None:
            raise BadRequest("Mcp-Session-Id is missing.")
        self._stop_telling(session)
        self._sessions.end(session.id, session.caller)
        return Reply(204)

    def _take_answer(self, session: Session, message_id: RequestId, response: Mapping[str, Any]) -> None:
        """Hand an answer to whoever asked: here, or in another process."""
        if message_id in session.asked:
            session.answer(message_id, response)
        elif isinstance(message_id, str) and _ASKED.fullmatch(message_id):
            self._tell_others(session, answer=[message_id, dict(response)])

    def _cancel(self, session: Session, request_id: Any) -> None:
        if isinstance(request_id, str | int) and request_id not in session.running:
            self._tell_others(session, cancel=request_id)
        session.cancel(request_id)

    def _tell_others(self, session: Session, **what: Any) -> None:
        """Tell other processes what concerns a session, unless it is larger than such a thing has to be."""
        if len(rpc.dumps(what)) <= MAX_TOLD_BYTES and all(_fits(value) for value in what.values()):
            self._sessions.tell_others({"session": session.id, "caller": session.caller} | what)

    def _stop_telling(self, session: Session) -> None:
        if session.listener is not None:
            self._listeners.remove(session.listener)
        session.listener = session.mailbox = None

    def _session(self, request: HttpRequest) -> Session | None:
        session_id = request.headers.get(SESSION_HEADER)
        return None if session_id is None else self._sessions.get(session_id, request.caller)

    def _initialize(self, request: HttpRequest, message: Message) -> Reply:
        requested, declared = message.params.get("protocolVersion"), message.params.get("capabilities")
        version = requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        names = declared if isinstance(declared, Mapping) else {}
        capabilities: dict[str, Any] = {name: {} for name in CAPABILITIES if name in names}
        session = self._sessions.open(request.caller, version, capabilities, bound=bool(request.principal))
        result = {
            "protocolVersion": version,
            "capabilities": features.capabilities(self._registry, logging_lines=True),
            "serverInfo": self._registry.server_info,
            "instructions": self._registry.instructions,
        }
        return _result(message, result, {SESSION_HEADER: session.id})

    async def _request(self, request: HttpRequest, message: Message, session: Session | None) -> Reply:
        simple = _SIMPLE.get(message.method)
        if simple is not None:
            result = simple(self._registry, session, message.params)
            if session is not None and message.method in _TOLD:
                # The stream of the session may be open in another process.
                name, param = _TOLD[message.method]
                self._tell_others(session, **{name: str(message.params.get(param))})
            return _result(message, result, {})
        if not features.offers(self._registry, message.method):
            raise MethodNotFound(message.method)

        async def work(emit: Emit) -> tuple[int, dict[str, Any]]:
            context = HandshakeContext(message, session, request, emit)
            return await self._perform(message, context, None if request.at_once else session)

        headers = {} if session is None else {SESSION_HEADER: session.id}
        return await answered(work, request, headers)

    async def _perform(
        self, message: Message, context: HandshakeContext, session: Session | None
    ) -> tuple[int, dict[str, Any]]:
        """The HTTP status and the response; with a session the client may cancel the request meanwhile."""
        task = None if session is None else asyncio.current_task()
        if session is not None and message.id is not None and task is not None:
            session.running[message.id] = task
            session.loop = task.get_loop()
        outcome: dict[str, Any]
        try:
            result = await features.FEATURES[message.method](self._registry, context, message.params)
            outcome = {"result": result}
        except McpError as error:
            outcome = {"error": error.as_json()}
        except asyncio.CancelledError:
            if session is None or message.id is None or task is None or task.uncancel() > 0:
                raise
            outcome = {"error": {"code": -32000, "message": "The request was cancelled."}}
        except Exception:
            logger.exception("%s failed", message.method)
            outcome = {"error": Failed("The server failed.").as_json()}
        finally:
            if session is not None and message.id is not None:
                session.running.pop(message.id, None)
        return 200, {"jsonrpc": "2.0", "id": message.id} | outcome


def _check_version(request: HttpRequest) -> None:
    version = request.headers.get(VERSION_HEADER, DEFAULT_HANDSHAKE_VERSION)
    if version not in HANDSHAKE_VERSIONS:
        raise BadRequest(f"MCP-Protocol-Version must be one of {', '.join(HANDSHAKE_VERSIONS)}.")


def _result(message: Message, result: dict[str, Any], headers: dict[str, str]) -> Reply:
    return Reply(200, rpc.dumps({"jsonrpc": "2.0", "id": message.id, "result": result}), headers)


# Requests that are answered at once, without a context --------------------------------------------


def _ping(registry: Registry, session: Session | None, params: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _set_level(registry: Registry, session: Session | None, params: Mapping[str, Any]) -> dict[str, Any]:
    level = params.get("level")
    if level not in LOG_LEVELS:
        raise InvalidParams(f"level must be one of {', '.join(LOG_LEVELS)}.")
    _required(session).log_level = level
    return {}


def _subscribe(registry: Registry, session: Session | None, params: Mapping[str, Any]) -> dict[str, Any]:
    uri = params.get("uri")
    if not isinstance(uri, str) or not any(registry.resources_at(uri)):
        raise InvalidParams("There is no such resource.", {"uri": str(uri)[:300]})
    if not registry.may_subscribe(uri):
        raise InvalidParams("This resource does not report its changes: read it again.", {"uri": uri})
    _required(session).subscribe(uri)
    return {}


def _unsubscribe(registry: Registry, session: Session | None, params: Mapping[str, Any]) -> dict[str, Any]:
    _required(session).wanted.uris.discard(str(params.get("uri")))
    return {}


def _required(session: Session | None) -> Session:
    if session is None:
        raise InvalidParams("This needs a session: call initialize first.")
    return session


_SIMPLE: dict[str, Callable[[Registry, Session | None, Mapping[str, Any]], dict[str, Any]]] = {
    "ping": _ping,
    "logging/setLevel": _set_level,
    "resources/subscribe": _subscribe,
    "resources/unsubscribe": _unsubscribe,
}


def _fits(value: Any) -> bool:
    """Whether a number is one that can be told: the layer takes 64 bits."""
    return not isinstance(value, int) or abs(value) < MAX_TOLD_NUMBER


_TOLD = {
    "logging/setLevel": ("level", "level"),
    "resources/subscribe": ("subscribe", "uri"),
    "resources/unsubscribe": ("unsubscribe", "uri"),
}
"""What other processes are told of these requests: under which name, and which of their params."""
