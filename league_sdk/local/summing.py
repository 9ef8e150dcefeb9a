"""What a league in memory has shown, as JSON; the terminal shows the same (``league local``)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from league_sdk.local.entrants import Entrant, Sent
from league_sdk.local.intervals import wilson
from league_sdk.local.league import LocalLeague
from league_sdk.protocol.transcript import clean


def summary(league: LocalLeague, *, rounds: int, took_s: float) -> dict[str, Any]:
    """Everything that a league has shown.

    Args:
        league: after its matches.
        rounds: how many rounds were played.
        took_s: seconds that the matches took.

    Returns:
        ``table``, ``against`` (the first player against each other one), ``mistakes`` of the first player by kind, and
        the ``worst`` message to it: the slowest one with a wrong answer, if there is any, else the slowest one. Shares
        are from 0 to 1, with ``low`` and ``high`` of their 95 % interval.
    """
    first, *others = league.entrants
    by_id = {entrant.player_id: entrant for entrant in league.entrants}
    return {
        "game_type": league.game.game_type,
        "rounds": rounds,
        "matches": league.played,
        "matches_per_second": round(league.played / took_s, 1) if took_s > 0 else None,
        "table": [_row(row, by_id[row.player_id]) for row in league.table()],
        "against": [_against(league, first, other) for other in others],
        "mistakes": _mistakes(first),
        "worst": _worst(first.worst),
    }


def _row(row: Any, entrant: Entrant) -> dict[str, Any]:
    names = ("rank", "tied_rank", "player_id", "display_name", "points", "played", "wins", "draws", "losses")
    columns = {name: getattr(row, name) for name in (*names, "technical_losses")}
    mean_ms = 1000 * entrant.took_s / entrant.called if entrant.called else None
    return {
        **columns,
        **_share(row.wins, row.draws, row.played),
        "mistakes": len(entrant.mistakes),
        "mean_answer_ms": mean_ms if mean_ms is None else round(mean_ms, 3),
        "slowest_answer_ms": round(1000 * entrant.slowest_s, 3),
    }


def _share(wins: int, draws: int, played: int) -> dict[str, Any]:
    """The share of the matches that were won, a draw counting half, with its interval."""
    share = (wins + draws / 2) / played if played else 0.0
    low, high = wilson(share, played)
    return {"share": round(share, 4), "low": round(low, 4), "high": round(high, 4)}


def _against(league: LocalLeague, first: Entrant, other: Entrant) -> dict[str, Any]:
    meetings = league.meetings[(first.player_id, other.player_id)]
    wins, losses = meetings.wins[first.player_id], meetings.wins[other.player_id]
    share = _share(wins, meetings.draws, meetings.matches)
    return {
        "display_name": other.name,
        "matches": meetings.matches,
        "wins": wins,
        "draws": meetings.draws,
        "losses": losses,
        **share,
        "could_be_chance": share["low"] <= 0.5 <= share["high"],
    }


def _mistakes(entrant: Entrant) -> list[dict[str, Any]]:
    """The mistakes by kind, the most frequent first."""
    counted = Counter((mistake.method, mistake.problem, mistake.where) for mistake in entrant.mistakes)
    return [
        {"method": method, "problem": problem, "where": where, "times": times}
        for (method, problem, where), times in counted.most_common()
    ]


def _worst(sent: Sent | None) -> dict[str, Any] | None:
    if sent is None:
        return None
    return {
        "match_id": sent.message.get("match_id"),
        "message_type": str(sent.message["message_type"]),
        "elapsed_ms": round(1000 * sent.elapsed_s, 3),
        "problem": sent.problem,
        "sent": clean(sent.message),
        "came": clean(sent.answer),
    }
