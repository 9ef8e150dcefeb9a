"""READS: the verdict on an agent, made here and nowhere else: desk, wall, report, "My agent" and API all show it.

Readiness belongs to the checked address, as the program that listens there is the one that will play. What a check over
an agent's own line found belongs to that agent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.addresses.reading import line_key
from agents_registry.isolating import cut
from agents_registry.models import Agent, AgentToken, Kind, ReachedBy
from agents_registry.words import VOICES, reach_for_all
from league_sdk.protocol import sentences
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.sentences import Sentence
from league_sdk.protocol.states import AgentState, LeagueState
from matches.models import Check, CheckState, League
from matches.view.recent import Recent
from storage import clock


class Ready(models.TextChoices):
    """The verdict on an agent, the same on every page and in the API; those who need help most come first."""

    UNREACHABLE = "unreachable", gettext_lazy("unreachable")
    WRONG_ANSWERS = "wrong_answers", gettext_lazy("wrong answers")
    TOO_SLOW = "too_slow", gettext_lazy("too slow")
    NOT_CHECKED = "not_checked", gettext_lazy("not checked")
    CHECKING = "checking", gettext_lazy("checking")
    SLOW = "slow", gettext_lazy("slow")
    READY = "ready", gettext_lazy("ready")


_EARLIER_WORDS = {"passed": Ready.READY, "failed": Ready.WRONG_ANSWERS}
"""The verdicts of version 0.9, which leagues of that time have stored."""
_OVER = (LeagueState.COMPLETED, LeagueState.STOPPED)
UNABLE = (Ready.UNREACHABLE, Ready.WRONG_ANSWERS, Ready.TOO_SLOW)
"""The verdicts on agents that would lose their matches in their present state."""


def read_ready(stored: str) -> Ready:
    """The verdict that a league has stored."""
    return _EARLIER_WORDS.get(stored) or Ready(stored)


@dataclass(frozen=True, slots=True)
class Readiness:
    """What is known of one agent.

    Attributes:
        word: the verdict; a running check hides the one before it.
        passed: whether the latest check passed, by the limits of the agent's league now; this decides where a league
            demands a check.
        check_id: the report to show: that of the running check, else of the latest with a verdict, else of the latest
            that has ended; None without any.
        why: what to mend first, if the latest check did not pass. It may quote the agent and its address, so it is not
            for the public.
        judged_id: the report that ``passed`` comes from; None when no check has reached a verdict.
        step: what to do next, in our words; it quotes neither the agent nor its address.
        hindered: what of the site's own was away, so that a check could not be made; it is made again by itself.
    """

    word: Ready = Ready.NOT_CHECKED
    passed: bool = False
    check_id: UUID | None = None
    why: str = ""
    judged_id: UUID | None = None
    step: str = ""
    hindered: str = ""

    @property
    def label(self) -> str:
        return str(self.word.label)

    @property
    def able(self) -> bool:
        """Whether the agent could play now, as far as is known."""
        return self.passed and self.word != Ready.UNREACHABLE


class CheckSummary(NamedTuple):
    """A check without its report."""

    check_id: UUID
    state: str
    passed: bool | None
    problem: str
    due_at: datetime
    created_at: datetime
    finished_at: datetime | None
    game_types: list[str]

    @property
    def open(self) -> bool:
        """Whether it is waiting or running."""
        return self.state in (CheckState.WANTED, CheckState.RUNNING)


def history(agents: Iterable[Agent]) -> dict[tuple[str, str], list[CheckSummary]]:
    """The checks of some agents' addresses and own lines by (key, kind), oldest first; one query."""
    keys = {key for agent in agents for key in (agent.endpoint_key, line_key(agent.pk))}
    rows = Check.objects.filter(endpoint_key__in=keys).order_by("created_at", "pk")
    checks: dict[tuple[str, str], list[CheckSummary]] = {}
    for key, role, *columns in rows.values_list("endpoint_key", "role", *CheckSummary._fields):
        checks.setdefault((key, role), []).append(CheckSummary(*columns))
    return checks


def checks_of(
    agent: Agent, known: Mapping[tuple[str, str], list[CheckSummary]], leagues: Mapping[str, League]
) -> list[CheckSummary]:
    """The checks of :func:`history` that count for an agent: by the way it is reached, and with its league's game."""
    checks = by_its_way(agent, known)
    league = leagues.get(agent.league_id or "")
    if league is None or agent.kind != Kind.PLAYER:
        return checks
    # An agent that passes with another game has not shown that it can play this one.
    return [check for check in checks if not check.game_types or league.game_type in check.game_types]


def by_its_way(agent: Agent, known: Mapping[tuple[str, str], list[CheckSummary]]) -> list[CheckSummary]:
    """The checks of an agent's address and own line; while it dials out, only those over its line if there are any."""
    by_address, by_line = (known.get((key, agent.kind), []) for key in (agent.endpoint_key, line_key(agent.pk)))
    if by_line and (agent.is_inbox_only or agent.dials_out_now):
        # A check of the address that has not ended counts, too: which way a check takes is decided when it begins.
        by_address = [check for check in by_address if check.open]
    return sorted([*by_address, *by_line], key=lambda check: check.created_at) if by_line else by_address


