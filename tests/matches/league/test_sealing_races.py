"""A seal and another change at once, on two connections: a sealed verdict stands (ruling, section 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from agents_registry.models import Agent
from matches.league import lifecycle, losses, outbox, progress, reporting, results, sealing
from matches.league.corrections import applying
from matches.league.errors import ActionRefused
from tests import factories as make
from tests.matches.correcting import make_correction
from tests.matches.league.test_sealing import LATER, seal_of
from tests.matches.races import Other, assert_rows_agree, call_before, result_or_refusal
from tests.sizes import sampled

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "wrong game started"


def lose_lease() -> None:
    losses.expire_leases(now=timezone.now() + LATER)


def cancel() -> None:
    results.cancel(league_id="fall", match_id="R1M1", why=WHY)


def stop() -> None:
    lifecycle.stop(league_id="fall")


def set_result() -> None:
    make_correction("set_result", match_id="R1M1", status="WIN", winner="P01", reason=WHY)


def withdraw() -> None:
    make_correction("withdraw", player_id="P02", matches_become="lose", reason=WHY)


def disqualify() -> None:
    make_correction("disqualify", player_id="P02", matches_become="void", reason=WHY)


def restart_site() -> None:
    losses.expect_again(names=["Referee 1", "Referee 2"])


GAPS: list[tuple[Callable[[], None], Any, str]] = [
    (lose_lease, losses, "lose_attempt"),
    (lose_lease, losses, "lifecycle_step"),
    (restart_site, losses, "lose_attempt"),
    (cancel, sealing, "refuse_sealed"),
    (cancel, results, "finish"),
    (stop, sealing, "refuse_sealed"),
    (set_result, applying, "_refuse_if_changed"),
    (set_result, applying, "_write"),
    (withdraw, applying, "_refuse_if_changed"),
    (withdraw, applying, "_write"),
    (disqualify, applying, "_refuse_if_changed"),
    (disqualify, applying, "_write"),
]
"""An action, and the step of it before which the seal arrives."""


def lose_all_leases() -> None:
    """Let leases run out until no referee is left to tell the verdict."""
    for _time in range(3):
        lose_lease()


@pytest.mark.parametrize(("action", "holder", "name"), sampled(GAPS, 3))
def test_a_verdict_that_comes_during_another_action_stands_or_is_not_sealed(
    monkeypatch: pytest.MonkeyPatch, other: Other, action: Callable[[], None], holder: Any, name: str
) -> None:
    made = make.running_league(players=2, referees=2)
    match = made.match("R1M1")
    seal = seal_of(match)
    call_before(
        monkeypatch, holder, name, lambda: other.run(lambda: make.progress(match, state="DRAWING_NUMBER", seal=seal))
    )
    first = result_or_refusal(action)
    answer = other.wait()
    assert answer in ("sealed", "lost", "refused")
    stored_match = made.match("R1M1")
    assert (answer == "sealed") == (stored_match.seal is not None)
    if answer == "sealed":
        # The other action was refused, or left the sealed verdict alone: the players will hear no other result.
        assert first is None or isinstance(first, ActionRefused)
        lose_all_leases()
        ended = made.match("R1M1")
        assert (ended.state, ended.status, ended.winner and ended.winner.code) == ("FINISHED", "WIN", "P02")
    if made.league.state != "STOPPED":
        assert_rows_agree(made)
    assert made.events().count("match_finished") + made.events().count("corrected") <= 1


@pytest.mark.parametrize(
    "action",
    [
        lose_lease,
        cancel,
        set_result,
        withdraw,
        *(pytest.param(action, marks=pytest.mark.exhaustive) for action in (stop, disqualify, restart_site)),
    ],
)
@pytest.mark.parametrize("name", ["listed", pytest.param("note_heartbeat", marks=pytest.mark.exhaustive)])
def test_another_action_comes_while_a_verdict_is_being_sealed(
    monkeypatch: pytest.MonkeyPatch, other: Other, action: Callable[[], None], name: str
) -> None:
    made = make.running_league(players=2, referees=2)
    match = made.match("R1M1")
    call_before(monkeypatch, progress, name, lambda: other.run(lambda: result_or_refusal(action)))
    answer = make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match))
    other.wait()
    stored_match = made.match("R1M1")
    assert (answer == "sealed") == (stored_match.seal is not None)
    if answer == "sealed":
        lose_all_leases()
        ended = made.match("R1M1")
        assert (ended.state, ended.status, ended.winner and ended.winner.code) == ("FINISHED", "WIN", "P02")


def test_the_report_comes_at_one_process_while_the_lease_runs_out_at_another(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    """In either order the sealed verdict counts, once; on PostgreSQL the lease is lost in the middle of the report."""
    made = make.running_league(players=2, referees=2)
    match = made.match("R1M1")
    make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match), end_told=True)
    call_before(monkeypatch, reporting, "read_verdict", lambda: other.run(lose_lease))
    answer = make.report(match, "P02")
    other.wait()
    ended = made.match("R1M1")
    assert answer["status"] == "ACCEPTED"
    assert (ended.status, ended.winner and ended.winner.code) == ("WIN", "P02")
    assert made.events().count("match_finished") == 1
    assert_rows_agree(made)


def test_only_one_referee_is_sent_to_tell_a_sealed_verdict(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    """Two conductors look at once: one referee gets the match."""
    made = make.running_league(players=2, referees=2)
    match = made.match("R1M1")
    make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match))
    lose_lease()
    Agent.objects.filter(kind="referee").update(state="ACTIVE", problem="", heard_at=timezone.now())
    starts: list[int] = []
    call_before(monkeypatch, outbox, "referees_of", lambda: other.run(lambda: starts.append(len(make.look().starts))))
    starts.append(len(make.look().starts))
    other.wait()
    assert sorted(starts) == [0, 1]
    assert made.match("R1M1").attempt == 2
