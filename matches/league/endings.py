"""Rounds end, leagues end, and what is told then (ruling, sections 4 and 8); also what changes after the end."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from agents_registry import registration
from agents_registry.models import Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from matches.league import outbox
from matches.league.effects import changed, record
from matches.league.find import LEAGUE
from matches.models import League, Match, Round
from matches.view import queries, sight
from matches.view.sight import View
from matches.view.summaries import champion_of
from storage.prepared import Prepared, swap

_UNFINISHED = Prepared(
    lambda *, round_id: Match.objects.filter(round_id=round_id).exclude(state=MatchState.FINISHED).only("pk")[:1],
    round_id=int,
)


def close_round_if_done(played: Round) -> bool:
    """RUNNING to COMPLETED when every match of the round is finished.

    Queues LEAGUE_STANDINGS_UPDATE, then ROUND_COMPLETED; after the last round LEAGUE_COMPLETED.
    """
    if _UNFINISHED.all(round_id=played.pk):
        return False
    now = timezone.now()
    with transaction.atomic():
        ended = {"state": RoundState.COMPLETED, "completed_at": now}
        if not swap(Round, ended, pk=played.pk, state=RoundState.RUNNING):
            return False
        record(played.league_id, EventKind.ROUND_COMPLETED, round_id=played.number)
        # Read when nobody else can change it any more: the board may have been unveiled a moment ago.
        league = LEAGUE.one(pk=played.league_id)
        if league is None:
            raise League.DoesNotExist(played.league_id)
        seen = sight.public(league)
        tag = f"conv-{league.pk}-round-{played.number}"
        _tell_standings(seen, conversation_id=f"{tag}-standings", round_number=played.number)
        following = league.rounds.filter(number__gt=played.number).order_by("number").values_list("number", flat=True)
        outbox.queue(
            league,
            MessageType.ROUND_COMPLETED,
            conversation_id=f"{tag}-complete",
            round_number=played.number,
            **queries.round_summary(played, hidden=seen.frozen_after is not None),
            next_round_id=following.first(),
        )
        complete_if_done(league)
        changed(league.pk)
    return True


def complete_if_done(league: League) -> None:
    """RUNNING to COMPLETED when every match of every round is finished. Unless the board is frozen it is made known.

    An earlier round's match that is played again is waited for: it may decide who is champion.
    """
    if league.rounds.exclude(state=RoundState.COMPLETED).exists() or _is_open(league):
        return
    now = timezone.now()
    running = League.objects.filter(pk=league.pk, state=LeagueState.RUNNING)
    # A pause ends with the league; that of the demo goes on, for it would begin afresh.
    if not running.update(state=LeagueState.COMPLETED, completed_at=now, paused=league.demo and F("paused")):
        return
    league.state = LeagueState.COMPLETED
    rows = sight.everything(league).standings
    record(league.pk, EventKind.LEAGUE_COMPLETED, champion=champion_of(rows[0]) if rows else None)
    if league.frozen_seq is None:
        announce_end(league)


def announce_end(league: League) -> None:
    """Queues LEAGUE_COMPLETED for players and referees (ruling, section 4); after it the players may go."""
    rows = queries.standings_rows(sight.everything(league))
    outbox.queue(
        league,
        MessageType.LEAGUE_COMPLETED,
        conversation_id=f"conv-{league.pk}-complete",
        # The last one: some agents look for a round in every message.
        round_number=league.rounds.count(),
        referees=outbox.referees_of(league),
        total_rounds=league.rounds.count(),
        total_matches=league.matches.count(),
        champion={key: rows[0][key] for key in ("player_id", "display_name", "points")} if rows else None,
        final_standings=[{key: row[key] for key in ("rank", "player_id", "display_name", "points")} for row in rows],
    )
    _retire(league)


# What corrections bring: matches of rounds that are over ----------------------------------------


def after_result(match: Match) -> None:
    """What a result sets off: its round ends, or, in a round that was over, everybody is told the new table."""
    if match.round.state != RoundState.COMPLETED:
        close_round_if_done(match.round)
        return
    with transaction.atomic():
        league = League.objects.get(pk=match.league_id)
        if league.state == LeagueState.COMPLETED:
            rows = sight.everything(league).standings
            first = champion_of(rows[0]) if rows else None
            record(league.pk, EventKind.PLAYED_AGAIN, match_id=match.match_id, champion=first)
        _tell_anew(league, tag=f"{match.match_id.lower()}-{match.attempt}")
        changed(league.pk)


def after_correction(league: League, rounds: Iterable[Round], *, tag: str) -> None:
    """What a correction of matches of these rounds sets off: rounds end, everybody is told the new table.

    Args:
        tag: what the messages about it are told apart by.
    """
    with transaction.atomic():
        for one in rounds:
            close_round_if_done(one)
        league.refresh_from_db()
        _tell_anew(league, tag=tag)


def _tell_anew(league: League, *, tag: str) -> None:
    """LEAGUE_STANDINGS_UPDATE, or the end of the league where this was what it waited for.

    While the board is frozen nothing is sent: that there is news would be news.
    """
    was_over = league.state == LeagueState.COMPLETED
    complete_if_done(league)
    if league.frozen_seq is not None or league.state not in (LeagueState.RUNNING, LeagueState.COMPLETED):
        return
    if league.state == LeagueState.COMPLETED and not was_over:
        return
    seen = sight.public(league)
    current = seen.moment.current
    _tell_standings(
        seen,
        conversation_id=f"conv-{league.pk}-{tag}-standings",
        round_number=current.number if current is not None else None,
        to_retired=was_over,
    )
    if was_over:
        _retire(league)


def _tell_standings(seen: View, *, conversation_id: str, round_number: int | None, to_retired: bool = False) -> None:
    outbox.queue(
        seen.league,
        MessageType.LEAGUE_STANDINGS_UPDATE,
        conversation_id=conversation_id,
        round_number=round_number,
        to_retired=to_retired,
        standings=queries.standings_rows(seen),
        ledger_head=seen.moment.head or None,
        **queries.frozen_mark(seen),
    )


def _is_open(league: League) -> bool:
    return league.matches.exclude(state=MatchState.FINISHED).exists()


def _retire(league: League) -> None:
    """The players may go, but for those that a match is still to be played with."""
    unfinished = league.matches.exclude(state=MatchState.FINISHED).values_list("player_a_id", "player_b_id")
    waiting = {pk for pair in unfinished for pk in pair}
    players = league.agents.filter(kind=Kind.PLAYER).exclude(pk__in=waiting)
    registration.retire(agent_ids=players.values_list("pk", flat=True))
