"""Plays a league in memory, by the code that judges real matches (ruling, sections 6 to 8)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.clock import Clock
from league_sdk.broadcasts import Pairing
from league_sdk.judging.match.brief import Brief, Seat
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ending import Verdict
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.match.play import play_match
from league_sdk.ledger.standings import Result, Row, Scoring, count, give_ranks, order
from league_sdk.local.entrants import BROADCAST_TIMEOUT_S, ENDPOINT, LEAGUE_ID, Entrant
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import ROLES
from league_sdk.rules.draws import SEED_BYTES, commitment
from league_sdk.rules.game import Game

REFEREE_ID = "REF01"


class NoTranscript(MatchLog):
    """The log of a match that nobody watches: it keeps no messages, which would take a third of the time."""

    def record(self, *, hidden: bool = False, **fields: Any) -> None:
        """Keep nothing."""


OnMatch = Callable[[int], None]


@dataclass
class Meetings:
    """The matches of two players against each other.

    Attributes:
        wins: by player id.
        draws: matches without a winner.
        matches: all of them.
    """

    wins: dict[str, int]
    draws: int = 0
    matches: int = 0

    def take(self, verdict: Verdict) -> None:
        """Count a match."""
        self.matches += 1
        if verdict.winner is None:
            self.draws += 1
        else:
            self.wins[verdict.winner] += 1


@dataclass
class LocalLeague:
    """A league of players in this process: in every round each of them plays each other one once.

    Args:
        entrants: the players, at least two. Of every two, each is PLAYER_A as often as the other, or once more.
        game: what is played.
        settings: limits and points, by default those of a league.
        rng: where the seeds come from that numbers are drawn from.

    Attributes:
        rows: the table, by player id.
        meetings: the matches of every two players against each other, by their ids.
        played: matches so far.
    """

    entrants: Sequence[Entrant]
    game: Game
    settings: LeagueSettings = field(default_factory=LeagueSettings)
    rng: random.Random = field(default_factory=random.SystemRandom)
    played: int = 0

    def __post_init__(self) -> None:
        self._by_id = {entrant.player_id: entrant for entrant in self.entrants}
        self.rows = {entrant.player_id: Row(entrant.player_id, entrant.name) for entrant in self.entrants}
        pairs = combinations(self._by_id, 2)
        self.meetings = {pair: Meetings(dict.fromkeys(pair, 0)) for pair in pairs}
        settings = self.settings
        self._scoring = Scoring(
            settings.win_points, settings.draw_points, settings.loss_points, settings.technical_loss_points
        )

    def table(self) -> list[Row]:
        """The rows in their order, with ranks."""
        ranked = sorted(self.rows.values(), key=order)
        give_ranks(ranked)
        return ranked

    async def play(self, rounds: int, on_match: OnMatch = lambda played: None) -> None:
        """Play this many rounds, with all that a league tells its players around them.

        Args:
            rounds: how often every two players meet.
            on_match: called after each match with the number of matches played.
        """
        for number in range(1, rounds + 1):
            pairings = self._pairings(number)
            for entrant in self.entrants:
                announcement = entrant.teller.round_announcement(number, pairings, self.game.game_type, ENDPOINT)
                await entrant.call(announcement, BROADCAST_TIMEOUT_S)
            for pairing in pairings:
                await self._play(number, pairing)
                on_match(self.played)
            table = self.table()
            for entrant in self.entrants:
                await entrant.call(entrant.teller.standings_update(number, table), BROADCAST_TIMEOUT_S)
                next_round = number + 1 if number < rounds else None
                await entrant.call(entrant.teller.round_completed(number, pairings, next_round), BROADCAST_TIMEOUT_S)
        for entrant in self.entrants:
            completed = entrant.teller.league_completed(rounds, rounds, self.played, self.table())
            await entrant.call(completed, BROADCAST_TIMEOUT_S)

    def _pairings(self, number: int) -> list[Pairing]:
        """The matches of a round; who begins changes from round to round."""
        pairs = [pair if number % 2 else pair[::-1] for pair in self.meetings]
        return [Pairing(f"R{number}M{place}", *pair) for place, pair in enumerate(pairs, start=1)]

    async def _play(self, number: int, pairing: Pairing) -> None:
        players = (pairing.player_a, pairing.player_b)
        seats = [self._by_id[player].seat(role, self.rows[player]) for player, role in zip(players, ROLES, strict=True)]
        talk = Conversation(self._brief(number, pairing, seats), self._send, self._send, Clock(), NoTranscript())
        verdict = await play_match(talk, self.game, rng=self.rng)
        count(self.rows, Result(number, *players, verdict.status, verdict.winner), self._scoring)
        pair = players if players in self.meetings else players[::-1]
        self.meetings[pair].take(verdict)
        self.played += 1

    def _brief(self, number: int, pairing: Pairing, seats: Sequence[Seat]) -> Brief:
        seed = self.rng.randbytes(SEED_BYTES) if self.game.draws else None
        return Brief(
            settings=self.settings,
            league_id=LEAGUE_ID,
            round_id=number,
            match_id=pairing.match_id,
            attempt=1,
            game_type=self.game.game_type,
            conversation_id=f"conv-local-{pairing.match_id.lower()}",
            player_a=seats[0],
            player_b=seats[1],
            referee_id=REFEREE_ID,
            referee_endpoint=ENDPOINT,
            draw_seed=seed,
            draw_commitment=commitment(seed) if seed is not None else "",
        )

    async def _send(
        self, seat: Seat, message: dict[str, object], *, limit_s: float, first: object = None
    ) -> CallResult:
        """Call a player; ``first`` has no effect, as there is just one dialect."""
        return await self._by_id[seat.player_id].call(message, limit_s)
