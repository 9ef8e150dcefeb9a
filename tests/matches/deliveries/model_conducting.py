"""The model: rounds that start, and one look of the conductor (ruling, sections 6, 8)."""

from __future__ import annotations

from tests.matches.deliveries.model_league import ModelState
from tests.matches.deliveries.model_words import (
    CALM_S,
    FINISHED,
    HELD,
    LATELY_S,
    LONGEST_HOLD_S,
    MAX_LOST,
    OPEN,
    OVER,
    PENDING,
    READY,
    SILENT_S,
    TOGETHER_S,
    WAIT_S,
    Game,
    Who,
    call_again,
    fate,
    is_on,
)


class Conducting(ModelState):
    """The effects of time, and of the instructor's actions on a running league."""

    # Time, and the conductor -------------------------------------------------------------------------

    def may_judge(self) -> list[Who]:
        return [
            one
            for one in self.referees
            if one.trusted and not one.suspended and (not one.progress or self.now - one.last_call_at <= SILENT_S)
        ]

    def look(self, actual: dict[str, tuple[int, str | None]]) -> None:
        """One look of the conductor.

        Args:
            actual: each match's attempt and referee in the real league, as the model does not choose among referees.
        """
        late = [game for game in self.games.values() if game.lease is not None and game.lease < self.now]
        for game in late:
            judge = self.referee(game.referee)
            assert judge is not None
            judge.suspended = True
        for game in late:
            self.lose(game)
        self._try_held_again()
        opened = False
        for number, state in enumerate(self.rounds, start=1):
            announced = not any(
                one.kind == "ROUND_ANNOUNCEMENT" and one.round == number and one.state == "PENDING"
                for one in self.outbox.values()
            )
            if state == "ANNOUNCING" and not self.paused and (announced or self.now - self.begun[number] >= WAIT_S):
                self.rounds[number - 1], opened = "RUNNING", True
        self.complete_what_is_over()
        # After a round that is over as soon as it begins, the next round starts in the next look.
        if self.auto_advance and self.state == "RUNNING" and self.may_start() and not opened:
            self.started({}, {match_id: code for match_id, (_, code) in actual.items()})
        busy = {self._at(code) for game in self.games.values() if is_on(game) for code in game.players}
        may_play = self.state in ("RUNNING", "COMPLETED") and not self.paused
        for match_id, game in self.games.items():
            if not (may_play and game.phase == READY and self.rounds[game.round - 1] in ("RUNNING", "COMPLETED")):
                continue
            addresses = {self._at(code) for code in game.players}
            if busy & addresses:
                continue
            if self._absent().keys() & set(game.players):
                self.finish(game, fate(game, self._absent()))
                continue
            judges = [one for one in self.may_judge() if not game.lost or one.code != game.referee] or self.may_judge()
            attempt, code = actual[match_id]
            if attempt == game.attempt:
                assert not judges or any(self._untold(one, game) for one in judges), f"{match_id} was not handed out"
                continue
            chosen = next(one for one in judges if one.code == code)
            assert game.referee == code or game.referee not in [one.code for one in judges]
            assert not self._untold(chosen, game)
            self.assign(game, chosen)
            busy |= addresses

    def _try_held_again(self) -> None:
        """Held matches are played again when no match has been lost for a while."""
        is_open = self.state in ("RUNNING", "COMPLETED") and not self.paused
        if not is_open or any(self.now - at < CALM_S for at, _ in self.losses):
            return
        for game in self.games.values():
            if game.phase == HELD and self.now - game.held >= self._wait(game):
                game.phase = READY

    def _wait(self, game: Game) -> int:
        """How long a match is held: doubled with each further loss, but short if another was lost lately without it."""
        own = [at for at, lost in self.losses if lost is game]
        for at, _ in self.losses:
            without_it = all(abs(at - moment) > TOGETHER_S for moment in own)
            if without_it and game.held - LATELY_S < at < game.held + TOGETHER_S:
                return CALM_S
        return min(LONGEST_HOLD_S, CALM_S * 2 ** max(0, game.lost - MAX_LOST))

    def _untold(self, referee: Who, game: Game) -> bool:
        """Whether the announcement of the round is still on its way to a student's referee."""
        return not referee.progress and any(
            (one.kind, one.round, one.to, one.state) == ("ROUND_ANNOUNCEMENT", game.round, referee.code, "PENDING")
            for one in self.outbox.values()
        )

    # The instructor ----------------------------------------------------------------------------------

    def may_start(self) -> bool:
        waits = "PENDING" in self.rounds or (self.state == "REGISTRATION" and len(self.players) >= 2)
        is_open = self.state in ("REGISTRATION", "SCHEDULED", "RUNNING") and not self.paused
        return waits and is_open and not {"ANNOUNCING", "RUNNING"} & set(self.rounds) and bool(self.may_judge())

    def started(self, schedule: dict[str, tuple[tuple[str, str], int]], judges: dict[str, str | None]) -> None:
        """Announce the next round; ``schedule`` and ``judges`` are those that the league has made."""
        if not self.rounds:
            self.games = {match_id: Game(pair, number) for match_id, (pair, number) in schedule.items()}
            self.rounds = ["PENDING"] * max(one.round for one in self.games.values())
        number = self.rounds.index("PENDING") + 1
        if self.frozen is None and self.freeze_from is not None and number >= self.freeze_from:
            self.frozen, self.unveiled = self.table(), 0
        self.state, self.rounds[number - 1], self.begun[number] = "RUNNING", "ANNOUNCING", self.now
        for player in self.players:
            player.state = "ACTIVE" if player.state == "REGISTERED" else player.state
        for match_id, game in self.games.items():
            if game.round == number and self._absent().keys() & set(game.players):
                self.finish(game, fate(game, self._absent()))
            elif game.round == number:
                assert judges[match_id] in [one.code for one in self.may_judge()]
                game.phase, game.referee = READY, judges[match_id]

    def freeze(self, from_round: int | None) -> bool:
        """Plan to freeze the public's board from a round that has not begun; None calls that off."""
        begun = sum(one != "PENDING" for one in self.rounds)
        possible = from_round is None or begun < from_round <= (len(self.rounds) or from_round)
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
            self.ends_told += 1
            self._retire_finished_players()
        return True

    def stop(self) -> bool:
        if self.state == "STOPPED":
            return False
        self.state, self.paused = "STOPPED", False
        self.rounds = ["PENDING" if one in ("ANNOUNCING", "RUNNING") else one for one in self.rounds]
        for game in self.games.values():
            if game.phase != FINISHED:
                game.phase, game.lease = PENDING, None
        self._retire({one.code for one in self.players})
        return True

    def cancel(self, match_id: str) -> bool:
        game = self.games[match_id]
        if game.phase not in OPEN:
            return False
        self.finish(game, ("CANCELLED", None))
        return True

    def release(self, match_id: str) -> bool:
        game = self.games[match_id]
        if game.phase != HELD:
            return False
        game.phase, game.lost = READY, 0
        return True

    def bring_back(self, code: str) -> None:
        call_again(next(one for one in self.players if one.code == code))
