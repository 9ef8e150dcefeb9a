"""Two changes at once, on two database connections: the second comes after the first has read and before it writes.

On PostgreSQL the second change commits in the middle of the first, or waits there for one of its locks; SQLite lets it
begin only when the first is done.
Either way exactly one order of events is on record, and the rows agree with it. ``test_lifecycle_races.py`` has races
on one connection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials, places, registration
from agents_registry.requests.reading import read_request
from agents_registry.rosters import roster
from matches.league import endings, entry, freeze, lifecycle, losses, opening, progress, results, sealing
from matches.league.corrections import applying
from matches.league.errors import ActionRefused, HasChanged
from matches.models import Broadcast, Correction, Delivery, League, Match
from matches.view import sight, summaries
from tests import factories as make
from tests import wire
from tests.matches.correcting import make_correction
from tests.matches.league.test_sealing import seal_of
from tests.matches.races import (
    LONG_S,
    Other,
    assert_rows_agree,
    call_after,
    call_before,
    result_or_refusal,
    somebody_waits,
)

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "wrong game started"


def withdraw(player_id: str) -> Correction:
    return make_correction("withdraw", player_id=player_id, matches_become="keep", reason=WHY)


def undo(number: int) -> Correction:
    return applying.undo(league_id="fall", number=number, reason=WHY, by="bob")


def in_round_two(players: int = 4) -> make.MadeLeague:
    """Round 1 is over, round 2 is being played."""
    made = make.running_league(players=players)
    make.finish_round(made)
    make.next_round(made)
    return made


def test_the_withdrawal_of_one_player_is_undone_while_another_is_withdrawn(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    made = in_round_two()
    withdraw("P02")
    call_before(monkeypatch, applying, "_refuse_if_changed", lambda: other.run(lambda: undo(1)))
    first = result_or_refusal(lambda: withdraw("P03"))
    assert not isinstance(other.wait(), Exception)
    assert isinstance(first, HasChanged) is (connection.vendor == "postgresql")
    moment = assert_rows_agree(made)
    assert set(moment.out) == (set() if isinstance(first, HasChanged) else {"P03"})


def test_a_correction_is_undone_while_another_is_made_on_top_of_it(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    made = in_round_two()
    was = made.match("R1M1")
    loser = was.player_b.code
    make_correction("set_result", match_id="R1M1", status="WIN", winner=loser, reason=WHY)
    call_before(monkeypatch, applying, "_refuse_if_changed", lambda: other.run(lambda: undo(1)))
    first = result_or_refusal(lambda: make_correction("void", match_id="R1M1", reason=WHY))
    # One of the two is refused: otherwise undoing the later correction would restore the result of the undone one.
    assert [isinstance(first, ActionRefused), isinstance(other.wait(), ActionRefused)].count(True) == 1
    assert_rows_agree(made)
    if not isinstance(first, ActionRefused):
        undo(2)
        undo(1)
    assert made.match("R1M1").winner == was.winner
    assert_rows_agree(made)


def test_a_result_is_reported_while_its_winner_is_withdrawn(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = in_round_two()
    match = made.match("R2M1")
    winner = match.player_a.code
    call_before(monkeypatch, applying, "_refuse_if_changed", lambda: other.run(lambda: make.report(match, winner)))
    first = result_or_refusal(lambda: withdraw(winner))
    answer = other.wait()
    # On SQLite the report is late: ignored, or answered as a duplicate, depending on when it read the match.
    counted = answer["status"] == "ACCEPTED" and not answer.get("duplicate")
    assert counted is (connection.vendor == "postgresql")
    moment = assert_rows_agree(made)
    assert moment.outcomes["R2M1"].winner == (winner if isinstance(first, HasChanged) else match.player_b.code)
    assert made.events().count("match_finished") == 2 + isinstance(first, HasChanged)


def test_progress_of_a_match_does_not_stop_a_correction_that_is_planned(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    made = in_round_two()
    match = made.match("R2M1")
    call_before(monkeypatch, applying, "_refuse_if_changed", lambda: other.run(lambda: make.progress(match)))
    withdraw(match.player_a.code)
    assert other.wait() == ("ok" if connection.vendor == "postgresql" else "lost")
    steps = [step["state"] for step in made.match("R2M1").lifecycle]
    assert steps[-1] == "FINISHED"
    assert (len(steps) > 2) is (connection.vendor == "postgresql")
    assert_rows_agree(made)


def test_reports_and_a_correction_do_not_deadlock(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = in_round_two()
    one, two = made.match("R2M1"), made.match("R2M2")
    player = one.player_a.code

    def report_both() -> None:
        other.begin(lambda: make.report(two, two.player_a.code))
        other.begin(lambda: make.report(one, player))

    call_before(monkeypatch, applying, "_lock_league", report_both)
    first = result_or_refusal(lambda: withdraw(player))
    other.wait()
    # The report about the withdrawn player comes too late, whether it read the match before or after the withdrawal.
    assert {answer["status"] for answer in other.answers} <= {"ACCEPTED", "IGNORED"}
    assert not isinstance(first, Exception)
    assert assert_rows_agree(made).outcomes["R2M1"].correction == 1
    assert made.events().count("round_completed") == 2


def test_a_player_of_the_lobby_registers_again_while_a_league_opens(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    first = make.player("Early")
    create = partial(opening.create_league, league_id="fall", display_name="Fall")
    call_before(monkeypatch, registration, "_locked", lambda: other.run(create))
    again = make.player("Early")
    assert not isinstance(other.wait(), Exception)
    # Whichever commits first, it is one agent, and it is in the league.
    assert (again.agent.pk, again.fresh().league_id) == (first.agent.pk, "fall")
    assert credentials.authenticate(again.token).pk == first.agent.pk
    assert list(League.objects.get(pk="fall").agents.values_list("name", flat=True)) == ["Early"]


@pytest.mark.parametrize(("holder", "name"), [(registration, "register"), (places, "new_agent")])
def test_a_player_comes_to_the_lobby_while_a_league_opens(
    monkeypatch: pytest.MonkeyPatch, other: Other, holder: Any, name: str
) -> None:
    create = partial(opening.create_league, league_id="fall", display_name="Fall")
    call_before(monkeypatch, holder, name, lambda: other.run(create))
    newcomer = make.player("New")
    assert not isinstance(other.wait(), Exception)
    assert (newcomer.fresh().league_id, newcomer.fresh().code) == ("fall", newcomer.agent.code)


def test_a_league_opens_while_a_player_comes_to_the_lobby(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    # The league has read the lobby, and is not committed yet.
    call_before(monkeypatch, opening, "changed", lambda: other.run(lambda: make.player("New")))
    opening.create_league(league_id="fall", display_name="Fall")
    assert not isinstance(other.wait(), Exception)
    assert list(League.objects.get(pk="fall").agents.values_list("name", flat=True)) == ["New"]


def test_an_agent_is_trusted_while_it_registers_again(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    judge = make.referee("Student", trusted=False)
    tick = partial(registration.trust, agent_ids=[judge.agent.pk], trusted=True)
    call_before(monkeypatch, registration, "_settle_at", lambda: other.run(tick))
    make.referee("Student", trusted=False)
    assert not isinstance(other.wait(), Exception)
    assert judge.fresh().trusted is True


@pytest.mark.parametrize("state", ["REGISTRATION", "RUNNING"])
def test_one_code_registers_two_agents_at_once(monkeypatch: pytest.MonkeyPatch, other: Other, state: str) -> None:
    make.open_league("fall", agents_per_person=1, registration_code="for-all")
    if state == "RUNNING":
        # They came before the roster, and the personal code makes them Ada's. A running league itself is not locked.
        for port in (8101, 8102):
            make.player(f"Ada {port}", "fall", port=port, code="for-all")
        League.objects.update(state=state)
    roster.import_csv(league_id="fall", text="name,email,code\nAda,ada@example.org,ada-7\n")

    def enter(port: int) -> entry.Entry:
        params = wire.player_request(f"Ada {port}", port=port, code="ada-7")
        request = read_request(params, kind=Kind.PLAYER, caller="127.0.0.1")
        return entry.register_player(request=request, named="fall")

    call_before(monkeypatch, registration, "_settle_at", lambda: other.run(lambda: enter(8102)))
    first, second = enter(8101), other.wait()
    assert {first.reason is None, second.reason is None} == {True, False}
    assert Agent.objects.filter(owner__isnull=False).count() == 1


@pytest.mark.parametrize("verb", [lifecycle.stop, lifecycle.pause])
def test_a_round_starts_while_the_league_is_stopped_or_paused(
    monkeypatch: pytest.MonkeyPatch, other: Other, verb: Callable[..., League]
) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    call_before(monkeypatch, lifecycle, "_assign_referees", lambda: other.run(lambda: verb(league_id="fall")))
    first = result_or_refusal(lambda: lifecycle.start_round(league_id="fall"))
    assert not isinstance(other.wait(), Exception)
    # Whichever commits first, no round starts in a league that is stopped or paused.
    refused = connection.vendor == "postgresql"
    assert isinstance(first, ActionRefused) is refused
    assert made.events()[-1] == ("league_stopped" if verb is lifecycle.stop else "paused")
    assert made.events().count("round_started") == (1 if refused else 2)
    left = "PENDING" if refused or verb is lifecycle.stop else "ANNOUNCING"
    assert made.league.rounds.get(number=2).state == left


def test_a_referee_is_heard_while_its_lease_runs_out(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.running_league(players=2)
    # A recent heartbeat is not stored again, however slow this test is.
    Agent.objects.filter(kind="referee").update(heard_at=timezone.now() + timedelta(hours=1))
    match = made.match("R1M1")
    Match.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    call_before(monkeypatch, registration, "suspend_referee", lambda: other.run(lambda: make.progress(match)))
    lost = losses.expire_leases(now=timezone.now())
    in_time = connection.vendor == "postgresql"
    assert (lost, other.wait()) == ((0, "ok") if in_time else (1, "lost"))
    assert made.referee_of("R1M1").fresh().state == ("ACTIVE" if in_time else "SUSPENDED")
    assert (made.match("R1M1").state, made.events()[-1] == "attempt_lost") == (
        ("WAITING_FOR_PLAYERS", False) if in_time else ("READY", True)
    )


def test_a_match_is_lost_while_its_referee_records_a_move(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    """The referee is told that the move is recorded and asks the next player: the next attempt must have the move."""
    made = make.running_league(players=2)
    League.objects.update(game_type="tic_tac_toe")
    match, moves = made.match("R1M1"), [["P01", 4]]
    lose = partial(losses.lose_attempt, matches=Match.objects.filter(pk=match.pk), why="a test")
    call_before(monkeypatch, progress, "lease_s_of", lambda: other.run(lose))
    assert make.progress(match, state="COLLECTING_CHOICES", moves=moves) == "ok"
    assert (other.wait(), made.match("R1M1").state, made.match("R1M1").moves) == (1, "READY", moves)


def test_a_seal_that_is_sent_twice_at_once_is_stored_once(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    """A referee that got no answer sends its seal again, perhaps to another process of the site."""
    made = make.running_league(players=2)
    match = made.match("R1M1")
    again = seal_of(match, reason="sent again")
    call_before(
        monkeypatch,
        sealing,
        "decide",
        lambda: other.run(lambda: make.progress(match, state="DRAWING_NUMBER", seal=again)),
    )
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match)) == "sealed"
    assert other.wait() == "sealed"
    assert made.match("R1M1").seal["reason"] == seal_of(match)["reason"]


def test_a_match_is_lost_while_its_verdict_is_sealed(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    lose = partial(losses.lose_attempt, matches=Match.objects.filter(pk=match.pk), why="a test")
    call_before(monkeypatch, sealing, "decide", lambda: other.run(lose))
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match)) == "sealed"
    waits = (other.wait(), made.match("R1M1").referee, made.match("R1M1").state)
    assert waits == (1, None, "DRAWING_NUMBER")


def test_leases_run_out_while_the_instructor_withdraws_a_player(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    """Both lock two matches of one round: there is no deadlock."""
    made = in_round_two()
    Match.objects.filter(match_id__startswith="R2").update(lease_until=timezone.now() - timedelta(seconds=1))
    player = made.match("R2M2").player_a.code
    call_before(monkeypatch, losses, "record", lambda: other.run(lambda: result_or_refusal(lambda: withdraw(player))))
    assert losses.expire_leases(now=timezone.now()) == 2
    assert not isinstance(other.wait(), OperationalError)
    assert_rows_agree(made)


def test_the_league_ends_while_points_are_given(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    make_correction("points", player_id="P01", points=1, reason=WHY)
    call_before(monkeypatch, applying, "_refuse_if_changed", lambda: other.run(lambda: make.report(match, "P01")))
    result_or_refusal(lambda: make_correction("points", player_id="P02", points=9, reason=WHY))
    assert other.wait()["status"] == "ACCEPTED"
    assert_rows_agree(made)
    rows = sight.everything(made.league).standings
    row = summaries.league_rows([made.league])[0]
    assert row["champion"] == summaries.champions_of(rows)["champion"]
    assert Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").count() == 1


def test_a_round_starts_while_a_player_is_withdrawn(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    call_before(monkeypatch, applying, "_refuse_if_changed", lambda: other.run(lambda: make.next_round(made)))
    first = result_or_refusal(lambda: withdraw("P01"))
    other.wait()
    make.look()
    moment = assert_rows_agree(made)
    playing = Match.objects.filter(round__number=2, state="ASSIGNED").values_list("player_a__code", "player_b__code")
    assert ("P01" in {code for pair in playing for code in pair}) is ("P01" not in moment.out)
    assert isinstance(first, HasChanged) is ("P01" not in moment.out)


def frozen() -> make.MadeLeague:
    """Two players, the board frozen before the only round, which is being played."""
    made = make.league(players=2)
    opening.close_registration(league_id="fall")
    freeze.plan(league_id="fall", from_round=1)
    lifecycle.start_round(league_id="fall")
    make.open_round("fall")
    make.look()
    return made


def test_the_board_is_unveiled_while_the_league_ends(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = frozen()
    match = made.match("R1M1")
    call_after(monkeypatch, freeze, "_frozen", lambda: other.run(lambda: make.report(match, "P01")))
    freeze.lift(league_id="fall")
    other.wait()
    assert made.league.state == "COMPLETED"
    deliveries = Delivery.objects.filter(broadcast__message_type="LEAGUE_COMPLETED", agent__kind=Kind.PLAYER)
    assert (deliveries.count(), Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").count()) == (2, 1)


def test_two_instructors_lift_the_freeze_at_once(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = frozen()
    make.report(made.match("R1M1"), "P01")
    call_after(monkeypatch, freeze, "_frozen", lambda: other.run(lambda: freeze.lift(league_id="fall")))
    first = result_or_refusal(lambda: freeze.lift(league_id="fall"))
    assert [isinstance(first, ActionRefused), isinstance(other.wait(), ActionRefused)].count(True) == 1
    assert made.events().count("unveiled") == 1
    assert Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").count() == 1


def test_a_league_is_stopped_while_a_report_comes(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = in_round_two()
    match = made.match("R2M1")
    begun, main = threading.Event(), threading.current_thread()

    def waits() -> None:
        begun.set()
        while connection.vendor == "postgresql" and main.is_alive() and not somebody_waits():
            pass

    call_before(monkeypatch, results, "record", waits)
    other.begin(lambda: make.report(match, match.player_a.code))
    assert begun.wait(LONG_S)
    lifecycle.stop(league_id="fall")
    assert other.wait()["status"] == "ACCEPTED"
    assert made.match("R2M1").state == "FINISHED"
    assert_rows_agree(made)


def test_two_reports_end_a_round_at_once(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.running_league(players=4)
    one, two = made.match("R1M1"), made.match("R1M2")
    call_before(monkeypatch, endings, "close_round_if_done", lambda: other.begin(lambda: make.report(two, None)))
    make.report(one, one.player_a.code)
    assert other.wait()["status"] == "ACCEPTED"
    assert made.events().count("round_completed") == 1
    assert_rows_agree(made)


def test_a_player_registers_while_the_schedule_is_made(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.league(players=2)
    call_before(
        monkeypatch,
        registration,
        "register",
        lambda: other.run(lambda: opening.close_registration(league_id="fall")),
    )
    make.player("Late", "fall", port=8109)
    assert not isinstance(other.wait(), Exception)
    scheduled = Match.objects.values_list("player_a__code", "player_b__code")
    assert {row.player_id for row in sight.everything(made.league).standings} == {
        one for pair in scheduled for one in pair
    }


def test_the_next_round_starts_by_itself_while_all_rounds_are_to_run(
    monkeypatch: pytest.MonkeyPatch, other: Other
) -> None:
    """Both lock the round before the league, or the click would end in a deadlock."""
    made = make.running_league()
    make.finish_round(made)
    click = partial(lifecycle.start_league, league_id="fall", auto_advance=True)
    call_before(monkeypatch, lifecycle, "_assign_referees", lambda: other.run(click))
    lifecycle.start_round(league_id="fall", by_itself=True)
    assert isinstance(other.wait(), ActionRefused)
    assert (made.league.advances, made.events().count("round_started")) == (None, 2)


def test_a_league_is_stopped_while_its_next_round_starts(monkeypatch: pytest.MonkeyPatch, other: Other) -> None:
    made = make.running_league()
    make.finish_round(made)
    start = partial(lifecycle.start_round, league_id="fall", by_itself=True)
    call_after(monkeypatch, lifecycle, "give_up_matches", lambda: other.run(start))
    first = result_or_refusal(lambda: lifecycle.stop(league_id="fall"))
    other.wait()
    refused = isinstance(first, ActionRefused)
    assert refused is (connection.vendor == "postgresql")
    started = ("RUNNING", "READY", "ANNOUNCING") if refused else ("STOPPED", "PENDING", "PENDING")
    assert (made.league.state, made.states()["R2M1"], made.league.rounds.get(number=2).state) == started
