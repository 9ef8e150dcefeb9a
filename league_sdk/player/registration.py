"""Registers a player with the league: repeats LEAGUE_REGISTER_REQUEST until it is answered (ruling, section 3)."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import httpx

from league_sdk.dialling import inbox_of
from league_sdk.player.agent import Player
from league_sdk.protocol import PROTOCOL_VERSION, SDK_VERSION, rpc
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.typed_addresses import read_address

logger = logging.getLogger("league_sdk.player")

FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.2, 5.0
REQUEST_TIMEOUT_S = 10.0
"""The limit for one request: connecting, sending, waiting and reading together."""
MAX_CONCURRENT_REGISTRATIONS = 8
"""The limit in one process. httpx may open many more connections, so no request waits for one."""
Accepted = Callable[[Player], None]
_HEADERS = {
    "User-Agent": f"player/{SDK_VERSION}",
    "Content-Type": "application/json",
    "Accept": "application/json",
    # The limit is for the bytes that arrive: a small compressed answer could unpack to gigabytes.
    "Accept-Encoding": "identity",
}


class RegistrationRefused(Exception):
    """The league refused the registration; the text is its reason."""


class Unusable(Exception):
    """The league's answer cannot be used; the text says why."""


def league_address(value: str) -> str:
    """The league's /mcp address; the path may be left out.

    Raises:
        ValueError: not an http(s) address.
    """
    return value if read_address(value).path.strip("/") else value.rstrip("/") + "/mcp"


def request_for(player: Player, endpoint: str, code: str | None) -> dict[str, Any]:
    """LEAGUE_REGISTER_REQUEST (004 chapter 8), with the player's league, registration code and token if there are any.

    Args:
        endpoint: empty for a player that listens nowhere and fetches its messages (ruling, section 13).
    """
    meta: dict[str, Any] = {
        "display_name": player.name,
        "version": "1.0.0",
        "protocol_version": PROTOCOL_VERSION,
        "game_types": list(player.plays),
        # With "push" the league calls the player at once, which shows whether its endpoint can be reached.
        **({"contact_endpoint": endpoint, "delivery": "push"} if endpoint else {"delivery": "websocket"}),
    }
    if player.league_id:
        meta["league_id"] = player.league_id
    if code:
        meta["registration_code"] = code
    return envelope(
        MessageType.LEAGUE_REGISTER_REQUEST,
        sender=f"player:{player.name}",
        conversation_id=f"conv-player-{player.name.lower().replace(' ', '-')}-reg-001",
        now=datetime.now(UTC),
        auth_token=player.auth_token or None,
        league_id=player.league_id,
        player_meta=meta,
    )


def read_response(body: Any) -> dict[str, Any] | None:
    """The accepted response in a decoded reply, or None if the request should be repeated.

    Raises:
        RegistrationRefused: the status is not ACCEPTED, or an error that a retry would not change.
    """
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, dict):
        data = error.get("data")
        if error.get("code") == -32603 or (isinstance(data, dict) and data.get("retryable") is True):
            return None
        raise RegistrationRefused(str(error.get("message")))
    result = body.get("result")
    if not isinstance(result, dict):
        return None
    if result.get("status") == "ACCEPTED":
        return result
    reason = result.get("reason") or result.get("rejection_reason") or result.get("message")
    raise RegistrationRefused(str(reason or "no reason was given"))


def make_client() -> httpx.AsyncClient:
    """A client for the league: it uses no proxy or password of the environment, and follows no redirect."""
    # The system's CA certificates: a school may have added its own to them.
    certificates = ssl.create_default_context()
    return httpx.AsyncClient(headers=_HEADERS, verify=certificates, trust_env=False, timeout=REQUEST_TIMEOUT_S)


async def ask(
    http: httpx.AsyncClient, league: str, body: bytes, limit_s: float = REQUEST_TIMEOUT_S
) -> dict[str, Any] | None:
    """Send one request; returns the accepted response, or None if the request should be repeated.

    Args:
        limit_s: seconds for the whole request.

    Raises:
        RegistrationRefused: as :func:`read_response`.
        httpx.HTTPError, NotJson, TimeoutError, Unusable: the request should be repeated; the text says why.
    """
    raw = bytearray()
    # httpx's own timeout is for each step of a request, so a slow answer could take any time.
    async with asyncio.timeout(limit_s), http.stream("POST", league, content=body) as reply:
        if reply.has_redirect_location:
            raise Unusable(f"it has moved to {reply.headers['Location']:.200}: give that address")
        if reply.status_code == 429 or reply.status_code >= 500:
            raise Unusable(f"HTTP {reply.status_code}")
        async for part in reply.aiter_raw():
            raw += part
            if len(raw) > MAX_ANSWER_BYTES:
                raise Unusable(f"its answer is larger than {MAX_ANSWER_BYTES} bytes")
    return read_response(rpc.loads(bytes(raw)))


async def register(
    player: Player,
    *,
    league: str,
    endpoint: str,
    http: httpx.AsyncClient,
    code: str | None = None,
    first_backoff_s: float = FIRST_BACKOFF_S,
) -> None:
    """Register one player; retry until the league answers.

    Args:
        endpoint: the player's own address; empty if it has none.
        http: from :func:`make_client`.
        first_backoff_s: seconds before the second request; the wait doubles up to :data:`MAX_BACKOFF_S`.

    Raises:
        RegistrationRefused: with the league's reason.
    """
    wait = first_backoff_s
    while True:
        body = rpc.dumps(rpc.call(METHODS[MessageType.LEAGUE_REGISTER_REQUEST], request_for(player, endpoint, code), 1))
        player.registering = True
        problem = "no usable answer"
        try:
            reply = await ask(http, league, body)
            if reply is not None:
                player.accept(reply)
                player.inbox = inbox_of(reply, league)
                return
        except (httpx.HTTPError, NotJson, TimeoutError, Unusable) as error:
            problem = str(error) or type(error).__name__
        player.registering = False
        if wait == first_backoff_s:
            logger.warning("%s: the league at %s does not answer (%s); trying again", player.name, league, problem)
        await asyncio.sleep(wait)
        wait = min(wait * 2, MAX_BACKOFF_S)


async def register_all(
    players: Iterable[tuple[str, Player]], *, league: str, code: str | None = None, accepted: Accepted = lambda _: None
) -> None:
    """Register players, each given with its endpoint or an empty text, a few at the same time.

    Args:
        accepted: is called with each player that was accepted.

    Raises:
        RegistrationRefused: the first refusal, with the player's name.
    """
    gate = asyncio.Semaphore(MAX_CONCURRENT_REGISTRATIONS)

    async def one(endpoint: str, player: Player) -> None:
        async with gate:
            try:
                await register(player, league=league, endpoint=endpoint, http=http, code=code)
            except RegistrationRefused as refused:
                raise RegistrationRefused(f"{player.name} was rejected: {refused}") from None
            accepted(player)

    async with make_client() as http:
        await asyncio.gather(*(one(endpoint, player) for endpoint, player in players))
