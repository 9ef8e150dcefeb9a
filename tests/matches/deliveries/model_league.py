"""A league as the model has it: who is in it, which attempt is played, which result counts, what is over, the table."""

from __future__ import annotations

from collections.abc import Iterable

from tests.matches.deliveries.model_words import (
    FINISHED,
    HELD,
    LEASE_S,
    LOSE,
    MAX_ENDS_TOLD,
    MAX_LOST_ATTEMPTS,
    MAX_OWN_PAUSES,
    MIN_ABSENT_PEOPLE,
    OVER,
    PLAYING,
    READY,
    SHARE_ABSENT,
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
        paused_by_itself: the league has paused because its class has gone.
        ends_told: how often the players were told that the league is over.
        told_champions: the champions that they were told last.
        counted: how many results were counted.
    """

    def __init__(self, *, no_show: str, auto_advance: bool) -> None:
        self.now, self.longest_match_s = 0, 0
        self.no_show, self.auto_advance = no_show, auto_advance
        self.state, self.paused, self.paused_by_itself, self.own_pauses = "NOT THERE", False, False, 0
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
        self.told_champions: set[str] = set()
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
        match.assigned_at, match.lease_until = self.now, self.now + self.lease_of(referee)

    def lose_attempt(self, match: Match, *, counts: bool = True) -> None:
        """Take a match from its referee; whatever a student's referee gives back counts, and for itself, too."""
        if is_in_play(match):
            referee = self.referee(match.referee)
            if referee is not None and not referee.site_key:
                counts = True
                referee.lost_matches += 1
            match.lost_by[match.attempt] = match.referee
            match.lost_attempts += counts
            match.phase, match.lease_until = (
                HELD if counts and match.lost_attempts >= MAX_LOST_ATTEMPTS else READY,
                None,
            )
            match.lost_or_corrected_at = self.now
            self.losses.append((self.now, match))

    def finish(self, match: Match, result: tuple[str, str | None], silent: Iterable[str] = ()) -> None:
        match.phase, match.result, match.lease_until, match.silent = FINISHED, result, None, frozenset(silent)
        self.counted += 1
        self.do_what_follows()

    def do_what_follows(self) -> None:
        """End rounds and the league, and tell its agents who is champion now."""
        self.complete_what_is_over()
        self._retire_finished_players()
        all_played = all(match.phase == FINISHED for match in self.matches.values())
        if self.state == "COMPLETED" and self.frozen is None and all_played and self.ends_told < MAX_ENDS_TOLD:
            self.ends_told += self.champions() != self.told_champions
            self.told_champions = self.champions()

    def complete_what_is_over(self) -> None:
        for number, state in enumerate(self.rounds, start=1):
            theirs = [match for match in self.matches.values() if match.round == number]
            if state == "RUNNING" and all(match.phase == FINISHED for match in theirs):
                self.rounds[number - 1] = "COMPLETED"
                if number < len(self.rounds):
                    self._pause_if_absent(number)
        over = set(self.rounds) == {"COMPLETED"} and all(match.phase == FINISHED for match in self.matches.values())
        if over and self.state == "RUNNING":
            self.state, self.paused = "COMPLETED", False
            if self.frozen is None:
                self.tell_the_end()

    def tell_the_end(self) -> None:
        self.ends_told, self.told_champions = self.ends_told + 1, self.champions()
        self._retire_finished_players()

    def _pause_if_absent(self, number: int) -> None:
        """Pause after a round in which players, and the people behind them, were silent for the first time."""
        theirs = [match for match in self.matches.values() if match.round == number and match.attempt]
        called = {code for match in theirs for code in match.players}
        answered = {
            code
            for match in self.matches.values()
            if match.round < number and match.attempt and match.result is not None
            for code in {*match.players} - match.silent
        }
        newly = {one.code for one in self.players if one.silences == 1} & answered
        believed = [match for match in theirs if (judge := self.referee(match.referee)) is not None and judge.site_key]
        absent = newly & {code for match in believed for code in match.silent}
        person = {one.code: one.registered_from for one in self.players if one.code in called}
        if len(set(person.values())) == 1:
            person = {code: code for code in called}
        gone = {person[code] for code in absent} - {person[code] for code in called - absent}
        if self.own_pauses == MAX_OWN_PAUSES:
            return
        many_people = len(gone) >= max(MIN_ABSENT_PEOPLE, SHARE_ABSENT * len(set(person.values())))
        if many_people and len(absent) >= SHARE_ABSENT * len(called) and self.state == "RUNNING" and not self.paused:
            self.paused = self.paused_by_itself = True
            self.own_pauses += 1

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

    def has_ended(self) -> bool:
        """Whether a registration shows that the league is over or was stopped: a frozen board hides that."""
        return self.state in OVER and self.frozen is None

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
        last = self._disqualified()
        ranked = sorted(rows, key=lambda code: (code in last, *(-one for one in rows[code][:3]), int(code[1:])))
        return [(code, *rows[code]) for code in ranked]  # type: ignore[misc]

    def _disqualified(self) -> set[str]:
        return {code for code, one in self.out.items() if one.how == "disqualified"}

    def champions(self) -> set[str]:
        """Everyone with the merit of the first; nobody if no match that counts was won or drawn."""
        rows = self.table()
        decided = any(wins or draws for _, _, wins, draws, _, _ in rows)
        best = {code for code, *merit in rows if merit[:3] == list(rows[0][1:4])} if decided else set()
        return best - self._disqualified()
