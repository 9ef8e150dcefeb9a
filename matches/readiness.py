"""READS: whether agents have passed the check, one word per agent.

Readiness belongs to the address that was checked: whoever listens there is who will play.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.protocol.states import LeagueState
from matches.models import Check, CheckState, League


class Ready(StrEnum):
    """What is known of an agent's check."""

    PASSED = "passed"
    FAILED = "failed"
    CHECKING = "checking"
    NOT_CHECKED = "not_checked"


def label(ready: str) -> str:
    """A readiness in words."""
    return {
        Ready.PASSED: _("passed"),
        Ready.FAILED: _("failed"),
        Ready.CHECKING: _("checking"),
        Ready.NOT_CHECKED: _("not checked"),
    }[Ready(ready)]


@dataclass(frozen=True, slots=True)
class Readiness:
    """What is known of one agent's check.

    Attributes:
        word: one of :class:`Ready`; a check that is on its way hides the result before it.
        passed: whether the latest check that has ended passed; this is what a league asks.
        check_id: the report to look at: the one on its way, else the latest; None when there is none.
        why: the one thing to mend, when the latest did not pass.
    """

    word: Ready = Ready.NOT_CHECKED
    passed: bool = False
    check_id: UUID | None = None
    why: str = ""

    @property
    def label(self) -> str:
        """The word, translated."""
        return label(self.word)


class Line(NamedTuple):
    """A check without its report."""

    check_id: UUID
    state: str
    passed: bool | None
    problem: str
    due_at: datetime
    created_at: datetime
    finished_at: datetime | None

    @property
    def open(self) -> bool:
        """Whether it is still to come or on its way."""
        return self.state in (CheckState.WANTED, CheckState.RUNNING)


def history(agents: Iterable[Agent]) -> dict[tuple[str, str], list[Line]]:
    """The checks of some agents' addresses by (address, kind), oldest first; one query."""
    keys = {agent.endpoint_key for agent in agents}
    rows = Check.objects.filter(endpoint_key__in=keys).order_by("created_at", "pk")
    found: dict[tuple[str, str], list[Line]] = {}
    for key, role, *line in rows.values_list("endpoint_key", "role", *Line._fields):
        found.setdefault((key, role), []).append(Line(*line))
    return found


def readiness(agents: Collection[Agent], *, now: datetime | None = None) -> dict[int, Readiness]:
    """The readiness of some agents by primary key; one query for all."""
    now = now or timezone.now()
    known = history(agents)
    return {agent.pk: _of(known.get((agent.endpoint_key, agent.kind), []), now) for agent in agents}


def _of(lines: list[Line], now: datetime) -> Readiness:
    ended = [line for line in lines if not line.open]
    # A check that could not be carried out takes nothing away from a verdict before it.
    judged = [line for line in ended if line.passed is not None]
    last = (judged or ended or [None])[-1]
    passed = last is not None and last.passed is True
    # One that waits for its turn to try again is not news yet: the result before it stands.
    coming = [line for line in lines if line.open and (line.state == CheckState.RUNNING or line.due_at <= now)]
    why = last.problem if last is not None and not passed else ""
    if coming:
        return Readiness(Ready.CHECKING, passed, coming[-1].check_id, why)
    if last is None:
        return Readiness()
    return Readiness(Ready.PASSED if passed else Ready.FAILED, passed, last.check_id, why)


def not_ready(league: League, players: Collection[Agent]) -> dict[str, str]:
    """Players that the schedule leaves out, as their check has not passed: id and readiness (``require_check``)."""
    if not league.rules.require_check:
        return {}
    known = readiness(players)
    return {player.code: known[player.pk].word.value for player in players if not known[player.pk].passed}


def asking_leagues() -> Any:
    """Leagues that are open and demand a passed check."""
    return League.objects.filter(state=LeagueState.REGISTRATION, demo=False, settings__require_check=True)
