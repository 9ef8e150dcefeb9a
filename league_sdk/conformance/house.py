"""The house agent of a practice match: in this process, or in one of its own that takes no time from others."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from league_sdk.rules.game import Game, State
from league_sdk.strategies import thinking
from league_sdk.strategies.base import Strategy

MAX_THINKING_S = 20.0
"""How long the search for one move may take in a process of its own, which gives way to everything else on the machine.
After that the house agent takes the first of its options."""
_LINE_BYTES = 1 << 20
_IMPORTED_FROM = Path(__file__).parents[2]


@dataclass(slots=True)
class House:
    """The house agent: a strategy that is told what a player would be told.

    Attributes:
        name: as the report calls it.
        strategy: how it moves.
    """

    name: str
    strategy: Strategy

    async def move(self, game: Game, state: State, me: str, context: dict[str, Any]) -> Any:
        """The move of the house agent; a search runs in a thread or another process, not on the event loop."""
        options = game.options(state, me)
        view = None if game.hidden else game.view(state, me)
        if self.strategy.quick:
            move = thinking.ask(self.strategy, options, view, context)
        else:
            move = await self._search(options, view, context)
        return move if move in options else options[0]

    async def _search(self, options: list[Any], view: dict[str, Any] | None, context: dict[str, Any]) -> Any:
        return await asyncio.to_thread(partial(thinking.ask, self.strategy, options, view, context))

    async def aclose(self) -> None:
        """End the process that searches, if there is one; to be called at the end of a match."""


@dataclass(slots=True)
class HouseApart(House):
    """A house agent whose searches run in a process of their own.

    A search in a thread holds the interpreter's lock: whatever else the process does waits up to 5 ms each time it
    wants it back, which is after every query of the database. The process is started for the first search, has the
    lowest priority, and ends with the match.
    """

    process: Process | None = field(default=None, init=False)

    async def _search(self, options: list[Any], view: dict[str, Any] | None, context: dict[str, Any]) -> Any:
        question = json.dumps([options, view, context]).encode() + b"\n"
        try:
            async with asyncio.timeout(MAX_THINKING_S):
                process = self.process or await self._start(context["game_type"])
                if process.stdin is None or process.stdout is None:
                    return None
                process.stdin.write(question)
                await process.stdin.drain()
                return json.loads(await process.stdout.readline())
        except (OSError, TimeoutError, ValueError):
            # It was killed, or the machine has no time for it: for a practice match the first option is good enough.
            await self.aclose()
            return None

    async def _start(self, game_type: str) -> Process:
        command = (sys.executable, "-m", thinking.__name__, self.name, game_type)
        self.process = await asyncio.create_subprocess_exec(
            *command, cwd=_IMPORTED_FROM, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LINE_BYTES
        )
        return self.process

    async def aclose(self) -> None:
        """End the process, whatever it thinks about."""
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
