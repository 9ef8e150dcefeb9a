"""The table of event kinds: for each its fields, who may read them, its sentence, and what it changes. Pure.

A new kind needs a name with its public fields in :mod:`league_sdk.ledger.kinds`, a row of :data:`EVENTS`, and a
function of ``matches/league`` that records it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.ledger.kinds import CORRECTIONS, EventKind, Fields
from matches.events import history
from matches.events.history import Happened, Moment

_ = str
"""Marks a text for ``make messages``; ``matches/words/events.py`` translates it."""


@dataclass(frozen=True, slots=True)
class EventType:
    """One kind of event.

    Attributes:
        words: the sentence about the event, with fields as ``%(name)s``; empty for a kind that only the desk reads.
        fold: applies the event to a moment; None if it changes no state.
        private: the types of the fields of which the ledger's chain has only a salted hash; the feed may show them.
        feed_fields: the fields that the API's feed gives to everybody; None for those that are public in the ledger.
        listed: whether the feed on pages shows it; False for a kind that the pages show elsewhere.
    """

    words: str = ""
    fold: Callable[[Moment, Happened], None] | None = None
    private: Fields = field(default_factory=dict)
    feed_fields: tuple[str, ...] | None = None
    listed: bool = True


_CORRECTION = EventType(
    "%(sentence)s",
    history.corrected,
    {"results": dict, "reason": str},
    feed_fields=("number", "kind", "match_id", "player_id", "points", "out", "reason"),
)
_LOST_ATTEMPT_FIELDS: Mapping[str, Any] = {
    "private": {"cause": str, "why": str | dict},
    "feed_fields": ("match_id", "attempt", "referee_id", "cause"),
}
EVENTS: Mapping[EventKind, EventType] = {
    EventKind.LEAGUE_CREATED: EventType(_("The league was opened."), feed_fields=()),
    EventKind.LOBBY_JOINED: EventType(_("Players that came in from the lobby: %(players)s.")),
    EventKind.PLAYER_REGISTERED: EventType(_("%(player_id)s %(name)s registered.")),
    EventKind.PLAYER_ADDED: EventType(_("%(player_id)s %(name)s was added by the instructor.")),
    EventKind.PLAYER_MOVED: EventType(
        _("%(player_id)s %(name)s is called at another address from now on."),
        private={"moved_from": str, "moved_to": str},
    ),
    EventKind.CROWD_LET_IN: EventType(private={"address": str}),
    EventKind.PLAYER_RENAMED: EventType(_("%(player_id)s is called %(name)s from now on.")),
    EventKind.LEFT_OUT: EventType(_("Not in the schedule, as their check had not passed: %(players)s.")),
    EventKind.SCHEDULE_MADE: EventType(
        _("Registration closed. Players: %(players)s, rounds: %(rounds)s."),
        history.schedule_made,
        {"renamed_by_events": bool},
        feed_fields=("players", "rounds"),
    ),
    EventKind.SETTINGS_CHANGED: EventType(
        _("The settings were changed."), private={"game_type": str}, feed_fields=(), listed=False
    ),
    EventKind.AUTO_ADVANCE_ON: EventType(_("From now on the rounds follow each other.")),
    EventKind.AUTO_ADVANCE_OFF: EventType(_("From now on the instructor starts each round.")),
    EventKind.ROUND_STARTED: EventType(
        _("Round %(round_id)s started."), history.round_started, feed_fields=("round_id",)
    ),
    EventKind.DRAW_COMMITTED: EventType(
        _("%(match_id)s has a new seed for its draw."), history.committed, feed_fields=("match_id",)
    ),
    EventKind.ROUND_OPENED: EventType(
        _("The matches of round %(round_id)s may begin."), history.round_opened, listed=False
    ),
    EventKind.ROUND_COMPLETED: EventType(_("Round %(round_id)s is over."), history.round_completed),
    EventKind.MATCH_FINISHED: EventType(
        _("%(match_id)s: %(summary)s."),
        history.match_finished,
        {"reason": str, "details": dict, "faults": list, "finished_at": str},
        feed_fields=("match_id", "round_id", "players", "status", "winner_id", "attempt", "referee_id"),
        listed=False,
    ),
    EventKind.ATTEMPT_LOST: EventType(
        _("%(match_id)s lost its referee %(referee_id)s (%(why)s) and is played again."), **_LOST_ATTEMPT_FIELDS
    ),
    EventKind.MATCH_HELD: EventType(_("%(match_id)s is held after three lost attempts."), **_LOST_ATTEMPT_FIELDS),
    EventKind.MATCH_RELEASED: EventType(_("%(match_id)s is released.")),
    EventKind.PAUSED: EventType(_("The league was paused."), history.paused_or_resumed),
    EventKind.PAUSED_AS_ABSENT: EventType(
        _("Paused: %(absent)s of %(called)s players did not answer in round %(round_id)s."), history.paused_or_resumed
    ),
    EventKind.RESUMED: EventType(_("The league was resumed."), history.paused_or_resumed),
    EventKind.PLAYED_AGAIN: EventType(_("%(match_id)s has been played again: the league's table is final again.")),
    EventKind.LEAGUE_COMPLETED: EventType(_("The league is over. %(champions_named)s"), history.completed),
    EventKind.LEAGUE_STOPPED: EventType(_("The league was stopped."), history.stopped),
    EventKind.DEMO_AFRESH: EventType(_("The demo starts again."), history.demo_afresh),
    EventKind.FROZEN: EventType(_("The board is frozen after round %(after_round)s."), history.frozen),
    EventKind.PLACE_UNVEILED: EventType(_("Place %(place)s was unveiled.")),
    EventKind.UNVEILED: EventType(_("The board is unveiled."), history.unfrozen),
    EventKind.NOTICE: EventType(
        _("From the instructor: %(text)s"), private={"text": str, "said": str}, feed_fields=("text",)
    ),
    EventKind.NOTICE_WITHDRAWN: EventType(_("The instructor withdrew a notice."), private={"said": str}),
    **dict.fromkeys(CORRECTIONS, _CORRECTION),
    **dict.fromkeys((EventKind.ROLE_GIVEN, EventKind.ROLE_TAKEN), EventType(private={"user": str, "role": str})),
    EventKind.START_PLANNED: EventType(private={"at": str, "all_rounds": bool}),
    EventKind.START_CALLED_OFF: EventType(),
    EventKind.START_FAILED: EventType(private={"at": str, "why": str}),
    EventKind.GATEWAY_CHANGED: EventType(private={"host": str, "gateway": bool, "user": str}),
}
_BY_NAME: Mapping[str, EventType] = {kind.value: row for kind, row in EVENTS.items()}
PUBLIC = tuple(kind for kind, row in EVENTS.items() if row.words)
"""Kinds that everybody may read; the others (roles, planned starts, gateways) are for the desk."""
LISTED = tuple(kind for kind in PUBLIC if EVENTS[kind].listed)
"""Kinds that the feed on pages shows."""


def check(kind: EventKind, data: Mapping[str, Any]) -> None:
    """Check the data of an event before it is recorded.

    Raises:
        TypeError: names the first field that the kind does not have, or that has another type.
    """
    for name, value in data.items():
        expected = kind.public.get(name) or EVENTS[kind].private.get(name)
        if expected is None or not isinstance(value, expected):
            raise TypeError(f"{kind}: {name}={value!r:.80} is not a field of this kind, or has a wrong type")


def find(kind: str) -> EventType | None:
    """The row of a kind as it stands in the database; None if this version of the site has no such kind."""
    return _BY_NAME.get(kind)


def feed_data(kind: EventKind, data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an event's data that the API's feed gives to everybody; the kind is one of :data:`PUBLIC`."""
    names = EVENTS[kind].feed_fields
    return {name: data[name] for name in (kind.public if names is None else names) if name in data}


def fold(moment: Moment, events: Iterable[Happened]) -> Moment:
    """Apply events, in their order, to a copy of a moment."""
    later = moment.copy()
    for event in events:
        row = find(event.kind)
        if row is not None and row.fold is not None:
            row.fold(later, event)
        later.seq, later.head, later.at = event.seq, event.digest, event.at
    return later
