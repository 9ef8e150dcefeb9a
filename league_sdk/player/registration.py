"""Registering with the league: LEAGUE_REGISTER_REQUEST until it is answered (ruling, section 3)."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from league_sdk.player.agent import Player
from league_sdk.protocol import PROTOCOL_VERSION, rpc
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import NotJson
from league_sdk.protocol.limits import MAX_ANSWER_BYTES
from league_sdk.protocol.messages import METHODS, MessageType

logger = logging.getLogger("league_sdk.player")

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
TIMEOUT = aiohttp.ClientTimeout(total=10)
AT_ONCE = 8
"""Registrations of one process under way at the same time."""
USER_AGENT = "player/1.0.0"


class RegistrationRefused(Exception):
    """The league said no; the text is its reason."""


def league_address(value: str) -> str:
    """The league's /mcp address; the path may be left out.

    Raises:
        ValueError: not an http(s) address.
    """
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{value!r} is not an address such as http://127.0.0.1:8000/mcp")
    return value if parts.path.strip("/") else value.rstrip("/") + "/mcp"


def request_for(player: Player, endpoint: str, code: str | None) -> dict[str, Any]:
    """The request as chapter 8 shows it, and what we know beyond it."""
    meta: dict[str, Any] = {
        "display_name": player.name,
        "version": "1.0.0",
        "protocol_version": PROTOCOL_VERSION,
        "game_types": list(player.plays),
        "contact_endpoint": endpoint,
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
        league_id=player.league_id,
        player_meta=meta,
    )


def read_response(body: Any) -> dict[str, Any] | None:
    """The accepted response in a decoded reply, or None when it is worth another try.

    Raises:
        RegistrationRefused: REJECTED, or an error that another try will not change.
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


async def register(
    player: Player, *, league: str, endpoint: str, session: aiohttp.ClientSession, code: str | None = None
) -> None:
    """Register one player; waits and tries again until the league answers.

    Raises:
        RegistrationRefused: with the league's reason.
    """
    wait = FIRST_WAIT_S
    while True:
        body = rpc.dumps(rpc.call(METHODS[MessageType.LEAGUE_REGISTER_REQUEST], request_for(player, endpoint, code), 1))
        player.registering = True
        problem = "no usable answer"
        try:
            headers = {"Content-Type": "application/json"}
            async with session.post(league, data=body, headers=headers, timeout=TIMEOUT) as reply:
                raw = await reply.content.read(MAX_ANSWER_BYTES)
                problem = f"HTTP {reply.status}"
                busy = reply.status == 429 or reply.status >= 500
            found = None if busy else read_response(rpc.loads(raw))
            if found is not None:
                player.accept(found)
                return
        except (aiohttp.ClientError, TimeoutError, NotJson) as error:
            problem = str(error) or type(error).__name__
        player.registering = False
        if wait == FIRST_WAIT_S:
            logger.warning("%s: the league at %s does not answer (%s); trying again", player.name, league, problem)
        await asyncio.sleep(wait)
        wait = min(wait * 2, LONGEST_WAIT_S)


async def register_all(players: dict[str, Player], *, league: str, code: str | None = None) -> None:
    """Register players, given by their endpoints, a few at a time, in order.

    Raises:
        RegistrationRefused: the first refusal, with the player's name.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(endpoint: str, player: Player, session: aiohttp.ClientSession) -> None:
        async with gate:
            try:
                await register(player, league=league, endpoint=endpoint, session=session, code=code)
            except RegistrationRefused as refused:
                raise RegistrationRefused(f"{player.name} was rejected: {refused}") from None

    async with aiohttp.ClientSession(headers={"User-Agent": USER_AGENT}) as session:
        await asyncio.gather(*(one(endpoint, player, session) for endpoint, player in players.items()))
