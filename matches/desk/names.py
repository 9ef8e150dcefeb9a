"""READS: marks and problems about names that look like another's, for desk and roster (decision 16)."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind, NameRefused, RosterEntry
from agents_registry.names import lookalikes
from agents_registry.names.skeletons import alike
from league_sdk.protocol.states import LeagueState
from matches.desk.acting import NAME, Button, Problem, button
from matches.desk.actions import ACTIONS
from matches.desk.facts import Facts

MAX_WITH_BUTTONS = 10
"""Refused registrations that have buttons at the same time; the next ones follow when these are decided."""


def marks(agents: Iterable[Agent]) -> dict[int, str]:
    """For agents whose names look like others': those others as text, by the agent's primary key."""
    by_kind: dict[str, list[Agent]] = {}
    for agent in agents:
        by_kind.setdefault(agent.kind, []).append(agent)
    return {
        agent.pk: ", ".join(f"{other.code} “{isolated(other.display_name)}”" for other in others)
        for same_kind in by_kind.values()
        for agent, others in alike(same_kind, lambda agent: (agent.name, agent.display_name))
    }


def people_marks(people: Iterable[RosterEntry]) -> dict[int, str]:
    """Like :func:`marks`, for the people on a roster."""
    pairs = alike(people, lambda person: (person.name,))
    return {person.pk: ", ".join(f"“{isolated(other.name)}”" for other in others) for person, others in pairs}


def problems(facts: Facts) -> list[Problem]:
    """Registrations that were refused for their names, with buttons that let them in."""
    rows = lookalikes.refused(league_id=facts.league.pk)
    if facts.league.state != LeagueState.REGISTRATION:
        # No player can register any more.
        rows = [row for row in rows if row.kind == Kind.REFEREE]
    if not rows:
        return []
    text = ngettext(
        "%(count)d registration was refused, as its name looks like another's. Let it in if you know whose it is.",
        "%(count)d registrations were refused, as their names look like others'. Let in those that you know.",
        len(rows),
    )
    remedies = [shown for row in rows[:MAX_WITH_BUTTONS] for shown in _buttons(facts, row)]
    return [Problem(text % {"count": len(rows)}, remedies, [_cause(row) for row in rows])]


def _cause(row: NameRefused) -> str:
    sentence = _("“%(name)s” at %(address)s, from %(caller)s, looks like “%(other)s” (%(id)s)")
    return sentence % {
        "name": isolated(row.name),
        "address": isolated(row.endpoint),
        "caller": isolated(row.caller) if row.caller else _("an address that a proxy hides"),
        "other": isolated(row.resembles.display_name),
        "id": row.resembles.code,
    }


def _buttons(facts: Facts, row: NameRefused) -> list[Button]:
    named = {"name": isolated(row.name), "other": row.resembles.code, "address": isolated(row.endpoint)}
    own_label = {}
    if row.kind == Kind.REFEREE:
        own_label = {"label": _("Let the referee “%(name)s” at %(address)s in beside %(other)s") % named}
    buttons = (
        button(facts, ACTIONS[NAME, "let-in"], row.pk, named=named, **own_label),
        button(facts, ACTIONS[NAME, "put-aside"], row.pk, named=named),
    )
    return [shown for shown in buttons if shown is not None]
