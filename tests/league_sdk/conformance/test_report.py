"""Reports as JSON and as text."""

from __future__ import annotations

import json
from dataclasses import replace

from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.text import render

TOKEN = "tok_" + "d" * 32
CONFORMS = Clause("a.one", "It answers", "An answer.", "004 1.1", Verdict.CONFORMS, "In 3 ms.", elapsed_ms=3)
FAILS = Clause(
    "a.two",
    "It accepts",
    "accept: true.",
    "004 4.4.2",
    Verdict.FAILS,
    "It said accept: false.",
    sent={"method": "handle_game_invitation", "params": {"auth_token": TOKEN}},
    came={"result": {"accept": False}},
    elapsed_ms=4,
    http_status=500,
)
TOLERATED = Clause("a.three", "It is in UTC", "Z.", "004 2.4.2", Verdict.TOLERATED, "It was local.", came=FAILS.came)
SKIPPED = Clause("a.four", "It chooses", "even or odd.", "004 4.5.2", Verdict.SKIPPED, "Not asked.")
REPORT = Report(
    role="player",
    endpoint="http://127.0.0.1:8101/mcp",
    started_at="2025-01-15T10:30:00Z",
    took_s=1.25,
    dialect="message_type",
    can_play=False,
    summary="This agent cannot play here as it is: it refuses.",
    next_step="It said accept: false. (004 4.4.2)",
    spoken={"GAME_INVITATION": "message_type"},
    clauses=(CONFORMS, FAILS, TOLERATED, SKIPPED),
)


def test_a_report_as_json_has_its_facts_its_counts_and_its_clauses() -> None:
    document = json.loads(json.dumps(REPORT.to_json()))
    assert document["counts"] == {"conforms": 1, "tolerated": 1, "fails": 1, "skipped": 1}
    assert (document["schema"], document["role"], document["spoken"]) == (
        1,
        "player",
        {"GAME_INVITATION": "message_type"},
    )
    first = {"id": "a.one", "title": "It answers", "expected": "An answer.", "source": "004 1.1"}
    first |= {"verdict": "conforms", "why": "In 3 ms.", "sent": None, "came": None}
    assert document["clauses"][0] == first | {"elapsed_ms": 3, "http_status": None}


def test_a_clause_redacts_tokens_and_cuts_long_texts() -> None:
    long = "y" * 9000
    why = f"said {TOKEN}\x1b[2J{long}"
    clause = Clause("x", "x", "x", "x", Verdict.FAILS, why, came={"auth_token": "secret", "z": long})
    assert clause.why.startswith("said tok_…\N{REPLACEMENT CHARACTER}[2J")
    assert len(clause.why) == 400
    assert clause.came["cut"] is True
    assert "secret" not in json.dumps(clause.to_json())
    assert FAILS.to_json()["sent"]["params"] == {"auth_token": "tok_…"}


def test_a_report_is_rendered_as_text() -> None:
    assert (
        render(REPORT, width=80)
        == """\
http://127.0.0.1:8101/mcp, checked as a player
2025-01-15T10:30:00Z, 1.25 s

This agent cannot play here as it is: it refuses.
Mend first: It said accept: false. (004 4.4.2)
Way of speaking: message_type

   ok  It answers                                          In 3 ms.
 FAIL  It accepts                                          It said accept:
                                                           false.
         expected: accept: true. (004 4.4.2)
         sent: {"method": "handle_game_invitation", "params": {"auth_token":
           "tok_…"}}
         received: HTTP 500 {"result": {"accept": false}}
 mend  It is in UTC                                        It was local.
         expected: Z. (004 2.4.2)
         received: as above
    -  It chooses                                          Not asked.

1 conform, 1 tolerated, 1 fail, 1 skipped.
"""
    )


def test_colours_and_all_evidence_are_shown_only_on_request() -> None:
    assert "\x1b" not in render(REPORT)
    assert "\x1b[31;1m FAIL\x1b[0m  It accepts" in render(REPORT, colour=True)
    assert "expected: even or odd. (004 4.5.2)" not in render(REPORT)
    assert "expected: even or odd. (004 4.5.2)" in render(REPORT, everything=True)


def test_control_characters_of_an_agent_are_not_printed() -> None:
    nasty = Clause("x", "x", "x", "x", Verdict.FAILS, "x", came={"said": "\x9b2J\u202e"})
    text = render(replace(REPORT, clauses=(nasty,)))
    assert all(one.isprintable() or one == "\n" for one in text)
