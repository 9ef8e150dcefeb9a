"""A result counts, once (ruling, section 8); what follows from it is in ``endings``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import registration
from league_sdk.ledger.kinds import EventKind
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
from matches.league.play import PROGRESS_STATES, lifecycle_step
from matches.league.reports import (
    Verdict,
    read_lifecycle,
)
from matches.models import Match
from matches.view.masking import without_addresses
from storage.prepared import swap

logger = logging.getLogger(__name__)

_OPEN = (MatchState.HELD, MatchState.READY, *IN_PLAY)
SILENT = frozenset({"E001", "E009"})


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
    if not finish(match, verdict, states=IN_PLAY, steps=read_lifecycle(steps)):
        return False
    count_silences(match, verdict)
    after_result(match)
    return True


def finish(match: Match, verdict: Verdict, *, states: Sequence[str], steps: Sequence[dict[str, str]] = ()) -> bool:
    """The match goes from one of ``states`` to FINISHED; false when the attempt is over or someone else was quicker."""
    now = timezone.now()
    # Not every referee is ours: what it writes is cleaned of tokens like its transcript, and as everybody reads it, of
    # addresses.
    said = (verdict.reason, verdict.details, verdict.faults)
    reason, details, faults = (without_addresses(clean(one)) for one in said)
    verdict = replace(verdict, reason=reason, details=details, faults=faults)
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
        EventKind.MATCH_FINISHED,
        **outcome_data(match, verdict),
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


def outcome_data(match: Match, verdict: Verdict) -> dict[str, Any]:
    """A result that counts from now on, as its event tells it (``history.Outcome``)."""
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "players": [match.player_a.code, match.player_b.code],
        "status": verdict.status,
        "winner_id": verdict.winner,
        "reason": verdict.reason,
        "details": verdict.details,
        "faults": verdict.faults,
        "attempt": match.attempt,
        "referee_id": match.referee.code if match.referee else None,
    }


def _timed(lifecycle: list[dict[str, str]], steps: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The lifecycle with the steps of the last attempt as its referee timed them: progress reports skip some."""
    if not steps:
        return lifecycle
    begun = max((n for n, step in enumerate(lifecycle) if step["state"] not in PROGRESS_STATES), default=-1)
    return [*lifecycle[: begun + 1], *steps]


def count_silences(match: Match, verdict: Verdict) -> None:
    """Who was silent has one silence more, and is suspended or shut down after too many; who answered has none."""
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
        return finish(match, verdict, states=[MatchState.PENDING, MatchState.READY])


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
        if finish(match, verdict, states=states):
            after_result(match)
