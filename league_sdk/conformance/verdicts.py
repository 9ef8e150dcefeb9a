"""What has been decided in one check so far: its clauses, and the report of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from league_sdk.conformance.clauses import Rule
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.protocol.envelope import stamp

OnClause = Callable[[Clause], None]


class Verdicts:
    """The clauses of one check as they are decided.

    Args:
        role: what the agent is checked as.
        endpoint: its address.
        rules: what is asked, in the order of the report.
        on_clause: told of each clause as it is decided.
    """

    def __init__(self, role: str, endpoint: str, rules: Mapping[str, Rule], on_clause: OnClause | None) -> None:
        self.role = role
        self.endpoint = endpoint
        self._rules = rules
        self._on_clause = on_clause
        self._clauses: dict[str, Clause] = {}
        self._started_at = datetime.now(UTC)
        self._begun = time.monotonic()

    def verdict_of(self, name: str) -> Verdict | None:
        """The verdict of a clause, None while it is open."""
        clause = self._clauses.get(name)
        return clause.verdict if clause else None

    def say(self, name: str, verdict: Verdict, why: str, exchange: Exchange | None = None) -> None:
        """Decide a clause, once."""
        if name in self._clauses:
            raise ValueError(f"{name} is decided already")
        rule = self._rules[name]
        shown: dict[str, Any] = {}
        if exchange is not None:
            shown = {
                "sent": exchange.sent,
                "came": exchange.came,
                "elapsed_ms": exchange.elapsed_ms,
                "http_status": exchange.status,
            }
        clause = Clause(rule.id, rule.title, rule.expected, rule.source, verdict, why, **shown)
        self._clauses[name] = clause
        if self._on_clause is not None:
            self._on_clause(clause)

    def conforms(self, name: str, why: str, exchange: Exchange | None = None) -> None:
        """Decide it well."""
        self.say(name, Verdict.CONFORMS, why, exchange)

    def tolerated(self, name: str, why: str, exchange: Exchange | None = None) -> None:
        """Decide it with something to mend that costs nothing."""
        self.say(name, Verdict.TOLERATED, why, exchange)

    def fails(self, name: str, why: str, exchange: Exchange | None = None) -> None:
        """Decide it badly."""
        self.say(name, Verdict.FAILS, why, exchange)

    def skipped(self, name: str, why: str, exchange: Exchange | None = None) -> None:
        """Say why it could not be asked."""
        self.say(name, Verdict.SKIPPED, why, exchange)

    def report(
        self,
        *,
        can_play: bool,
        stopped: str,
        summary: Callable[[Mapping[str, Clause]], str],
        dialect: str = "",
        spoken: Mapping[str, str] | None = None,
    ) -> Report:
        """The report; clauses that were not reached are in it as skipped.

        Args:
            can_play: whether the league can use the agent as it is.
            stopped: why the check ended early, else empty.
            summary: makes the one sentence from all clauses by id.
            dialect, spoken: see :class:`~league_sdk.conformance.report.Report`.
        """
        for name in self._rules:
            if name not in self._clauses:
                self.skipped(name, f"Not asked: {stopped or 'there was no occasion'}.")
        clauses = tuple(self._clauses[name] for name in self._rules)
        return Report(
            role=self.role,
            endpoint=self.endpoint,
            started_at=stamp(self._started_at),
            took_s=round(time.monotonic() - self._begun, 3),
            dialect=dialect,
            can_play=can_play,
            summary=summary({clause.id: clause for clause in clauses}),
            next_step=next_step(clauses),
            spoken=dict(spoken or {}),
            clauses=clauses,
        )


def next_step(clauses: tuple[Clause, ...]) -> str:
    """The one most useful thing to mend: the first that fails, else the first that is only tolerated."""
    for verdict in (Verdict.FAILS, Verdict.TOLERATED):
        for clause in clauses:
            if clause.verdict is verdict:
                return f"{clause.why} ({clause.source})"
    return ""
