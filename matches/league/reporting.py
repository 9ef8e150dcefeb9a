"""Take a referee's MATCH_RESULT_REPORT, or answer it without a change (ruling, sections 4, 8 and 12)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import Model

from agents_registry.models import Agent
from agents_registry.registering import credentials, learned
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol import records
from league_sdk.protocol.errors import InvalidFormat, LeagueError, RefereeNotRegistered
from league_sdk.protocol.states import IN_PLAY, MatchState
from matches.league.endings import after_result
from matches.league.fault_reports import split_own_words
from matches.league.play import add_entries, assign, lease_s_of, note_heartbeat
from matches.league.reports import (
    read_found_at,
    read_learned_of,
    read_lifecycle,
    read_proofs,
    read_registrations,
    read_spoken,
    read_verdict,
)
from matches.league.results import count_sealed, count_silences, finish
from matches.models import League, Match, Round
from storage.prepared import Prepared

logger = logging.getLogger(__name__)

_STANDS = "a result is on record; the first one stands"
_WHOLE_MODELS: tuple[tuple[type[Model], str], ...] = ((Match, ""), (League, "league__"), (Round, "round__"))


def _columns(model: type[Model], prefix: str) -> list[str]:
    return [prefix + column.name for column in model._meta.concrete_fields]


_REPORTED = Prepared(
    lambda *, league_id, match_id: (
        Match.objects.filter(league_id=league_id, match_id=match_id)
        .select_related("league", "round", "player_a", "player_b", "referee")
        # A report needs only two of the agents' two dozen columns.
        .only(
            *(name for model, prefix in _WHOLE_MODELS for name in _columns(model, prefix)),
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

    Changes, if the result counts: the match is FINISHED, its transcript is added, and the round and the league may end.
    If the referee has the site's key, silences are counted, and what it found out about the players is stored; a
    student's referee is believed about the result of its own match and about nothing else. A second report, or one of a
    lost attempt, is answered and changes nothing; but the report of the attempt that sealed the verdict counts, even
    after that attempt was lost.

    Args:
        referee: the owner of the token that came with the report.
        attempt: as reported. None (a student's referee) is accepted from the referee that the match is assigned to, or
            from the announced referee of a match that has not been assigned yet.

    Returns the fields of the answer: status ``ACCEPTED`` or ``IGNORED``, and why.

    Raises:
        InvalidFormat: E002, no such match, or a result that cannot be read.
        RefereeNotRegistered: E013, this referee does not judge the match, and never had the attempt that it names.
    """
    match = _REPORTED.one(league_id=league_id, match_id=match_id)
    if match is None:
        raise InvalidFormat(
            f"{league_id} has no match {match_id}.", field="match_id", seen=match_id, expected="a match of the league"
        )
    claimed = match.attempt if attempt is None else attempt
    judges = match.referee_id == referee.pk
    # A sealed match may be reported by the referee that sealed it, however late, and by the one that it is assigned to
    # now, which tells the players its end if the first was lost.
    if match.seal is not None and (
        (_has_sealed(match, referee) and claimed == match.seal["attempt"]) or (judges and claimed == match.attempt)
    ):
        return _report_sealed(match, match.seal, params, transcript)
    if not judges:
        return _report_of_another(match, referee, claimed)
    return _report_unsealed(match, referee, attempt, params, transcript)


def _has_sealed(match: Match, referee: Agent) -> bool:
    """Whether this referee has sealed the verdict of a match."""
    return match.seal is not None and referee.site_key and referee.pk == match.seal.get("referee_pk")


