"""The model: what referees report, and what players answer to the league manager (ruling, sections 8, 10)."""

from __future__ import annotations

from tests.matches.deliveries.model_league import ModelState
from tests.matches.deliveries.model_words import (
    FINISHED,
    MAX_RELAYED_ANSWERS,
    PLAYING,
    READY,
    SHUTDOWN_AFTER,
    STEPS,
    SUSPEND_AFTER,
    Game,
    Who,
    is_on,
)


class Judging(ModelState):
    """Reports, progress, starts that failed, and answers that came to the league manager."""

    def _enter(self, token: str | None, sender: str | None, league: str | None) -> Who | str:
        """The agent that a message is from; or the error code, if it is refused before its contents are read."""
        if league not in (None, "fall"):
            return "E014"
        if token is None:
            return "E011"
        who = self.owner(token)
        if who is None:
            return "E012"
        return who if sender is None or sender == who.code else "E012"

    def hear(self, referee: Who) -> None:
        referee.last_call_at, referee.suspended = self.now, False

    def report(
        self, token: str | None, sender: str, league: str, match_id: str, attempt: int | None, outcome: str
    ) -> str:
        who = self._enter(token, None, league)
        if isinstance(who, str):
            return who
        if who.prefix == "P":
            return "E013"
        if sender != who.code:
            return "E012"
        game = self.games.get(match_id)
        if game is None:
            return "E002"
        claimed = game.attempt if attempt is None else attempt
        if game.referee != who.code:
            return "IGNORED" if 0 < claimed < game.attempt else "E013"
        if outcome == "stranger":
            return "E002"
        self.hear(who)
        if game.phase == READY and game.attempt == 0 and who.trusted and not who.progress:
            # A student's referee may begin its matches when it gets the announcement of the round.
            self.assign(game, who)
            claimed = game.attempt if attempt is None else attempt
        if game.phase == FINISHED:
            return "DUPLICATE"
        if game.phase != PLAYING or claimed != game.attempt:
            return "IGNORED"
        a, b = game.players
        silent = {"A, B silent": [b], "both silent": [a, b], "nobody came": [a, b]}.get(outcome, [])
        for player in self.players:
            if player.code in game.players:
                self._count_silence(player, silent=player.code in silent)
        self.finish(
            game,
            {
                "A": ("WIN", a),
                "B": ("WIN", b),
                "draw": ("DRAW", None),
                "cancelled": ("CANCELLED", None),
                "nobody came": ("CANCELLED", None),
                "both silent": ("TECHNICAL_LOSS", None),
            }.get(outcome, ("TECHNICAL_LOSS", a)),
        )
        return "ACCEPTED"

    def _count_silence(self, player: Who, *, silent: bool) -> None:
        if not silent:
            player.silences, player.state = 0, "ACTIVE" if player.state == "SUSPENDED" else player.state
            return
        player.silences += 1
        if player.silences >= SUSPEND_AFTER and player.state in ("ACTIVE", "REGISTERED"):
            player.state = "SUSPENDED"
        if player.silences >= SHUTDOWN_AFTER and player.state == "SUSPENDED":
            player.state = "SHUTDOWN"

    def progress(
        self, token: str | None, sender: str, items: list[tuple[str, int, str, str]], leaving: bool
    ) -> str | tuple[str, ...]:
        who = self._enter(token, sender, None)
        if isinstance(who, str):
            return who
        if who.prefix == "P":
            return "E013"
        if leaving:
            who.suspended = True
        else:
            self.hear(who)
        mine = {key: game.attempt for key, game in self.games.items() if game.referee == who.code and is_on(game)}
        answers = []
        for match_id, attempt, state, why in items:
            alive = mine.get(match_id) == attempt
            answers.append("ok" if alive else "lost")
            game = self.games.get(match_id)
            if not alive or game is None or not is_on(game):
                continue
            if state == "HANDED_BACK":
                self.lose(game, counts=bool(why))
            else:
                self._renew(game, who, STEPS.index(state))
        return tuple(answers)

    def _renew(self, game: Game, referee: Who, step: int) -> None:
        """A further step of the match renews its lease; a repeated one does when a tenth of the lease is gone."""
        full_lease_s = self.lease_of(referee)
        if step > game.step or game.lease is None or game.lease - self.now < 0.9 * full_lease_s:
            game.lease = self.now + full_lease_s
        game.step = max(game.step, step)

    def not_taken(self, match_id: str, attempt: int, *, refused: bool) -> None:
        """A start_match failed: the referee refused it, or was not reached."""
        game = self.games[match_id]
        judge = self.referee(game.referee)
        if is_on(game) and game.attempt == attempt and judge is not None:
            judge.suspended = True
            self.lose(game, counts=refused)

    def answer(self, token: str | None, match_id: str | None) -> str:
        """A player's answer that came to the league manager instead of its referee."""
        who = self._enter(token, None, None)
        if isinstance(who, str):
            return who
        if who.prefix != "P":
            return "E002"
        theirs = [key for key, game in self.games.items() if who.code in game.players and is_on(game)]
        if not theirs or match_id not in (None, *theirs):
            return "E001"
        relayed = {pk: one for pk, one in self.outbox.items() if one.relayed_for == who.code}
        if sum(one.state == "PENDING" for one in relayed.values()) >= MAX_RELAYED_ANSWERS:
            return "E002"
        for pk, one in relayed.items():
            if one.state != "PENDING":
                del self.outbox[pk]
        return "RECEIVED"
