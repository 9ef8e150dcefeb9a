"""Renders a report as text for a terminal."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from league_sdk.conformance.report import Clause, Report, Verdict, printable

_MARKS = {Verdict.CONFORMS: "ok", Verdict.TOLERATED: "mend", Verdict.FAILS: "FAIL", Verdict.SKIPPED: "-"}
_COLOURS = {Verdict.CONFORMS: "32", Verdict.TOLERATED: "33", Verdict.FAILS: "31;1", Verdict.SKIPPED: "2"}
_TITLE_CHARS = 52
_INDENT = " " * 9
_BODY_CHARS = 600
MINIMUM_WIDTH = 60


def render(report: Report, *, width: int = 100, colour: bool = False, everything: bool = False) -> str:
    """Render a report as text.

    Args:
        report: what to show.
        width: in columns.
        colour: whether to use ANSI colours.
        everything: show what was expected, sent and answered for every clause. Otherwise this is shown for clauses that
            fail and, without what was sent, for those that are tolerated.
    """
    width = max(width, MINIMUM_WIDTH)
    lines = [f"{report.endpoint}, checked as a {report.role}", f"{report.started_at}, {report.took_s:g} s", ""]
    lines += textwrap.wrap(report.summary, width)
    if report.next_step:
        lines += textwrap.wrap(f"Mend first: {report.next_step}", width, subsequent_indent=" " * 12)
    if report.dialect:
        lines.append(f"Way of speaking: {report.dialect}")
    lines.append("")
    above = None
    for clause in report.clauses:
        lines += clause_lines(clause, width=width, colour=colour, everything=everything, above=above)
        if everything or clause.verdict in (Verdict.TOLERATED, Verdict.FAILS):
            above = clause.came
    counts = ", ".join(f"{report.count(verdict)} {_verb(verdict)}" for verdict in Verdict)
    return "\n".join([*lines, "", counts + "."]) + "\n"


def _verb(verdict: Verdict) -> str:
    return {Verdict.CONFORMS: "conform", Verdict.FAILS: "fail"}.get(verdict, verdict.value)


def clause_lines(clause: Clause, *, width: int, colour: bool, everything: bool, above: Any = None) -> list[str]:
    """Render one clause: a line, and the evidence when there is something to mend.

    Args:
        clause: what to show.
        width, colour, everything: as for :func:`render`.
        above: the answer that was shown last, so that an equal one is not shown again.
    """
    mark = f"{_MARKS[clause.verdict]:>5}"
    if colour:
        mark = f"\x1b[{_COLOURS[clause.verdict]}m{mark}\x1b[0m"
    head = f"{clause.title:<{_TITLE_CHARS}}"
    room = max(width - 7 - _TITLE_CHARS, 20)
    first, *rest = textwrap.wrap(clause.why, room) or [""]
    lines = [f"{mark}  {head}{first}".rstrip()]
    lines += [" " * (7 + _TITLE_CHARS) + line for line in rest]
    if clause.verdict not in (Verdict.TOLERATED, Verdict.FAILS) and not everything:
        return lines
    lines += _block("expected: ", f"{clause.expected} ({clause.source})", width)
    if clause.sent is not None and (everything or clause.verdict is Verdict.FAILS):
        lines += _block("sent: ", _json(clause.sent), width)
    if clause.came is not None:
        status = f"HTTP {clause.http_status} " if clause.http_status not in (None, 200) else ""
        lines += _block("received: ", "as above" if clause.came == above else status + _json(clause.came), width)
    return lines


def _block(label: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        label + text, width, initial_indent=_INDENT, subsequent_indent=_INDENT + "  ", break_on_hyphens=False
    )


def _json(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = printable(text)
    return text if len(text) <= _BODY_CHARS else text[: _BODY_CHARS - 1] + "…"
