"""A league as the model has it: who is in it, which attempt is played, which result counts, what is over, the table."""

from __future__ import annotations

from collections.abc import Iterable

from tests.matches.deliveries.model_words import (
    FINISHED,
    HELD,
    LEASE_S,
    LOSE,
    MAX_LOST_ATTEMPTS,
    PLAYING,
    READY,
    VOID,
    Agent,
    Correction,
    Match,
    Out,
    Parcel,
    Rows,
    call_again,
    is_in_play,
)


class ModelState:
    """The model's state, and the effects of a result, whichever call reported it.

    Attributes:
        now: seconds since the beginning of the test.
        announced_at: when each round was announced.
        losses: when which match lost an attempt.
        ends_told: how often the players were told that the league is over.
        counted: how many results were counted.
    """

    def __init__(self, *, no_show: str, auto_advance: bool) -> None:
        self.now, self.longest_match_s = 0, 0
        self.no_show, self.auto_advance = no_show, auto_advance
        self.state, self.paused = "NOT THERE", False
        self.players: list[Agent] = []
        self.lobby: list[Agent] = []
        self.referees: list[Agent] = []
        self.rounds: list[str] = []
        self.announced_at: dict[int, int] = {}
        self.matches: dict[str, Match] = {}
        self.out: dict[str, Out] = {}
        self.points: dict[str, int] = {}
        self.outbox: dict[int, Parcel] = {}
        self.losses: list[tuple[int, Match]] = []
        self.corrections: list[Correction] = []
        self.freeze_from: int | None = None
        self.frozen: Rows | None = None
        self.unveiled = self.ends_told = 0
        self.counted = 0

    def owner(self, token: str | None) -> Agent | None:
        return next((one for one in [*self.players, *self.lobby, *self.referees] if token in one.tokens), None)

    def referee(self, code: str | None) -> Agent | None:
        return next((one for one in self.referees if one.code == code), None)

    def lease_of(self, referee: Agent) -> int:
        return LEASE_S if referee.sends_progress else self.longest_match_s

    def _machine_of(self, code: str) -> str:
        return next(one.machine for one in self.players if one.code == code)

    # Attempts and results ----------------------------------------------------------------------------

    def assign(self, match: Match, referee: Agent) -> None:
        match.phase, match.attempt, match.referee, match.step = PLAYING, match.attempt + 1, referee.code, 0
        match.lease_until = self.now + self.lease_of(referee)

    def lose_attempt(self, match: Match, *, counts: bool = True) -> None:
        if is_in_play(match):
            match.lost_attempts += counts
            match.phase, match.lease_until = (
                HELD if counts and match.lost_attempts >= MAX_LOST_ATTEMPTS else READY,
                None,
            )
            match.lost_or_corrected_at = self.now
            self.losses.append((self.now, match))

    def finish(self, match: Match, result: tuple[str, str | None]) -> None:
        match.phase, match.result, match.lease_until = FINISHED, result, None
        self.counted += 1
        self.complete_what_is_over()
        self._retire_finished_players()

    def complete_what_is_over(self) -> None:
        for number, state in enumerate(self.rounds, start=1):
            theirs = [match for match in self.matches.values() if match.round == number]
            if state == "RUNNING" and all(match.phase == FINISHED for match in theirs):
                self.rounds[number - 1] = "COMPLETED"
        over = set(self.rounds) == {"COMPLETED"} and all(match.phase == FINISHED for match in self.matches.values())
        if over and self.state == "RUNNING":
            self.state, self.paused = "COMPLETED", False
            self.ends_told += self.frozen is None
            self._retire_finished_players()

    # Who is called -----------------------------------------------------------------------------------

    def _call_again(self, codes: Iterable[str]) -> None:
        """Call players again for which the league goes on."""
        for player in self.players:
            if player.code in codes:
                call_again(player)
                player.state = "ACTIVE" if player.state == "REGISTERED" else player.state

    def _retire(self, codes: Iterable[str]) -> None:
        for player in self.players:
            player.state = "SHUTDOWN" if player.code in codes else player.state

    def _retire_finished_players(self) -> None:
        """The league is over and its agents have been told: agents without a match left may leave."""
        if self.is_over():
            left = {code for match in self.matches.values() if match.phase != FINISHED for code in match.players}
            self._retire({one.code for one in self.players} - left)

    def is_over(self) -> bool:
        """Whether the league is over as far as its agents know: they are not told while the board is frozen."""
        return self.state == "COMPLETED" and self.frozen is None

    def _absent(self) -> dict[str, str]:
        """The players that are not called, out of the league or shut down, and what becomes of their matches."""
        not_there = VOID if self.no_show == "cancel" else LOSE
        shut = {one.code: not_there for one in self.players if one.state == "SHUTDOWN"}
        return shut | {code: one.matches_become for code, one in self.out.items()}

    # The table ---------------------------------------------------------------------------------------

    def table(self) -> Rows:
        """The rows of the table, the first place first."""
        rows = {one.code: [self.points.get(one.code, 0), 0, 0, 0, 0] for one in self.players}
        for match in self.matches.values():
            status, winner = match.result or ("CANCELLED", None)
            for code in match.players if status != "CANCELLED" else ():
                row = rows[code]
                won, technical = winner == code, status == "TECHNICAL_LOSS"
                row[0] += 3 if won else 1 if status == "DRAW" else 0
                row[1] += won
                row[2] += status == "DRAW"
                row[3] += not won and status != "DRAW"
                row[4] += not won and technical
        last = {code for code, one in self.out.items() if one.how == "disqualified"}
        ranked = sorted(rows, key=lambda code: (code in last, *(-one for one in rows[code][:3]), int(code[1:])))
        return [(code, *rows[code]) for code in ranked]  # type: ignore[misc]
