"""READS: the buttons of a league's desk, its freeze, and links to its other pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.translation import gettext as _

from league_sdk.protocol.states import LeagueState
from matches.desk.acting import FREEZE, LEAGUE, Button, button
from matches.desk.actions import ACTIONS, ROWS
from matches.desk.facts import Facts
from matches.view.roles import Permission
from matches.view.sight import View


def buttons(facts: Facts) -> list[Button]:
    """The buttons that make sense now and that the person may use; the usual next step is highlighted."""
    next_step = _next_step(facts)
    named = {"number": _round_to_start(facts)}
    made = (
        button(facts, row, key=row.name, is_next=row.name == next_step, named=named)
        for row in ROWS
        if row.subject == LEAGUE
    )
    return [*_afterwards(facts), *(shown for shown in made if shown is not None)]


def _afterwards(facts: Facts) -> list[Button]:
    """The button after the end of a league, to exports and evidence; the next step unless the board is frozen."""
    if not facts.over or facts.league.demo or Permission.EDIT not in facts.allowed:
        return []
    papers = reverse("admin:matches_league_papers", args=[quote(facts.league.pk)])
    return [Button(_("Export the league, print evidence sheets"), papers, is_next=facts.league.frozen_seq is None)]


def _round_to_start(facts: Facts) -> int:
    if facts.coming is not None:
        return int(facts.coming.number)
    return int(facts.rounds[-1].number) if facts.rounds else 1


def _next_step(facts: Facts) -> str:
    """The name of the action that usually comes next; empty when the league is over."""
    if facts.over:
        return ""
    if facts.league.paused:
        return "resume" if facts.own_pause is None else "start"
    if facts.active is not None:
        return "pause"
    return "close" if facts.league.state == LeagueState.REGISTRATION else "start"


def freeze(facts: Facts, view: View) -> dict[str, Any]:
    """What the template shows about the freeze: its state, and the buttons that change it.

    Args:
        facts: the facts of the league.
        view: the league as staff see it.
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


def links(facts: Facts) -> list[Button]:
    """Links to the other pages of the league that the person may open."""
    admin_id, plain_id = quote(facts.league.pk), facts.league.pk
    # The players of the demo league are the site's own: it has no roster and no exports.
    real = not facts.league.demo
    # The URL name, the league's id in the URL, the label, whether the league has the page, the permission.
    pages: Sequence[tuple[str, str, str, bool, Permission]] = (
        ("admin:matches_league_corrections", admin_id, _("Corrections"), real, Permission.WATCH),
        ("admin:matches_league_roster", admin_id, _("Roster: who may enter"), real, Permission.EDIT),
        ("admin:matches_league_remote", admin_id, _("Remote control of the screens"), True, Permission.RUN),
        ("admin:matches_league_notices", admin_id, _("Notices"), real, Permission.RUN),
        ("admin:matches_league_papers", admin_id, _("Export and evidence sheets"), real, Permission.EDIT),
        ("admin:matches_league_people", admin_id, _("Who runs this league"), real, Permission.EDIT),
        ("admin:matches_league_settings", admin_id, _("Name and settings"), True, Permission.EDIT),
        ("admin:matches_league_season", admin_id, _("Series, clone, delete"), real, Permission.EDIT),
        ("screen", plain_id, _("Projector view"), True, Permission.WATCH),
        ("join", plain_id, _("Join page for students"), real, Permission.WATCH),
    )
    offered = [
        Button(label, reverse(name, args=[league_id]))
        for name, league_id, label, exists, permission in pages
        if exists and permission in facts.allowed
    ]
    if Permission.WATCH in facts.allowed:
        table = reverse("admin:matches_league_compatibility")
        offered.append(Button(_("Who understood which message"), f"{table}?{urlencode({'league': plain_id})}"))
    if Permission.EDIT in facts.allowed:
        log = reverse("admin:matches_auditentry_changelist")
        offered.append(Button(_("Who did what"), f"{log}?{urlencode({'league_id': plain_id})}"))
    return offered
