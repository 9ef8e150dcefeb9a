"""The model: rounds that start, and one look of the conductor (ruling, sections 6, 8)."""

from __future__ import annotations

from tests.matches.deliveries.model_moving import Moving
from tests.matches.deliveries.model_words import (
    FINISHED,
    HELD,
    MAX_BACKOFF_S,
    MAX_LOST_ATTEMPTS,
    MAX_LOST_MATCHES,
    MIN_BACKOFF_S,
    OPEN,
    OVER,
    PENDING,
    QUIET_S,
    READY,
    RECENT_S,
    SILENT_S,
    SIMULTANEOUS_S,
    WAIT_S,
    Agent,
    Match,
    call_again,
    is_in_play,
    result_without,
)


class Conducting(Moving):
    """The effects of time, and of the instructor's actions on a running league."""

    # Time, and the conductor -------------------------------------------------------------------------

    def may_judge(self) -> list[Agent]:
        """The referees that may judge; those that lost several matches only if there are no others."""
        able = [
            one
            for one in self.referees
            if one.trusted and not one.suspended and (not one.sends_progress or self.now - one.last_call_at <= SILENT_S)
        ]
        return [one for one in able if one.lost_matches < MAX_LOST_MATCHES] or able

    def look(self, actual: dict[str, tuple[int, str | None]]) -> set[tuple[str | None, str, str]]:
        """One look of the conductor.

        Args:
            actual: each match's attempt and referee in the real league, as the model does not choose among referees.

        Returns which players are called at which new address.
        """
        late = [
            match for match in self.matches.values() if match.lease_until is not None and match.lease_until < self.now
        ]
        for match in late:
            referee = self.referee(match.referee)
            assert referee is not None
            referee.suspended = True
        for match in late:
            self.lose_attempt(match)
        self._retry_held()
        opened = False
        for number, state in enumerate(self.rounds, start=1):
            announced = not any(
                one.kind == "ROUND_ANNOUNCEMENT" and one.round == number and one.state == "PENDING"
                for one in self.outbox.values()
            )
            if (
                state == "ANNOUNCING"
                and not self.paused
                and (announced or self.now - self.announced_at[number] >= WAIT_S)
            ):
                self.rounds[number - 1], opened = "RUNNING", True
        self.complete_what_is_over()
        # After a round that is over as soon as it begins, the next round starts in the next look.
        if self.auto_advance and self.state == "RUNNING" and self.may_start(by_itself=True) and not opened:
            self.start_next_round({}, {match_id: code for match_id, (_, code) in actual.items()})
        called = self.settle_moves()
        self._hand_out(actual)
        return called

    def _hand_out(self, actual: dict[str, tuple[int, str | None]]) -> None:
        """Give the matches that are due to referees."""
        busy = {
            self._machine_of(code) for match in self.matches.values() if is_in_play(match) for code in match.players
        }
        may_play = self.state in ("RUNNING", "COMPLETED") and not self.paused
        for match_id, match in self.matches.items():
            if not (may_play and match.phase == READY and self.rounds[match.round - 1] in ("RUNNING", "COMPLETED")):
                continue
            machines = {self._machine_of(code) for code in match.players}
            if busy & machines:
                continue
            if self._absent().keys() & set(match.players):
                self.finish(match, result_without(match, self._absent()))
                continue
            referees = self._referees_for(match)
            attempt, code = actual[match_id]
            if attempt == match.attempt:
                assert not referees or any(self._untold(one, match) for one in referees), (
                    f"{match_id} was not handed out"
                )
                continue
            chosen = next(one for one in referees if one.code == code)
            assert match.referee == code or match.referee not in [one.code for one in referees]
            assert not self._untold(chosen, match)
            self.assign(match, chosen)
            busy |= machines

    def _referees_for(self, match: Match) -> list[Agent]:
        """Who may get a match; after a lost attempt, and when it is played again, another one, best one of the site."""
        judges = self.may_judge()
        if not match.lost_attempts and match.play == 1:
            return judges
        others = [one for one in judges if one.code != match.referee]
        return [one for one in others if one.site_key] or others or judges

    def _retry_held(self) -> None:
        """Held matches that have waited long enough become READY, if no attempt was lost lately."""
        is_open = self.state in ("RUNNING", "COMPLETED") and not self.paused
        if not is_open or any(self.now - at < QUIET_S for at, _ in self.losses):
            return
        for match in self.matches.values():
            if match.phase == HELD and self.now - match.lost_or_corrected_at >= self._backoff_of(match):
                match.phase = READY

    def _backoff_of(self, match: Match) -> int:
        """How long a match is held: doubled with each further loss, but short if an unrelated match was lost lately."""
        own_times = [at for at, lost in self.losses if lost is match]
        since = match.lost_or_corrected_at
        for at, _ in self.losses:
            is_unrelated = all(abs(at - own_time) > SIMULTANEOUS_S for own_time in own_times)
            if is_unrelated and since - RECENT_S < at < since + SIMULTANEOUS_S:
                return MIN_BACKOFF_S
        return min(MAX_BACKOFF_S, MIN_BACKOFF_S * 2 ** max(0, match.lost_attempts - MAX_LOST_ATTEMPTS))

    def _untold(self, referee: Agent, match: Match) -> bool:
        """Whether a match waits for the announcement of its round, which is on its way to a student's referee.

        It waits no longer than a match takes.
        """
        may_wait = self.now - self.announced_at[match.round] <= self.longest_match_s
        return (
            may_wait
            and not referee.sends_progress
            and any(
                (one.kind, one.round, one.to, one.state) == ("ROUND_ANNOUNCEMENT", match.round, referee.code, "PENDING")
                for one in self.outbox.values()
            )
        )

    # The instructor ----------------------------------------------------------------------------------

    def may_start(self, *, by_itself: bool = False) -> bool:
        """Whether the next round may start; a start by hand ends a pause of the league's own."""
        waits = "PENDING" in self.rounds or (self.state == "REGISTRATION" and len(self.players) >= 2)
        may_go_on = not self.paused or (self.paused_by_itself and not by_itself)
        is_open = self.state in ("REGISTRATION", "SCHEDULED", "RUNNING") and may_go_on
        return waits and is_open and not {"ANNOUNCING", "RUNNING"} & set(self.rounds) and bool(self.may_judge())

    def start_next_round(
        self, schedule: dict[str, tuple[tuple[str, str], int]], referees: dict[str, str | None]
    ) -> None:
        """Announce the next round; ``schedule`` and ``referees`` are those that the league has made."""
        if not self.rounds:
            self.matches = {match_id: Match(pair, number) for match_id, (pair, number) in schedule.items()}
            self.rounds = ["PENDING"] * max(one.round for one in self.matches.values())
        self.paused = self.paused_by_itself = False
        number = self.rounds.index("PENDING") + 1
        if self.frozen is None and self.freeze_from is not None and number >= self.freeze_from:
            self.frozen, self.unveiled = self.table(), 0
        self.state, self.rounds[number - 1], self.announced_at[number] = "RUNNING", "ANNOUNCING", self.now
        for player in self.players:
            player.state = "ACTIVE" if player.state == "REGISTERED" else player.state
        for match_id, match in self.matches.items():
            if match.round == number and self._absent().keys() & set(match.players):
                self.finish(match, result_without(match, self._absent()))
            elif match.round == number:
                assert referees[match_id] in [one.code for one in self.may_judge()]
                match.phase, match.referee = READY, referees[match_id]

    def freeze(self, from_round: int | None) -> bool:
        """Plan to freeze the public's board from a round that has not begun; None calls that off."""
        rounds_begun = sum(one != "PENDING" for one in self.rounds)
        possible = from_round is None or rounds_begun < from_round <= (len(self.rounds) or from_round)
        if self.frozen is not None or self.state in OVER or not possible:
            return False
        self.freeze_from = from_round
        return True

    def unveil(self) -> bool:
        """Unveil one more place, after the end of the league; the first place ends the freeze."""
        if self.frozen is None or self.state not in OVER:
            return False
        if self.unveiled + 1 >= len(self.frozen):
            return self.lift()
        self.unveiled += 1
        return True

    def lift(self) -> bool:
        """End the freeze; agents are told now of the end of the league, if it is over."""
        if self.frozen is None:
            return False
        self.frozen = self.freeze_from = None
        if self.state == "COMPLETED":
            self.tell_the_end()
        return True

    def stop(self) -> bool:
        if self.state == "STOPPED":
            return False
        self.state, self.paused = "STOPPED", False
        self.rounds = ["PENDING" if one in ("ANNOUNCING", "RUNNING") else one for one in self.rounds]
        for match in self.matches.values():
            if match.phase != FINISHED:
                match.phase, match.lease_until = PENDING, None
        self._retire({one.code for one in self.players})
        return True

    def cancel(self, match_id: str) -> bool:
        match = self.matches[match_id]
        if match.phase not in OPEN:
            return False
        self.finish(match, ("CANCELLED", None))
        return True

    def release(self, match_id: str) -> bool:
        match = self.matches[match_id]
        if match.phase != HELD:
            return False
        match.phase, match.lost_attempts = READY, 0
        return True

    def let_judge(self, code: str, *, trusted: bool) -> None:
        """The instructor lets a referee judge, or not any more; the matches that it lost are forgotten."""
        for one in self.referees:
            if one.code == code:
                one.trusted, one.lost_matches = trusted, 0

    def pause_or_resume(self) -> None:
        self.paused, self.paused_by_itself = not self.paused, False

    def bring_back(self, code: str) -> None:
        call_again(next(one for one in self.players if one.code == code))
