"""The HTTP side of a referee: reads requests within their budgets, and hands over what judging has to answer.

It runs in a process of its own (:mod:`league_sdk.judging.door`): whatever strangers send is read, parsed and refused
here. Every refusal is JSON-RPC, whatever was sent (ruling, section 5).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from aiohttp import web

from league_sdk.dialects import inbound
from league_sdk.dialects.shapes import canonical_method
from league_sdk.dialects.words import ANSWERS
from league_sdk.judging import metrics
from league_sdk.judging.clock import SystemClock
from league_sdk.judging.door_budgets import Budgets
from league_sdk.judging.doors import Connection, address_of
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Exchange, Post
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import (
    LeagueError,
    NotARequest,
    TokenInvalid,
    TooOften,
    UnknownMethod,
    league_error,
)
from league_sdk.protocol.limits import MAX_BODY_BYTES, MAX_ID_CHARS
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.transcript import clean
from league_sdk.serving import check_length, post_of, response, too_large

BODY_LIMIT_S = 10.0
"""How long a body may take to arrive, as at the site itself."""
LOOKS = 3
"""What has come before the process went on is read by the loop within so many turns: a request, then its end."""
HEALTH_FOR_S = 0.5
"""What judging said of its health holds for so long: however many ask, it is asked twice a second."""
HEALTH_LIMIT_S = 5.0

GET_MATCH_STATE = "get_match_state"
NOTED = frozenset({MessageType.ROUND_ANNOUNCEMENT, MessageType.LEAGUE_COMPLETED})
"""Messages that need no action; those of the league manager are handed over, so that they are on its log."""
NAMES = sorted([START_MATCH, GET_MATCH_STATE, "ping", "list_tools", *NOTED, *ANSWERS])

There = Callable[[], Awaitable[bool]]
"""Asks whether the sender of a request still waits for its answer."""


class Judging(Protocol):
    """What answers the requests that are handed over."""

    @property
    def referee_id(self) -> str:
        """Of the referee; empty before it has registered."""

    async def perform(self, name: str, message: dict[str, Any], there: There) -> dict[str, Any]:
        """Answer a message; returns the fields of the answer.

        Args:
            name: one of :data:`NAMES`.
            message: the fields, unwrapped.
            there: whether the sender still waits.

        Raises:
            LeagueError: it is refused.
        """

    async def health(self) -> dict[str, Any]:
        """``status`` (``ok`` when it plays), ``agent_id`` and ``uptime`` in seconds."""

    async def metrics(self, key: str, seen: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to who wants the metrics: ``status``, ``headers`` and ``text``.

        Args:
            key: what was shown as a bearer.
            seen: the metrics of the door, as :meth:`FrontDesk.seen` has them.
        """


class _Answering(Exchange[inbound.Inbound]):
    """A request to a referee, in any shape."""

    failure = "The referee failed; nothing was changed."

    def __init__(self, judging: Judging, clock: SystemClock) -> None:
        super().__init__()
        self._judging = judging
        self._clock = clock

    def understand(self, body: Any, post: Post) -> inbound.Inbound:
        came = inbound.read(body)
        inbound.with_bearer(came, post.authorization)
        return came

    def dress(self, asked: inbound.Inbound, message: Any) -> Any:
        return inbound.reply(asked, message)

    def refusal(self, error: LeagueError, body: Any) -> Any:
        who, came = self._judging.referee_id, self.asked
        # What the sender wrote may be repeated here, and a token may stand in the wrong field.
        data = clean(league_error(error, original_message_type=came.name[:MAX_ID_CHARS] if came else None))
        message = envelope(
            data.pop("message_type"),
            sender=f"referee:{who}" if who else LEAGUE_MANAGER,
            conversation_id="conv-error",
            now=self._clock.now(),
            **data,
        )
        if came is None:
            return rpc.error(rpc.request_id(body), error.rpc_code, error.message, message)
        return inbound.refuse(came, code=error.rpc_code, sentence=error.message, data=message)


