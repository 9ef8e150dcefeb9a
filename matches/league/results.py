"""A result counts, once (004 8.8); what follows from it is in ``endings``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import learned, registration
from agents_registry.models import Agent
from league_sdk.protocol import records
from league_sdk.protocol.errors import InvalidFormat, LeagueError, RefereeNotRegistered
from league_sdk.protocol.faults import unquoted
from league_sdk.protocol.states import (
    IN_PLAY,
    AgentState,
    MatchState,
    ResultStatus,
)
from league_sdk.protocol.transcript import clean
from league_sdk.rules.registry import get_game
from matches.league import sealing
from matches.league.corrections.planning import fate
from matches.league.corrections.plans import LOSE, VOID
from matches.league.effects import changed, record
from matches.league.endings import after_result
from matches.league.errors import ActionRefused
from matches.league.fault_reports import not_called
from matches.league.play import PROGRESS_STATES, add_entries, assign, hear, lease_s_of, lifecycle_step
from matches.league.reports import (
    Verdict,
    read_found_at,
    read_lifecycle,
    read_proofs,
    read_spoken,
    read_verdict,
)
from matches.models import League, Match, Round
from matches.view.masking import without_addresses
from storage.prepared import Prepared, swap

logger = logging.getLogger(__name__)

_OPEN = (MatchState.HELD, MatchState.READY, *IN_PLAY)
SILENT = frozenset({"E001", "E009"})


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
            f"{league_id} has no match {match_id}.",
            field="match_id",
            seen=match_id,
            expected="a match of the league",
        )
    claimed = match.attempt if attempt is None else attempt
    if _has_sealed(match, referee) and claimed == match.seal["attempt"]:
        # Whoever sealed the verdict reports that the players have heard it, be it late.
        return _report_sealed(match, params, transcript)
    if match.referee_id != referee.pk:
        # That a verdict is sealed, and how often a match was tried, is for those to know who may have had it.
        lost = match.seal is not None and referee.site_key and claimed == match.attempt
        if lost or (referee.trusted and 0 < claimed < match.attempt):
            return {
                "status": "IGNORED",
                "reason": f"attempt {claimed} was lost; the match went on without it",
            }
        raise RefereeNotRegistered(
            f"{referee.code} does not judge {match_id}.",
            field="match_id",
            seen=match_id,
            expected="a match that start_match gave you",
        )
    if match.seal is not None and claimed == match.attempt:
        return _report_sealed(match, params, transcript)
    verdict = read_verdict(params, (match.player_a.code, match.player_b.code))
    spoken, found_at = read_spoken(params.get("spoken")), read_found_at(params.get("found_at"))
    # Whoever has a token proven reads what the agent answered: only our own referees are believed.
    proofs = read_proofs(params.get("proofs")) if referee.site_key else {}
    hear(referee)
    begins_alone = referee.trusted and not referee.sends_progress
    if match.state == MatchState.READY and match.attempt == 0 and begins_alone:
        # It began with the announcement, and was quicker than our start_match.
        match = assign(match=match, referee=referee, lease_s=lease_s_of(match, referee)) or _whole(match)
        claimed = match.attempt if attempt is None else attempt
    if match.state == MatchState.FINISHED:
        return {
            "status": "ACCEPTED",
            "duplicate": True,
            "reason": "a result is on record; the first one stands",
        }
    if claimed != match.attempt or match.state not in IN_PLAY:
        return {"status": "IGNORED", "reason": f"attempt {claimed} is over"}
    with records.work("result", conversation_id=match.conversation_id), transaction.atomic():
        if not _finish(match, verdict, states=IN_PLAY, steps=read_lifecycle(params.get("lifecycle"))):
            return {"status": "IGNORED", "reason": f"attempt {claimed} is over"}
        add_entries(match, transcript)
        _count_silences(match, verdict)
        _learn(match, spoken, found_at, proofs)
        after_result(match)
    return {"status": "ACCEPTED", "reason": None}


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
            stands = "a result is on record; the first one stands"
            return {"status": "ACCEPTED", "duplicate": True, "reason": note or stands}
        add_entries(match, transcript)
        spoken, found_at = read_spoken(params.get("spoken")), read_found_at(params.get("found_at"))
        _learn(match, spoken, found_at, read_proofs(params.get("proofs")))
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


def count_sealed(match: Match, *, told: bool = False, steps: object = None) -> bool:
    """A sealed verdict counts from now on; call in a transaction.

    Args:
        match: in play, with a seal, and with its league, round and players.
        told: its players have heard it; else they may never hear it.
        steps: the states of the match as its referee timed them.

    Returns false when it counted already.
    """
    seal = {**match.seal, "told": True} if told or match.seal.get("told") else {**match.seal, "untold": True}
    verdict = sealing.read(seal, (match.player_a.code, match.player_b.code))
    match.seal = seal
    if not _finish(match, verdict, states=IN_PLAY, steps=read_lifecycle(steps)):
        return False
    _count_silences(match, verdict)
    after_result(match)
    return True


def _whole(match: Match) -> Match:
    """A match as it is now."""
    found = _REPORTED.one(league_id=match.league_id, match_id=match.match_id)
    if found is None:
        raise Match.DoesNotExist(match.pk)
    return found


def _finish(match: Match, verdict: Verdict, *, states: Sequence[str], steps: Sequence[dict[str, str]] = ()) -> bool:
    """One of ``states`` to FINISHED; false when the attempt is over or someone else was quicker."""
    now = timezone.now()
    # Not every referee is ours: what it writes is cleaned of tokens like its transcript, and as everybody reads it, of
    # addresses and of what was answered in place of an answer.
    told = [{**fault, "detail": unquoted(fault["detail"])} for fault in verdict.faults]
    reason, details, faults = (without_addresses(clean(one)) for one in (verdict.reason, verdict.details, told))
    winner = {match.player_a.code: match.player_a, match.player_b.code: match.player_b}.get(verdict.winner or "")
    news = {
        "state": MatchState.FINISHED,
        "status": verdict.status,
        "winner": winner and winner.pk,
        "reason": reason,
        "details": details,
        "faults": faults,
        "finished_at": now,
        "lease_until": None,
        "locked_in": [],
        # A report without a seal leaves the column alone: one that came meanwhile must not be taken off.
        **({"seal": match.seal} if match.seal is not None else {}),
        "lifecycle": [*_timed(match.lifecycle, steps), lifecycle_step(MatchState.FINISHED, now)],
    }
    if not swap(Match, news, pk=match.pk, attempt=match.attempt, state=tuple(states)):
        return False
    record(
        match.league_id,
        "match_finished",
        **outcome_data(
            match, status=verdict.status, winner_id=verdict.winner, reason=reason, details=details, faults=faults
        ),
        **revealed(match, details),
    )
    # A referee has room again. What cannot wait, the end of the round, says so itself.
    changed(match.league_id, match.match_id, urgent=False)
    return True


def revealed(match: Match, details: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone may check a result by (ruling, section 12): the seed of its draw, and what was sealed when.

    A referee that does not seal had no seed: where it has drawn a number, ours says nothing of that.
    """
    drawn_elsewhere = match.seal is None and details.get("drawn_number") is not None
    return {
        "play": match.play,
        "draw_seed": "" if drawn_elsewhere else match.draw_seed,
        "seal_sha256": sealing.digest(match.seal) if match.seal is not None else "",
        "sealed_attempt": match.seal["attempt"] if match.seal is not None else None,
    }


