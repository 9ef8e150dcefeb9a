"""Seals: the verdict of a match, stored by the league manager before the players hear it (ruling, section 12).

``Match.seal`` is JSON: ``attempt`` and ``conversation_id`` of the attempt that was decided, ``referee_id`` and
``referee_pk`` (earlier versions stored the id alone, which is given again after a referee was deleted), ``sealed_at``,
and the verdict as the referee sent it (``status``, ``winner_player_id``, ``reason``, ``details``, ``faults``,
``draw``). Later ``told`` is added when the players have heard the verdict, or ``untold`` when it counts although they
may not have heard it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.states import IN_PLAY
from league_sdk.protocol.transcript import clean
from matches.league.errors import ActionRefused
from matches.league.progress_reading import MatchProgress
from matches.league.reports import Verdict, read_verdict
from matches.models import Match
from storage import clock

SEALED, REFUSED = "sealed", "refused"


def decide(match: Match, referee: Agent, item: MatchProgress) -> tuple[str, dict[str, Any] | None]:
    """Decide whether the verdict in a progress report is sealed, and note that the players were told. Writes nothing.

    The first seal of a match stands. Only referees with the site's key seal.

    Args:
        match: the match as it is on record; its row is locked.

    Returns ``sealed``, ``refused``, or "" if the report has no verdict; and the seal to write, if it changed.
    """
    answer, seal, changed = "", match.seal, False
    if item.seal is not None:
        if seal is None:
            seal = _seal_of(match, referee, item.seal)
            changed = seal is not None
        answer = REFUSED if seal is None else SEALED
    if item.end_told and seal is not None and not seal.get("told"):
        seal, changed = {**seal, "told": True}, True
    return answer, seal if changed else None


def _seal_of(match: Match, referee: Agent, verdict: Mapping[str, Any]) -> dict[str, Any] | None:
    """Make the seal of a verdict; None if the referee may not seal, or the verdict is not valid."""
    if not referee.site_key or verdict.get("conversation_id") != match.conversation_id:
        return None
    try:
        read(verdict, match.player_ids)
    except LeagueError:
        return None
    draw = verdict.get("draw")
    if draw is not None and type(draw) is not int:
        return None
    details = verdict.get("details")
    return {
        "attempt": match.attempt,
        "conversation_id": match.conversation_id,
        "referee_id": referee.code,
        "referee_pk": referee.pk,
        "sealed_at": clock.now().isoformat(),
        "status": verdict["status"],
        "winner_player_id": verdict.get("winner_player_id"),
        "reason": clean(verdict.get("reason") or ""),
        "details": clean(details) if isinstance(details, Mapping) else {},
        "faults": clean(verdict.get("faults") or []),
        "draw": draw,
    }


def read(seal: Mapping[str, Any], players: tuple[str, str]) -> Verdict:
    """Read the verdict of a seal.

    Raises:
        LeagueError: it is not valid.
    """
    result = {"winner_player_id": seal.get("winner_player_id"), "details": seal.get("details")}
    fields = {"status": seal.get("status"), "reason": seal.get("reason"), "faults": seal.get("faults")}
    return read_verdict({**fields, "game_result": result}, players)


def digest(seal: Mapping[str, Any]) -> str:
    """The SHA-256 of the result in a seal, in hex; the event ``match_finished`` has it as ``seal_sha256``."""
    result = {
        "attempt": seal["attempt"],
        "status": seal["status"],
        "winner_player_id": seal["winner_player_id"],
        "draw": seal["draw"],
    }
    text = json.dumps(result, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_sealed(match: Match) -> None:
    """Refuse to change a match whose sealed verdict is being told to its players.

    Raises:
        ActionRefused: the match has a sealed verdict and is still in play.
    """
    if match.seal is not None and match.state in IN_PLAY:
        raise ActionRefused(
            _("The result of %(match)s is being told to its players: try again in a few seconds.")
            % {"match": match.match_id}
        )


def keep_excused(match: Match, tries: Sequence[Mapping[str, str]]) -> None:
    """Store the excused tries of a match that is handed back: they use up some of those that a match may have."""
    if tries:
        Match.objects.filter(pk=match.pk, attempt=match.attempt).update(excused=with_excused(match, tries))


def with_excused(match: Match, tries: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """The excused tries of a match: those of earlier attempts, and those reported of this one."""
    earlier = [excused for excused in match.excused if excused.get("attempt") != match.attempt]
    return [*earlier, *({**excused, "attempt": match.attempt} for excused in tries)]
