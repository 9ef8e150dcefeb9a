"""The engine of a check: decides clauses by their rules, words the verdicts, and makes the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from league_sdk.conformance.clauses.rules import REACHED, Role, Rule
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.judgements import misfit
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.subject_caller import Stopped
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.words import READY
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.inbox import Way
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.sentences import Sentence, _, say

OnClause = Callable[[Clause], None]
_GOOD = (Verdict.CONFORMS, Verdict.TOLERATED)
_POINTS = {
    Verdict.FAILS: (_("one point failed"), _("{n} points failed")),
    Verdict.TOLERATED: (_("one point tolerated"), _("{n} points tolerated")),
}


class Verdicts:
    """The clauses of one check; each is decided once.

    Args:
        role: what the agent is checked as.
        endpoint: its address.
        on_clause: called with each clause when it is decided.
    """

    def __init__(self, role: Role, endpoint: str, on_clause: OnClause | None) -> None:
        self._role = role
        self._endpoint = endpoint
        self._on_clause = on_clause
        self._clauses: dict[str, Clause] = {}
        self._stopped: Sentence | None = None
        self._started_at = datetime.now(UTC)
        self._begun = time.monotonic()

    def __getitem__(self, name: str) -> Clause:
        return self._clauses[name]

    def __contains__(self, name: str) -> bool:
        return name in self._clauses

    def conforms(self, *names: str) -> bool:
        """Whether all these clauses are decided and conform."""
        return all(name in self and self[name].verdict is Verdict.CONFORMS for name in names)

    # Deciding ------------------------------------------------------------------------------------------------

    def decide(self, name: str, good: object, exchange: Exchange | None = None, **facts: Any) -> None:
        """Decide a clause by a yes or no of the caller's, in the words of its rule.

        Args:
            name: the clause.
            good: whether it conforms.
            exchange: the evidence.
            facts: values for the placeholders in the rule's words, beside those of the exchange.
        """
        rule = self._rule(name)
        if exchange is not None:
            facts = _facts(exchange) | facts
        words = Sentence(rule.yes if good else rule.no, facts)
        self.record(name, Verdict.CONFORMS if good else rule.otherwise, words.used(), exchange)

    def judge(self, name: str, exchange: Exchange) -> None:
        """Decide a clause by an exchange alone, with the judgement that its rule names."""
        rule = self._rule(name)
        if rule.by is None:
            raise ValueError(f"{name} is not judged by an exchange alone")
        self.record(name, *rule.by(exchange), exchange)

    def as_shown(self, name: str, messages: Iterable[tuple[Any, Exchange]]) -> None:
        """Decide whether messages, each with its evidence, are as the documents show them; without any, do nothing."""
        kind = self._rule(name).shows
        first: Exchange | None = None
        for message, exchange in messages:
            first = first or exchange
            wrong = misfit(str(kind), message)
            if wrong is not None:
                self.record(name, Verdict.TOLERATED, wrong, exchange)
                return
        if first is not None:
            self.record(name, Verdict.CONFORMS, say(_("It is as shown.")), first)

    def skip(self, name: str, why: Sentence, exchange: Exchange | None = None) -> None:
        """Decide that a clause could not be checked, and why."""
        self.record(name, Verdict.SKIPPED, why, exchange)

    def record(self, name: str, verdict: Verdict, why: Sentence, exchange: Exchange | None = None) -> None:
        """Decide a clause with a verdict and a reason of the caller's."""
        if name in self:
            raise ValueError(f"{name} is decided already")
        rule = self._rule(name)
        shown: dict[str, Any] = {}
        if exchange is not None:
            shown = {
                "sent": exchange.sent,
                "came": exchange.response_body,
                "elapsed_ms": exchange.elapsed_ms,
                "http_status": None if exchange.way == Way.INBOX else exchange.status,
            }
        clause = Clause(rule.id, rule.title, rule.expected, rule.source, verdict, str(why), why_words=why, **shown)
        self._clauses[name] = clause
        if self._on_clause is not None:
            self._on_clause(clause)

    def _rule(self, name: str) -> Rule:
        return self._role.rules[name]

    # The end -------------------------------------------------------------------------------------------------

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Run a part of the check; if it raises :class:`Stopped`, keep the first reason for the report."""
        try:
            yield
        except Stopped as stopped:
            self._stopped = self._stopped or stopped.reason

    def report(self, *, why_open: Sentence | None = None, memory: Memory | None = None) -> Report:
        """The report. Clauses that are still open are skipped; those that only some agents are asked are left out.

        Args:
            why_open: why they are open, unless the check was stopped.
            memory: in which dialects the agent was reached, as far as it was found out.
        """
        why = self._stopped or why_open or say(_("there was no occasion"))
        for name, rule in self._role.rules.items():
            if name not in self and not rule.for_some:
                self.skip(name, say(_("Not asked: {why}."), why=why))
        # READY is what an agent says that knows no invitation: it is not one of the league's messages.
        spoken = {} if memory is None else {kind: dialect for kind, dialect in memory.spoken.items() if kind != READY}
        clauses = tuple(self[name] for name in self._role.rules if name in self)
        summary, first = self._summary(clauses), next_step(clauses)
        return Report(
            role=self._role.name,
            endpoint=self._endpoint,
            started_at=stamp(self._started_at),
            took_s=round(time.monotonic() - self._begun, 3),
            dialect=spoken.get(MessageType.GAME_INVITATION, ""),
            spoken=spoken,
            can_play=self._is_usable(),
            summary=str(summary),
            next_step=str(first or ""),
            clauses=clauses,
            summary_words=summary,
            next_step_words=first,
            memory=memory,
        )

    def _is_usable(self) -> bool:
        # A clause of `lasting` that the check had no time for says nothing: the agent may be able to play all the same.
        has_essential = all(self[name].verdict in _GOOD for name in self._role.essential)
        return has_essential and all(self[name].verdict is not Verdict.FAILS for name in self._role.lasting)

    def _summary(self, clauses: tuple[Clause, ...]) -> Sentence:
        if not self._is_usable():
            needed = (REACHED.id, *self._role.essential, *self._role.lasting)
            unmet = [self[name] for name in needed if self[name].verdict not in _GOOD]
            unknown = next((clause for clause in unmet if clause.why in self._role.unknown), None)
            if unknown is not None:
                return say(self._role.unknown[unknown.why])
            failed = [clause for clause in unmet if clause.verdict is Verdict.FAILS]
            first = (failed or unmet)[0]
            return Sentence(self._role.unusable, {"title": say(first.title), "why": first.why_words}).used()
        counts = {verdict: sum(clause.verdict is verdict for clause in clauses) for verdict in _POINTS}
        points = [say(_POINTS[verdict][0 if n == 1 else 1], n=n).used() for verdict, n in counts.items() if n]
        if not points:
            return say(self._role.perfect)
        both = say(_("{failed} and {tolerated}"), failed=points[0], tolerated=points[-1])
        return say(self._role.usable, points=both if len(points) > 1 else points[0])


def _facts(exchange: Exchange) -> dict[str, Any]:
    """The values of the placeholders that every rule may use."""
    return {
        "ms": exchange.elapsed_ms,
        "status": exchange.status,
        "said": exchange.in_words(),
        "failure": exchange.failure,
    }


def next_step(clauses: tuple[Clause, ...]) -> Sentence | None:
    """What to mend first: the first clause that fails, else the first that is tolerated; None when there is none."""
    for verdict in (Verdict.FAILS, Verdict.TOLERATED):
        for clause in clauses:
            if clause.verdict is verdict:
                return say("{why} ({source})", why=clause.why_words or clause.why, source=clause.source)
    return None
