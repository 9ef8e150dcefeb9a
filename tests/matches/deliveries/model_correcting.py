"""The model: what the instructor corrects, and undoes (docs/operations.md)."""

from __future__ import annotations

from tests.matches.deliveries.model_league import ModelState
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


class Correcting(ModelState):
    """Corrections, and their undoing."""

    def void(self, match_id: str) -> bool:
        game = self.games[match_id]
        possible = game.result is not None and game.result[0] != "CANCELLED"
        return possible and self._correct({match_id: (FINISHED, ("CANCELLED", None))})

    def set_result(self, match_id: str, status: str, winner: str | None) -> bool:
        game = self.games[match_id]
        possible = game.phase in (*OPEN, FINISHED) and game.result != (status, winner)
        return possible and self._correct({match_id: (FINISHED, (status, winner))})

    def replay(self, match_id: str) -> bool:
        game = self.games[match_id]
        possible = (
            self.state != "STOPPED" and game.phase in (FINISHED, HELD) and not self.out.keys() & set(game.players)
        )
        return possible and self._correct({match_id: (READY, None)})

    def give_points(self, code: str, points: int) -> None:
        self._correct({}, player=code, points=points)

    def take_out(self, code: str, word: str, become: str) -> bool:
        """A player is withdrawn or disqualified; a withdrawn player can still be disqualified.

        Open matches end now, matches to come when they are due; played matches change as ``become`` says.
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
                # A played result also stands for an opponent that is out with its matches kept.
                stands = {one for one in game.players if absent.get(one) == KEEP and not missed(game, one)}
                results[key] = fate(game, {other: what for other, what in absent.items() if other not in stands})
        changes: Changes = {
            key: (FINISHED, result) for key, result in results.items() if self.games[key].result != result
        }
        return self._correct(changes, player=code, out=Out(word, become))

    def undo(self, number: int) -> bool:
        """All that the correction changed is as before; a match that was being played then starts again."""
        correction = self.corrections[number - 1]
        if correction.undone or any(
            one.touches & correction.touches and not one.undone for one in self.corrections[number:]
        ):
            return False
        correction.undone = True
        begun = PENDING if self.state == "STOPPED" else READY
        back = {
            key: (phase if phase in (FINISHED, HELD) else begun, result)
            for key, (phase, result) in correction.before.items()
        }
        if correction.takes_out and correction.player:
            self._put_out(correction.player, correction.was_out)
        self._apply(back, correction.player, -correction.points)
        comes_back = correction.takes_out and correction.player and correction.was_out is None
        if comes_back and correction.player and correction.was_called and self.state == "RUNNING":
            self._call_again([correction.player])
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
        self.complete_what_is_over()
        self._retire_finished_players()
