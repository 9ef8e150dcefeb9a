"""READS: what a person may do on a league's desk: the buttons, the freeze, and the pages that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from league_sdk.protocol.states import LeagueState
from matches.desk.facts import Facts
from matches.view.roles import Action
from matches.view.sight import View

VERB_ACTIONS = {
    "close": Action.RUN,
    "start": Action.RUN,
    "run_all": Action.RUN,
    "pause": Action.RUN,
    "resume": Action.RUN,
    "stop": Action.RUN,
    "check_all": Action.RERUN,
    "check": Action.RERUN,
}
"""The buttons of the desk, and what one must be allowed for each."""
MATCH_ACTIONS = {"release": Action.RERUN, "cancel": Action.CORRECT}
"""What may be done to an open match, and what one must be allowed for it."""


def buttons(facts: Facts) -> list[dict[str, Any]]:
    """Every button; the one that comes next is marked. Wrong clicks are answered in words.

    One with ``warnings`` asks for a second click, which ``yes`` names.
    """
    league, open_ = facts.league, not facts.over
    going = open_ and not league.paused
    return [
        _button(facts, verb, label)
        for verb, label, fits in (
            ("close", _("Close registration and make the schedule"), league.state == LeagueState.REGISTRATION),
            ("start", _("Start round %(number)d") % {"number": _number(facts)}, going),
            ("run_all", _("Run all rounds"), going),
            ("pause", _("Pause"), going),
            ("resume", _("Resume"), league.paused),
            ("check_all", _("Check all players"), open_),
            ("check", _("Ask all agents whether they answer"), True),
            ("stop", _("Stop for good"), open_),
        )
        if fits and VERB_ACTIONS[verb] in facts.allowed
    ]


def _number(facts: Facts) -> int:
    if facts.coming is not None:
        return int(facts.coming.number)
    return int(facts.rounds[-1].number) if facts.rounds else 1


def _button(facts: Facts, verb: str, label: str) -> dict[str, Any]:
    warnings: list[str] = []
    yes = _("Start all the same")
    if verb in ("start", "run_all") and facts.active is None:
        warnings = _losses(facts)
    elif verb == "stop" and not facts.league.demo:
        # Nothing brings a stopped league back; only the demo goes by one click.
        warnings = [_("Open matches are given up and no round can be played any more.")]
        yes = _("Yes, stop this league for good")
    return {
        "verb": verb,
        "label": label,
        "url": reverse("admin:matches_league_do", args=[quote(facts.league.pk), verb]),
        "next": verb == _following(facts),
        "confirm": bool(warnings),
        "warnings": warnings,
        "yes": yes,
    }


def _following(facts: Facts) -> str:
    """What comes next, as a rule; nothing when the league is over."""
    if facts.over:
        return ""
    if facts.league.paused:
        return "resume"
    if facts.active is not None:
        return "pause"
    return "close" if facts.league.state == LeagueState.REGISTRATION else "start"


def _losses(facts: Facts) -> list[str]:
    """Who would be lost by starting now, by name."""
    found = []
    if facts.silent:
        named = ", ".join(f"{agent.code} {agent.display_name}" for agent in facts.silent)
        counted = {"silent": len(facts.silent), "total": len(facts.called), "names": named}
        found.append(_("%(silent)d of %(total)d would not answer: %(names)s.") % counted)
    if facts.waiting_for_check:
        named = ", ".join(facts.waiting_for_check)
        found.append(_("Left out, as their check has not passed: %(names)s.") % {"names": named})
    return found


def freeze(facts: Facts, view: View) -> dict[str, Any]:
    """What the public does not see, and what can be done about it.

    Args:
        view: the league with everything in it.
    """
    league = facts.league
    started, rounds = max(view.moment.rounds, default=0), len(facts.rounds)
    board = reverse("board", args=[league.pk])
    return {
        "frozen": league.frozen_seq is not None,
        "after": league.frozen.get("after"),
        "planned": league.freeze_from,
        "from": started + 1,
        "to": rounds or None,
        "fits": not facts.over and (not rounds or started < rounds),
        "place": len(view.standings) - league.unveiled if facts.over else None,
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
