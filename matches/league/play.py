"""One match between the league and its referee: READY, ASSIGNED, progress, lost, held (ruling, section 10).

Every move is a compare-and-swap on state, referee and attempt: whoever comes second changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry import registration
from agents_registry.models import Agent, Kind
from agents_registry.prepared import JsonText, Prepared, insert, swap
from league_sdk.protocol.faults import Cause, unquoted
from league_sdk.protocol.limits import MAX_TRANSCRIPT_BODY_BYTES
from league_sdk.protocol.states import HANDED_BACK, IN_PLAY, PROGRESS_ORDER, AgentState, MatchState
from league_sdk.protocol.transcript import clean_json
from league_sdk.rules.registry import get_game
from matches import watching
from matches.league.effects import changed, record, shown
from matches.league.errors import ActionRefused
from matches.masking import without_addresses
from matches.models import Match, Message

MAX_LOST_ATTEMPTS = 3
MAX_ENTRIES = 500
PROGRESS_STATES = frozenset(PROGRESS_ORDER[1:])


def lifecycle_step(state: str, at: datetime) -> dict[str, str]:
    """One line of a match's lifecycle (004 9.4.3)."""
    return {"state": state, "at": at.isoformat()}


def assign(*, match: Match, referee: Agent, lease_s: float) -> Match | None:
    """Give a READY match to a referee as its next attempt, with a new conversation_id.

    Returns the match as it is now, or None when someone else was quicker.
    """
    now = timezone.now()
    attempt = match.attempt + 1
    news: dict[str, Any] = {
        "state": MatchState.ASSIGNED,
        "attempt": attempt,
        "referee_id": referee.pk,
        "conversation_id": f"conv-{match.match_id.lower()}-{attempt:03d}-{uuid.uuid4().hex[:8]}",
        "lease_until": now + timedelta(seconds=lease_s),
        "joined": match.joined,
        "locked_in": [],
        "view": {},
        "lifecycle": [*match.lifecycle, lifecycle_step(MatchState.ASSIGNED, now)],
    }
    # A look gives out many in one transaction: a savepoint around each would be two statements more.
    with transaction.atomic(savepoint=False):
        if not swap(Match, news, pk=match.pk, state=MatchState.READY, attempt=match.attempt):
            return None
        shown(match.league_id, match.match_id)
    # Not refresh_from_db, which would forget the players and the league that came with the match.
    for name, value in news.items():
        setattr(match, name, value)
    match.referee = referee
    watching.assigned(match)
    return match


def lose_attempt(*, matches: QuerySet[Match], why: str, counts: bool = True, cause: Cause = Cause.REFEREE) -> int:
    """Matches in play are lost by their referee: READY again, or HELD after three lost attempts.

    Args:
        matches: which; those not in play are left alone.
        why: for the record.
        cause: whose side failed, REFEREE or LEAGUE; never a player's.
        counts: false when the referee gave it back in good order.

    Returns how many were lost.
    """
    now = timezone.now()
    lost = 0
    with transaction.atomic():
        # All of them at first and in their order, as a correction takes them: two would wait for each other. And what
        # was chosen may have changed while we waited: a lease that was to have run out, renewed.
        held_by = matches.filter(state__in=IN_PLAY).select_related("referee").order_by("pk")
        for match in held_by.select_for_update(no_key=True, of=("self",)):
            held = counts and match.lost_attempts + 1 >= MAX_LOST_ATTEMPTS
            state = MatchState.HELD if held else MatchState.READY
            moved = Match.objects.filter(pk=match.pk, state__in=IN_PLAY, attempt=match.attempt).update(
                state=state,
                lost_attempts=F("lost_attempts") + (1 if counts else 0),
                lease_until=None,
                held_at=now if held else None,
                locked_in=[],
                view={},
                lifecycle=[*match.lifecycle, lifecycle_step(state, now)],
            )
            if not moved:
                continue
            lost += 1
            record(
                match.league_id,
                "match_held" if held else "attempt_lost",
                match_id=match.match_id,
                attempt=match.attempt,
                referee_id=match.referee.code if match.referee else "",
                cause=cause,
                why=without_addresses(unquoted(why)),
            )
            changed(match.league_id, match.match_id)
    return lost


def lose_all_of(*, referee_id: int) -> int:
    """A referee registered again: what it was playing is lost."""
    return lose_attempt(matches=Match.objects.filter(referee_id=referee_id), why="the referee started again")


def expect_again(*, names: Collection[str]) -> int:
    """The site starts, and with it its own referees: they get no match before they have registered.

    What they were playing is given back at once, and counts as lost by nobody: it was the site that ended, and it may
    do so several times in the course of a match.

    Returns how many matches were given back.
    """
    theirs = Agent.objects.filter(kind=Kind.REFEREE, league__isnull=True, name__in=names)
    with transaction.atomic():
        registration.expect_again(names=names)
        matches = Match.objects.filter(referee__in=theirs)
        return lose_attempt(matches=matches, why="the site started again", counts=False, cause=Cause.LEAGUE)