def _report_sealed(
    match: Match, seal: Mapping[str, Any], params: Mapping[str, Any], transcript: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Take the report of a match whose verdict is sealed: the seal counts, whatever the report says (section 12)."""
    differs = _differs(match, seal, params)
    if differs:
        logger.warning("the report of %s differs from its seal, which counts: %s", match.match_id, differs)
    note = f"the sealed verdict counts; this report differs: {differs}" if differs else None
    steps = params.get("lifecycle")
    with records.work("result", conversation_id=match.conversation_id), transaction.atomic():
        if match.state == MatchState.FINISHED or not count_sealed(match, seal, is_told=True, steps=steps):
            return {"status": "ACCEPTED", "duplicate": True, "reason": note or _STANDS}
        add_entries(match, transcript)
        _learn(match, params)
    return {"status": "ACCEPTED", "reason": note}


def _differs(match: Match, seal: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """How a report differs from the seal of its match; empty when it does not differ."""
    try:
        verdict = read_verdict(params, match.player_ids)
    except LeagueError as error:
        return error.message
    reported = (verdict.status, verdict.winner)
    sealed = (seal["status"], seal["winner_player_id"])
    return "" if reported == sealed else f"{reported[0]} {reported[1]} in place of {sealed[0]} {sealed[1]}"


def _report_of_another(match: Match, referee: Agent, claimed: int) -> dict[str, Any]:
    """Answer the report of a referee that does not judge the match, or does not judge it any more.

    The referee that had an attempt is told that it was lost. So is any referee of the site that names the present
    attempt of a sealed match. To others the answer does not reveal that a verdict is sealed, or how many attempts
    there were.
    """
    lost = match.seal is not None and referee.site_key and claimed == match.attempt
    if lost or (0 < claimed < match.attempt and _lost(match, referee, claimed)):
        return _ignored(f"attempt {claimed} was lost; the match went on without it")
    raise RefereeNotRegistered(
        f"{referee.code} does not judge {match.match_id}.",
        field="match_id",
        seen=match.match_id,
        expected="a match that start_match gave you",
    )


def _lost(match: Match, referee: Agent, attempt: int) -> bool:
    """Whether a referee had an attempt of a match and lost it."""
    losses = match.league.events.filter(kind__in=(EventKind.ATTEMPT_LOST, EventKind.MATCH_HELD))
    of_referee = {"match_id": match.match_id, "attempt": attempt, "referee_id": referee.code}
    # An earlier event is about a referee that was deleted, whose id this one was given.
    losses = losses.filter(at__gte=referee.registered_at)
    return losses.filter(**{f"data__{name}": value for name, value in of_referee.items()}).exists()


def _report_unsealed(
    match: Match,
    referee: Agent,
    attempt: int | None,
    params: Mapping[str, Any],
    transcript: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Take the report of the referee that judges the match: the first report of the present attempt counts."""
    verdict = read_verdict(params, match.player_ids)
    if not referee.site_key:
        # The staff and the owner would read them as the player's own words.
        verdict = replace(verdict, faults=split_own_words(verdict.faults)[0])
    note_heartbeat(referee)
    begins_alone = referee.trusted and not referee.sends_progress and attempt in (None, 1)
    if match.state == MatchState.READY and match.attempt == 0 and begins_alone:
        # The referee started the match on the announcement, and finished it before our start_match was sent.
        match = assign(match=match, referee=referee, lease_s=lease_s_of(match, referee)) or _reread(match)
    claimed = match.attempt if attempt is None else attempt
    if match.state == MatchState.FINISHED:
        return {"status": "ACCEPTED", "duplicate": True, "reason": _STANDS}
    if claimed != match.attempt or match.state not in IN_PLAY:
        return _ignored(f"attempt {claimed} is over")
    with records.work("result", conversation_id=match.conversation_id), transaction.atomic():
        if not finish(match, verdict, states=IN_PLAY, steps=read_lifecycle(params.get("lifecycle"))):
            return _ignored(f"attempt {claimed} is over")
        add_entries(match, transcript)
        if referee.site_key:
            count_silences(match, verdict)
            _learn(match, params)
        after_result(match)
    return {"status": "ACCEPTED", "reason": None}


def _ignored(why: str) -> dict[str, Any]:
    return {"status": "IGNORED", "reason": why}


def _reread(match: Match) -> Match:
    """Read a match again."""
    reread = _REPORTED.one(league_id=match.league_id, match_id=match.match_id)
    if reread is None:
        raise Match.DoesNotExist(match.pk)
    return reread


def _learn(match: Match, params: Mapping[str, Any]) -> None:
    """Store what a referee of the site found out about the players: dialects, paths, tokens. Usually nothing is new."""
    spoken, found_at = read_spoken(params.get("spoken")), read_found_at(params.get("found_at"))
    learned_of, registrations = read_learned_of(params.get("learned")), read_registrations(params.get("registrations"))
    proofs = read_proofs(params.get("proofs"))
    for player in (match.player_a, match.player_b):
        shapes = spoken.get(player.code, {})
        if learned_of.get(player.code) or any(player.spoken.get(kind) != shape for kind, shape in shapes.items()):
            learned.learn_dialect(
                agent_id=player.pk,
                spoken=shapes,
                learned=learned_of.get(player.code),
                registration=registrations.get(player.code, ""),
            )
        if player.code in found_at:
            learned.learn_path(agent_id=player.pk, path=found_at[player.code])
        if player.code in proofs:
            credentials.prove(agent_id=player.pk, sha256=proofs[player.code])
