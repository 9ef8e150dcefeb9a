"""READS: names that look like another's, as the desk and the roster show them (decision 16)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry import lookalikes
from agents_registry.looks import alike
from agents_registry.models import Agent, Kind, NameRefused, RosterEntry
from league_sdk.protocol.states import LeagueState
from matches.desk.acting import NAME, Button, button
from matches.desk.actions import ACTIONS
from matches.desk.facts import Facts

MOST_SHOWN = 10
"""So many have buttons at a time; those that come after take their place."""


def marks(agents: Iterable[Agent]) -> dict[int, str]:
    """The agents whose names look like others', by primary key, each with whom it looks like; one pass over all."""
    by_kind: dict[str, list[Agent]] = {}
    for agent in agents:
        by_kind.setdefault(agent.kind, []).append(agent)
    return {
        agent.pk: ", ".join(f"{other.code} “{other.display_name}”" for other in others)
        for some in by_kind.values()
        for agent, others in alike(some, lambda one: (one.name, one.display_name))
    }


def people_marks(people: Iterable[RosterEntry]) -> dict[int, str]:
    """The same of the people on a roster."""
    found = alike(people, lambda one: (one.name,))
    return {person.pk: ", ".join(f"“{other.name}”" for other in others) for person, others in found}


def problems(facts: Facts) -> list[dict[str, Any]]:
    """Registrations that were refused for their names, each to be let in by one click."""
    rows = lookalikes.refused(league_id=facts.league.pk, everywhere=True)
    if facts.league.state != LeagueState.REGISTRATION:
        # No player comes in any more, whatever it is called.
        rows = [row for row in rows if row.kind == Kind.REFEREE]
    if not rows:
        return []
    text = ngettext(
        "%(count)d registration was refused, as its name looks like another's. Let it in if you know whose it is.",
        "%(count)d registrations were refused, as their names look like others'. Let in those that you know.",
        len(rows),
    )
    return [
        {
            "text": text % {"count": len(rows)},
            "causes": [_cause(row) for row in rows],
            "remedies": [one for row in rows[:MOST_SHOWN] for one in _buttons(facts, row)],
        }
    ]


def _cause(row: NameRefused) -> str:
    sentence = _("“%(name)s” at %(address)s, from %(caller)s, looks like “%(other)s” (%(id)s)")
    return sentence % {
        "name": row.name,
        "address": row.endpoint,
        "caller": row.caller or _("an address that a proxy hides"),
        "other": row.resembles.display_name,
        "id": row.resembles.code,
    }


def _buttons(facts: Facts, row: NameRefused) -> list[Button]:
    what = {"name": row.name, "other": row.resembles.code, "address": row.endpoint}
    referee = {}
    if row.kind == Kind.REFEREE:
        referee = {"label": _("Let the referee “%(name)s” at %(address)s in beside %(other)s") % what}
    found = (
        button(facts, ACTIONS[NAME, "let-in"], row.pk, named=what, **referee),
        button(facts, ACTIONS[NAME, "put-aside"], row.pk, named=what),
    )
    return [one for one in found if one is not None]
