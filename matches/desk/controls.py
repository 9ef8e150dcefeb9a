"""READS: what a person may do on a league's desk: the buttons, the freeze, and the pages that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from league_sdk.protocol.states import LeagueState
from matches.desk.acting import FREEZE, LEAGUE, Button, button
from matches.desk.actions import ACTIONS, ROWS
from matches.desk.facts import Facts
from matches.view.roles import Action
from matches.view.sight import View


def buttons(facts: Facts) -> list[Button]:
    """Every button that fits; the one that comes next is marked. Wrong clicks are answered in words."""
    following = _following(facts)
    named = {"number": _number(facts)}
    made = (
        button(facts, one, key=one.name, is_next=one.name == following, named=named)
        for one in ROWS
        if one.subject == LEAGUE
    )
    return [one for one in made if one is not None]


def _number(facts: Facts) -> int:
    if facts.coming is not None:
        return int(facts.coming.number)
    return int(facts.rounds[-1].number) if facts.rounds else 1


def _following(facts: Facts) -> str:
    """What comes next, as a rule; nothing when the league is over."""
    if facts.over:
        return ""
    if facts.league.paused:
        return "resume"
    if facts.active is not None:
        return "pause"
    return "close" if facts.league.state == LeagueState.REGISTRATION else "start"


def freeze(facts: Facts, view: View) -> dict[str, Any]:
    """What the public does not see, and what can be done about it.

    Args:
        view: the league with everything in it.
    """
    league = facts.league
    started, rounds = max(view.moment.rounds, default=0), len(facts.rounds)
    board = reverse("board", args=[league.pk])
    place = len(view.standings) - league.unveiled if facts.over else None
    unveil = ACTIONS[FREEZE, "unveil"]
    return {
        "frozen": league.frozen_seq is not None,
        "after": league.frozen.get("after"),
        "planned": league.freeze_from,
        "from": started + 1,
        "to": rounds or None,
        "fits": not facts.over and (not rounds or started < rounds),
        "place": place,
        "unveil": button(facts, unveil, key="unveil", is_next=True, named={"place": place}) if place else None,
        "lift": button(facts, ACTIONS[FREEZE, "lift"], key="lift"),
        "call_off": button(facts, ACTIONS[FREEZE, "call-off"]),
        "public_url": board,
        "staff_url": f"{board}?as=staff",
    }


def links(facts: Facts) -> list[dict[str, str]]:
    """The other pages about this league, as far as this person may open them."""
    admin_id, plain_id = quote(facts.league.pk), facts.league.pk
    # The demo's people are our own: it has neither a roster nor anything to export.
    real = not facts.league.demo
    pages: Sequence[tuple[str, str, str, bool, Action]] = (
        ("admin:matches_league_corrections", admin_id, _("Corrections"), real, Action.WATCH),
        ("admin:matches_league_roster", admin_id, _("Roster: who may enter"), real, Action.EDIT),
        ("admin:matches_league_notices", admin_id, _("Announcements and messages"), real, Action.RUN),
        ("admin:matches_league_papers", admin_id, _("Export and evidence sheets"), real, Action.EDIT),
        ("admin:matches_league_people", admin_id, _("Who runs this league"), real, Action.EDIT),
        ("admin:matches_league_settings", admin_id, _("Name and settings"), True, Action.EDIT),
        ("screen", plain_id, _("Projector view"), True, Action.WATCH),
        ("join", plain_id, _("Join page for students"), real, Action.WATCH),
    )
    return [
        {"label": label, "url": url}
        for name, league_id, label, fits, action in pages
        if fits and action in facts.allowed and (url := _address(name, league_id))
    ]


def _address(name: str, league_id: str) -> str:
    """The address of a page, or nothing where this site does not have it."""
    try:
        return reverse(name, args=[league_id])
    except NoReverseMatch:
        return ""
