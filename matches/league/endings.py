"""End rounds and leagues, and tell agents (ruling, sections 4 and 8); also after a correction of an earlier round."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from agents_registry.models import Kind
from agents_registry.registering import registration
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.states import OPEN, LeagueState, MatchState, RoundState
from matches.league import absence, outbox
from matches.league.effects import changed, record
from matches.league.leagues import LEAGUE
from matches.models import League, Match, Round
from matches.view import queries, sight
from matches.view.rows import Champions
from matches.view.sight import View
from matches.view.summaries import champions_of
from storage import clock
from storage.prepared import Prepared, swap

_FINAL_FIELDS = ("rank", "tied_rank", "player_id", "display_name", "points")
MAX_CORRECTED_ENDS = 5
"""How often LEAGUE_COMPLETED is sent again, however often an instructor changes who has won; the table always is."""
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
    now = clock.now()
    with transaction.atomic():
        ended = {"state": RoundState.COMPLETED, "completed_at": now}
        if not swap(Round, ended, pk=played.pk, state=RoundState.RUNNING):
            return False
        record(played.league_id, EventKind.ROUND_COMPLETED, round_id=played.number)
        # Read the league only now that its row is locked: the board may have been unveiled a moment ago.
        league = LEAGUE.one(pk=played.league_id)
        if league is None:
            raise League.DoesNotExist(played.league_id)
        view = sight.public(league)
        tag = f"conv-{league.pk}-round-{played.number}"
        _tell_standings(view, conversation_id=f"{tag}-standings", round_number=played.number)
        later = league.rounds.filter(number__gt=played.number).order_by("number")
        next_round = later.values_list("number", flat=True).first()
        outbox.queue(
            league,
            MessageType.ROUND_COMPLETED,
            conversation_id=f"{tag}-complete",
            round_number=played.number,
            **queries.round_summary(played, hidden=view.frozen_after is not None),
            next_round_id=next_round,
        )
        complete_if_done(league)
        if next_round is not None:
            absence.pause_if_absent(league, played)
        changed(league.pk)
    return True


def complete_if_done(league: League) -> None:
    """RUNNING to COMPLETED when every match of every round is finished. Agents are told unless the board is frozen.

    A match of an earlier round that is played again delays the end: it may decide who is champion.
    """
    if league.rounds.exclude(state=RoundState.COMPLETED).exists() or _open_ones(league).exists():
        return
    now = clock.now()
    running = League.objects.filter(pk=league.pk, state=LeagueState.RUNNING)
    # A pause ends with the league, but not that of the demo: the demo would restart.
    if not running.update(state=LeagueState.COMPLETED, completed_at=now, paused=league.demo and F("paused")):
        return
    league.state = LeagueState.COMPLETED
    record(league.pk, EventKind.LEAGUE_COMPLETED, **_champions(league))
    if league.frozen_seq is None:
        announce_end(league)


def announce_end(league: League, *, corrected: str = "") -> None:
    """Queue LEAGUE_COMPLETED for players and referees (ruling, section 4), and shut down players with no open match.

    Players that were taken out of the league get it, too: it may be the first that they hear of it.

    Args:
        corrected: if players have been told another champion, what makes the conversation_id of this message unique.
    """
    view = sight.everything(league)
    outbox.queue(
        league,
        MessageType.LEAGUE_COMPLETED,
        conversation_id=f"conv-{league.pk}-{corrected}complete",
        # The number of the last round: some agents expect a round in every message.
        round_number=league.rounds.count(),
        referees=outbox.referees_of(league),
        to_retired=bool(corrected),
        to_out=league.out,
        total_rounds=league.rounds.count(),
        total_matches=league.matches.count(),
        **champions_of(view.standings),
        final_standings=[{key: getattr(row, key) for key in _FINAL_FIELDS} for row in view.standings],
        **queries.out_mark(view),
        **({"corrected": True} if corrected else {}),
    )
    _retire(league)


def _announce_other_champion(view: View, *, tag: str) -> None:
    """Queue LEAGUE_COMPLETED once more if others have won by now than it said last (ruling, section 14)."""
    league = view.league
    told = league.broadcasts.filter(message_type=MessageType.LEAGUE_COMPLETED).order_by("-pk")
    last = told.first()
    if last is None or told.count() > MAX_CORRECTED_ENDS or _open_ones(league).exists():
        return
    # Messages of earlier versions have no list of champions, and null for none.
    winners = last.payload.get("champions", filter(None, [last.payload["champion"]]))
    if {row["player_id"] for row in winners} != {row["player_id"] for row in champions_of(view.standings)["champions"]}:
        announce_end(league, corrected=f"{tag}-")


# Results in rounds that are over, by corrections and replays, and other points for them -----------


def after_result(match: Match) -> None:
    """Do what a new result leads to: close its round, or, if the round was over, send the players the new table."""
    if match.round.state != RoundState.COMPLETED:
        close_round_if_done(match.round)
        return
    with transaction.atomic():
        league = League.objects.get(pk=match.league_id)
        if league.state == LeagueState.COMPLETED:
            record(league.pk, EventKind.PLAYED_AGAIN, match_id=match.match_id, **_champions(league))
        _send_table_again(sight.public(league), tag=f"{match.match_id.lower()}-{match.attempt}")
        changed(league.pk)


def after_settings(league: League) -> None:
    """Send the players of a league that is under way or over the table that its new points give.

    Args:
        league: its row, read after the change was recorded.
    """
    _send_table_again(sight.public(league), tag=f"settings-{league.event_seq}")


@transaction.atomic
def after_correction(after: View, rounds: Iterable[Round], *, tag: str, gone: Collection[str]) -> None:
    """Do what a correction of matches of these rounds leads to: close rounds, and send the players the new table.

    Args:
        after: the view of everything after the correction; closing rounds does not change its table.
        tag: makes the conversation_id of the messages about this correction unique.
        gone: the players that it took out of the league; they are told as well.
    """
    for round_ in rounds:
        close_round_if_done(round_)
    after.league.refresh_from_db()
    _send_table_again(after, tag=tag, gone=gone)


def _send_table_again(view: View, *, tag: str, gone: Collection[str] = ()) -> None:
    """Queue LEAGUE_STANDINGS_UPDATE, or end the league if this result was the last one missing.

    After the end LEAGUE_COMPLETED goes out again if somebody else is champion now.

    While the board is frozen nothing is queued: even the fact of an update would leak a hidden result.
    """
    league = view.league
    was_over = league.state == LeagueState.COMPLETED
    complete_if_done(league)
    if league.frozen_seq is not None or league.state not in (LeagueState.RUNNING, LeagueState.COMPLETED):
        return
    if league.state == LeagueState.COMPLETED and not was_over:
        return
    current = view.moment.current
    _tell_standings(
        view,
        conversation_id=f"conv-{league.pk}-{tag}-standings",
        round_number=current.number if current is not None else None,
        to_retired=was_over,
        to_out=gone,
    )
    if was_over:
        _retire(league)
        _announce_other_champion(view, tag=tag)


def _tell_standings(view: View, *, conversation_id: str, round_number: int | None, **receivers: Any) -> None:
    outbox.queue(
        view.league,
        MessageType.LEAGUE_STANDINGS_UPDATE,
        conversation_id=conversation_id,
        round_number=round_number,
        **receivers,
        standings=queries.standings_rows(view),
        ledger_head=view.head or None,
        **queries.frozen_mark(view),
        **queries.out_mark(view),
    )


def _champions(league: League) -> Champions:
    return champions_of(sight.everything(league).standings)


def _open_ones(league: League) -> QuerySet[Match]:
    # By their rounds, as in ``lifecycle.give_up_matches``. Matches that are PENDING are in rounds that are PENDING.
    return Match.objects.filter(round__league=league, state__in=OPEN)


def _retire(league: League) -> None:
    """Shut the players of a league whose rounds are over down, except those that still have a match to play."""
    unfinished = _open_ones(league).values_list("player_a_id", "player_b_id")
    waiting = {pk for pair in unfinished for pk in pair}
    players = league.agents.filter(kind=Kind.PLAYER).exclude(pk__in=waiting)
    registration.retire(agent_ids=players.values_list("pk", flat=True))