def undeliverable(
    *,
    match_pk: int,
    attempt: int,
    lease_until: datetime | None,
    problem: str,
    refused: bool = False,
    cause: Cause = Cause.REFEREE,
) -> None:
    """start_match was not taken: the referee is suspended, the match goes to another.

    Args:
        lease_until: the lease that it was sent in. In a later one the referee has told of the match, or has been sent
            a start once more, by another conductor; then this is old news.
        cause: LEAGUE when we could not even call the referee.
        refused: the referee answered with an error. That counts as a lost attempt, so that a match that no
            referee can take is HELD in the end; a referee that was not reached has not lost it.
    """
    with transaction.atomic():
        lost = Match.objects.filter(pk=match_pk, attempt=attempt, lease_until=lease_until)
        match = lost.filter(state__in=IN_PLAY).first()
        if match is None:
            return
        if match.referee_id is not None:
            registration.suspend_referee(agent_id=match.referee_id, problem=problem)
        lose_attempt(matches=lost, why=problem, counts=refused, cause=cause)


def expire_leases(*, now: datetime) -> int:
    """Referees without a sign of life for their lease are suspended; their matches are lost."""
    late = Match.objects.filter(state__in=IN_PLAY, lease_until__lt=now)
    lost = 0
    for referee_id in set(late.values_list("referee_id", flat=True)):
        with transaction.atomic():
            # Before its matches, as its own reports do it.
            if referee_id is not None:
                registration.suspend_referee(agent_id=referee_id, problem="no sign of life")
            gone = lose_attempt(matches=late.filter(referee_id=referee_id), why="no sign of life from the referee")
            # It may have been heard in the last moment.
            transaction.set_rollback(not gone)
        lost += gone
    return lost


def renew_lease(*, match_pk: int, attempt: int, lease_s: float) -> datetime | None:
    """The start of an ASSIGNED match is sent once more: a referee counts its own time from when it gets one.

    Returns how long the match is given to that referee now; None when it is not any more.
    """
    until = timezone.now() + timedelta(seconds=lease_s)
    renewed = swap(Match, {"lease_until": until}, pk=match_pk, attempt=attempt, state=MatchState.ASSIGNED)
    return until if renewed else None


def extend_leases(*, seconds: float) -> None:
    """We were asleep ourselves for that long: nobody's lease may run out through it.

    Args:
        seconds: below 0 when the clock was set back: no lease may hold that much longer.
    """
    for match in Match.objects.filter(state__in=IN_PLAY, lease_until__isnull=False):
        Match.objects.filter(pk=match.pk, attempt=match.attempt, state__in=IN_PLAY).update(
            lease_until=match.lease_until + timedelta(seconds=seconds)
        )


_AT_ONCE = (8, 32, 256)
"""How many matches a report of progress is compared with in one statement; most tell of a few."""


def _judged(most: int) -> Prepared[Match]:
    """Matches of a referee by their ids; only what a report is compared with, as that is done ten times a second."""
    return Prepared(
        lambda *, referee_id, **ids: (
            Match.objects.filter(referee_id=referee_id, match_id__in=list(ids.values()), state__in=IN_PLAY)
            .select_related("league", "player_a", "player_b")
            .only(
                *("match_id", "attempt", "state", "lease_until", "joined", "locked_in", "view", "lifecycle"),
                *("league__game_type", "league__settings", "player_a__code", "player_b__code"),
            )
        ),
        referee_id=int,
        **{f"id{number}": str for number in range(most)},
    )


_JUDGED = {most: _judged(most) for most in _AT_ONCE}


def _in_play_of(referee: Agent, match_ids: Collection[str]) -> Iterator[Match]:
    ids = sorted(set(match_ids))
    while ids:
        most = next((size for size in _AT_ONCE if len(ids) <= size), _AT_ONCE[-1])
        # What is too few is filled up with the last one once more.
        named = {f"id{number}": ids[min(number, len(ids) - 1)] for number in range(most)}
        yield from _JUDGED[most].all(referee_id=referee.pk, **named)
        ids = ids[most:]


