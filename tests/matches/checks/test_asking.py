"""Checks: who may have which agent checked, how often, who runs them, and what a league makes of the outcome."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry import programs
from agents_registry.callers import Caller
from agents_registry.models import Agent
from matches.checks import asking, runs, taking
from matches.checks.asking import NotTheirs, TooOften
from matches.league import lifecycle, opening, results
from matches.league.errors import ActionRefused, Invalid
from matches.models import Check, CheckState, League, Match
from matches.view import queries, readiness, sight
from tests import factories as make
from tests.matches.reports import clause, report

pytestmark = pytest.mark.django_db
NOW = datetime(2030, 1, 15, 10, 0, tzinfo=UTC)
HERE, FAR = Caller("127.0.0.1"), Caller("192.0.2.7")
TEACHER = Caller("192.0.2.9", instructor=True)
URL = "http://127.0.0.1:8101/mcp"


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def ask(endpoint: str = URL, caller: Caller = HERE, **how: Any) -> Check:
    return asking.ask(endpoint=endpoint, caller=caller, now=how.pop("now", NOW), **how)


def run(check: Check, *, passed: bool = True, now: datetime = NOW, **how: Any) -> None:
    """Have a check run from beginning to end."""
    [job] = [one for one in taking.take(now=now) if one.check_id == check.pk]
    assert runs.finish(check_id=job.check_id, run=job.run, report=report(passed=passed, **how), now=now)


def fresh(check: Check) -> Check:
    return Check.objects.get(pk=check.pk)


# Asking -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endpoint", "caller", "called"),
    [
        ("http://127.0.0.1:8101/mcp", HERE, "http://127.0.0.1:8101/mcp"),
        ("http://localhost:8101", HERE, "http://localhost:8101/mcp"),
        ("localhost:8101/mcp", FAR, "http://192.0.2.7:8101/mcp"),
        ("http://192.0.2.7:8101/mcp", FAR, "http://192.0.2.7:8101/mcp"),
        ("http://198.51.100.4:8101/mcp", TEACHER, "http://198.51.100.4:8101/mcp"),
        ("http://localhost:8101/mcp", TEACHER, "http://localhost:8101/mcp"),
    ],
)
def test_whose_address_may_be_checked(endpoint: str, caller: Caller, called: str) -> None:
    assert ask(endpoint, caller).endpoint == called


def test_localhost_from_elsewhere_is_replaced_visibly() -> None:
    assert ask("http://localhost:8101/mcp", FAR).notes == ["address was localhost, called at 192.0.2.7"]


@pytest.mark.parametrize(
    ("endpoint", "caller"),
    [
        ("http://198.51.100.4:8101/mcp", FAR),
        ("http://127.0.0.2:8101/mcp", HERE),
        ("http://example.org/mcp", FAR),
        ("http://127.0.0.1:8101/mcp", Caller("127.0.0.1", direct=False)),
        ("http://192.0.2.7:8101/mcp", Caller("192.0.2.7", direct=False)),
    ],
)
def test_another_address_needs_a_token(endpoint: str, caller: Caller) -> None:
    with pytest.raises(NotTheirs):
        ask(endpoint, caller)
    assert Check.objects.count() == 0


@pytest.mark.parametrize("endpoint", ["http://198.51.100.4:8101/mcp", ""])
def test_with_an_agents_token_its_own_address_is_checked_from_anywhere(endpoint: str) -> None:
    make.open_league("fall")
    member = make.join("Ada", "fall", endpoint="http://198.51.100.4:8101/mcp")
    check = ask(endpoint, FAR, token=member.token)
    assert (check.endpoint, check.agent, check.role) == ("http://198.51.100.4:8101/mcp", member.agent, "player")


def test_a_token_is_good_for_its_own_agents_address_only() -> None:
    make.open_league("fall")
    member = make.join("Ada", "fall", endpoint="http://198.51.100.4:8101/mcp")
    unknown = "tok_" + "0" * 32
    for token, sentence in ((member.token, "P01 is registered at another address"), (unknown, "is no agent's")):
        with pytest.raises(NotTheirs, match=sentence):
            ask("http://198.51.100.5:8101/mcp", FAR, token=token)
    assert Check.objects.count() == 0


def test_a_league_token_is_nobodys() -> None:
    make.open_league("fall")
    member = make.join("Ada", "fall", endpoint="http://198.51.100.4:8101/mcp")
    with pytest.raises(NotTheirs):
        ask("", FAR, token=asking.credentials.league_token(member.agent))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"endpoint": ""}, "endpoint"),
        ({"endpoint": "   "}, "endpoint"),
        ({"endpoint": "ftp://127.0.0.1/mcp"}, "endpoint"),
        ({"endpoint": "javascript:alert(1)"}, "endpoint"),
        ({"endpoint": "http://user:password@127.0.0.1:8101/mcp"}, "endpoint"),
        ({"endpoint": "http://169.254.169.254/latest/meta-data", "caller": TEACHER}, "endpoint"),
        ({"endpoint": "http://127.0.0.1:8101/" + "x" * 400}, "endpoint"),
        ({"endpoint": "http://127.0.0.1:8101/\x00"}, "endpoint"),
        ({"role": "audience"}, "role"),
        ({"game_type": "chess"}, "game_type"),
    ],
)
def test_what_cannot_be_checked_is_said(given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        ask(**given)
    assert refused.value.field == field


def test_the_sites_own_port_is_not_called(settings: Any) -> None:
    settings.LEAGUE_REFUSED_PORTS = [8101]
    with pytest.raises(Invalid, match="port 8101 belongs to the league site itself"):
        ask()


def test_five_a_minute_per_caller() -> None:
    for number in range(5):
        ask(f"http://127.0.0.1:{8101 + number}/mcp", now=after(number))
    with pytest.raises(TooOften, match="You have asked for 5 checks within a minute"):
        ask("http://127.0.0.1:8110/mcp", now=after(59))
    ask("http://192.0.2.7:8101/mcp", FAR, now=after(59))
    ask("http://127.0.0.1:8110/mcp", now=after(60.1))
    with pytest.raises(TooOften):
        ask("http://127.0.0.1:8111/mcp", now=after(60.2))


def test_the_instructor_asks_as_often_as_wanted() -> None:
    for number in range(12):
        ask(f"http://127.0.0.1:{8101 + number}/mcp", TEACHER)
    assert Check.objects.filter(asked_by="instructor").count() == 12


def test_the_public_is_refused_while_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_WAITING", 3)
    for number in range(3):
        ask(f"http://127.0.0.1:{9000 + number}/mcp", TEACHER)
    with pytest.raises(TooOften, match="Too many checks are waiting"):
        ask()
    ask(caller=TEACHER)


def test_one_place_does_not_fill_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_WAITING", 6)
    monkeypatch.setattr(asking, "KEPT_FOR_OTHERS", 2)
    monkeypatch.setattr(asking, "MOST_AT_A_PLACE", 3)
    monkeypatch.setattr(asking, "MOST_A_MINUTE", 100)
    for number in range(4):
        ask(f"http://192.0.2.7:{9000 + number}/mcp", FAR)
    with pytest.raises(TooOften, match="Too many checks are waiting"):
        ask("http://192.0.2.7:9004/mcp", FAR)
    ask()
    ask("http://127.0.0.1:8102/mcp")
    with pytest.raises(TooOften, match="Too many checks are waiting"):
        ask("http://127.0.0.1:8103/mcp")


def test_asking_again_while_it_waits_or_runs_is_the_same_check() -> None:
    first = ask()
    assert ask(now=after(1)) == first
    taking.take(now=after(2))
    assert ask(now=after(3)) == first
    assert ask(game_type="tic_tac_toe", now=after(4)) != first


def test_a_check_belongs_to_the_agent_at_its_address_and_asks_for_its_game() -> None:
    opening.create_league(league_id="board", display_name="Board", game_type="tic_tac_toe")
    member = make.join("Ada", "board", port=8101, games=["tic_tac_toe"])
    check = ask()
    assert (check.agent, check.game_types) == (member.agent, ["tic_tac_toe"])


# Running ----------------------------------------------------------------------------------------


def taken(room: int = taking.MOST_AT_ONCE, now: datetime = NOW) -> list[str]:
    """Where the checks that are taken now are run, in this order."""
    return [job.endpoint for job in taking.take(now=now, room=room)]


def at(host: str, *ports: int) -> list[str]:
    return [f"http://{host}:{port}/mcp" for port in ports]


def test_one_at_a_time_per_address_and_so_many_in_all() -> None:
    same = [ask(f"http://127.0.0.1:8101/{path}") for path in ("a", "b")]
    others = [ask(f"http://127.0.0.1:{9000 + number}/mcp", TEACHER) for number in range(10)]
    began = [job.check_id for job in taking.take(now=NOW)]
    assert began == [same[0].pk, *(check.pk for check in others[:5])]
    assert taking.take(now=NOW, room=0) == []
    assert [job.check_id for job in taking.take(now=NOW, room=4)] == [check.pk for check in others[5:7]]
    runs.finish(check_id=same[0].pk, run=1, report=report())
    assert [job.check_id for job in taking.take(now=NOW, room=3)] == [same[1].pk]


def test_whoever_has_many_slow_addresses_lets_others_go_first() -> None:
    """Checks of ports that answer each clause just within its limit take two minutes each."""
    slow = at("192.0.2.7", *range(9000, 9010))
    for minute in range(2):
        for url in slow[minute * 5 : minute * 5 + 5]:
            ask(url, FAR, now=after(minute * 61))
    # Nobody else is there.
    assert taken(now=after(70)) == slow[:6]
    ada = ask("http://192.0.2.8:8101/mcp", Caller("192.0.2.8"), now=after(80))
    assert taken(room=3, now=after(80)) == [ada.endpoint]


def test_two_of_one_place_or_asker_while_others_wait() -> None:
    slow = at("192.0.2.7", 9000, 9001, 9002, 9003)
    others = [f"http://192.0.2.{number}:8101/mcp" for number in (20, 21)]
    for url in slow:
        ask(url, FAR)
    far = [ask(url, TEACHER).endpoint for url in at("198.51.100.4", 9000, 9001, 9002)]
    for url, number in zip(others, (20, 21), strict=True):
        ask(url, Caller(f"192.0.2.{number}"))
    assert taken() == [*slow[:2], *far[:2], *others]


@pytest.mark.parametrize(
    "hosts",
    [("[2001:db8::1]", "[2001:db8::2]", "[2001:db8::3]"), ("a.zone.example", "b.zone.example", "c.zone.example")],
)
def test_names_of_a_zone_and_addresses_of_a_network_are_one_place(
    hosts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs.NAMES, "addresses", lambda host, tell: ("192.0.2.30",))
    for host in hosts:
        ask(f"http://{host}:8101/mcp", TEACHER)
    last = ask("http://192.0.2.20:8101/mcp", Caller("192.0.2.20"))
    assert taken(room=5) == [*(f"http://{host}:8101/mcp" for host in hosts[:2]), last.endpoint]


def test_what_a_league_demands_is_checked_first_and_has_two_places_kept() -> None:
    for number in range(20, 30):
        ask(f"http://192.0.2.{number}:8101/mcp", Caller(f"192.0.2.{number}"))
    assert len(taken()) == 6
    make.open_league("fall", require_check=True)
    ada, bob = make.join("Ada", "fall", port=8101), make.join("Bob", "fall", port=8102)
    asking.tend(now=NOW - timedelta(hours=1))
    Check.objects.filter(asked_by="").update(due_at=after(1))
    # Bob has asked himself meanwhile.
    Check.objects.filter(agent=bob.agent).update(asked_by="127.0.0.1")
    assert taken(room=2, now=after(2)) == [ada.agent.endpoint, bob.agent.endpoint]


@pytest.mark.parametrize("path", ["/other", "//?a", "//?b/c", "?d"])
def test_no_path_makes_another_address_of_one(path: str) -> None:
    ask()
    assert ask(f"http://127.0.0.1:8101{path}").address == "127.0.0.1|8101"


def test_two_runs_of_one_address_are_impossible() -> None:
    first, second = (ask(f"http://127.0.0.1:8101/{path}") for path in ("a", "b"))
    Check.objects.filter(pk=first.pk).update(state=CheckState.RUNNING)
    with pytest.raises(IntegrityError):
        Check.objects.filter(pk=second.pk).update(state=CheckState.RUNNING)


def test_an_agent_in_a_match_is_checked_when_it_is_over() -> None:
    place = make.playing(players=2)
    check = ask(place.players[0].agent.endpoint)
    assert taking.take(now=NOW) == []
    make.report(place.match("R1M1"), "P01")
    assert [job.check_id for job in taking.take(now=NOW)] == [check.pk]


def test_a_program_that_is_being_checked_is_given_its_match_when_that_is_over() -> None:
    """Somebody has it checked, by another address of it, as its round starts."""
    place = make.setting(players=2)
    make.open_league("winter")
    alias = make.join("Alias", "winter", endpoint=f"{place.players[0].agent.endpoint}/x")
    ask("", FAR, token=alias.token)
    [job] = taking.take(now=NOW)
    make.playing_on(place)
    assert place.states() == {"R1M1": "READY"}
    runs.finish(check_id=job.check_id, run=job.run, report=report(passed=True), now=NOW)
    make.look()
    assert place.states() == {"R1M1": "ASSIGNED"}


def test_a_slow_check_holds_no_match_up_for_long() -> None:
    """Its own agent makes it last for as long as it likes."""
    place = make.setting(players=2)
    begun = timezone.now() - timedelta(seconds=taking.HOLDS_A_MATCH_S)
    ask("", FAR, token=place.players[0].token, now=begun)
    assert len(taking.take(now=begun)) == 1
    make.playing_on(place)
    assert place.states() == {"R1M1": "ASSIGNED"}


def test_a_name_brings_no_check_to_a_program_whose_match_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, tuple[str, ...]] = {}
    monkeypatch.setattr(programs.NAMES, "addresses", lambda host, tell: known.get(host))
    make.hire()
    make.open_league("fall")
    victim = make.join("Victim", "fall", endpoint="http://192.0.2.7:8101/mcp")
    make.join("Beta", "fall", endpoint="http://192.0.2.8:8101/mcp")
    make.open_league("winter")
    alias = make.join("Alias", "winter", endpoint="http://alias.example:8101/x")
    place = make.Setting("fall", [victim], [])
    make.playing_on(place)
    ask("", FAR, token=alias.token)
    # Where it leads to is not known yet; then, that it leads to a program that plays.
    assert taken() == []
    known["alias.example"] = ("192.0.2.7",)
    assert taken() == []
    results.cancel(league_id="fall", match_id="R1M1", why="over")
    [job] = taking.take(now=NOW)
    # Wherever the name leads a moment later: this is what is called.
    assert job.pinned == (("alias.example", ("192.0.2.7",)),)


def test_progress_and_the_end_are_written_down() -> None:
    check = ask()
    [job] = taking.take(now=NOW)
    assert runs.progress(check_id=check.pk, run=job.run, clauses=[clause().to_json()])
    assert [one["id"] for one in fresh(check).report["clauses"]] == ["join.accepts"]
    assert runs.finish(check_id=check.pk, run=job.run, report=report(passed=False), now=after(2))
    done = fresh(check)
    assert (done.state, done.passed, done.problem) == ("DONE", False, "Answer GAME_INVITATION with accept: true.")
    assert (done.finished_at, done.report) == (after(2), report(passed=False))


def test_what_an_agent_says_can_be_stored_whatever_it_is() -> None:
    check = ask()
    odd = clause(came={"a\x00": "\ud800\x00", "list": ["\x00"]})
    run(check, clauses=(odd,))
    assert fresh(check).report["clauses"][0]["came"] == {"a\ufffd": "?\ufffd", "list": ["\ufffd"]}


def test_a_run_that_was_lost_changes_nothing() -> None:
    check = ask()
    [job] = taking.take(now=NOW)
    later = after(taking.CLAIM_S + 1)
    [again] = taking.take(now=later)
    assert (again.check_id, job.run, again.run) == (check.pk, 1, 2)
    assert runs.finish(check_id=check.pk, run=job.run, report=report()) is False
    assert runs.progress(check_id=check.pk, run=job.run, clauses=[]) is False
    assert fresh(check).state == "RUNNING"
    assert runs.finish(check_id=check.pk, run=again.run, report=report()) is True


def test_a_check_that_breaks_off_three_times_has_failed() -> None:
    check = ask()
    for number in range(3):
        assert len(taking.take(now=after(number * (taking.CLAIM_S + 1)))) == 1
    assert taking.take(now=after(3 * (taking.CLAIM_S + 1))) == []
    assert (fresh(check).state, fresh(check).passed, fresh(check).problem) == (
        "FAILED",
        None,
        "It broke off three times.",
    )


def test_an_address_keeps_its_newest_reports() -> None:
    for number in range(runs.KEPT_PER_ADDRESS + 3):
        run(ask(now=after(number), caller=TEACHER), now=after(number))
    assert Check.objects.count() == runs.KEPT_PER_ADDRESS
    assert Check.objects.order_by("created_at").first().created_at == after(3)


@pytest.mark.parametrize(("came", "problem"), [({"result": {}}, ""), (None, "No connection: Connection refused")])
def test_whether_it_answers_at_all_is_noted_on_the_agent(came: Any, problem: str) -> None:
    make.open_league("fall")
    member = make.join("Ada", "fall", port=8101)
    why = "No connection: Connection refused. Is the agent running?"
    run(ask(), passed=False, clauses=(clause(verdict="fails", came=came, why=why),))
    assert (member.fresh().problem, member.fresh().checked_at is not None) == (problem, True)


# Readiness --------------------------------------------------------------------------------------


def words(league_id: str = "fall") -> dict[str, str]:
    players = list(Agent.objects.filter(league_id=league_id, kind="player").order_by("pk"))
    known = readiness.readiness(players, now=after(1000))
    return {player.code: known[player.pk].word.value for player in players}


def test_one_word_per_agent() -> None:
    place = make.setting(players=4)
    for member, passed in ((place.players[0], True), (place.players[1], False), (place.players[2], True)):
        run(ask(member.agent.endpoint), passed=passed)
    ask(place.players[2].agent.endpoint, now=after(10))
    assert words() == {"P01": "passed", "P02": "failed", "P03": "checking", "P04": "not_checked"}
    run(ask(place.players[1].agent.endpoint, TEACHER, now=after(20)), now=after(20))
    assert words()["P02"] == "passed"


def test_a_check_that_could_not_be_carried_out_takes_no_verdict_away() -> None:
    place = make.setting(players=2)
    run(ask(place.players[0].agent.endpoint))
    for number, member in enumerate(place.players):
        check = ask(member.agent.endpoint, TEACHER, now=after(10 + number))
        [job] = taking.take(now=after(20))
        runs.fail(check_id=check.pk, run=job.run, problem="The site was tired.", now=after(21))
    assert words() == {"P01": "passed", "P02": "failed"}


def test_readiness_costs_one_query_for_any_number() -> None:
    place = make.setting(players=12)
    for member in place.players:
        run(ask(member.agent.endpoint, TEACHER))
    for count in (2, 12):
        agents = [member.agent for member in place.players[:count]]
        with CaptureQueriesContext(connection) as seen:
            readiness.readiness(agents)
        assert len(seen) == 1


def test_what_is_checked_is_what_was_asked_for_else_what_is_registered() -> None:
    place = make.setting(players=1, referees=1)
    [player], [referee] = place.players, place.referees
    seen = [
        (check.role, check.agent)
        for check in (
            ask(player.agent.endpoint, TEACHER),
            ask(referee.agent.endpoint, TEACHER),
            ask(player.agent.endpoint, TEACHER, role="manager"),
            ask("http://127.0.0.1:9999/mcp", TEACHER),
            ask("", FAR, token=referee.token, role="player"),
        )
    ]
    assert seen == [
        ("player", player.agent),
        ("referee", referee.agent),
        ("manager", None),
        ("player", None),
        ("referee", referee.agent),
    ]


def test_a_check_as_referee_says_nothing_of_the_player_at_the_same_address() -> None:
    make.setting(players=1)
    run(ask("http://127.0.0.1:8555/mcp", role="referee"))
    assert words() == {"P01": "not_checked"}


# A league that demands it -----------------------------------------------------------------------


def registered_at(member: make.Member) -> datetime:
    return member.agent.tokens.latest("pk").created_at


def tend(seconds: float, since: datetime) -> int:
    return asking.tend(now=since + timedelta(seconds=seconds))


def test_a_registration_is_checked_a_few_seconds_later_and_again_with_patience() -> None:
    make.open_league("fall", require_check=True)
    member = make.join("Ada", "fall", port=8101)
    begun = registered_at(member)
    assert tend(0, begun) == 1
    [check] = Check.objects.all()
    assert (check.asked_by, check.agent, check.due_at) == ("", member.agent, begun + timedelta(seconds=3))
    assert taking.take(now=begun + timedelta(seconds=2)) == []
    waits = []
    moment = begun + timedelta(seconds=3)
    for _ in range(5):
        assert asking.tend(now=moment) == 0
        run(check, passed=False, now=moment)
        assert asking.tend(now=moment) == 1
        check = Check.objects.get(state="WANTED")
        waits.append((check.due_at - moment).total_seconds())
        moment = check.due_at
    assert waits == [5, 10, 20, 40, 80]
    run(check, passed=True, now=moment)
    assert asking.tend(now=moment + timedelta(days=1)) == 0


def test_it_is_not_tried_for_ever_and_a_registration_begins_anew() -> None:
    make.open_league("fall", require_check=True)
    member = make.join("Ada", "fall", port=8101)
    moment = registered_at(member)
    for number in range(asking.MOST_TRIES):
        assert asking.tend(now=moment) == 1
        check = Check.objects.get(state="WANTED")
        moment = check.due_at
        Check.objects.filter(pk=check.pk).update(created_at=moment)
        run(check, passed=False, now=moment)
        assert number < 8 or (check.due_at - check.created_at).total_seconds() <= asking.AGAIN_AT_MOST_S
    assert asking.tend(now=moment + timedelta(days=1)) == 0
    member.agent.tokens.update(created_at=moment + timedelta(days=1))
    assert asking.tend(now=moment + timedelta(days=1)) == 1


@pytest.mark.parametrize("why", ["not demanded", "closed", "demo", "passed", "coming"])
def test_no_check_is_asked_for_where_none_is_due(why: str) -> None:
    demanded = {} if why == "not demanded" else {"require_check": True}
    make.open_league("fall", **demanded)
    member = make.join("Ada", "fall", port=8101)
    if why == "closed":
        League.objects.update(state="SCHEDULED")
    elif why == "demo":
        League.objects.update(demo=True)
    elif why == "passed":
        moment = registered_at(member) + timedelta(seconds=1)
        run(ask(now=moment), now=moment)
    elif why == "coming":
        ask(now=registered_at(member))
    assert tend(100, registered_at(member)) == 0


def test_a_league_that_demands_a_check_leaves_out_who_has_not_passed() -> None:
    place = make.setting(players=4, require_check=True)
    ready, failed, alike, _unknown = place.players
    for member, passed in ((ready, True), (failed, False), (alike, True)):
        run(ask(member.agent.endpoint), passed=passed)
    opening.close_registration(league_id="fall")
    assert place.league.left_out == {"P02": "failed", "P04": "not_checked"}
    assert list(Match.objects.values_list("player_a__code", "player_b__code")) == [("P01", "P03")]
    assert [member.fresh().state for member in place.players] == ["REGISTERED", "SHUTDOWN", "REGISTERED", "SHUTDOWN"]
    assert place.events()[-2:] == ["left_out", "schedule_made"]
    lifecycle.start_round(league_id="fall")
    make.open_current("fall")
    make.look()
    make.report(place.match("R1M1"), "P01")
    assert place.league.state == "COMPLETED"
    assert [row["player_id"] for row in queries.standings_rows(sight.everything(place.league))] == ["P01", "P03"]


def test_too_few_that_passed_is_said_with_their_names() -> None:
    place = make.setting(players=3, require_check=True)
    run(ask(place.players[0].agent.endpoint))
    with pytest.raises(ActionRefused) as refused:
        opening.close_registration(league_id="fall")
    assert str(refused.value) == (
        "Fall has 1 of at least 2 players that passed the check; not ready: P02, P03. "
        "Wait until more have passed, or turn require_check off."
    )
    assert (place.league.state, place.league.left_out) == ("REGISTRATION", {})


def test_without_the_setting_everybody_plays() -> None:
    place = make.setting(players=3)
    run(ask(place.players[0].agent.endpoint), passed=False)
    opening.close_registration(league_id="fall")
    assert (place.league.left_out, Match.objects.count()) == ({}, 3)


def test_the_instructor_has_agents_checked() -> None:
    place = make.setting(players=2, referees=1)
    student = make.hire("Student", port=8077, trusted=False)
    agents = [*place.players, *place.referees, student]
    assert len(asking.ask_for_agents(agent_ids=[member.agent.pk for member in agents], now=NOW)) == 3
    assert list(Check.objects.order_by("agent").values_list("role", "asked_by")) == [
        ("player", "instructor"),
        ("player", "instructor"),
        ("referee", "instructor"),
    ]
