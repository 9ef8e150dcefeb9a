"""What an action was shown for: the facts that its button, form or call rests on, and whether they are still so.

A click may come late, twice, or from a page that somebody else's click has made old. So a button carries the facts that
its action depends on (``DeskAction.shown``), and so may a call of the API or a tool. In the transaction of the action
they are compared with what is so now. Only the facts named there count: a result that arrives meanwhile stops nobody
from pausing a league.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, create_model

from agents_registry.isolating import isolated
from agents_registry.models import Agent, RosterEntry
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import RoundState
from league_sdk.protocol.transcript import storable
from matches.league.errors import ActionRefused
from matches.models import League, Match, Notice, Role
from matches.view import audit
from matches.words import states

Values = Mapping[str, Any]
"""Facts by name as they were shown; perhaps with :data:`AT`."""

AT = "at"
"""Beside the facts: when the page was shown, in seconds. It counts for those of which no value is known."""

ARRIVED: ContextVar[float] = ContextVar("arrived", default=float("inf"))
"""When the request that is answered reached this process, where it then waited for its turn, in seconds."""


_TEXTS = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class Fact:
    """Something that an action was shown for.

    Attributes:
        said: what is said if it is no longer so, from the value that was shown and the present one.
        logged: the name under which the log of who did what has it, or the action that changes it.
        read: reads it from the row of the league, match or agent.
        text: its description in the API, which takes it as an optional field of this name; empty: the API has it not.
        kind: its type there.
        moved_by: the events that move it. A call that names no value was made for the state in which it arrived: none
            of these may have happened since.
    """

    said: Callable[[Any, Any], str]
    logged: str
    read: Callable[[Any], Any]
    text: str = ""
    kind: Any = str
    moved_by: tuple[EventKind, ...] = ()


def _changed(was: Any, now: Mapping[str, Any]) -> str:
    """What differs between two sets of values by name, as it is now."""
    known = was if isinstance(was, dict) else read_object(str(was))
    differing = sorted(name for name in {*now, *known} if now.get(name) != known.get(name))
    texts = (f"{name}: {now.get(name, '–')}" for name in differing[:10])
    return _("Changed since this was shown: %(what)s") % {"what": isolated(", ".join(texts)[:300])}


FACTS: dict[str, Fact] = {
    "round": Fact(
        lambda was, now: (
            _("Round %(number)s has been started already") % {"number": was or now - 1}
            if str(was or now - 1) in map(str, range(1, now))
            else _("The next round is round %(now)s") % {"now": now}
        ),
        "rounds",
        lambda league: 1 + league.rounds.exclude(state=RoundState.PENDING).count(),
        "The round that is to start; refused if it has been started already.",
        int,
        (EventKind.ROUND_STARTED, EventKind.ROUND_COMPLETED),
    ),
    "status": Fact(
        lambda _was, now: (
            _("The league is not as it was shown: it is “%(now)s” now") % {"now": states.league_state(now)}
        ),
        "state",
        lambda league: league.state,
        "The status that the league has now; refused if it has another.",
    ),
    "paused": Fact(
        lambda _was, now: _("The league has been paused already") if now else _("The league goes on already"),
        "paused",
        lambda league: league.paused,
        "Whether the league is paused now; refused if it is not so.",
        bool,
    ),
    "places_unveiled": Fact(
        lambda _was, _now: _("Another place has been unveiled already"),
        "unveiled",
        lambda league: league.unveiled,
        "How many places are unveiled now; refused if it is another number.",
        int,
        (EventKind.PLACE_UNVEILED, EventKind.UNVEILED),
    ),
    "frozen_after_round": Fact(
        lambda _was, _now: _("The freeze has begun or ended since this was shown"),
        "frozen_seq",
        lambda league: league.frozen.get("after") if league.frozen_seq is not None else None,
        "The last round that the public sees now; refused if it is another.",
        int,
    ),
    "freeze_planned": Fact(
        lambda _was, _now: _("The planned freeze has been changed since this was shown"),
        "freeze_from",
        lambda league: league.freeze_from,
        "The round from which on a freeze is planned now; null: none is. Refused if it is another.",
        int,
    ),
    "planned_start": Fact(
        lambda _was, _now: _("The planned start has been changed since this was shown"),
        "starts_at",
        lambda league: league.starts_at,
        "For when a start is planned now; null: none is. Refused if that has changed.",
        AwareDatetime,
    ),
    "series": Fact(
        lambda _was, _now: _("The league has been put into another series since this was shown"),
        "series_id",
        lambda league: league.series_id,
        "The series that the league is in now; null: none. Refused if it is another.",
    ),
    "notices": Fact(
        lambda _was, _now: _("A notice has been published since this was shown"),
        "notices",
        lambda league: Notice.objects.filter(league=league).count(),
    ),
    "roles": Fact(
        _changed,
        "roles",
        lambda league: dict(Role.objects.filter(league=league).values_list("user__username", "name")),
    ),
    "roster": Fact(
        _changed,
        "roster.import",
        lambda league: {one.email: f"{one.name} ({one.code})" for one in RosterEntry.objects.filter(league=league)},
    ),
    "was": Fact(
        _changed,
        "league.edit",
        lambda league: league.rules.model_dump(),
        "All settings as they were read; refused if one has another value now.",
        dict[str, Any],
    ),
    "attempt": Fact(
        lambda _was, _now: _("The match has been given to a referee again since this was shown"),
        "attempt",
        lambda match: match.attempt,
        "The attempt that the match is at; refused if it is another.",
        int,
    ),
    "play": Fact(
        lambda _was, _now: _("The match is played again since this was shown"),
        "play",
        lambda match: match.play,
        "1 for the first play, and one more for each replay; refused if it is another.",
        int,
    ),
    "registered_at": Fact(
        lambda _was, _now: _("The agent has registered again since this was shown"),
        "registered_at",
        lambda agent: agent.registered_at.replace(microsecond=0),
        "When the agent registered; refused if it has registered again since.",
        AwareDatetime,
    ),
}
"""The facts by name."""


def as_text(value: Any) -> str:
    """The value of a fact as it is in URLs and forms."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return json.dumps(value, sort_keys=True) if isinstance(value, bool | dict) else "" if value is None else str(value)


