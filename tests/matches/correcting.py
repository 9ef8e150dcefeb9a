"""What tests of corrections share: a league in its second round, and what corrections change."""

from __future__ import annotations

from typing import Any

from matches.events.history import Moment
from matches.events.registry import fold
from matches.league.corrections import applying
from matches.league.corrections.plans import Wish
from matches.models import Correction, Match
from matches.view import sight
from tests import factories as make

WHY, UNDO_REASON = "wrong game started", "it was the right one"


def in_round_two() -> make.MadeLeague:
    """Four players; round 1 is over (PLAYER_A won), round 2 is being played."""
    made = make.running_league(players=4)
    make.finish_round(made)
    make.next_round(made)
    return made


def play_to_end(made: make.MadeLeague) -> make.MadeLeague:
    """Play a league to its end."""
    make.finish_round(made)
    while made.league.state == "RUNNING":
        make.next_round(made)
        make.finish_round(made)
    return made


def make_correction(
    kind: str, *, reason: str = WHY, by: str = "ada", league_id: str = "fall", **changes: Any
) -> Correction:
    """A correction as the desk makes it."""
    return applying.make(league_id=league_id, wish=Wish(kind, reason, **changes), by=by)


def undo(number: int) -> Correction:
    return applying.undo(league_id="fall", number=number, reason=UNDO_REASON, by="bob")


def rows(made: make.MadeLeague) -> list[Any]:
    return sight.everything(made.league).standings


def points(made: make.MadeLeague) -> dict[str, int]:
    return {row.player_id: row.points for row in sorted(rows(made), key=lambda row: row.player_id)}


def results_in_rows(made: make.MadeLeague) -> dict[str, Any]:
    """What the rows of the matches say of every result."""
    finished = Match.objects.filter(league_id=made.league_id, state="FINISHED").select_related("winner")
    return {
        one.match_id: (one.status, one.winner and one.winner.code, one.reason, one.details, one.faults)
        for one in finished
    }


def results_in_history(made: make.MadeLeague) -> dict[str, Any]:
    """What the events say of every result, folded from the first event."""
    events = sight._read(made.league.events.order_by("seq"))
    return {
        match_id: (one.status, one.winner, one.reason, dict(one.details), list(one.faults))
        for match_id, one in fold(Moment(), events).outcomes.items()
    }


def assert_results_agree(made: make.MadeLeague) -> None:
    """The rows of the matches and the events have the same results."""
    assert results_in_rows(made) == results_in_history(made)


def everything(made: make.MadeLeague) -> Any:
    """What a correction changes and its undoing restores: the table, the results, and who is out of the league."""
    moment = sight.everything(made.league).moment
    outcomes = {
        match_id: (one.result, one.reason, one.attempt, one.referee_id, one.correction, one.faults, one.details)
        for match_id, one in moment.outcomes.items()
    }
    finished = Match.objects.filter(league_id="fall", state="FINISHED").order_by("pk")
    return (
        rows(made),
        outcomes,
        moment.out,
        made.league.out,
        list(finished.values("match_id", "status", "winner", "reason", "details", "faults", "finished_at", "attempt")),
    )


def assigned(made: make.MadeLeague, match_id: str) -> Match:
    """The match, handed to its referee by the next look."""
    make.look()
    match = made.match(match_id)
    assert match.state == "ASSIGNED"
    return match
