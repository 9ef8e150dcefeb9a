"""READS: how much of a league's table is luck (docs/luck.md), computed by a separate process after each round.

A page shows the latest figures and never waits for newer ones. The figures are computed from the view alone, so while
the board is frozen the public's figures use only results that the public sees. Only rounds that are over count, so the
figures are not computed again after every result.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

from league_sdk.ledger.luck import again
from league_sdk.ledger.luck.figures import Luck, PlayerLuck, Question
from league_sdk.rules.game import Chances
from league_sdk.rules.registry import games
from matches.events.history import Outcome
from matches.view.recent import Recent
from matches.view.rows import LuckRow, PlayerLuckRow
from matches.view.sight import View

logger = logging.getLogger(__name__)

MAX_KEPT = 50
"""How many sets of figures are kept: one for each league, and another one for its public while the board is frozen."""
MIN_GAP_S, GAP_FACTOR = 5.0, 4.0
"""While a league is played, a set of figures is computed again after a pause of at least MIN_GAP_S, and of at least
GAP_FACTOR times as long as computing it took: so it takes at most a fifth of one processor."""
TIMEOUT_S = 300.0
"""How long the process may take; it may be slow because it has the lowest priority on the machine."""

Run = Callable[[Question], Luck | None]


@dataclass(frozen=True, slots=True)
class Known:
    """Figures of a league.

    Attributes:
        luck: the figures.
        after_round: the last round that they include.
        fresh: whether they are up to date; if not, newer ones follow, unless computing them failed.
    """

    luck: Luck
    after_round: int
    fresh: bool

    def of(self, player_id: str) -> PlayerLuck | None:
        """The figures of one player; None if there are none yet."""
        return self.luck.players.get(player_id)


@dataclass(slots=True)
class _Kept:
    """The figures of one league and audience.

    Attributes:
        computed_for: the hash of the results of the last computation that has ended, also of one that failed.
        mark: the hash of the results from which ``luck`` was computed.
        luck: the figures.
        after_round: the last round that they include.
        due: the earliest time of the next computation, in monotonic seconds.
    """

    computed_for: Hashable = None
    mark: Hashable = None
    luck: Luck | None = None
    after_round: int = 0
    due: float = 0.0


class Keeper:
    """Keeps the figures of leagues in this process, and has new ones computed.

    Args:
        run: computes the answer to a question.
        start: runs a function in the background; None if this process computes no figures.
        clock: monotonic seconds.
        max_kept: how many sets of figures are kept: one for each league and audience.

    Attributes:
        kept: these sets.
    """

    def __init__(
        self,
        run: Run,
        start: Callable[[Callable[[], None]], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        max_kept: int = MAX_KEPT,
    ) -> None:
        self.run = run
        self.start = start
        self._clock = clock
        self._lock = threading.Lock()
        self.kept: Recent[Hashable, _Kept] = Recent(max_kept)
        self._busy = False

    def known(self, view: View) -> Known | None:
        """The latest figures of a view; if results have changed since, starts a computation as soon as one is due.

        Returns None if there are no figures yet, or if the view is a moment of the past.
        """
        if not view.live:
            return None
        over = {number for number, round_then in view.moment.rounds.items() if round_then.completed_at is not None}
        counted = [outcome for outcome in view.moment.outcomes.values() if outcome.round_number in over]
        if not again.enough(len(view.names), sum(outcome.status in ("WIN", "DRAW") for outcome in counted)):
            return None
        key = (view.league.pk, view.league.created_at, view.is_limited_by_freeze)
        mark = hash(
            (
                tuple(outcome.seq for outcome in counted),
                tuple(sorted(view.moment.corrected_points.items())),
                tuple(sorted(view.moment.out.items())),
                view.scoring,
                tuple(view.names),
            )
        )
        with self._lock:
            entry = self.kept[key] = self.kept.get(key) or _Kept()
            is_due = entry.computed_for != mark and not self._busy and (view.over or self._clock() >= entry.due)
            self._busy = self._busy or (is_due and self.start is not None)
        if is_due and self.start is not None:
            question, after = _question(view, counted), max(over)
            self.start(lambda: self._compute(entry, question, mark, after))
        return Known(entry.luck, entry.after_round, entry.mark == mark) if entry.luck is not None else None

    def _compute(self, entry: _Kept, question: Question, mark: Hashable, after_round: int) -> None:
        began, luck = self._clock(), None
        try:
            luck = self.run(question)
        except Exception:
            # No retry before the results change: the same input would probably fail again.
            logger.exception("the luck of a league could not be computed")
        ended = self._clock()
        with self._lock:
            if luck is not None:
                entry.luck, entry.mark, entry.after_round = luck, mark, after_round
            entry.computed_for, entry.due = mark, ended + max(MIN_GAP_S, GAP_FACTOR * (ended - began))
            self._busy = False


def chances_of(game_type: str, outcome: Outcome) -> Chances | None:
    """The chances of a match once both had chosen; None in a game of skill, and for a match that was not played."""
    game = games().get(game_type)
    if game is None or outcome.status not in ("WIN", "DRAW"):
        return None
    try:
        return game.chances(outcome.details)
    except Exception:
        # A game may come from an installed package, and the details from a student's referee.
        logger.exception("%s cannot say the chances of a match", game_type)
        return None


def _question(view: View, counted: list[Outcome]) -> Question:
    outcomes = sorted(counted, key=lambda outcome: outcome.round_number)
    return Question(
        players=tuple(view.names),
        results=tuple(outcome.result for outcome in outcomes),
        scoring=view.scoring,
        chances=tuple(chances_of(view.league.game_type, outcome) for outcome in outcomes),
        points=dict(view.moment.corrected_points),
        out=dict(view.moment.out),
        seed=f"{view.league.pk}:{max(outcome.seq for outcome in counted)}",
    )


def in_a_process(question: Question) -> Luck | None:
    """Compute the answer in a process that has no secret, no database and the lowest priority.

    Raises:
        subprocess.SubprocessError: it failed, or took too long.
    """
    done = subprocess.run(
        [sys.executable, "-m", "league_sdk.ledger.luck"],
        input=question.to_json(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=True,
        env={"PYTHONPATH": str(Path(again.__file__).parents[3]), "PYTHONUTF8": "1"},
    )
    return None if done.stdout == "null" else Luck.read(done.stdout)


def in_a_thread(function: Callable[[], None]) -> None:
    """Call a function in a thread of its own, which does not keep the process from ending."""
    threading.Thread(target=function, name="luck", daemon=True).start()


keeper = Keeper(in_a_process)
"""The figures of this process; ``leaguesite.asgi`` sets ``start``, so that they are computed."""


def row(view: View) -> LuckRow:
    """The latest figures of a view, as the API answers them; :class:`LuckRow` says what each means."""
    known = keeper.known(view)
    luck = known.luck if known is not None else None
    players = sorted(luck.players.items(), key=lambda item: item[1].place) if luck is not None else []
    return {
        "league_id": view.league.pk,
        "after_round": known.after_round if known is not None else None,
        "current": known is not None and known.fresh,
        "game_of_chance": luck.is_game_of_chance if luck is not None else None,
        "coin": luck.table_could_be_chance if luck is not None else None,
        "matches": luck.matches if luck is not None else 0,
        "kept": luck.kept if luck is not None else 0,
        "replays": luck.replays if luck is not None else 0,
        "players": [_player_row(player_id, player) for player_id, player in players],
    }


def _player_row(player_id: str, player: PlayerLuck) -> PlayerLuckRow:
    return {
        "player_id": player_id,
        "place": player.place,
        "points": player.points,
        "low": player.low,
        "high": player.high,
        "first_again": round(player.first, 3),
        "best": None if player.best is None else round(player.best, 3),
        "better": None if player.better is None else round(player.better, 3),
        "coin": player.could_be_chance,
        "expected_points": None if player.expected is None else round(player.expected, 2),
        "expected_spread": None if player.spread is None else round(player.spread, 2),
    }
