"""The HTTP side of a referee: POST /mcp in every shape, and /health (004 2.1; 000 section 8)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from aiohttp import web

from league_sdk.dialects import inbound
from league_sdk.dialects.shapes import canonical_method
from league_sdk.dialects.words import ANSWERS
from league_sdk.judging import figures, watching
from league_sdk.judging.clock import SystemClock
from league_sdk.judging.guesses import Guesses
from league_sdk.judging.league_link import LeagueLink
from league_sdk.judging.referee import Referee
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import InternalError, LeagueError, NotARequest, TooLarge, UnknownMethod, league_error
from league_sdk.protocol.limits import MAX_BODY_BYTES, MAX_ID_CHARS
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.transcript import clean

logger = logging.getLogger(__name__)

BODY_LIMIT_S = 10.0
"""How long a body may take to arrive, as at the site itself."""
LOOKS = 3
"""What has come before the process went on is read by the loop within so many turns: a request, then its end."""

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def _acknowledge(params: dict[str, Any]) -> dict[str, Any]:
    """For messages that need no action here."""
    return {"status": "ok"}


class RefereeServer:
    """Answers what players and the league manager send to a referee.

    Args:
        referee: who plays.
        link: for its name.
        keys: what /metrics is read with; without one by nobody.
    """

    def __init__(self, referee: Referee, link: LeagueLink, keys: Collection[str] = ()) -> None:
        self._referee = referee
        self._keys = keys
        self._guesses = Guesses()
        self._link = link
        self._clock = SystemClock()
        self._begun = time.monotonic()
        self._tools: dict[str, Handler] = {
            START_MATCH: referee.start_match,
            "get_match_state": referee.match_state,
            "ping": _acknowledge,
            "list_tools": self._list_tools,
            MessageType.ROUND_ANNOUNCEMENT: _acknowledge,
            MessageType.LEAGUE_COMPLETED: _acknowledge,
        }

    def _list_tools(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"tools": [{"name": canonical_method(name)} for name in self._names()]}

    def _names(self) -> list[str]:
        return sorted([*self._tools, *ANSWERS])

    async def mcp(self, request: web.Request) -> web.Response:
        """One request in, its answer out, dressed alike; what cannot be answered is refused in the same form."""
        body: Any = None
        came: inbound.Inbound | None = None
        status, code, begun = 200, "", time.monotonic()
        try:
            raw = await _read(request)
            rpc.check_http(request.headers.get("Content-Type", ""), len(raw))
            body = rpc.loads(raw)
            came = inbound.read(body)
            inbound.with_bearer(came, request.headers.get("Authorization", ""))
            reply = inbound.reply(came, await self._perform(came, request))
        except LeagueError as error:
            status, code, reply = error.http_status, error.error_code, self._refusal(error, body, came)
        except Exception:
            logger.exception("a call of %s failed", came.name if came else "/mcp")
            failed = InternalError("The referee failed; nothing was changed.")
            code, reply = failed.error_code, self._refusal(failed, body, came)
        name = came.name if came is not None and came.name in self._names() else "other"
        watching.called(name, code, time.monotonic() - begun, came.message if came is not None else {})
        if came is not None and came.notification:
            return web.Response(status=204)
        return web.Response(body=rpc.dumps(reply), status=status, content_type="application/json")

    async def _perform(self, came: inbound.Inbound, request: web.BaseRequest) -> dict[str, Any]:
        if came.name in ANSWERS:
            return await self._referee.callback(came.name, came.message)
        if came.name == START_MATCH and await _hung_up(request):
            # It has given the match to another by now. We stood still, and find it in our mail.
            return {"accepted": False, "reason": "whoever gave this match has not waited for the answer"}
        handler = self._tools.get(came.name)
        if handler is None:
            raise UnknownMethod(
                "This referee has no such method.",
                field="method",
                seen=came.name,
                expected=", ".join(self._names()),
            )
        return handler(came.message)

    def _refusal(self, error: LeagueError, body: Any, came: inbound.Inbound | None) -> dict[str, Any]:
        who = self._link.identity
        # What the sender wrote may be repeated here, and a token may stand in the wrong field.
        data = clean(league_error(error, original_message_type=came.name[:MAX_ID_CHARS] if came else None))
        message = envelope(
            data.pop("message_type"),
            sender=f"referee:{who.referee_id}" if who else LEAGUE_MANAGER,
            conversation_id="conv-error",
            now=self._clock.now(),
            **data,
        )
        if came is None:
            return rpc.error(rpc.request_id(body), error.rpc_code, error.message, message)
        return inbound.refuse(came, code=error.rpc_code, sentence=error.message, data=message)

    async def health(self, request: web.Request) -> web.Response:
        """200 once it is registered, until it leaves (000 section 8); of its matches it says nothing."""
        who = self._link.identity
        status = "draining" if self._referee.draining else "ok" if who else "starting"
        return web.json_response(
            {
                "status": status,
                "agent_id": who.referee_id if who else None,
                "uptime": int(time.monotonic() - self._begun),
            },
            status=200 if status == "ok" else 503,
        )

    async def metrics(self, request: web.Request) -> web.Response:
        """Figures for Prometheus, for whoever has the key: they tell that matches are played."""
        scheme, _space, given = request.headers.get("Authorization", "").partition(" ")
        given = given.strip()
        wait_s = self._guesses.wait_s(given)
        if wait_s:
            sentence = f"Too many wrong attempts: wait {wait_s} seconds."
            return web.json_response({"error": sentence}, status=429, headers={"Retry-After": str(wait_s)})
        if scheme.lower() != "bearer" or not any(key and tokens.same(given, key) for key in self._keys):
            if given:
                self._guesses.was_wrong(given)
            sentence = "Send the referee key: Authorization: Bearer <key>."
            return web.json_response({"error": sentence}, status=401, headers={"WWW-Authenticate": "Bearer"})
        figures.MATCHES_IN_PLAY.set(self._referee.in_play)
        figures.CANARY_LATE.set(self._referee.late_s(figures.CANARY_WITHIN_S))
        figures.HEARTBEAT_AGE.set(time.monotonic() - self._link.heard_at)
        return web.Response(body=figures.text().encode(), headers={"Content-Type": figures.CONTENT_TYPE})


async def _hung_up(request: web.BaseRequest) -> bool:
    """Whether the sender of a request has closed its connection already."""
    for _ in range(LOOKS):
        await asyncio.sleep(0)
        if request.transport is None or request.transport.is_closing():
            return True
    return False


async def _read(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_LIMIT_S):
            return await request.read()
    except TimeoutError:
        # It may go on for hours: there is nobody to answer.
        if request.transport is not None:
            request.transport.abort()
        expected = f"all of it in {BODY_LIMIT_S:g} s"
        raise NotARequest("The body took too long.", field="body", seen="not all of it", expected=expected) from None
    except web.HTTPRequestEntityTooLarge:
        seen, expected = f"more than {MAX_BODY_BYTES} bytes", f"at most {MAX_BODY_BYTES} bytes"
        raise TooLarge("The body is too large.", field="body", seen=seen, expected=expected) from None


def application(referee: Referee, link: LeagueLink, keys: Collection[str] = ()) -> web.Application:
    """The routes of a referee; ``keys`` are those that /metrics is read with."""
    server = RefereeServer(referee, link, keys)
    made = web.Application(client_max_size=MAX_BODY_BYTES + 1)
    for path in ("/mcp", "/mcp/", "/"):
        made.router.add_post(path, server.mcp)
    made.router.add_get("/health", server.health)
    made.router.add_get("/metrics", server.metrics)
    return made
