"""How the league reaches a player: at its port, or by the messages that it fetches itself (ruling, section 13)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from league_sdk.dialling import DialledLine, Ended
from league_sdk.player.agent import Player
from league_sdk.player.server import answer
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import Post

CALL_WAIT_S = 10.0
"""Seconds to wait for a call of the league, which pings an agent as soon as it has registered."""


async def keep_reachable(
    player: Player, endpoint: str, *, say: Callable[[str], None], call_wait_s: float = CALL_WAIT_S
) -> None:
    """Fetch a registered player's messages: at once if it listens nowhere, else if the league does not call it.

    Args:
        endpoint: where it listens; empty if it does not.
        say: called with a line of text for each thing that happens.
        call_wait_s: seconds after its registration within which the league must have called it; at 0 its messages are
            fetched in any case.

    For a player that listens it returns if the league calls it within that time or has no inboxes.

    Raises:
        Ended: there is no point in going on; the text says why.
    """
    if endpoint:
        if call_wait_s > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(call_wait_s):
                    await player.called.wait()
        # A league without inboxes does not ping a newly registered agent either: it first calls when a match begins.
        if player.inbox is None or (call_wait_s > 0 and player.called.is_set()):
            return
        say(f"{player.name}: the league did not call {endpoint} within {call_wait_s:g} s, so messages are fetched, too")
    if player.inbox is None:
        raise Ended("this league has no inboxes: the agent must listen where the league can call it")

    async def answer_one(request: dict[str, Any]) -> dict[str, Any]:
        reply = await answer(player, Post(rpc.dumps(request), "application/json"))
        answered: dict[str, Any] = rpc.loads(reply.body if isinstance(reply.body, bytes) else b"{}")
        return answered

    await DialledLine(player.inbox, answer_one, say=lambda text: say(f"{player.name}: {text}")).keep()


class KeptTokens:
    """The auth_tokens of players, in files of their data folder: after a restart the players register with them.

    Args:
        folder: the data folder; with None no token is kept.
        league: the league's address; a token is sent to the league that gave it and to no other.
    """

    def __init__(self, folder: Path | None, league: str) -> None:
        self._folder, self._league = folder, league

    def _path(self, name: str, folder: Path) -> Path:
        digest = hashlib.sha256(json.dumps([self._league, name]).encode()).hexdigest()
        return folder / f"token-{digest[:16]}.json"

    def recall(self, player: Player) -> None:
        """Give a player the token that it had.

        Raises:
            OSError, ValueError: the file cannot be read.
        """
        if self._folder is None or not (path := self._path(player.name, self._folder)).exists():
            return
        stored = json.loads(path.read_text(encoding="utf-8"))
        token = stored.get("auth_token") if isinstance(stored, dict) else None
        if not isinstance(token, str):
            raise ValueError(f"{path}: auth_token is missing")
        player.auth_token = token

    def keep(self, player: Player) -> None:
        """Write a player's token, readable by its owner only.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(player.name, self._folder)
        temporary = path.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        text = json.dumps({"league": self._league, "display_name": player.name, "auth_token": player.auth_token})
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
