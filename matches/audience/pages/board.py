"""The board of a league: its table, the current round, and what has just happened."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.conf import settings as site
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from agents_registry.models import Kind
from league_sdk.ledger.standings import Row
from league_sdk.protocol.states import LeagueState, MatchState
from matches.audience.pages import charts, evening, luck, notices, parts, wall_boards
from matches.audience.pages.drawings import drawn
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import Deadline, MatchRow
from matches.audience.pages.results import recent_results
from matches.models import Delivery, DeliveryState, Match, Round
from matches.view import queries, readiness, sight
from matches.view.courses import Courses, courses
from matches.view.interest import MAX_BOARDS
from matches.view.readiness import Readiness, Ready, read_word
from matches.view.sight import View

FRAGMENTS = ("header", "notices", "standings", "evening", "current", "results", "feed", "ranks", "cross")
RECENT = 12
"""Lines of the feed, and of the results that are not folded away."""


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The board as one audience sees it."""
    current = _current(view)
    progress = courses(view)
    head, lucky = parts.league_of(view), luck.of_table(view)
    decisions = _decisions(view)
    matches = queries.matches_of(view.league).filter(round=current) if current is not None else []
    results = recent_results(view, RECENT)
    return {
        "league": head,
        "standings": _standings(view, decisions, progress, lucky.bars if lucky is not None else {}),
        "luck": lucky,
        "spark_box": _spark_box(progress, head.summary.rounds),
        "decisions": decisions,
        "left_out": {code: read_word(word).label for code, word in sorted(view.league.left_out.items())},
        "matches": _drawn([(_match(match, view), match) for match in matches], view, current, staff=key.staff),
        "bye": parts.player_of(view, current.bye.code) if current is not None and current.bye is not None else None,
        "results": results[:RECENT],
        "earlier_results": results[RECENT:],
        "feed": parts.feed(view, RECENT),
        "ledger": _ledger(view),
        "seq": view.moment.seq,
        "notices": notices.of_view(view),
        # Lazy, as the replay shows the board without charts.
        "ranks": SimpleLazyObject(lambda: charts.ranks(view, progress)),
        "cross": SimpleLazyObject(lambda: charts.cross(view)),
        "evening": SimpleLazyObject(lambda: evening.of_view(view)),
        "socket_path": socket_path(key) if view.live else None,
    }


def _current(view: View) -> Round | None:
    then = view.moment.current
    if then is None:
        return None
    return view.league.rounds.select_related("bye").filter(number=then.number).first()


# The table --------------------------------------------------------------------------------------


