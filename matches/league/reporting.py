"""A referee's MATCH_RESULT_REPORT is taken, or answered and left alone (ruling, sections 4, 8 and 12)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Model

from agents_registry import credentials, learned
from agents_registry.models import Agent
from league_sdk.protocol import records
from league_sdk.protocol.errors import InvalidFormat, LeagueError, RefereeNotRegistered
from league_sdk.protocol.states import IN_PLAY, MatchState
from matches.league.endings import after_result
from matches.league.play import add_entries, assign, hear, lease_s_of
from matches.league.reports import read_found_at, read_lifecycle, read_proofs, read_spoken, read_verdict
from matches.league.results import count_sealed, count_silences, finish
from matches.models import League, Match, Round
from storage.prepared import Prepared

logger = logging.getLogger(__name__)

_STANDS = "a result is on record; the first one stands"
_WHOLE: tuple[tuple[type[Model], str], ...] = ((Match, ""), (League, "league__"), (Round, "round__"))


def _columns(model: type[Model], before: str) -> list[str]:
    return [before + column.name for column in model._meta.concrete_fields]


_REPORTED = Prepared(
    lambda *, league_id, match_id: (
        Match.objects.filter(league_id=league_id, match_id=match_id)
        .select_related("league", "round", "player_a", "player_b", "referee")
        # Of the agents a report needs hardly anything, and each has two dozen columns to be read.
        .only(
            *(name for model, before in _WHOLE for name in _columns(model, before)),
            *(f"{agent}__{name}" for agent in ("player_a", "player_b", "referee") for name in ("code", "spoken")),
        )
    ),
    league_id=str,
    match_id=str,
)


def report(
    *,
    referee: Agent,
    league_id: str,
    match_id: str,
    attempt: int | None,
    params: Mapping[str, Any],
    transcript: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Take a MATCH_RESULT_REPORT.

    Changes, when it counts: the match is FINISHED, its transcript is added, silences are counted,
    perhaps the round and the league end. A second report, or one of a lost attempt, is answered
    and changes nothing.

    Args:
        referee: whose token it came with.
        attempt: as reported; None (a student's referee) counts if the sender is the referee assigned now, or
            the announced one of a match that nobody has been started for yet.

    Returns the fields of the answer: status ``ACCEPTED`` or ``IGNORED``, and why.

    Raises:
        InvalidFormat: E002, no such match, or a result that cannot be read.
        RefereeNotRegistered: E013, this referee never had the match.
    """
    match = _REPORTED.one(league_id=league_id, match_id=match_id)
    if match is None:
        raise InvalidFormat(
            f"{league_id} has no match {match_id}.", field="match_id", seen=match_id, expected="a match of the league"
        )
    claimed = match.attempt if attempt is None else attempt
    judges = match.referee_id == referee.pk
    # Whoever sealed the verdict reports that the players have heard it, be it late; or whoever tells it now.
    if match.seal is not None and (
        (_has_sealed(match, referee) and claimed == match.seal["attempt"]) or (judges and claimed == match.attempt)
    ):
        return _report_sealed(match, params, transcript)
    if not judges:
        return _report_of_another(match, referee, claimed)
    return _report_unsealed(match, referee, attempt, params, transcript)


def _has_sealed(match: Match, referee: Agent) -> bool:
    """Whether this referee has sealed the verdict of a match.

    An id alone does not say so: at a league's own address anybody may register and get the id of a referee of the site.
    """
    return match.seal is not None and referee.site_key and referee.code == match.seal["referee_id"]


