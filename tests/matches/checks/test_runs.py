"""Running checks: their progress, their end, and how long their reports are kept."""

from __future__ import annotations

from typing import Any

import pytest

from agents_registry.registering import registration
from league_sdk.protocol.notes import Code, Note, note
from matches.checks import runs, taking
from matches.models import Check
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, NOW, after, ask, run
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db


def fresh(check: Check) -> Check:
    return Check.objects.get(pk=check.pk)


def test_the_progress_and_the_end_of_a_check_are_stored() -> None:
    check = ask()
    [job] = taking.take(now=NOW)
    assert runs.progress(check_id=check.pk, run=job.run, clauses=[clause().to_json()])
    assert [one["id"] for one in fresh(check).report["clauses"]] == ["join.accepts"]
    assert runs.finish(check_id=check.pk, run=job.run, report=report(passed=False), now=after(2))
    finished = fresh(check)
    assert (finished.state, finished.passed, finished.problem) == (
        "DONE",
        False,
        "Answer GAME_INVITATION with accept: true.",
    )
    assert (finished.finished_at, finished.report) == (after(2), report(passed=False))


def test_characters_that_no_database_stores_are_replaced() -> None:
    check = ask()
    odd = clause(came={"a\x00": "\ud800\x00", "list": ["\x00"]})
    run(check, clauses=(odd,))
    assert fresh(check).report["clauses"][0]["came"] == {"a\ufffd": "?\ufffd", "list": ["\ufffd"]}


def test_a_run_whose_claim_timed_out_changes_nothing() -> None:
    check = ask()
    [job] = taking.take(now=NOW)
    later = after(taking.CLAIM_TIMEOUT_S + 1)
    [second_job] = taking.take(now=later)
    assert (second_job.check_id, job.run, second_job.run) == (check.pk, 1, 2)
    assert runs.finish(check_id=check.pk, run=job.run, report=report()) is False
    assert runs.progress(check_id=check.pk, run=job.run, clauses=[]) is False
    assert fresh(check).state == "RUNNING"
    assert runs.finish(check_id=check.pk, run=second_job.run, report=report()) is True


def test_a_check_whose_claim_times_out_three_times_fails() -> None:
    check = ask()
    for number in range(3):
        assert len(taking.take(now=after(number * (taking.CLAIM_TIMEOUT_S + 1)))) == 1
    assert taking.take(now=after(3 * (taking.CLAIM_TIMEOUT_S + 1))) == []
    assert (fresh(check).state, fresh(check).passed, fresh(check).problem) == (
        "FAILED",
        None,
        "It broke off three times.",
    )


def test_old_reports_of_an_address_are_deleted() -> None:
    for number in range(runs.MAX_REPORTS_PER_ADDRESS + 3):
        run(ask(now=after(number), caller=INSTRUCTOR), now=after(number))
    assert Check.objects.count() == runs.MAX_REPORTS_PER_ADDRESS
    assert Check.objects.order_by("created_at").first().created_at == after(3)


@pytest.mark.parametrize(("reply", "problem"), [({"result": {}}, ""), (None, "No connection: Connection refused")])
def test_a_finished_check_notes_on_the_agent_whether_it_answers(reply: Any, problem: str) -> None:
    make.open_league("fall")
    member = make.player("Ada", "fall", port=8101)
    why = "No connection: Connection refused. Is the agent running?"
    run(ask(), passed=False, clauses=(clause(verdict="fails", came=reply, why=why),))
    assert (member.fresh().problem, member.fresh().pinged_at is not None) == (problem, True)


@pytest.mark.parametrize(
    ("reply", "found", "problem", "call_found"),
    [
        (None, note(Code.NOBODY_LISTENS), note(Code.NOBODY_LISTENS), note(Code.NOBODY_LISTENS)),
        ("<html>", note(Code.WEB_PAGE, status=200), "", note(Code.WEB_PAGE, status=200)),
        # An agent was reached, and then answered wrongly.
        ({"result": {}}, "", "", ""),
    ],
    ids=["nobody", "web page", "an agent"],
)
def test_what_a_check_found_in_place_of_an_agent_is_noted_on_it(
    reply: Any, found: Note | str, problem: Note | str, call_found: Note | str
) -> None:
    make.open_league("fall")
    member = make.player("Ada", "fall", port=8101)
    registration.note_ping(agent_id=member.agent.pk, problem="", found=str(note(Code.NO_AGENT, status=500)))
    run(ask(), found=found, passed=False, clauses=(clause(verdict="fails", came=reply),))
    assert (member.fresh().problem, member.fresh().call_found) == (str(problem), str(call_found))
    run(ask(), found=found)
    assert (member.fresh().problem, member.fresh().call_found) == ("", "")


def test_a_check_of_an_address_does_not_show_that_a_line_answers() -> None:
    """Behind one router a whole class has one address, and every student may have that address checked."""
    make.open_league("fall")
    dialler, listener = (make.player(name, "fall", port=8101) for name in ("Ada", "Bob"))
    registration.note_lines(opened={dialler.agent.pk: "poll"}, closed=[], contested=[])
    run(ask(), found=note(Code.NOBODY_LISTENS), passed=False, clauses=(clause(verdict="fails", came=None),))
    assert (dialler.fresh().problem, dialler.fresh().call_found) == ("", str(note(Code.NOBODY_LISTENS)))
    assert listener.fresh().problem == str(note(Code.NOBODY_LISTENS))
    heard_at = dialler.fresh().heard_at
    run(ask())
    assert (dialler.fresh().heard_at, dialler.fresh().call_found) == (heard_at, "")
