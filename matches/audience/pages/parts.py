"""Leagues, matches, players and results as templates read them; shared by all pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.urls import get_script_prefix, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from league_sdk.ledger.kinds import EventKind
from league_sdk.ledger.standings import Row
from league_sdk.protocol.states import MatchState
from league_sdk.rules.registry import games
from matches.events.history import Outcome
from matches.events.registry import LISTED
from matches.models import Event, Match
from matches.view import queries, summaries, telling
from matches.view.boards import Board, read_board
from matches.view.drawings import Drawing
from matches.view.sight import View
from matches.view.stories import Lead
from matches.words import states, stories
from matches.words.events import happened

MAX_KEPT_ADDRESSES = 4096


@dataclass(frozen=True, slots=True)
class LeagueHead:
    """A league in a list of leagues and at the head of its pages.

    Attributes:
        frozen_after: the last round that this audience sees while the board is frozen; else None.
        as_staff: the query that keeps staff behind the freeze, for the page's links (:func:`as_staff`); else empty.
    """

    league_id: str
    display_name: str
    game_type: str
    summary: summaries.Summary
    frozen_after: int | None = None
    starts_at: datetime | None = None
    as_staff: str = ""

    @property
    def url(self) -> str:
        return reverse("board", args=[self.league_id]) + self.as_staff

    @property
    def game_name(self) -> str:
        """The display name of the game; its type if the game is not installed any more."""
        game = games().get(self.game_type)
        return game.display_name if game is not None else self.game_type

    @property
    def state_label(self) -> str:
        return states.league_state(self.summary.state)

    @property
    def headline(self) -> str:
        return states.headline(self.summary, self.frozen_after)


def league_of(view: View) -> LeagueHead:
    """A league as one audience sees it."""
    league = view.league
    return LeagueHead(
        league.pk,
        league.display_name,
        league.game_type,
        summaries.summary(view),
        view.frozen_after,
        league.starts_at if view.is_present else None,
        as_staff(view),
    )


# Addresses --------------------------------------------------------------------------------------


def as_staff(view: View) -> str:
    """The query to append to a page's links so that staff who look behind a freeze stay there; else empty."""
    return "?as=staff" if view.is_present and view.league.frozen_seq is not None else ""


def match_url(view: View, match_id: str) -> str:
    """The address of a match's page."""
    return _address(get_script_prefix(), "match", view.league.pk, match_id) + as_staff(view)


def player_url(view: View, player_id: str) -> str:
    """The address of a player's page."""
    return _address(get_script_prefix(), "player", view.league.pk, player_id) + as_staff(view)


@lru_cache(maxsize=MAX_KEPT_ADDRESSES)
def _address(_mounted_at: str, page: str, league_id: str, item: str) -> str:
    # Cached, as a push of a board has more than a hundred addresses, which are always the same.
    return reverse(page, args=[league_id, item])


# Players and matches ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Player:
    """A player; ``joined`` and ``locked_in`` are set in a match, ``row`` for an opponent that the table shows."""

    player_id: str
    display_name: str
    url: str
    joined: bool = False
    locked_in: bool = False
    row: Row | None = None


def player_of(view: View, player_id: str, *, joined: bool = False, locked_in: bool = False) -> Player:
    """A player of a view by its id."""
    name = view.names.get(player_id, player_id)
    return Player(player_id, name, player_url(view, player_id), joined, locked_in)


@dataclass(frozen=True, slots=True)
class Result:
    """How a match ended."""

    outcome: Outcome
    view: View

    @property
    def url(self) -> str:
        return match_url(self.view, self.outcome.match_id)

    @property
    def a(self) -> Player:
        return player_of(self.view, self.outcome.players[0])

    @property
    def b(self) -> Player:
        return player_of(self.view, self.outcome.players[1])

    @property
    def summary(self) -> str:
        return states.result_summary(
            self.outcome.status, self.outcome.winner, self.outcome.details, self.outcome.faults
        )

    @property
    def corrected(self) -> str:
        """The reason of the correction that set this result; empty if it is as the referee reported it."""
        correction = self.outcome.correction
        return "" if correction is None else str(self.view.moment.corrections.get(correction, {}).get("reason", ""))

    @property
    def drawn_number(self) -> Any:
        return self.outcome.details.get("drawn_number")

    @property
    def number_parity(self) -> str:
        return states.drawn_parity(self.outcome.details)

    @property
    def choices(self) -> dict[str, Any]:
        """The choice of each player by id, without lists of moves, which the drawing of the match shows."""
        choices = self.outcome.details.get("choices")
        if not isinstance(choices, dict):
            return {}
        return {player: choice for player, choice in choices.items() if not isinstance(choice, (dict, list))}