def progress(*, referee: Agent, items: Sequence[Mapping[str, Any]], leaving: bool = False) -> list[dict[str, Any]]:
    """Take a referee's progress report; it is its heartbeat too.

    States move forward only; who has joined and locked in and the public view are kept as told;
    transcript entries are added. Items must be read by :func:`matches.league.reports.read_progress`.

    Args:
        leaving: the referee takes no new match: none is offered to it until it registers again.

    Returns per match ``ok``, or ``lost`` when the attempt is no longer this referee's.
    """
    now = timezone.now()
    answers = []
    with transaction.atomic():
        if leaving:
            registration.suspend_referee(agent_id=referee.pk, problem="leaving")
        else:
            hear(referee)
        known = _in_play_of(referee, [item["match_id"] for item in items])
        mine = {(match.league_id, match.match_id): match for match in known}
        leases: dict[str, float] = {}
        # Of most matches only the lease is renewed: those are written together.
        renewed: dict[tuple[float, int, str], list[int]] = {}
        entries: list[tuple[Any, ...]] = []
        for item in items:
            match = mine.get((item["league_id"], item["match_id"]))
            alive = match is not None and match.attempt == item["attempt"]
            if match is not None and alive:
                if item["state"] == HANDED_BACK:
                    add_entries(match, item["transcript"])
                    lose_attempt(
                        matches=Match.objects.filter(pk=match.pk, attempt=match.attempt),
                        why=item["why"] or "the referee is leaving",
                        # With a reason it has failed there, and might fail for ever.
                        counts=bool(item["why"]),
                        cause=item["cause"],
                    )
                else:
                    if match.league_id not in leases:
                        leases[match.league_id] = lease_s_of(match, referee)
                    lease_s = leases[match.league_id]
                    if _advance(match, item, lease_s, now):
                        renewed.setdefault((lease_s, match.attempt, match.state), []).append(match.pk)
                    entries += _rows_of(match, item["transcript"])
            answers.append(
                {
                    "league_id": item["league_id"],
                    "match_id": item["match_id"],
                    "attempt": item["attempt"],
                    "status": "ok" if alive else "lost",
                }
            )
        for (lease_s, attempt, state), found in renewed.items():
            later = {"lease_until": now + timedelta(seconds=lease_s)}
            swap(Match, later, pk=tuple(found), attempt=attempt, state=state)
        _add(entries)
    return answers


def hear(referee: Agent) -> None:
    """A referee gave a sign of life; written down once a second, or at once when it changes something."""
    fresh = referee.heard_at is not None and timezone.now() - referee.heard_at < timedelta(seconds=1)
    if not fresh or referee.problem or referee.state == AgentState.SUSPENDED:
        registration.heard_from_referee(agent_id=referee.pk)


def _advance(match: Match, item: Mapping[str, Any], lease_s: float, now: datetime) -> bool:
    """Take the news of one match, if there are any; whether nothing is left to do but to renew its lease."""
    old, new = MatchState(match.state), MatchState(item["state"])
    state = new if PROGRESS_ORDER.index(new) > PROGRESS_ORDER.index(old) else old
    players = {match.player_a.code, match.player_b.code}
    # Whatever a foreign referee tells: before the draw nobody sees anything of a game with hidden choices.
    may_be_seen = state == MatchState.DRAWING_NUMBER or not get_game(match.league.game_type).hidden
    news: dict[str, Any] = {
        "joined": sorted(players.intersection(item["joined"]) | set(match.joined)),
        "locked_in": sorted(players.intersection(item["locked_in"])),
        "view": item["view"] if may_be_seen else {},
    }
    news = {name: value for name, value in news.items() if getattr(match, name) != value}
    if state != old:
        news |= {"state": state, "lifecycle": [*match.lifecycle, lifecycle_step(state, now)]}
    lease = timedelta(seconds=lease_s)
    if news:
        # When another report came between, this one is old news; the next one tells all again.
        swap(Match, {"lease_until": now + lease, **news}, pk=match.pk, attempt=match.attempt, state=old)
    if news or item["transcript"]:
        shown(match.league_id, match.match_id)
    return not news and (match.lease_until is None or match.lease_until - now < lease * 0.9)


def lease_s_of(match: Match, referee: Agent) -> float:
    """How long a match may go without a sign of life: the lease, or the longest match for a foreign referee."""
    rules, game = match.league.rules, get_game(match.league.game_type)
    if referee.sends_progress:
        return rules.referee_lease_s
    # With hidden choices everybody moves once; else there are as many turns as the game itself allows for.
    return rules.longest_match_s() if game.hidden else max(rules.longest_match_s(), game.max_round_time_sec)


def add_entries(match: Match, entries: Iterable[Mapping[str, Any]]) -> None:
    """Add transcript entries of the current attempt; ones that are there already are left alone.

    What a referee sends is cleaned of tokens once more: not every referee is ours.
    """
    _add(_rows_of(match, entries))


def _rows_of(match: Match, entries: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (match.pk, match.attempt, entry["n"], JsonText(text))
        for entry in entries
        if entry["n"] < MAX_ENTRIES and len(text := clean_json(entry)) < 2 * MAX_TRANSCRIPT_BODY_BYTES
    ]


def _add(rows: Sequence[tuple[Any, ...]]) -> None:
    if rows:
        insert(Message, ("match_id", "attempt", "n", "entry"), rows, once=True)


def release(*, league_id: str, match_id: str) -> None:
    """The instructor lets a HELD match be played again, with a clean count of lost attempts."""
    now = timezone.now()
    with transaction.atomic():
        match = Match.objects.filter(league_id=league_id, match_id=match_id).first()
        moved = match is not None and Match.objects.filter(pk=match.pk, state=MatchState.HELD).update(
            state=MatchState.READY,
            lost_attempts=0,
            held_at=None,
            lifecycle=[*match.lifecycle, lifecycle_step(MatchState.READY, now)],
        )
        if not moved:
            raise ActionRefused(_("%(match)s is not held: there is nothing to release.") % {"match": match_id})
        record(league_id, "match_released", match_id=match_id)
        changed(league_id, match_id)