class FrontDesk:
    """Answers what players and the league manager send to a referee.

    Args:
        judging: answers what is handed over.
        budgets: who may send how much.
    """

    def __init__(self, judging: Judging, budgets: Budgets) -> None:
        self._judging = judging
        self._budgets = budgets
        self._clock = SystemClock()
        self._answered: Counter[tuple[str, str]] = Counter()
        self._health: asyncio.Task[dict[str, Any]] | None = None
        self._health_until = 0.0

    def seen(self) -> dict[str, Any]:
        """What the door has answered by itself, and whom it has turned away, in numbers."""
        return {
            "answered": [[name, code, number] for (name, code), number in self._answered.items()],
            "turned_away": dict(self._budgets.turned_away),
        }

    async def mcp(self, request: web.Request) -> web.Response:
        """One request in, its answer out, dressed alike; what cannot be answered is refused in the same form."""
        exchange = _Answering(self._judging, self._clock)
        handed = False
        caller, address = self._caller(request), address_of(request.transport)
        with exchange.guarded():
            if not self._budgets.take_request(caller, address):
                raise _too_often()
            check_length(request)
            with self._budgets.waiting(caller, address) as within:
                if not within:
                    raise _too_often()
                raw = await _read(request)
                came = exchange.read(post_of(request, raw))
                handed = self._is_for_judging(came)
                with self._budgets.handed_over(caller, len(raw)) as room:
                    if not room:
                        raise _too_often()
                    exchange.answer(await self._perform(came, request, handed))
        if not handed:
            name = exchange.asked.name if exchange.asked is not None and exchange.asked.name in NAMES else "other"
            self._answered[name, exchange.error.error_code if exchange.error else metrics.OK] += 1
        answer = response(exchange.reply)
        if answer.status == TooOften.http_status:
            # Its body is not read, and the next request on this connection would begin in the middle of it.
            answer.force_close()
        return answer

    def _caller(self, request: web.BaseRequest) -> str:
        caller = self._budgets.caller(request.path, request.headers.get("Authorization", ""))
        if isinstance(request.protocol, Connection):
            request.protocol.is_of(caller)
        return caller

    def _is_for_judging(self, came: inbound.Inbound) -> bool:
        if came.name == START_MATCH and not self._budgets.is_league(came.message.get("auth_token")):
            raise TokenInvalid(
                "start_match is taken from the league manager only.",
                field="auth_token",
                expected="the league_token of this referee",
            )
        if came.name in NOTED:
            return self._budgets.is_league(came.message.get("auth_token"))
        return came.name in ANSWERS or came.name in (START_MATCH, GET_MATCH_STATE)

    async def _perform(self, came: inbound.Inbound, request: web.BaseRequest, handed: bool) -> dict[str, Any]:
        if handed:
            return await self._judging.perform(came.name, came.message, lambda: _still_there(request))
        if came.name == "list_tools":
            return {"tools": [{"name": canonical_method(name)} for name in NAMES]}
        if came.name == "ping" or came.name in NOTED:
            return {"status": "ok"}
        raise UnknownMethod(
            "This referee has no such method.", field="method", seen=came.name, expected=", ".join(NAMES)
        )

    async def health(self, request: web.Request) -> web.Response:
        """200 once it is registered, until it leaves (000 section 8); of its matches it says nothing."""
        if refused := self._looks_in(request):
            return refused
        if self._health is None or (self._health.done() and time.monotonic() >= self._health_until):
            self._health = asyncio.create_task(self._judging.health(), name="health of judging")
            self._health_until = time.monotonic() + HEALTH_FOR_S
        try:
            async with asyncio.timeout(HEALTH_LIMIT_S):
                found = await asyncio.shield(self._health)
        except (TimeoutError, LeagueError):
            found = {"status": "silent", "agent_id": self._judging.referee_id or None, "uptime": 0}
        return web.json_response(found, status=200 if found["status"] == "ok" else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """Metrics for Prometheus, for whoever has the key: they tell that matches are played."""
        if refused := self._looks_in(request):
            return refused
        scheme, _space, given = request.headers.get("Authorization", "").partition(" ")
        with self._budgets.waiting(self._caller(request), address_of(request.transport)) as within:
            if not within:
                return _many_looks()
            try:
                key = given.strip() if scheme.lower() == "bearer" else ""
                found = await self._judging.metrics(key, self.seen())
            except LeagueError as error:
                return web.json_response({"error": error.message}, status=503)
        return web.Response(body=found["text"].encode(), status=found["status"], headers=found["headers"])

    async def nothing(self, request: web.Request) -> web.Response:
        """Whatever else is asked for; that, too, has a budget."""
        if refused := self._looks_in(request):
            return refused
        return web.json_response({"error": "Messages are sent by POST to /mcp."}, status=404)

    def _looks_in(self, request: web.Request) -> web.Response | None:
        """The refusal of somebody who looks in too often."""
        room = self._budgets.take_request(self._caller(request), address_of(request.transport))
        return None if room else _many_looks()


def _many_looks() -> web.Response:
    answer = web.json_response({"error": "Too many requests: try again later."}, status=429)
    answer.force_close()
    return answer


def _too_often() -> TooOften:
    return TooOften("Too much comes from here: try again in a moment.", retry_after_s=1)


async def _still_there(request: web.BaseRequest) -> bool:
    """Whether the sender of a request has left its connection open."""
    for _ in range(LOOKS):
        await asyncio.sleep(0)
        if request.transport is None or request.transport.is_closing():
            return False
    return True


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
        raise too_large() from None


def application(judging: Judging, budgets: Budgets) -> web.Application:
    """The routes of a referee.

    Args:
        judging: answers what is handed over.
        budgets: who may send how much; they know the league manager's token.
    """
    desk = FrontDesk(judging, budgets)
    made = web.Application(client_max_size=MAX_BODY_BYTES + 1)
    made.router.add_get("/health", desk.health)
    made.router.add_get("/metrics", desk.metrics)
    # A seat's path ends in its secret, whatever stands before it; one of a match that is over is like any other.
    for path in ("/", "/mcp", "/mcp/", r"/mcp/{seat:tok_[0-9a-f]{32}}"):
        made.router.add_post(path, desk.mcp)
    made.router.add_post(r"/{before:.*}/{seat:tok_[0-9a-f]{32}}", desk.mcp)
    made.router.add_route("*", "/{other:.*}", desk.nothing)
    return made
