"""What a referee tells the league manager of its matches (ruling, sections 4 and 10)."""

from __future__ import annotations

from typing import Any

from league_sdk.judging.brief import Brief
from league_sdk.judging.ending import Played
from league_sdk.judging.log import MatchLog
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import HANDED_BACK, ResultStatus
from league_sdk.protocol.transcript import clean


def seal_of(brief: Brief, played: Played) -> dict[str, Any]:
    """A verdict as the league manager takes it into safe keeping (ruling, section 12)."""
    return {
        "status": played.status,
        "winner_player_id": played.winner,
        "reason": played.reason,
        "details": played.details,
        "faults": [clean(fault.to_report()) for fault in played.faults],
        "draw": played.details.get("drawn_number"),
        "conversation_id": brief.conversation_id,
    }


def progress_of(
    brief: Brief,
    log: MatchLog,
    state: str,
    failed: tuple[Cause, str] | None,
    seal: dict[str, Any] | None = None,
    *,
    told: bool = False,
) -> dict[str, Any]:
    """What one match has in a report_progress, its transcript still to come; a failed one is given back, and why.

    Args:
        seal: the verdict, from the moment on at which there is one until it is sealed.
        told: the players have heard the end.
    """
    given_back = {"state": HANDED_BACK, "cause": failed[0], "why": failed[1]} if failed else {}
    more = {
        **({"moves": log.moves} if log.moves else {}),
        **({"excused": log.excused} if log.excused else {}),
        **({"seal": seal} if seal else {}),
        **({"end_told": True} if told else {}),
    }
    return {
        **more,
        "league_id": brief.league_id,
        "match_id": brief.match_id,
        "attempt": brief.attempt,
        "state": state,
        "joined": log.joined,
        "locked_in": log.locked_in,
        "view": log.view,
        "transcript": [],
        **given_back,
    }


def result_of(brief: Brief, played: Played) -> dict[str, Any]:
    """The fields of MATCH_RESULT_REPORT that say how a match ended."""
    return {
        "league_id": brief.league_id,
        "round_id": brief.round_id,
        "match_id": brief.match_id,
        "game_type": brief.game_type,
        "attempt": brief.attempt,
        "status": played.status,
        "reason": played.reason,
        "faults": [clean(fault.to_report()) for fault in played.faults],
        "result": {"winner": played.winner, "score": _score(brief, played), "details": played.details},
    }


def _score(brief: Brief, played: Played) -> dict[str, int]:
    points = brief.settings
    score = dict.fromkeys(brief.player_ids, points.loss_points)
    if played.status == ResultStatus.DRAW:
        score = dict.fromkeys(brief.player_ids, points.draw_points)
    elif played.status == ResultStatus.TECHNICAL_LOSS:
        score = dict.fromkeys(brief.player_ids, points.technical_loss_points if played.winner else 0)
    if played.winner is not None:
        score[played.winner] = points.win_points
    return score