def _report_sealed(match: Match, params: Mapping[str, Any], transcript: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The report of a match whose verdict is sealed: the seal counts, whatever the report says (ruling, section 12)."""
    players = (match.player_a.code, match.player_b.code)
    differs = _differs(match, params, players)
    if differs:
        logger.warning("the report of %s differs from its seal, which counts: %s", match.match_id, differs)
    note = f"the sealed verdict counts; this report differs: {differs}" if differs else None
    with records.work("result", conversation_id=match.conversation_id), transaction.atomic():
        if match.state == MatchState.FINISHED or not count_sealed(match, told=True, steps=params.get("lifecycle")):
            return {"status": "ACCEPTED", "duplicate": True, "reason": note or _STANDS}
        add_entries(match, transcript)
        _learn(match, params, proven=True)
    return {"status": "ACCEPTED", "reason": note}


def _differs(match: Match, params: Mapping[str, Any], players: tuple[str, str]) -> str:
    """How a report differs from the seal of its match; empty when it does not."""
    try:
        verdict = read_verdict(params, players)
    except LeagueError as error:
        return error.message
    told = (verdict.status, verdict.winner)
    sealed = (match.seal["status"], match.seal["winner_player_id"])
    return "" if told == sealed else f"{told[0]} {told[1]} in place of {sealed[0]} {sealed[1]}"


def _report_of_another(match: Match, referee: Agent, claimed: int) -> dict[str, Any]:
    """The report of a referee that does not judge the match, or not any more.

    That a verdict is sealed, and how often a match was tried, is for those to know who may have had it.
    """
    lost = match.seal is not None and referee.site_key and claimed == match.attempt
    if lost or (referee.trusted and 0 < claimed < match.attempt):
        return _ignored(f"attempt {claimed} was lost; the match went on without it")
    raise RefereeNotRegistered(
        f"{referee.code} does not judge {match.match_id}.",
        field="match_id",
        seen=match.match_id,
        expected="a match that start_match gave you",
    )


def _report_unsealed(
    match: Match,
    referee: Agent,
    attempt: int | None,
    params: Mapping[str, Any],
    transcript: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The report of the referee that judges the match: it counts, if its attempt is on and it is the first."""
    verdict = read_verdict(params, (match.player_a.code, match.player_b.code))
    hear(referee)
    begins_alone = referee.trusted and not referee.sends_progress
    if match.state == MatchState.READY and match.attempt == 0 and begins_alone:
        # It began with the announcement, and was quicker than our start_match.
        match = assign(match=match, referee=referee, lease_s=lease_s_of(match, referee)) or _whole(match)
    claimed = match.attempt if attempt is None else attempt
    if match.state == MatchState.FINISHED:
        return {"status": "ACCEPTED", "duplicate": True, "reason": _STANDS}
    if claimed != match.attempt or match.state not in IN_PLAY:
        return _ignored(f"attempt {claimed} is over")
    with records.work("result", conversation_id=match.conversation_id), transaction.atomic():
        if not finish(match, verdict, states=IN_PLAY, steps=read_lifecycle(params.get("lifecycle"))):
            return _ignored(f"attempt {claimed} is over")
        add_entries(match, transcript)
        count_silences(match, verdict)
        # Whoever has a token proven reads what the agent answered: only our own referees are believed.
        _learn(match, params, proven=referee.site_key)
        after_result(match)
    return {"status": "ACCEPTED", "reason": None}


def _ignored(why: str) -> dict[str, Any]:
    return {"status": "IGNORED", "reason": why}


def _whole(match: Match) -> Match:
    """A match as it is now."""
    found = _REPORTED.one(league_id=match.league_id, match_id=match.match_id)
    if found is None:
        raise Match.DoesNotExist(match.pk)
    return found


def _learn(match: Match, params: Mapping[str, Any], *, proven: bool) -> None:
    """How the players were seen to speak, where, and with which token, told by the referee; mostly it is known."""
    spoken, found_at = read_spoken(params.get("spoken")), read_found_at(params.get("found_at"))
    proofs = read_proofs(params.get("proofs")) if proven else {}
    for player in (match.player_a, match.player_b):
        found = spoken.get(player.code, {})
        if any(player.spoken.get(kind) != shape for kind, shape in found.items()):
            learned.learn_dialect(agent_id=player.pk, spoken=found)
        if player.code in found_at:
            learned.learn_path(agent_id=player.pk, path=found_at[player.code])
        if player.code in proofs:
            credentials.prove(agent_id=player.pk, sha256=proofs[player.code])
