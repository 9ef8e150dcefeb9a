"""Seals: a verdict that the league manager keeps before its players hear it (ruling, section 12).

A seal is the JSON of ``Match.seal``: ``attempt`` and ``conversation_id`` of the attempt that was decided,
``referee_id``, ``sealed_at``, the verdict as the referee sent it (``status``, ``winner_player_id``, ``reason``,
``details``, ``faults``, ``draw``), and later ``told``, once the players have heard it, or ``untold``, when it came to
count without that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.transcript import clean
from matches.league.errors import ActionRefused
from matches.league.progress_reading import Told
from matches.league.reports import Verdict, read_verdict
from matches.models import Match

SEALED, REFUSED = "sealed", "refused"


def decide(match: Match, referee: Agent, item: Told) -> tuple[str, dict[str, Any] | None]:
    """Decide on the verdict in a progress report, and on its word that the players were told; writes nothing.

    The first seal of a match stands. Only referees with the site's key seal.

    Args:
        match: as it is on record; its row is held.

    Returns ``sealed``, ``refused``, or nothing where no verdict came; and the seal as it now is, if that is new.
    """
    answer, seal, new = "", match.seal, False
    if item.seal is not None:
        if seal is None:
            seal = _seal_of(match, referee, item.seal)
            new = seal is not None
        answer = REFUSED if seal is None else SEALED
    if item.end_told and seal is not None and not seal.get("told"):
        seal, new = {**seal, "told": True}, True
    return answer, seal if new else None


def _seal_of(match: Match, referee: Agent, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The seal that a referee gives; None when it is none that we keep."""
    if not referee.site_key or given.get("conversation_id") != match.conversation_id:
        return None
    try:
        read(given, (match.player_a.code, match.player_b.code))
    except LeagueError:
        return None
    draw = given.get("draw")
    if draw is not None and type(draw) is not int:
        return None
    details = given.get("details")
    return {
        "attempt": match.attempt,
        "conversation_id": match.conversation_id,
        "referee_id": referee.code,
        "sealed_at": timezone.now().isoformat(),
        "status": given["status"],
        "winner_player_id": given.get("winner_player_id"),
        "reason": clean(given.get("reason") or ""),
        "details": clean(details) if isinstance(details, Mapping) else {},
        "faults": clean(given.get("faults") or []),
        "draw": draw,
    }


def read(seal: Mapping[str, Any], players: tuple[str, str]) -> Verdict:
    """The verdict of a seal.

    Raises:
        LeagueError: it is none.
    """
    result = {"winner_player_id": seal.get("winner_player_id"), "details": seal.get("details")}
    fields = {"status": seal.get("status"), "reason": seal.get("reason"), "faults": seal.get("faults")}
    return read_verdict({**fields, "game_result": result}, players)


def digest(seal: Mapping[str, Any]) -> str:
    """The SHA-256 of what a seal says of the end, in hex, as the event of the result tells it."""
    told = {
        "attempt": seal["attempt"],
        "status": seal["status"],
        "winner_player_id": seal["winner_player_id"],
        "draw": seal["draw"],
    }
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_sealed(match_id: str, *, sealed: bool) -> None:
    """Refuse what would change a match while its end is being told.

    Raises:
        ActionRefused: it is.
    """
    if sealed:
        raise ActionRefused(
            _("The result of %(match)s is being told to its players: try again in a few seconds.") % {"match": match_id}
        )


def keep_excused(match: Match, told: Sequence[Mapping[str, str]]) -> None:
    """Write down the excused tries of a match that is given back: its next attempt has so many less."""
    if told:
        Match.objects.filter(pk=match.pk, attempt=match.attempt).update(excused=with_excused(match, told))


def with_excused(match: Match, told: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """The tries of a match that did not count: those of earlier attempts, and those told of this one."""
    earlier = [one for one in match.excused if one.get("attempt") != match.attempt]
    return [*earlier, *({**one, "attempt": match.attempt} for one in told)]