def outcome_data(
    match: Match, *, status: str, winner_id: str | None, reason: str, details: Any, faults: Any
) -> dict[str, Any]:
    """A result that counts from now on, as its event tells it (``history.Outcome``)."""
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "players": [match.player_a.code, match.player_b.code],
        "status": status,
        "winner_id": winner_id,
        "reason": reason,
        "details": details,
        "faults": faults,
        "attempt": match.attempt,
        "referee_id": match.referee.code if match.referee else None,
    }


def _timed(lifecycle: list[dict[str, str]], steps: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The lifecycle with the steps of the last attempt as its referee timed them: progress reports skip some."""
    if not steps:
        return lifecycle
    begun = max((n for n, step in enumerate(lifecycle) if step["state"] not in PROGRESS_STATES), default=-1)
    return [*lifecycle[: begun + 1], *steps]


def _learn(
    match: Match, spoken: Mapping[str, Mapping[str, str]], found_at: Mapping[str, str], proofs: Mapping[str, str]
) -> None:
    """How the players were seen to speak, where, and with which token, told by the referee; mostly it is known."""
    for player in (match.player_a, match.player_b):
        found = spoken.get(player.code, {})
        if any(player.spoken.get(kind) != shape for kind, shape in found.items()):
            learned.learn_dialect(agent_id=player.pk, spoken=found)
        if player.code in found_at:
            learned.learn_path(agent_id=player.pk, path=found_at[player.code])
        if player.code in proofs:
            registration.prove(agent_id=player.pk, sha256=proofs[player.code])


def _count_silences(match: Match, verdict: Verdict) -> None:
    silent = {fault["player_id"]: fault for fault in verdict.faults if fault["error_code"] in SILENT}
    players = (match.player_a, match.player_b)
    registration.count_answers(agent_ids=[player.pk for player in players if player.code not in silent])
    for player in players:
        fault = silent.get(player.code)
        if fault is not None:
            rules = match.league.rules
            registration.count_silence(
                agent_id=player.pk,
                suspend_after=rules.suspend_after,
                shutdown_after=rules.shutdown_after,
                problem=fault["sentence"] or f"no answer in {match.match_id}",
            )


def decide_absent(match: Match) -> bool:
    """A match with a player that is SHUTDOWN (ruling, section 8) or out of the league is decided without calls.

    Returns whether it was.
    """
    out = match.league.out
    players = (match.player_a.code, match.player_b.code)
    shut = [
        player
        for player in (match.player_a, match.player_b)
        if player.state == AgentState.SHUTDOWN and player.code not in out
    ]
    whys = [f"{player} was {out[player]['word']}" for player in players if player in out]
    if shut:
        whys.append(f"{' and '.join(player.code for player in shut)} shut down after too many silences")
    if not whys:
        return False
    # One that is shut down loses like one that left, or has its match cancelled, as the league's rules have it.
    shut_as = {"matches": VOID if match.league.rules.no_show == "cancel" else LOSE}
    status, winner = fate(players, {**out, **{player.code: shut_as for player in shut}})
    game = get_game(match.league.game_type)
    verdict = Verdict(
        status=status,
        winner=winner,
        reason=f"{' and '.join(whys)}: not called",
        details=game.unfinished(game.new_state(players)),
        # What is lost by a decision of the instructor is nobody's fault.
        faults=[not_called(player) for player in shut],
    )
    with transaction.atomic():
        return _finish(match, verdict, states=[MatchState.PENDING, MatchState.READY])


def cancel(*, league_id: str, match_id: str, why: str, states: Sequence[str] = _OPEN) -> None:
    """End an open match as CANCELLED: it counts nowhere (the instructor, or hold_s).

    Args:
        league_id, match_id: which match.
        why: a sentence for its page.
        states: what its state must be.

    Raises:
        ActionRefused: it is not open, or its result is being told.
    """
    with transaction.atomic():
        match = (
            Match.objects.select_related("league", "round", "player_a", "player_b", "referee")
            .filter(league_id=league_id, match_id=match_id, state__in=states)
            .select_for_update(no_key=True, of=("self",))
            .first()
        )
        if match is None:
            raise ActionRefused(
                _("%(match)s is not open: only a match of the current round can be cancelled.") % {"match": match_id}
            )
        sealing.refuse_sealed(match.match_id, sealed=match.seal is not None)
        game = get_game(match.league.game_type)
        players = (match.player_a.code, match.player_b.code)
        verdict = Verdict(ResultStatus.CANCELLED, None, why, game.unfinished(game.new_state(players)), [])
        if _finish(match, verdict, states=states):
            after_result(match)