def readiness(agents: Collection[Agent], *, now: datetime | None = None) -> dict[int, Readiness]:
    """The readiness of some agents by primary key; the same few queries for any number."""
    now = now or clock.now()
    known = history(agents)
    leagues = League.objects.in_bulk({agent.league_id for agent in agents if agent.league_id is not None})
    checks = {agent.pk: checks_of(agent, known, leagues) for agent in agents}
    findings = load_findings(
        judged.check_id for of_agent in checks.values() if (judged := _judged(of_agent)) is not None
    )
    found = _found_instead(agents)
    return {
        agent.pk: _readiness_of(
            agent, checks[agent.pk], findings, leagues.get(agent.league_id), found=found.get(agent.pk, ""), now=now
        )
        for agent in agents
    }


def _found_instead(agents: Iterable[Agent]) -> dict[int, str]:
    """For each agent, what the last call found at its address instead of the agent, and what to do; in our words."""
    called = [agent for agent in agents if agent.call_found and agent.reached_by == ReachedBy.ADDRESS]
    if not called:
        return {}
    doubtful = set(AgentToken.objects.filter(agent__in=called, proven=False).values_list("agent_id", flat=True))
    known = {agent.pk: reach_for_all(agent, proven=agent.pk not in doubtful) for agent in called}
    return {
        pk: f"{reach.found[0].upper()}{reach.found[1:]}. {reach.mend}"
        for pk, reach in known.items()
        if reach.found and reach.mend
    }


def of_report(check: Check) -> Ready | None:
    """The verdict of one report by the limits of the agent's league now; None if the check has reached none."""
    if check.passed is None:
        return None
    league = check.agent.league if check.agent is not None else None
    return _verdict(load_findings([check.pk])[check.pk], league)[0]


def _judged(checks: list[CheckSummary]) -> CheckSummary | None:
    """The latest check that reached a verdict; a check that could not be carried out is passed over."""
    return next((check for check in reversed(checks) if check.passed is not None), None)


def _readiness_of(
    agent: Agent,
    checks: list[CheckSummary],
    findings: Mapping[UUID, Finding],
    league: League | None,
    *,
    found: str,
    now: datetime,
) -> Readiness:
    judged, ended = _judged(checks), [check for check in checks if not check.open]
    last = judged or (ended[-1] if ended else None)
    finding = findings.get(judged.check_id) if judged is not None else None
    word, step = _verdict(finding, league)
    passed = word in (Ready.READY, Ready.SLOW)
    # A check that waits for a later retry does not count as running: the earlier result stands.
    hindered = next((check.problem for check in checks if check.state == CheckState.WANTED and check.problem), "")
    running = [check for check in checks if check.open and (check.state == CheckState.RUNNING or check.due_at <= now)]
    if _has_left(agent, league):
        word, step = Ready.UNREACHABLE, _("It has left: register it again.")
    elif running:
        word, step = Ready.CHECKING, _("Leave it running.")
    elif _is_unreached(agent) and (league is None or league.state not in _OVER):
        # The result of the last call is newer than the report.
        word, step = Ready.UNREACHABLE, _step("http.reached", league)
        if agent.reached_by == ReachedBy.NOTHING:
            step = _("Start it: it fetches no messages.")
    elif hindered and word == Ready.NOT_CHECKED:
        step = _("Leave it running: the site could not check it, and tries again by itself.")
    # What listens there answers, but not with JSON.
    is_other_program = word == Ready.WRONG_ANSWERS and finding is not None and finding.failed == "http.json"
    if found and (word == Ready.UNREACHABLE or is_other_program) and not _has_left(agent, league):
        step = found
    shown = running[-1] if running else last
    return Readiness(
        word,
        passed,
        shown.check_id if shown is not None else None,
        _why(last, finding) if last is not None and not passed else "",
        judged.check_id if judged is not None else None,
        step,
        hindered,
    )


def _why(last: CheckSummary, finding: Finding | None) -> str:
    """What to mend first, in the reader's language; earlier versions have stored the English only."""
    if last.problem and finding is not None and finding.problem is not None:
        return cut(" ".join(finding.problem.in_words(_, VOICES).split()), MAX_WHY_CHARS)
    return _(last.problem) if last.problem else ""


def _has_left(agent: Agent, league: League | None) -> bool:
    """Whether an agent was shut down before its league ended; at the end every player is shut down."""
    return agent.state == AgentState.SHUTDOWN and league is not None and league.state not in _OVER


def _is_unreached(agent: Agent) -> bool:
    """Whether the last call failed, or the agent fetched its messages once and does not now."""
    return bool(agent.problem) or (agent.reached_by == ReachedBy.NOTHING and agent.line_seen_at is not None)


