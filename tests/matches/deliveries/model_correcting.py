"""The model: what the instructor corrects, and takes back (docs/operations.md)."""

from __future__ import annotations

from tests.matches.deliveries.model_league import Ledger
from tests.matches.deliveries.model_words import FINISHED, HELD, OPEN, PENDING, READY, Changes, Correction, fate


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
        plays = self.state != "STOPPED" and game.phase in (FINISHED, HELD) and not self.out & set(game.players)
        return plays and self._correct({match_id: (READY, None)})

    def give_points(self, code: str, points: int) -> None:
        self._correct({}, player=code, points=points)

    def disqualify(self, code: str) -> bool:
        """With all its matches lost; those to come are decided when they are due."""
        theirs = {key: game for key, game in self.games.items() if code in game.players}
        if code in self.out or not theirs:
            return False
        lost = {
            key: (FINISHED, fate(game, self.out | {code}))
            for key, game in theirs.items()
            if game.phase != PENDING and (game.result or ("", None))[0] != "CANCELLED"
        }
        changes = {key: change for key, change in lost.items() if self.games[key].result != change[1]}
        return self._correct(changes, player=code, puts_out=True)

    def undo(self, number: int) -> bool:
        """Everything that it touched is as before it; what was being played begins anew."""
        made = self.corrections[number - 1]
        if made.undone or any(one.touches & made.touches and not one.undone for one in self.corrections[number:]):
            return False
        made.undone = True
        begun = PENDING if self.state == "STOPPED" else READY
        back = {
            key: (phase if phase in (FINISHED, HELD) else begun, result) for key, (phase, result) in made.before.items()
        }
        if made.puts_out and made.player:
            self.out.discard(made.player)
        self._apply(back, made.player, -made.points)
        if made.puts_out and made.player and made.was_called and self.state == "RUNNING":
            self._call_again([made.player])
        return True

    def _correct(self, changes: Changes, *, player: str | None = None, points: int = 0, puts_out: bool = False) -> bool:
        called = all(one.state != "SHUTDOWN" for one in self.players if one.code == player)
        before = {key: (self.games[key].phase, self.games[key].result) for key in changes}
        number = len(self.corrections) + 1
        self.corrections.append(Correction(number, before, player, points, puts_out, called))
        if puts_out and player:
            self.out.add(player)
            self._retire([player])
        self._apply(changes, player, points)
        return True

    def _apply(self, changes: Changes, player: str | None, points: int) -> None:
        for key, (phase, result) in changes.items():
            game = self.games[key]
            game.phase, game.result, game.lease, game.held = phase, result, None, self.now
            if phase != FINISHED:
                game.lost = 0
            if phase in (READY, HELD):
                self._call_again(set(game.players) - self.out)
        if player and points:
            self.points[player] = self.points.get(player, 0) + points
        self.end_what_is_over()
        self._retire_the_done()
