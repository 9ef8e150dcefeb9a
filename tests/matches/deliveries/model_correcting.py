"""The model: what the instructor corrects, and takes back (docs/operations.md)."""

from __future__ import annotations

from tests.matches.deliveries.model_league import Ledger
from tests.matches.deliveries.model_words import (
    FINISHED,
    HELD,
    KEEP,
    OPEN,
    PENDING,
    READY,
    Changes,
    Correction,
    Out,
    fate,
    missed,
)


class Correcting(Ledger):
    """Corrections, and their undoing."""

    def void(self, match_id: str) -> bool:
        game = self.games[match_id]
        voids = game.result is not None and game.result[0] != "CANCELLED"
        return voids and self._correct({match_id: (FINISHED, ("CANCELLED", None))})

    def set_result(self, match_id: str, status: str, winner: str | None) -> bool:
        game = self.games[match_id]
        sets = game.phase in (*OPEN, FINISHED) and game.result != (status, winner)
        return sets and self._correct({match_id: (FINISHED, (status, winner))})

    def replay(self, match_id: str) -> bool:
        game = self.games[match_id]
        plays = self.state != "STOPPED" and game.phase in (FINISHED, HELD) and not self.out.keys() & set(game.players)
        return plays and self._correct({match_id: (READY, None)})

    def give_points(self, code: str, points: int) -> None:
        self._correct({}, player=code, points=points)

    def take_out(self, code: str, word: str, become: str) -> bool:
        """A player is withdrawn or disqualified; a withdrawn player can still be disqualified.

        Open matches end now, those to come when they are due, and those played as was asked for.
        """
        theirs = {key: game for key, game in self.games.items() if code in game.players}
        was = self.out.get(code)
        if not theirs or (was is not None and (was.word, word) != ("withdrawn", "disqualified")):
            return False
        absent = {other: one.matches for other, one in self.out.items()} | {code: become}
        results = {}
        for key, game in theirs.items():
            if game.phase in OPEN:
                results[key] = fate(game, absent)
            elif game.phase == FINISHED and become != KEEP and game.result != ("CANCELLED", None):
                # What was played stands also for an opponent that is out itself, unless that was decided otherwise.
                stands = {one for one in game.players if absent.get(one) == KEEP and not missed(game, one)}
                results[key] = fate(game, {other: what for other, what in absent.items() if other not in stands})
        changes: Changes = {
            key: (FINISHED, result) for key, result in results.items() if self.games[key].result != result
        }
        return self._correct(changes, player=code, out=Out(word, become))

    def undo(self, number: int) -> bool:
        """Everything that it touched is as before it; what was being played begins again."""
        made = self.corrections[number - 1]
        if made.undone or any(one.touches & made.touches and not one.undone for one in self.corrections[number:]):
            return False
        made.undone = True
        begun = PENDING if self.state == "STOPPED" else READY
        back = {
            key: (phase if phase in (FINISHED, HELD) else begun, result) for key, (phase, result) in made.before.items()
        }
        if made.takes_out and made.player:
            self._put_out(made.player, made.was_out)
        self._apply(back, made.player, -made.points)
        in_again = made.takes_out and made.player and made.was_out is None
        if in_again and made.player and made.was_called and self.state == "RUNNING":
            self._call_again([made.player])
        return True

    def _put_out(self, code: str, out: Out | None) -> None:
        """A player that is out is not called any more."""
        self.out.pop(code, None)
        if out is not None:
            self.out[code] = out
            self._retire([code])

    def _correct(self, changes: Changes, *, player: str | None = None, points: int = 0, out: Out | None = None) -> bool:
        called = all(one.state != "SHUTDOWN" for one in self.players if one.code == player)
        before = {key: (self.games[key].phase, self.games[key].result) for key in changes}
        number = len(self.corrections) + 1
        was = self.out.get(player or "")
        self.corrections.append(Correction(number, before, player, points, out is not None, was, called))
        if out is not None and player:
            self._put_out(player, out)
        self._apply(changes, player, points)
        return True

    def _apply(self, changes: Changes, player: str | None, points: int) -> None:
        for key, (phase, result) in changes.items():
            game = self.games[key]
            game.phase, game.result, game.lease, game.held = phase, result, None, self.now
            if phase != FINISHED:
                game.lost = 0
            if phase in (READY, HELD):
                self._call_again(set(game.players) - self.out.keys())
        if player and points:
            self.points[player] = self.points.get(player, 0) + points
        self.end_what_is_over()
        self._retire_the_done()
