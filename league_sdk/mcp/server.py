"""An MCP server at one path, for clients of both eras."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from league_sdk.mcp.errors import BadRequest, McpError
from league_sdk.mcp.handshake import HandshakeEra
from league_sdk.mcp.listening import Listeners
from league_sdk.mcp.registry import Registry
from league_sdk.mcp.requests import HttpRequest, error_reply, read_message
from league_sdk.mcp.sessions import Sessions
from league_sdk.mcp.stateless import StatelessEra
from league_sdk.mcp.states import States
from league_sdk.mcp.versions import SESSION_HEADER, Era, era_of
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import NOT_DECODED, Reply
from league_sdk.protocol.errors import LeagueError, NotJson


class PageRule(Protocol):
    """Decides which web pages may call this server from a browser."""

    def allow(self, origin: str, host: str) -> bool:
        """Whether a page may call.

        Args:
            origin: where it comes from, such as ``http://localhost:8000``; the header ``Origin``.
            host: the server as the browser knows it; the header ``Host``.
        """


class Origins:
    """Which pages may call a server from a browser: those that the server itself gave out.

    A page from elsewhere may not, nor one whose name was made to point here by its own name server ("DNS rebinding"):
    a name counts as the server's only if it is known, while an address in digits cannot be made to point elsewhere.

    Args:
        names: the server's own, in lower case, besides ``localhost``.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset({"localhost", *names})

    def allow(self, origin: str, host: str) -> bool:
        """See :class:`PageRule`."""
        try:
            page = urlsplit(origin)
            name = page.hostname or ""
        except ValueError:
            return False
        return page.netloc.lower() == host.lower() and (name in self._names or _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class McpServer:
    """Answers HTTP requests at the path that it is mounted at.

    Args:
        registry: what is offered.
        states: signs what clients of the stateless era bring back.
        sessions: the sessions of clients of the handshake era.
        origins: which pages of browsers may call.
        listeners: the clients that are told of changes; none at first.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        states: States,
        sessions: Sessions,
        origins: PageRule,
        listeners: Listeners | None = None,
    ) -> None:
        self.registry = registry
        self.listeners = Listeners() if listeners is None else listeners
        self.sessions = sessions
        self._origins = origins
        self._handshake = HandshakeEra(registry, sessions, self.listeners)
        self._stateless = StatelessEra(registry, states, self.listeners)

    async def handle(self, request: HttpRequest) -> Reply:
        """Answer a request that is MCP, whatever is wrong with it."""
        body: Any = None
        try:
            refusal = self._refused_origin(request)
            if refusal is not None:
                return refusal
            if request.method != "POST":
                return self._other_method(request)
            body = _decoded(request)
            return await self._post(request, body)
        except _Unreadable as error:
            return Reply(400, rpc.dumps(rpc.error(None, error.code, str(error), None)))
        except McpError as error:
            return error_reply(error, body)

    async def _post(self, request: HttpRequest, body: Any) -> Reply:
        era = era_of(body, request.headers)
        try:
            message = read_message(body)
            served = self._stateless if era is Era.STATELESS else self._handshake
            return await served.serve(request, message)
        except McpError as error:
            return error_reply(error, body, status=error.status if era is Era.STATELESS else error.handshake_status)

    def _refused_origin(self, request: HttpRequest) -> Reply | None:
        origin = request.headers.get("origin")
        if origin is None or self._origins.allow(origin, request.headers.get("host", "")):
            return None
        return error_reply(BadRequest("Pages of this origin may not call."), None, status=403)

    def _other_method(self, request: HttpRequest) -> Reply:
        names_session = SESSION_HEADER in request.headers and era_of({}, request.headers) is Era.HANDSHAKE
        if names_session and request.method == "GET" and request.accepts("text/event-stream"):
            return self._handshake.open_stream(request)
        if names_session and request.method == "DELETE":
            return self._handshake.end(request)
        return Reply(405, None, {"Allow": "POST"})

    def close(self) -> None:
        """End all streams and sessions: the server stops."""
        self.listeners.close()
        self.sessions.close()


class _Unreadable(Exception):
    code = -32700


def _decoded(request: HttpRequest) -> Any:
    if request.decoded is not NOT_DECODED:
        return request.decoded
    try:
        content_type, encoding = (request.headers.get(name, "") for name in ("content-type", "content-encoding"))
        rpc.check_http(content_type, len(request.body), encoding)
        return rpc.loads(request.body)
    except NotJson as error:
        raise _Unreadable(error.message) from None
    except LeagueError as error:
        raise BadRequest(error.message) from None
