"""The players of a league in memory, and how its referee reaches them: by a call in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.broadcasts import Teller
from league_sdk.judging.match.brief import Seat, Standings
from league_sdk.ledger.standings import Row
from league_sdk.player.agent import Player
from league_sdk.player.mistakes import Mistake, describe
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.messages import METHODS
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.tokens import new_token
from league_sdk.strategies.base import Strategy

ENDPOINT = "http://127.0.0.1/mcp"
LEAGUE_ID = "local"
"""The address in messages where one is required; nobody listens there, as players are called in this process."""
BROADCAST_TIMEOUT_S = 5.0
"""How long a player may take to answer a message around its matches, such as ROUND_ANNOUNCEMENT."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One message to a player and its outcome.

    Attributes:
        message: what was sent.
        answer: what came back; None if nothing came in time, or an error.
        elapsed_s: seconds until the answer, or until it was given up.
        problem: what was wrong with the answer; empty if nothing was.
    """

    message: dict[str, Any]
    answer: Any
    elapsed_s: float
    problem: str = ""

    @property
    def badness(self) -> tuple[bool, float]:
        """A sort key: the worst is highest. A wrong answer is worse than any slow one."""
        return bool(self.problem), self.elapsed_s


@dataclass
class Entrant:
    """One player of the league.

    Attributes:
        name: as the table shows it.
        player: answers its messages.
        mistakes: calls of its strategy that failed or gave no legal move.
        called: how many messages it was sent, answered or not.
        took_s: seconds for all of them.
        slowest_s: seconds for the slowest one.
        worst: the message with the worst answer so far (:attr:`Sent.badness`).
    """

    name: str
    player: Player
    mistakes: list[Mistake] = field(default_factory=list)
    called: int = 0
    took_s: float = 0.0
    slowest_s: float = 0.0
    worst: Sent | None = None

    @classmethod
    def of(cls, number: int, name: str, make_strategy: Callable[[], Strategy], game_type: str) -> Entrant:
        """A registered entrant; its number, from 1 on, makes its player_id."""
        player = Player(name, make_strategy(), game_types=(game_type,))
        token, league_token = new_token(), new_token()
        player.accept(
            {"player_id": f"P{number:02}", "auth_token": token, "league_token": league_token, "league_id": LEAGUE_ID}
        )
        entrant = cls(name, player)
        player.decider.on_mistake = entrant.mistakes.append
        return entrant

    @property
    def player_id(self) -> str:
        """The entrant's id in the league."""
        return self.player.player_id

    @property
    def teller(self) -> Teller:
        """Builds the league's messages to this player."""
        return Teller(self.player_id, self.player.league_token, LEAGUE_ID)

    def seat(self, role: str, row: Row) -> Seat:
        """The entrant's seat in a match."""
        return Seat(
            player_id=self.player_id,
            role=role,
            endpoint=ENDPOINT,
            dialect="canonical",
            league_token=self.player.league_token,
            token_digests=(),
            standings=Standings(row.wins, row.losses, row.draws),
        )

    async def call(self, message: dict[str, Any], limit_s: float) -> CallResult:
        """Send a message and wait for the answer, as over a network: both are JSON."""
        sent: dict[str, Any] = rpc.loads(rpc.dumps(message))
        mistakes_before = len(self.mistakes)
        begun = time.perf_counter()
        answer: Any = None
        failed: dict[str, Any] = {}
        try:
            async with asyncio.timeout(limit_s):
                answer = await self.player.call(METHODS[message["message_type"]], sent)
            answer = rpc.loads(rpc.dumps(answer))
        except TimeoutError:
            failed = {"error_code": "E001", "cause": Cause.DEADLINE, "problem": note(Code.NOT_IN_TIME)}
        except LeagueError as error:
            failed = {"error_code": "E002", "problem": f"{error.error_code}: {error.message}"}
        except (TypeError, ValueError) as error:
            failed = {"error_code": "E002", "problem": f"the answer is no JSON: {describe(error)}"}
        elapsed_s = time.perf_counter() - begun
        problem = str(failed.get("problem", "")) or "; ".join(map(str, self.mistakes[mistakes_before:]))
        self._note(Sent(message, answer, elapsed_s, problem))
        if failed:
            return CallResult(elapsed_s=elapsed_s, **failed)
        return CallResult(message=answer, http_status=200, body=rpc.result(1, answer), elapsed_s=elapsed_s)

    def _note(self, sent: Sent) -> None:
        self.called += 1
        self.took_s += sent.elapsed_s
        self.slowest_s = max(self.slowest_s, sent.elapsed_s)
        if self.worst is None or sent.badness > self.worst.badness:
            self.worst = sent
