"""READS: whether agents have passed the check, one word per agent; and the readiness wall, one tile per student.

Readiness belongs to the address that was checked: whoever listens there is who will play.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind, RosterEntry
from league_sdk.ledger.standings import natural
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.states import AgentState, LeagueState
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
        why: the one thing to mend, when the latest did not pass. It may quote the agent and its address: not for the
            public.
        judged_id: the report that ``passed`` comes from; None when no check has come to a verdict.
    """

    word: Ready = Ready.NOT_CHECKED
    passed: bool = False
    check_id: UUID | None = None
    why: str = ""
    judged_id: UUID | None = None

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
    judged_id = judged[-1].check_id if judged else None
    if coming:
        return Readiness(Ready.CHECKING, passed, coming[-1].check_id, why, judged_id)
    if last is None:
        return Readiness()
    return Readiness(Ready.PASSED if passed else Ready.FAILED, passed, last.check_id, why, judged_id)


def not_ready(league: League, players: Collection[Agent]) -> dict[str, str]:
    """Players that the schedule leaves out, as their check has not passed: id and readiness (``require_check``)."""
    if not league.rules.require_check:
        return {}
    known = readiness(players)
    return {player.code: known[player.pk].word.value for player in players if not known[player.pk].passed}


def asking_leagues() -> Any:
    """Leagues that are open and demand a passed check."""
    return League.objects.filter(state=LeagueState.REGISTRATION, demo=False, settings__require_check=True)


# The wall ---------------------------------------------------------------------------------------


class TileState(StrEnum):
    """How far a student is; the order is that of what needs a hand most."""

    NOT_REGISTERED = "not_registered"
    UNREACHABLE = "unreachable"
    WRONG_ANSWERS = "wrong_answers"
    NOT_CHECKED = "not_checked"
    CHECKING = "checking"
    SLOW = "slow"
    READY = "ready"

    @property
    def label(self) -> str:
        """The state in words."""
        return {
            TileState.NOT_REGISTERED: _("not registered"),
            TileState.UNREACHABLE: _("unreachable"),
            TileState.WRONG_ANSWERS: _("wrong answers"),
            TileState.NOT_CHECKED: _("not checked"),
            TileState.CHECKING: _("checking"),
            TileState.SLOW: _("slow"),
            TileState.READY: _("ready"),
        }[self]


_ORDER = list(TileState)


@dataclass(frozen=True, slots=True)
class Tile:
    """One enrolled student on the readiness wall, or one agent that belongs to nobody on the roster.

    Attributes:
        step: the one next thing to do, in words of ours: it quotes neither the agent nor its address.
        player_id, display_name: of the agent that needs a hand most; empty while there is none.
        passed: whether it would be able to play now, as far as its check tells.
        more: how many further agents the student has.
        owner: the name on the roster, for the staff only; empty for an agent without one.
    """

    state: TileState
    step: str = ""
    player_id: str = ""
    display_name: str = ""
    passed: bool = False
    more: int = 0
    owner: str = ""


class Finding(NamedTuple):
    """What the wall needs of a report: the first clause that fails, and milliseconds to join and to choose."""

    failed: str
    join_ms: int
    choice_ms: int


KEPT_FINDINGS = 2000
ESSENTIAL = ("http.reached", "http.json", "join.in_time", "join.accepts", "choice.in_time", "choice.legal")
"""The clauses without which nothing can be played, in the order in which they are met."""
SLOW_SHARE = 0.5
"""An agent that needs more of its time than this, with nothing else to do, is slow (our choice)."""

_lock = threading.Lock()
_findings: OrderedDict[UUID, Finding] = OrderedDict()


def wall(league: League, *, now: datetime | None = None) -> list[Tile]:
    """The readiness wall of a league: first the students with an agent by its id, then the others by name.

    Costs the same few queries for any number of students; only the present, so not for a frozen board.
    """
    entries = list(RosterEntry.objects.filter(league=league).order_by("name", "pk"))
    players = list(league.agents.filter(kind=Kind.PLAYER))
    known = readiness(players, now=now)
    found = _found(one.judged_id for one in known.values() if one.judged_id is not None)
    by_owner: dict[int, list[Tile]] = {}
    tiles = []
    for player in players:
        tile = _tile(player, known[player.pk], found, league)
        if player.owner_id is None:
            tiles.append(tile)
        else:
            by_owner.setdefault(player.owner_id, []).append(tile)
    missing = []
    for entry in entries:
        own = sorted(by_owner.get(entry.pk, []), key=lambda tile: _ORDER.index(tile.state))
        if own:
            tiles.append(replace(own[0], more=len(own) - 1, owner=entry.name))
        else:
            step = _("Register your agent at the address above.")
            missing.append(Tile(TileState.NOT_REGISTERED, step, owner=entry.name))
    return [*sorted(tiles, key=lambda tile: natural(tile.player_id)), *missing]