def _verdict(finding: Finding | None, league: League | None) -> tuple[Ready, str]:
    """The verdict of a report and the next step.

    Times are judged by the limits of the league as they are now: they may have been changed after the check.
    """
    if finding is None:
        return Ready.NOT_CHECKED, _("Have it checked: page “Check an agent”.")
    if finding.failed == "http.reached":
        return Ready.UNREACHABLE, _step(finding.failed, league)
    rules = league.rules if league is not None else LeagueSettings()
    times = {
        "join.in_time": (finding.join_ms, rules.join_timeout_s, _("Accept faster: %(took).1f s of %(limit)g s.")),
        "choice.in_time": (finding.choice_ms, rules.move_timeout_s, _("Choose faster: %(took).1f s of %(limit)g s.")),
    }
    shares = {name: took_ms / 1000 / limit_s for name, (took_ms, limit_s, _sentence) in times.items()}
    late = finding.failed if finding.failed in times else next((name for name in times if shares[name] > 1), "")
    if not finding.passed and finding.failed not in times:
        return Ready.WRONG_ANSWERS, _step(finding.failed, league)
    if late:
        return Ready.TOO_SLOW, _step(late, league)
    for name, (took_ms, limit_s, sentence) in times.items():
        if shares[name] > SLOW_SHARE:
            return Ready.SLOW, sentence % {"took": took_ms / 1000, "limit": limit_s}
    return Ready.READY, _("Leave it running.")


def not_ready(league: League, players: Collection[Agent]) -> dict[str, str]:
    """Players whose check has not passed, by id, with their readiness, if the league demands it (``require_check``)."""
    if not league.rules.require_check:
        return {}
    known = readiness(players)
    return {player.code: known[player.pk].word.value for player in players if not known[player.pk].passed}


def leagues_demanding_check() -> Any:
    """The leagues with open registration that demand a passed check."""
    return League.objects.filter(state=LeagueState.REGISTRATION, demo=False, settings__require_check=True)


# What a report says ------------------------------------------------------------------------------


class Finding(NamedTuple):
    """What the verdict needs of a report.

    Attributes:
        passed: whether a league can use the agent.
        failed: the first clause that fails, the essential ones first.
        join_ms, choice_ms: milliseconds that the agent took to join and to choose.
        problem: what to mend first; None in reports of earlier versions, and where nothing is to be mended.
    """

    passed: bool
    failed: str
    join_ms: int
    choice_ms: int
    problem: Sentence | None = None


MAX_CACHED_FINDINGS, MAX_WHY_CHARS = 2000, 200
ESSENTIAL = (
    *("http.reached", "http.json", "join.in_time", "join.accepts", "choice.in_time", "choice.legal"),
    *("second.join", "second.choice"),
)
"""The clauses without which a match, or the next one, cannot be played, in the order in which a match needs them."""
SLOW_SHARE = 0.5
"""An agent that uses a larger share of its time limit during the check counts as slow (our choice)."""

_findings: Recent[UUID, Finding] = Recent(MAX_CACHED_FINDINGS)


def _step(clause: str, league: League | None) -> str:
    """The next step when this clause of the check fails."""
    rules = league.rules if league is not None else LeagueSettings()
    even_odd = league is None or league.game_type == "even_odd"
    choice = _("Choose exactly “even” or “odd”.") if even_odd else _("Choose a legal move.")
    return {
        "http.reached": _("Start it; check address, port, firewall."),
        "http.json": _("Answer POST at your address with JSON."),
        "join.in_time": _("Accept invitations within %(s)g s.") % {"s": rules.join_timeout_s},
        "join.accepts": _("Answer invitations with accept: true."),
        "choice.in_time": _("Choose within %(s)g s.") % {"s": rules.move_timeout_s},
        "choice.legal": choice,
    }.get(clause, _("Mend what your report says first."))


def load_findings(check_ids: Iterable[UUID]) -> dict[UUID, Finding]:
    """The findings of finished reports; these never change, so the latest ones are cached."""
    wanted_ids = set(check_ids)
    findings = {check_id: known for check_id in wanted_ids if (known := _findings.get(check_id)) is not None}
    missing = wanted_ids - findings.keys()
    if missing:
        # A report may have 100 000 characters, so only a few are in memory at a time.
        rows = Check.objects.filter(pk__in=missing).values_list("pk", "passed", "report").iterator(chunk_size=20)
        new = {check_id: _finding(passed is True, report) for check_id, passed, report in rows}
        findings |= new
        _findings.update(new)
    return findings


def _finding(passed: bool, report: Mapping[str, Any]) -> Finding:
    clauses = {clause["id"]: clause for clause in report.get("clauses", [])}
    order = [*(name for name in ESSENTIAL if name in clauses), *clauses]
    failed = next((name for name in order if clauses[name]["verdict"] == "fails"), "")

    def took(*names: str) -> int:
        return max((clauses[name].get("elapsed_ms") or 0 for name in names if name in clauses), default=0)

    problem = sentences.read(report.get("next_step_words") or report.get("summary_words"))
    times = took("join.in_time", "second.join"), took("choice.in_time", "second.choice")
    return Finding(passed, failed, *times, problem)
