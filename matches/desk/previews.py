"""READS: what an action of an admin list would do to a ticked row; said before it is done (``desk.ticked``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from league_sdk.protocol.states import LeagueState
from matches.desk.acting import RowPreview
from matches.desk.facts import Facts, start_warnings
from matches.league import lifecycle, making
from matches.league.errors import ActionRefused

REVOKED = gettext_noop("What it sends with its tokens is refused until it has registered again.")
READMITTED = gettext_noop("Whoever registers next under its name and address is taken for it, without proof.")


def always(warning: str) -> Callable[[Any], RowPreview]:
    """For :attr:`acting.Listed.preview`: a warning that holds for every row, marked for translation."""
    return lambda _row: RowPreview(warnings=[_(warning)])


def run_all(facts: Facts) -> RowPreview:
    """What running all rounds would do, or why it would be refused."""
    follows = _("The rounds that follow start by themselves.")
    if facts.active is not None and not facts.league.paused:
        return RowPreview([follows])
    return start(facts, follows)


def start(facts: Facts, *more: str) -> RowPreview:
    """What starting the next round would do, and ``more`` sentences; or why it would be refused."""
    try:
        lifecycle.refuse_start(facts.league)
    except ActionRefused as refusal:
        return RowPreview([_("It would be refused: %(why)s") % {"why": refusal.sentence}])
    return RowPreview([_first_step(facts), *more], start_warnings(facts))


def _first_step(facts: Facts) -> str:
    if facts.league.state != LeagueState.REGISTRATION:
        number = facts.coming.number if facts.coming is not None else 1
        return _("Round %(number)d starts.") % {"number": number}
    if making.is_being_made(facts.league):
        return _("The schedule is being made; round 1 starts when it is complete.")
    return _("Registration is closed, the schedule is made, and round 1 starts.")