def _tile(player: Agent, known: Readiness, found: Mapping[UUID, Finding], league: League) -> Tile:
    finding = found.get(known.judged_id) if known.judged_id is not None else None
    state, step = _state(player, known, finding, league)
    able = known.passed and state != TileState.UNREACHABLE
    return Tile(state, step, player.code, player.display_name, able)


def _state(player: Agent, known: Readiness, finding: Finding | None, league: League) -> tuple[TileState, str]:
    """What an agent is, and its next step. What its last call showed is newer than its report."""
    if player.state == AgentState.SHUTDOWN:
        return TileState.UNREACHABLE, _("It has left: register it again.")
    if known.word == Ready.CHECKING:
        return TileState.CHECKING, _("Leave it running.")
    if player.problem or (finding is not None and finding.failed == "http.reached"):
        return TileState.UNREACHABLE, _step("http.reached", league)
    if finding is None:
        return TileState.NOT_CHECKED, _("Have it checked: page “Check an agent”.")
    if not known.passed:
        late = finding.failed in ("join.in_time", "choice.in_time")
        return TileState.SLOW if late else TileState.WRONG_ANSWERS, _step(finding.failed, league)
    slow = _slow(finding, league.rules)
    return (TileState.SLOW, slow) if slow else (TileState.READY, _("Leave it running."))


def _step(clause: str, league: League) -> str:
    """The next step when this clause of the check fails."""
    rules = league.rules
    choice = _("Choose exactly “even” or “odd”.") if league.game_type == "even_odd" else _("Choose a legal move.")
    return {
        "http.reached": _("Start it; check address, port, firewall."),
        "http.json": _("Answer POST at your address with JSON."),
        "join.in_time": _("Accept invitations within %(s)g s.") % {"s": rules.join_timeout_s},
        "join.accepts": _("Answer invitations with accept: true."),
        "choice.in_time": _("Choose within %(s)g s.") % {"s": rules.move_timeout_s},
        "choice.legal": choice,
    }.get(clause, _("Mend what your report says first."))


def _slow(finding: Finding, rules: LeagueSettings) -> str:
    """What is slow about an agent that passes; empty when nothing is."""
    for took_ms, limit_s, sentence in (
        (finding.join_ms, rules.join_timeout_s, _("Accept faster: %(took).1f s of %(limit)g s.")),
        (finding.choice_ms, rules.move_timeout_s, _("Choose faster: %(took).1f s of %(limit)g s.")),
    ):
        if took_ms > SLOW_SHARE * limit_s * 1000:
            return sentence % {"took": took_ms / 1000, "limit": limit_s}
    return ""


def _found(check_ids: Iterable[UUID]) -> dict[UUID, Finding]:
    """The findings of reports that have ended, and so change no more: each is read once per process."""
    wanted = set(check_ids)
    with _lock:
        found = {check_id: _findings[check_id] for check_id in wanted & _findings.keys()}
    missing = wanted - found.keys()
    if missing:
        # A report may have a hundred thousand characters: a few at a time.
        rows = Check.objects.filter(pk__in=missing).values_list("pk", "report").iterator(chunk_size=20)
        read = {check_id: _finding(report) for check_id, report in rows}
        found |= read
        with _lock:
            _findings.update(read)
            while len(_findings) > KEPT_FINDINGS:
                _findings.popitem(last=False)
    return found


def _finding(report: Mapping[str, Any]) -> Finding:
    clauses = {clause["id"]: clause for clause in report.get("clauses", [])}
    order = [*(name for name in ESSENTIAL if name in clauses), *clauses]
    failed = next((name for name in order if clauses[name]["verdict"] == "fails"), "")

    def took(*names: str) -> int:
        return max((clauses[name].get("elapsed_ms") or 0 for name in names if name in clauses), default=0)

    return Finding(failed, took("join.in_time", "second.join"), took("choice.in_time", "second.choice"))
