"""Make a result count, once (ruling, section 8). What follows from it is in ``endings``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.registering import registration
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.faults import OWN_SIDE
from league_sdk.protocol.masking import without_addresses
from league_sdk.protocol.states import IN_PLAY, OPEN, AgentState, MatchState, ResultStatus
from league_sdk.protocol.transcript import clean
from matches.league import sealing
from matches.league.corrections.planning import result_without_play
from matches.league.corrections.plans import LOSE, VOID
from matches.league.effects import changed, record
from matches.league.endings import after_result
from matches.league.errors import ActionRefused
from matches.league.fault_reports import SILENT, not_called, split_own_words
from matches.league.play import PROGRESS_STATES, lifecycle_step, unplayed
from matches.league.reports import Verdict, read_lifecycle
from matches.models import Match
from matches.observing import metrics
from storage import clock
from storage.prepared import swap

logger = logging.getLogger(__name__)


def count_sealed(match: Match, seal: Mapping[str, Any], *, is_told: bool = False, steps: object = None) -> bool:
    """Make a sealed verdict count. Call inside a transaction.

    Args:
        match: in play; league, round and players are loaded.
        seal: its seal.
        is_told: whether the players have heard the verdict; if not, they may never hear it.
        steps: the states of the match as its referee timed them.

    Returns false if a result counted already, or the attempt is over.
    """
    verdict = sealing.read(seal, match.player_ids)
    match.seal = {**seal, "told" if is_told or seal.get("told") else "untold": True}
    if not finish(match, verdict, states=IN_PLAY, steps=read_lifecycle(steps)):
        return False
    count_silences(match, verdict)
    after_result(match)
    return True


def finish(match: Match, verdict: Verdict, *, states: Sequence[str], steps: Sequence[dict[str, str]] = ()) -> bool:
    """Move a match from one of ``states`` to FINISHED; false if the attempt is over or another result came first."""
    now = clock.now()
    # A student's referee may have left tokens in its texts. Everybody reads these, so addresses are removed, too.
    public_faults, own_words = split_own_words(verdict.faults)
    texts = (verdict.reason, verdict.details, public_faults)
    reason, details, faults = (without_addresses(clean(text)) for text in texts)
    verdict = replace(verdict, reason=reason, details=details, faults=faults)
    winner = {match.player_a.code: match.player_a, match.player_b.code: match.player_b}.get(verdict.winner or "")
    values = {
        "state": MatchState.FINISHED,
        "status": verdict.status,
        "winner": winner and winner.pk,
        "reason": reason,
        "details": details,
        "faults": faults,
        "said": own_words,
        "finished_at": now,
        "lease_until": None,
        "locked_in": [],
        # Without a seal leave the column alone: a seal that came meanwhile must not be overwritten.
        **({"seal": match.seal} if match.seal is not None else {}),
        "lifecycle": [*_timed(match.lifecycle, steps), lifecycle_step(MatchState.FINISHED, now)],
    }
    if not swap(Match, values, pk=match.pk, attempt=match.attempt, state=tuple(states)):
        return False
    transaction.on_commit(metrics.RESULTS.labels(verdict.status).inc)
    record(
        match.league_id,
        EventKind.MATCH_FINISHED,
        **verdict.outcome(match),
        **revealed(match, details),
        finished_at=now.isoformat(),
    )
    # Not urgent: a referee has room again. The end of a round, which is urgent, wakes the conductor itself.
    changed(match.league_id, match.match_id, urgent=False, result=True)
    return True


def revealed(match: Match, details: Mapping[str, Any]) -> dict[str, Any]:
    """What anyone can verify a result with (ruling, section 12): the seed of its draw, and the digest of its seal.

    If a referee that does not seal drew a number, no seed is shown: it was not given the seed of the match.
    """
    drawn_elsewhere = match.seal is None and details.get("drawn_number") is not None
    return {
        "play": match.play,
        "draw_seed": "" if drawn_elsewhere else match.draw_seed,
        "seal_sha256": sealing.digest(match.seal) if match.seal is not None else "",
        "sealed_attempt": match.seal["attempt"] if match.seal is not None else None,
    }


def _timed(lifecycle: list[dict[str, str]], steps: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The lifecycle with the referee's own steps for the last attempt, as progress reports may have skipped some."""
    if not steps:
        return lifecycle
    begun = max((n for n, step in enumerate(lifecycle) if step["state"] not in PROGRESS_STATES), default=-1)
    return [*lifecycle[: begun + 1], *steps]


def count_silences(match: Match, verdict: Verdict) -> None:
    """Count one more silence for each player that was silent, and reset the count of one that answered.

    After too many silences a player is suspended or shut down (ruling, section 8).
    """
    silent = {fault["player_id"]: fault for fault in verdict.faults if fault["error_code"] in SILENT}
    players = (match.player_a, match.player_b)
    registration.count_answers(agent_ids=[player.pk for player in players if player.code not in silent])
    for player in players:
        fault = silent.get(player.code)
        # A try that failed on our side counts if it was one too many. It says nothing of whether the player is there.
        if fault is not None and fault.get("cause") not in OWN_SIDE:
            rules = match.league.rules
            registration.count_silence(
                agent_id=player.pk,
                suspend_after=rules.suspend_after,
                shutdown_after=rules.shutdown_after,
                problem=_problem(fault, match),
            )


def _problem(fault: Mapping[str, Any], match: Match) -> str:
    """Why a player is silent, for its owner and the staff: first its own words."""
    sentence = str(fault["sentence"] or f"no answer in {match.match_id}")
    return f"it said “{fault['said']}”; {sentence}" if fault.get("said") else sentence


def decide_absent(match: Match) -> bool:
    """Decide a match without calls if one of its players is SHUTDOWN (ruling, section 8) or out of the league.

    Returns whether it was decided.
    """
    out = match.league.out
    players = match.player_ids
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
    # The league's setting no_show says whether a player that is shut down loses like a withdrawn one, or the match is
    # cancelled.
    shut_as = {"matches": VOID if match.league.rules.no_show == "cancel" else LOSE}
    status, winner = result_without_play(players, {**out, **{player.code: shut_as for player in shut}})
    verdict = Verdict(
        status=status,
        winner=winner,
        reason=f"{' and '.join(whys)}: not called",
        details=unplayed(match),
        # A match lost by the instructor's decision has no fault.
        faults=[not_called(player) for player in shut],
    )
    with transaction.atomic():
        return finish(match, verdict, states=[MatchState.PENDING, MatchState.READY])


@transaction.atomic
def cancel(*, league_id: str, match_id: str, why: str, states: Sequence[str] = OPEN) -> None:
    """End an open match as CANCELLED, which counts nowhere (the instructor, or the setting hold_s).

    Args:
        league_id, match_id: the match.
        why: a sentence for its page.
        states: the states in which it may be.

    Raises:
        ActionRefused: it is not open, or its result is being told.
    """
    match = (
        Match.objects.select_related("league", "round", "player_a", "player_b", "referee")
        .filter(league_id=league_id, match_id=match_id, state__in=states)
        .select_for_update(no_key=True, of=("self",))
        .first()
    )
    if match is None:
        sentence = _(
            "%(match)s is not open: only a match without a result, in a round that has begun, can be cancelled."
        )
        raise ActionRefused(sentence % {"match": match_id})
    sealing.refuse_sealed(match)
    verdict = Verdict(ResultStatus.CANCELLED, None, why, unplayed(match), [])
    if finish(match, verdict, states=states):
        after_result(match)