def carried(names: Iterable[str], row: Any) -> dict[str, str]:
    """What a button or a form carries of what it is shown for.

    Args:
        names: those of the facts (``DeskAction.shown``).
        row: the row of the league, match or agent, as it is shown.
    """
    return {name: as_text(FACTS[name].read(row)) for name in names}


def sent(names: Iterable[str], *fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says that its action was shown for, of the fields of its URL or its form."""
    return {name: one[name] for name in names for one in fields if name in one}


class _Known(BaseModel):
    """What the caller knows; refused if it is no longer so. Everything may be left out."""

    model_config = ConfigDict(extra="forbid")


def options_of(names: Iterable[str], body: type[BaseModel] | None, name: str) -> type[BaseModel] | None:
    """The body of an endpoint, or the arguments of a tool, with the facts of its action as optional fields.

    Args:
        names: those of the facts.
        body: without them, if there is one.
        name: what it is called in the API's document if there is none.
    """
    texts = {one: FACTS[one].text for one in names if FACTS[one].text}
    added: dict[str, Any] = {one: (FACTS[one].kind | None, Field(None, description=texts[one])) for one in texts}
    base = body or _Known
    return (
        create_model(body.__name__ if body else name, __base__=base, __doc__=base.__doc__, **added) if added else body
    )


def split(names: Sequence[str], body: BaseModel | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of an action, and the facts that came with them, from a body of :func:`options_of`."""
    if body is None:
        return {}, {}
    return body.model_dump(exclude={*names}), body.model_dump(include={*names}, exclude_unset=True)


def read_object(text: str) -> dict[str, str]:
    """Texts by name from a field of a page, as JSON; none if it is malformed, as if there were no such field."""
    try:
        return _TEXTS.validate_json(text)
    except ValueError:
        return {}


def refuse_if_changed(names: Sequence[str], about: Values, shown: Values) -> None:
    """Refuse an action that was shown for another state, in the transaction that carries it out.

    The rows that the facts are about stay locked until its end.

    Args:
        names: those of the facts (``DeskAction.shown``).
        about: the arguments of the verb.
        shown: the values for which it was shown; what is missing is compared by time (:attr:`Fact.moved_by`).

    Raises:
        ActionRefused: one of the facts is no longer so.
    """
    for row in _rows(names, about) if names else ():
        for name in names:
            fact, was = FACTS[name], shown.get(name)
            now = fact.read(row)
            is_other = as_text(now) != was if isinstance(was, str) else now != was
            if is_other if name in shown else _moved_since(shown.get(AT) or ARRIVED.get(), fact, row):
                last = audit.who(audit.last_change(row, fact.logged))
                # The last change in the log is not always the one that matters: the clock starts rounds, too.
                sentence = _("%(what)s (last change on record: %(who)s); nothing was changed.")
                raise ActionRefused(sentence % {"what": fact.said(was, now), "who": last})


def _rows(names: Sequence[str], about: Values) -> QuerySet[Any]:
    league_id = storable(str(about.get("league_id") or ""))
    if ids := audit.agent_ids_of(about):
        rows: QuerySet[Any] = Agent.objects.filter(pk__in=ids).order_by("pk")
    elif "match_id" in about:
        rows = Match.objects.filter(league_id=league_id, match_id=storable(str(about["match_id"])))
    else:
        rows = League.objects.filter(pk=league_id)
    # What moves a state compares it with the expected one itself, and has to lock matches before their league.
    return rows if "status" in names else rows.select_for_update(no_key=True)


def _moved_since(at: Any, fact: Fact, row: Any) -> bool:
    last = row.events.filter(kind__in=fact.moved_by).order_by("-seq").first() if fact.moved_by else None
    return last is not None and last.at.timestamp() > float(at)