class Deadline(NamedTuple):
    """How long a running match waits for its players' answers, in seconds.

    Attributes:
        since: when they were asked.
        first: the time limit of one try.
        limit: the time limit of all tries together.
    """

    since: str
    first: str
    limit: str
    tries: int


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match in a list: its players, its state, and its result, if it has one."""

    match_id: str
    url: str
    a: Player
    b: Player
    state: str
    attempt: int
    referee_id: str | None
    board: Board | None = None
    result: Result | None = None
    deadline: Deadline | None = None
    drawing: Drawing | None = None
    moves: int = 0

    @property
    def to_move(self) -> str | None:
        """The id of the player whose turn it is, as far as a board says."""
        if self.board is not None:
            return self.board.to_move
        return self.drawing.to_move or None if self.drawing is not None else None

    @property
    def state_label(self) -> str:
        return states.match_state(self.state, self.to_move)

    @property
    def progress(self) -> str:
        """How far a running match is and for whom it waits, in a few words for one line of the board."""
        if self.to_move is None and self.state == MatchState.WAITING_FOR_PLAYERS and self.a.joined != self.b.joined:
            return _("waiting for %(player)s") % {"player": (self.b if self.a.joined else self.a).player_id}
        if self.to_move is None and self.state == MatchState.COLLECTING_CHOICES:
            if self.moves:
                return ngettext("%(count)d move", "%(count)d moves", self.moves) % {"count": self.moves}
            done = [player.player_id for player in (self.a, self.b) if player.locked_in]
            if len(done) == 2:
                return _("both have locked in")
            if done:
                return _("%(player)s has locked in") % {"player": done[0]}
        return self.state_label


def match_row(match: Match, view: View, *, board: bool = True) -> MatchRow:
    """A match as one audience sees it.

    Args:
        board: whether its board is read, for which the column ``view`` must be loaded.
    """
    outcome = view.outcome(match.match_id)
    row = queries.match_row(match, view)
    a, b = (_seat(match, code, view, row["state"]) for code in (match.player_a.code, match.player_b.code))
    return MatchRow(
        match.match_id,
        match_url(view, match.match_id),
        a,
        b,
        row["state"],
        row["attempt"],
        row["referee_id"],
        _board(match, view) if board else None,
        Result(outcome, view) if outcome is not None else None,
    )


def _seat(match: Match, player_id: str, view: View, state: str) -> Player:
    if view.is_present:
        return player_of(view, player_id, joined=player_id in match.joined, locked_in=player_id in match.locked_in)
    # When each player joined is not stored; but nobody is asked for a choice before both have joined.
    locked_in = state == MatchState.DRAWING_NUMBER
    return player_of(view, player_id, joined=locked_in or state == MatchState.COLLECTING_CHOICES, locked_in=locked_in)


def _board(match: Match, view: View) -> Board | None:
    """The board of a turn-based match, present or final; None when there is none to show."""
    players = (match.player_a.code, match.player_b.code)
    outcome = view.outcome(match.match_id)
    if outcome is not None:
        board = read_board(dict(outcome.details), players)
        # Show no board if the match ended before the first move.
        return board if board is not None and board.moves else None
    return read_board(match.view, players) if view.is_present and match.state == MatchState.COLLECTING_CHOICES else None


class FeedLine(NamedTuple):
    """An event as a line of the feed."""

    seq: int
    at: datetime
    text: str


def feed(view: View, limit: int) -> list[FeedLine]:
    """The latest events and the stories of the latest results, the newest first.

    Of results that came in together the most interesting story is first.
    """
    events = view.league.events.filter(kind__in=LISTED, seq__lte=view.moment.seq).order_by("-seq")[: 2 * limit]
    latest = telling.latest(view, limit)
    lines = [
        (event.seq, FeedLine(event.seq, event.at, _happened(event, latest.leads, view)))
        for event in events
        if not _is_stale(event, view)
    ]
    for burst in latest.bursts:
        newest = max(story.seq for story in burst)
        lines += [(newest, FeedLine(story.seq, story.at, stories.in_words(story, view.names))) for story in burst]
    return [line for _seq, line in sorted(lines, key=lambda pair: pair[0], reverse=True)[:limit]]


def _is_stale(event: Event, view: View) -> bool:
    """Whether an event says that a round started that is over by now: another line says so."""
    if event.kind != EventKind.ROUND_STARTED:
        return False
    started = view.moment.rounds.get(int(event.data["round_id"]))
    return started is not None and started.completed_at is not None


def _happened(event: Event, leads: Mapping[int, Lead], view: View) -> str:
    if event.kind == EventKind.ROUND_COMPLETED:
        number = int(event.data["round_id"])
        if number in leads:
            return stories.round_over(number, leads[number], view.names)
    return happened(event.kind, event.data)
