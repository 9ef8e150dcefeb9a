"""The model: what the instructor corrects, and undoes (docs/operations.md)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
    lost_technically,
    result_without,
)

NOBODY: Mapping[str, frozenset[str]] = MappingProxyType({})


class Correcting(ModelState):
    """Corrections, and their undoing."""

    def void(self, match_id: str) -> bool:
        match = self.matches[match_id]
        possible = match.result is not None and match.result[0] != "CANCELLED"
        return possible and self._correct({match_id: (FINISHED, ("CANCELLED", None))})

    def set_result(self, match_id: str, status: str, winner: str | None) -> bool:
        match = self.matches[match_id]
        possible = match.phase in (*OPEN, FINISHED) and match.result != (status, winner)
        return possible and self._correct({match_id: (FINISHED, (status, winner))})

    def replay(self, match_id: str) -> bool:
        match = self.matches[match_id]
        possible = (
            self.state != "STOPPED" and match.phase in (FINISHED, HELD) and not self.out.keys() & set(match.players)
        )
        return possible and self._correct({match_id: (READY, None)})

    def give_points(self, code: str, points: int) -> None:
        self._correct({}, player=code, points=points)

    def take_out(self, code: str, how: str, become: str) -> bool:
        """A player is withdrawn or disqualified; a withdrawn player can still be disqualified.

        Open matches end now, matches to come when they are due; played matches change as ``become`` says.
        """
        theirs = {key: match for key, match in self.matches.items() if code in match.players}
        was = self.out.get(code)
        if not theirs or (was is not None and (was.how, how) != ("withdrawn", "disqualified")):
            return False
        absent = {other: one.matches_become for other, one in self.out.items()} | {code: become}
        results = {}
        for key, match in theirs.items():
            if match.phase in OPEN:
                results[key] = result_without(match, absent)
            elif match.phase == FINISHED and become != KEEP and match.result != ("CANCELLED", None):
                # A played result also stands for an opponent that is out with its matches kept.
                stands = {one for one in match.players if absent.get(one) == KEEP and not lost_technically(match, one)}
                results[key] = result_without(
                    match, {other: what for other, what in absent.items() if other not in stands}
                )
        changes: Changes = {
            key: (FINISHED, result) for key, result in results.items() if self.matches[key].result != result
        }
        return self._correct(changes, player=code, out=Out(how, become))

    def undo(self, number: int) -> bool:
        """All that the correction changed is as before; a match that was in play then starts again."""
        correction = self.corrections[number - 1]
        if correction.undone or any(
            one.touches & correction.touches and not one.undone for one in self.corrections[number:]
        ):
            return False
        correction.undone = True
        restart_phase = PENDING if self.state == "STOPPED" else READY
        back = {
            key: (phase if phase in (FINISHED, HELD) else restart_phase, result)
            for key, (phase, result) in correction.before.items()
        }
        if correction.takes_out and correction.player:
            self._set_out(correction.player, correction.was_out)
        self._apply(back, correction.player, -correction.points, correction.silent)
        comes_back = correction.takes_out and correction.player and correction.was_out is None
        if comes_back and correction.player and correction.was_called and self.state == "RUNNING":
            self._call_again([correction.player])
        return True

    def _set_out(self, code: str, out: Out | None) -> None:
        """Set how a player is out, and call it no more; with None it is in again, and whether it is called stays."""
        self.out.pop(code, None)
        if out is not None:
            self.out[code] = out
            self._retire([code])

    def _correct(self, changes: Changes, *, player: str | None = None, points: int = 0, out: Out | None = None) -> bool:
        called = all(one.state != "SHUTDOWN" for one in self.players if one.code == player)
        before = {key: (self.matches[key].phase, self.matches[key].result) for key in changes}
        silent = {key: self.matches[key].silent for key in changes}
        number = len(self.corrections) + 1
        was = self.out.get(player or "")
        self.corrections.append(Correction(number, before, player, points, out is not None, was, called, silent))
        if out is not None and player:
            self._set_out(player, out)
        self._apply(changes, player, points)
        return True

    def _apply(
        self, changes: Changes, player: str | None, points: int, silent: Mapping[str, frozenset[str]] = NOBODY
    ) -> None:
        for key, (phase, result) in changes.items():
            match = self.matches[key]
            match.phase, match.result, match.lease_until, match.lost_or_corrected_at = phase, result, None, self.now
            match.silent = silent.get(key, frozenset())
            if phase != FINISHED:
                match.lost_attempts = 0
                match.play += 1
            if phase in (READY, HELD):
                self._call_again(set(match.players) - self.out.keys())
        if player and points:
            self.points[player] = self.points.get(player, 0) + points
        self.do_what_follows()
