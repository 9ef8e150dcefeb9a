"""Reports of checks as ``league_sdk.conformance`` writes them, for tests of what the site does with them."""

from __future__ import annotations

from typing import Any

from league_sdk.conformance.report import Clause, Report, Verdict


def clause(name: str = "join.accepts", verdict: str = "conforms", **changes: Any) -> Clause:
    """One clause."""
    given = {
        "title": "Accepts an invitation",
        "expected": "GAME_JOIN_ACK with accept: true within 5 s",
        "source": "004 4.4.2",
        "why": "It did." if verdict == "conforms" else "The answer had no accept: add accept: true.",
        "sent": {"method": "handle_game_invitation", "params": {"match_id": "R1M1"}},
        "came": {"result": {"accept": True}},
        "elapsed_ms": 12,
    }
    return Clause(id=name, verdict=Verdict(verdict), **(given | changes))


def report(*, passed: bool = True, clauses: tuple[Clause, ...] | None = None, **changes: Any) -> dict[str, Any]:
    """A whole report as JSON."""
    given: dict[str, Any] = {
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
    return Report(**(given | changes)).to_json()