class Decision(NamedTuple):
    """A valid correction about a player rather than a match: points, or removal from the league."""

    player_id: str
    points: str
    out: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A line of the table.

    Attributes:
        delta: places gained since the previous round.
        agent_state: the state of its agent; empty where that says nothing about the player.
        behind: whether the agent has not received a message that others have received.
        given: points from corrections, with a sign; empty for none.
        why: the reasons of these corrections.
        unveiled: whether this is the final place, shown although the board is frozen.
        spark: the points by round, as the ``points`` of an SVG polyline.
        luck: between which places it would be if its matches were played again; None while that is not known.
    """

    row: Row
    url: str
    delta: int
    agent_state: str
    ready: Readiness | None
    behind: bool
    given: str
    why: str
    unveiled: bool
    spark: str
    luck: luck.Bar | None


def _standings(
    view: View, decisions: list[Decision], progress: Courses, bars: Mapping[str, luck.Bar]
) -> list[BoardRow]:
    gained, states, ready, behind = parts.places_gained(view), _states(view), _ready(view), _behind(view)
    sparks, unveiled = _sparks(progress), view.unveiled
    return [
        BoardRow(
            row,
            parts.player_url(view, row.player_id),
            gained.get(row.player_id, 0),
            states.get(row.player_id, ""),
            ready.get(row.player_id),
            row.player_id in behind,
            _with_sign(row.given),
            "; ".join(decision.reason for decision in decisions if decision.player_id == row.player_id),
            row.player_id in unveiled,
            # An unveiled final place does not follow from the rounds that are shown.
            sparks.get(row.player_id, "") if row.player_id not in unveiled else "",
            bars.get(row.player_id),
        )
        for row in view.listed
    ]


def _states(view: View) -> dict[str, str]:
    if view.frozen_after is not None:
        return dict(view.league.frozen["states"])
    if not view.now or view.over:
        # When a league is over, every player is shut down, which says nothing about the player.
        return {}
    return dict(view.league.agents.filter(kind=Kind.PLAYER).values_list("code", "state"))


def _ready(view: View) -> dict[str, Readiness]:
    """Readiness by player id during registration. "Not checked" is shown only if the league demands a check."""
    league = view.league
    if not view.now or league.state != LeagueState.REGISTRATION:
        return {}
    players = list(league.agents.filter(kind=Kind.PLAYER))
    known = readiness.readiness(players)
    return {
        player.code: known[player.pk]
        for player in players
        if league.rules.require_check or known[player.pk].word != Ready.NOT_CHECKED
    }


def _behind(view: View) -> set[str]:
    """Ids of the players that have not received a broadcast although a later one has reached somebody."""
    if not view.now or view.moment.state != LeagueState.RUNNING:
        return set()
    rows = Delivery.objects.filter(broadcast__league=view.league, agent__kind=Kind.PLAYER)
    told = rows.filter(state=DeliveryState.SETTLED).order_by("-broadcast_id").values_list("broadcast_id", flat=True)
    newest = told.first()
    waiting = rows.filter(state=DeliveryState.PENDING).values_list("agent__code", "broadcast_id")
    return {code for code, broadcast in waiting if newest is not None and broadcast < newest}


def _decisions(view: View) -> list[Decision]:
    return [
        Decision(player_id, _with_sign(points), correction.get("out", {}).get(player_id), correction["reason"])
        for _number, correction in sorted(view.moment.corrections.items())
        for player_id, points in _players_of(correction).items()
        if not correction["undone"]
    ]


def _players_of(correction: Mapping[str, Any]) -> dict[str, int]:
    return {**dict.fromkeys(correction.get("out", {}), 0), **correction.get("points", {})}


def _with_sign(points: int) -> str:
    return f"{points:+d}".replace("-", "\N{MINUS SIGN}") if points else ""


def _sparks(progress: Courses) -> dict[str, str]:
    rounds = [0, *progress.rounds]
    return {
        player_id: " ".join(f"{x},{-y}" for x, y in zip(rounds, [0, *course], strict=True))
        for player_id, course in progress.points.items()
    }


def _spark_box(progress: Courses, planned: int) -> str:
    """The ``viewBox`` of all sparklines, as wide as rounds are planned; empty before the first result."""
    if not progress.rounds:
        return ""
    values = [points for course in progress.points.values() for points in course]
    low, high = min(0, *values), max(1, *values)
    return f"0 {-high} {max(planned, progress.rounds[-1])} {high - low}"


# The round that is on ---------------------------------------------------------------------------


def _match(match: Match, view: View) -> MatchRow:
    row = parts.match_row(match, view)
    return replace(row, deadline=_deadline(match, view)) if row.result is None and row.board is None else row


def _drawn(rows: list[tuple[MatchRow, Match]], view: View, current: Round | None, *, staff: bool) -> list[MatchRow]:
    """The matches of the round; those that the projector shows as boards have them here, too, small."""
    places: Collection[str] = [row.match_id for row, _match in rows]
    if current is not None and view.now:
        moves = {match.match_id: len(match.moves) for _row, match in rows}
        places = wall_boards.chosen(view, [row for row, _match in rows], moves, current.number, staff=staff)
    elif len(rows) > MAX_BOARDS:
        # In the past nothing is followed.
        places = ()
    return [drawn(row, view, match.view) if row.match_id in places else row for row, match in rows]


def _deadline(match: Match, view: View) -> Deadline | None:
    """How long a running match waits for its players; None if unknown, as for the moves of turn-based games."""
    rules = view.league.rules
    asked = {
        MatchState.WAITING_FOR_PLAYERS: rules.join_timeout_s,
        MatchState.COLLECTING_CHOICES: rules.move_timeout_s,
    }.get(MatchState(match.state))
    if not view.now or asked is None or not match.lifecycle:
        return None
    waits = sum(rules.retry_base_s * rules.retry_factor**n for n in range(rules.max_retries))
    tries = rules.max_retries + 1
    longest = min(rules.request_patience_s, tries * asked + waits)
    return Deadline(match.lifecycle[-1]["at"], f"{asked:g}", f"{longest:g}", tries)


# The ledger -------------------------------------------------------------------------------------


class Ledger(NamedTuple):
    """The hash of the last event in the ledger, the address of all events, and the command that verifies them."""

    head: str
    url: str
    command: str


def _ledger(view: View) -> Ledger | None:
    """The ledger up to the moment of the view.

    During a freeze the staff, too, get the head of the public ledger, as no other can be verified there.
    """
    league = view.league
    behind_freeze = view.now and league.frozen_seq is not None
    head = sight.public(league).head if behind_freeze else view.head
    if not head:
        return None
    address = f"{site.LEAGUE_PUBLIC_URL.rstrip('/')}{reverse('board', args=[league.pk])}"
    command = f"python -m league_sdk verify {address} --head {head}"
    return Ledger(head, f"/api/leagues/{league.pk}/ledger", command)
