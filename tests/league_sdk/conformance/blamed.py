"""Which message a report blames an agent for, to compare it with what a referee blames it for."""

from __future__ import annotations

from league_sdk.conformance.report import Report, Verdict

MESSAGES = {
    "join.in_time": "GAME_INVITATION",
    "join.accepts": "GAME_INVITATION",
    "second.join": "GAME_INVITATION",
    "choice.in_time": "CHOOSE_PARITY_CALL",
    "choice.legal": "CHOOSE_PARITY_CALL",
    "second.choice": "CHOOSE_PARITY_CALL",
}
"""The clauses without which an agent cannot play, and the message that each judges the answer to."""


def blamed(report: Report) -> str:
    """The message whose answer is the first that keeps an agent from playing; empty if none does."""
    failed = (clause.id for clause in report.clauses if clause.verdict is Verdict.FAILS and clause.id in MESSAGES)
    return MESSAGES[first] if (first := next(failed, "")) else ""
