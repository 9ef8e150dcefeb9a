"""Reports of checks as ``league_sdk.conformance`` writes them, for tests of what the site does with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from league_sdk.conformance.clauses.rules import Role
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects.answers import Understanding
from league_sdk.protocol.notes import Code, note
from league_sdk.protocol.sentences import say


def clause(name: str = "join.accepts", verdict: str = "conforms", **changes: Any) -> Clause:
    """One clause."""
    fields = {
        "title": "Accepts an invitation",
        "expected": "GAME_JOIN_ACK with accept: true within 5 s",
        "source": "004 4.4.2",
        "why": "It did." if verdict == "conforms" else "The answer had no accept: add accept: true.",
        "sent": {"method": "handle_game_invitation", "params": {"match_id": "R1M1"}},
        "came": {"result": {"accept": True}},
        "elapsed_ms": 12,
    }
    return Clause(id=name, verdict=Verdict(verdict), **(fields | changes))


def report(**how: Any) -> dict[str, Any]:
    """A whole report as JSON; arguments as of :func:`whole`."""
    return whole(**how).to_json()


def whole(*, passed: bool = True, clauses: tuple[Clause, ...] | None = None, **changes: Any) -> Report:
    """A whole report."""
    fields: dict[str, Any] = {
        "role": "player",
        "endpoint": "http://127.0.0.1:8101/mcp",
        "started_at": "2025-01-15T10:15:00Z",
        "took_s": 1.5,
        "dialect": "canonical",
        "can_play": passed,
        "summary": "1 clause conforms." if passed else "1 clause fails.",
        "next_step": "" if passed else "Answer GAME_INVITATION with accept: true.",
        "spoken": {"GAME_INVITATION": "canonical"},
        "clauses": clauses or (clause(verdict="conforms" if passed else "fails"),),
    }
    return Report(**(fields | changes))


EXCHANGES: Mapping[str, Exchange] = {
    "answered": Exchange({"id": 1}, 200, {"id": 1}, understanding=Understanding.ANSWERED, elapsed_ms=7, readable=True),
    "no JSON": Exchange({"id": 1}, 404, "Not found", elapsed_ms=7),
    "silent": Exchange({"id": 1}, failure=say("no answer within {limit} s", limit="5"), timed_out=True),
    "closed": Exchange({"id": 1}, failure=note(Code.CLOSED), elapsed_ms=7),
}
"""Outcomes of one request: an answer, an answer that is not JSON, silence, a closed connection."""


def by_the_rules(role: Role, what: str) -> Report:
    """A whole report of a role in the words of its rules, as the check writes it.

    Args:
        role: its rules are decided one after the other.
        what: a key of :data:`EXCHANGES`; it is the evidence for every clause.
    """
    verdicts, exchange = Verdicts(role, "http://127.0.0.1:8101/mcp", None), EXCHANGES[what]
    illegal = say("{sentence} Seen: {seen}.", sentence="No.", seen="7")
    facts = dict.fromkeys(re.findall(r"\{(\w+)\}", " ".join(rule.yes + rule.no for rule in role.rules.values())), "P01")
    for name in ("ms", "status", "said", "failure"):
        facts.pop(name, None)
    known_facts: dict[str, Any] = facts | {"illegal": illegal, "wrong": say("There is no game_result.")}
    for name, rule in role.rules.items():
        words = rule.yes if exchange.answered else rule.no
        if rule.by is not None:
            verdicts.judge(name, exchange)
        elif rule.shows is not None and exchange.answered:
            verdicts.as_shown(name, [({}, exchange)])
        elif words:
            verdicts.decide(name, exchange.answered, exchange, **known_facts)
    return verdicts.report()
