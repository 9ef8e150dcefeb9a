"""Who may have an agent practise, how often, and whom a practice match never keeps waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from agents_registry.models import Agent, AgentToken, RosterEntry
from matches.checks import asking, practising, relaying, runs, taking
from matches.checks.turns import MAX_PRACTICE_BEFORE_OTHERS_S, MAX_PRACTICES_RUNNING
from matches.league import lifecycle, opening
from matches.league.errors import ActionRefused, Invalid
from matches.models import Check, CheckState, League, Match, Round
from matches.view import readiness
from tests import factories as make
from tests.matches.checks.asks import INSTRUCTOR, NOW, REMOTE, after, fill

pytestmark = pytest.mark.django_db


def practise(agent: Agent, *, proven: bool = True, now: Any = NOW, **how: Any) -> Check:
    return practising.ask(agent=agent, proven=proven, asked_by="192.0.2.7", now=now, **{"opponent": "easy"} | how)


def finish(check: Check, now: Any = NOW) -> None:
    """Claim a practice match and finish it."""
    [job] = [one for one in taking.take(now=now) if one.check_id == check.pk]
    assert runs.finish_practice(check_id=check.pk, run=job.run, report={"status": "WIN", "steps": []}, now=now)


def claimed_ids(now: Any = NOW, room: int = taking.MAX_RUNNING) -> list[Any]:
    return [job.check_id for job in taking.take(now=now, room=room)]


# Asking -----------------------------------------------------------------------------------------


def test_an_agent_practises_the_game_of_its_league_with_its_own_identity() -> None:
    made = make.league(players=2)
    agent = made.players[0].agent
    practice = practise(agent, opponent="hard", second=True)
    [job] = taking.take(now=NOW)
    assert (job.check_id, job.opponent, job.second, job.game_types) == (practice.pk, "hard", True, ("even_odd",))
    assert (job.player_id, job.league_id, job.asked_by) == ("P01", "fall", "192.0.2.7")
    assert job.gives_way


@pytest.mark.parametrize(
    ("request_fields", "field", "sentence"),
    [
        ({"opponent": "godlike"}, "opponent", "There is no strength godlike."),
        ({"game_type": "connect_four"}, "game_type", "P01 does not play connect_four."),
        ({"game_type": "chess"}, "game_type", "P01 does not play chess."),
    ],
)
def test_an_opponent_or_game_that_cannot_be_played_is_refused(
    request_fields: dict[str, str], field: str, sentence: str
) -> None:
    agent = make.league(players=2).players[0].agent
    with pytest.raises(Invalid) as refused:
        practise(agent, **request_fields)
    assert (refused.value.field, str(refused.value)) == (field, sentence)
    assert not Check.checks_and_practices.exists()


def test_a_referee_does_not_practise() -> None:
    made = make.league(players=2)
    with pytest.raises(Invalid, match="REF01 is not a player: only players practise"):
        practise(made.referees[0].agent)


def test_only_a_proven_owner_may_have_an_agent_practise() -> None:
    made = make.league(players=2)
    with pytest.raises(ActionRefused, match="nobody has shown that it is yours") as refused:
        practise(made.players[0].agent, proven=False)
    assert refused.value.status == 403
    with pytest.raises(asking.NotAllowed, match="This auth_token belongs to no agent"):
        practising.ask_with_token(token="tok_" + "x" * 32, caller=REMOTE, opponent="easy")
    AgentToken.objects.filter(agent=made.players[1].agent).update(proven=False)
    with pytest.raises(asking.NotAllowed, match="nobody has shown that it is yours"):
        practising.ask_with_token(token=made.players[1].token, caller=REMOTE, opponent="easy")
    assert (
        practising.ask_with_token(token=made.players[0].token, caller=REMOTE, opponent="easy", now=NOW).agent
        is not None
    )


def test_an_agent_has_one_practice_match_at_a_time_and_the_same_request_returns_it() -> None:
    agent = make.league(players=2).players[0].agent
    first = practise(agent)
    assert practise(agent) == first
    with pytest.raises(asking.TooManyChecks, match="One practice match at a time"):
        practise(agent, opponent="hard")
    with pytest.raises(IntegrityError), transaction.atomic():
        Check.checks_and_practices.create(
            role="player", agent=agent, opponent="easy", endpoint="http://x", address="x", due_at=NOW, created_at=NOW
        )
    finish(first)
    assert practise(agent, opponent="hard") != first


def test_after_ten_in_ten_minutes_the_refusal_says_when_the_next_may_be_asked_for() -> None:
    agent = make.league(players=2).players[0].agent
    for number in range(practising.MAX_PER_WINDOW):
        finish(practise(agent, now=after(number)), after(number))
    with pytest.raises(asking.TooManyChecks) as refused:
        practise(agent, now=after(20))
    sentence = "10 practice matches in 10 minutes are the most: ask for the next one at 10:10:00 UTC."
    assert (str(refused.value), refused.value.status) == (sentence, 429)
    assert practise(agent, now=after(practising.WINDOW_S)).state == CheckState.WANTED


def test_practice_matches_of_one_persons_agents_count_together_across_leagues() -> None:
    one, other = make.league(players=2), make.league("spring", players=2)
    agents = [made.players[0].agent for made in (one, other)]
    for agent in agents:
        RosterEntry.objects.create(
            league=agent.league, name="Ada", email="ada@school.example", code=f"p-{agent.league_id}"
        )
        Agent.objects.filter(pk=agent.pk).update(owner=RosterEntry.objects.get(league=agent.league))
        agent.refresh_from_db()
    for number in range(practising.MAX_PER_WINDOW):
        finish(practise(agents[number % 2], now=after(number)), after(number))
    for agent in agents:
        with pytest.raises(asking.TooManyChecks, match="10 practice matches in 10 minutes are the most"):
            practise(agent, now=after(20))
    assert practise(one.players[1].agent, now=after(20)).state == CheckState.WANTED


def test_agents_without_an_owner_share_a_limit_per_address_but_each_gets_its_first_match() -> None:
    agents = [player.agent for player in make.league(players=4).players]
    for number, agent in enumerate(agents[:3]):
        finish(practise(agent, now=after(number)), after(number))
    played = {"opponent": "easy", "state": CheckState.DONE}
    fill(practising.MAX_PER_ADDRESS - 3, "192.0.2.7", asked_by="192.0.2.7", now=after(3), **played)
    with pytest.raises(asking.TooManyChecks) as refused:
        practise(agents[0], now=after(20))
    sentence = "Many practice matches were asked for from your network: ask for the next one at 10:10:00 UTC."
    assert (str(refused.value), refused.value.status) == (sentence, 429)
    finish(practise(agents[3], now=after(20)), after(20))
    assert practising.ask(agent=agents[1], proven=True, asked_by="192.0.2.8", opponent="easy", now=after(30))


def test_the_waiting_practice_matches_of_one_network_are_limited() -> None:
    made = make.league(players=3)
    fill(practising.MAX_WAITING_PER_PLACE - 2, "127.0.0.1", opponent="easy")
    for player in made.players[:2]:
        practise(player.agent)
    with pytest.raises(asking.TooManyChecks, match="Too many practice matches are waiting already"):
        practise(made.players[2].agent)
    # Checks wait in a queue of their own.
    assert asking.ask(endpoint="", token=made.players[2].token, caller=REMOTE, now=NOW).opponent == ""


def test_only_the_latest_practice_reports_of_an_agent_are_kept() -> None:
    made = make.league(players=2)
    asking.ask(endpoint="http://192.0.2.20:9000/mcp", caller=INSTRUCTOR, now=NOW)
    ids = []
    for number in range(runs.MAX_PRACTICES_PER_AGENT + 2):
        now = after(20 + number * practising.WINDOW_S)
        practice = practise(made.players[0].agent, now=now)
        ids.append(practice.pk)
        finish(practice, now)
    assert set(Check.practices.values_list("pk", flat=True)) == set(ids[2:])
    assert Check.objects.count() == 1


# Taking -----------------------------------------------------------------------------------------


def test_checks_come_first_and_practice_matches_leave_room_for_them() -> None:
    made = make.league(players=6)
    practices = [practise(player.agent) for player in made.players]
    check = asking.ask(endpoint="http://192.0.2.20:9000/mcp", caller=INSTRUCTOR, now=after(1))
    assert claimed_ids(after(1), room=taking.RESERVED_FOR_CHECKS) == [check.pk]
    assert claimed_ids(after(1)) == [one.pk for one in practices[:3]]
    # Three practice matches run at 127.0.0.1; checks of agents there do not wait for them.
    more = [asking.ask(endpoint=f"http://127.0.0.1:{9100 + n}/mcp", caller=INSTRUCTOR, now=after(1)) for n in range(2)]
    assert claimed_ids(after(1), room=4) == [one.pk for one in more]


def test_practice_matches_run_one_at_a_time_while_a_round_is_played() -> None:
    made = make.league(players=4)
    opening.close_registration(league_id="fall")
    first, second = (practise(player.agent) for player in made.players[:2])
    league_round = Round.objects.get(number=1)
    Round.objects.filter(pk=league_round.pk).update(state="RUNNING")
    assert claimed_ids() == [first.pk]
    assert claimed_ids() == []
    Round.objects.filter(pk=league_round.pk).update(state="COMPLETED")
    assert claimed_ids() == [second.pk]


def test_the_agent_that_has_practised_less_is_first() -> None:
    made = make.league(players=3)
    often, seldom, never = (player.agent for player in made.players)
    for number in range(3):
        finish(practise(often, now=after(number)), after(number))
    finish(practise(seldom, now=after(4)), after(4))
    waiting = [practise(one, now=after(10)).pk for one in (often, seldom, never)]
    assert claimed_ids(after(10)) == waiting[::-1]


def of_one_laptop(count: int, port: int, caller: str = "192.0.2.50") -> list[Agent]:
    """So many players without an owner that have registered from one address."""
    agents = [make.player(f"Silent {port + number}", port=port + number).agent for number in range(count)]
    Agent.objects.filter(pk__in=[one.pk for one in agents]).update(registered_from=caller)
    return list(Agent.objects.filter(pk__in=[one.pk for one in agents]).order_by("pk"))


def running() -> set[Any]:
    return set(Check.practices.filter(state=CheckState.RUNNING).values_list("pk", flat=True))


@pytest.mark.parametrize("count", [3, 10, 40])
def test_silent_agents_of_one_laptop_keep_nobody_else_from_practice(count: int) -> None:
    silent = of_one_laptop(count, 9000)
    [other] = of_one_laptop(1, 9500, "192.0.2.60")
    for agent in silent:
        practise(agent)
    jobs = taking.take(now=NOW)
    # Nobody else waits, so several of them play at once.
    assert len(jobs) == MAX_PRACTICES_RUNNING
    assert taking.overtaken(jobs, after(1)) == set()
    waiting = practise(other, now=after(1))
    overtaken = taking.overtaken(jobs, after(1))
    assert len(overtaken) == 1
    for check_id in overtaken:
        runs.yield_to_match(check_id=check_id, run=1)
    assert claimed_ids(after(1)) == [waiting.pk]
    # The next one of them asks again at once, and others are first as often as they ask.
    runs.finish_practice(check_id=waiting.pk, run=1, report={"status": "WIN", "steps": []}, now=after(2))
    again = practise(other, now=after(2))
    assert claimed_ids(after(2)) == [again.pk]


def test_while_a_round_is_played_a_silent_agent_gives_its_place_to_others_after_a_minute() -> None:
    make.running_league("fall", players=2)
    [silent, other] = [*of_one_laptop(1, 9000), *of_one_laptop(1, 9500, "192.0.2.60")]
    first = practise(silent)
    jobs = taking.take(now=NOW)
    second = practise(other, now=after(1))
    assert taking.overtaken(jobs, after(MAX_PRACTICE_BEFORE_OTHERS_S - 1)) == set()
    at = after(MAX_PRACTICE_BEFORE_OTHERS_S + 1)
    assert taking.overtaken(jobs, at) == {first.pk}
    runs.yield_to_match(check_id=first.pk, run=1)
    assert claimed_ids(at) == [second.pk]


def test_nobody_gives_way_to_a_practice_match_that_could_not_start() -> None:
    silent = of_one_laptop(3, 9000)
    made = make.running_league("fall", players=2)
    for agent in silent:
        practise(agent)
    jobs = taking.take(now=NOW)
    # Its agent is in a match.
    practise(made.players[0].agent, now=after(1))
    assert taking.overtaken(jobs, after(300)) == set()


def test_one_persons_agents_have_one_place_and_a_class_behind_one_address_has_as_many_as_it_has_persons() -> None:
    agents = [one.agent for one in make.league(players=4).players]
    Agent.objects.update(registered_from="192.0.2.50")
    people = [RosterEntry(league_id="fall", name=f"N{n}", email=f"{n}@school.example", code=f"c{n}") for n in range(3)]
    for number, agent in enumerate(agents):
        people[max(0, number - 1)].save()
        Agent.objects.filter(pk=agent.pk).update(owner=people[max(0, number - 1)])
    waiting = [practise(Agent.objects.get(pk=agent.pk)).pk for agent in agents]
    # The first two belong to one person.
    assert claimed_ids() == [waiting[0], *waiting[2:]]


def test_no_practice_match_starts_while_its_agents_match_is_due_and_a_running_one_gives_way() -> None:
    made = make.league(players=4)
    opening.close_registration(league_id="fall")
    practice = practise(made.players[0].agent)
    [job] = taking.take(now=NOW)
    assert taking.overtaken([job], NOW) == set()
    lifecycle.start_round(league_id="fall")
    assert Match.objects.filter(state="READY").count() == 2
    assert taking.overtaken([job], NOW) == {practice.pk}
    runs.yield_to_match(check_id=practice.pk, run=1)
    assert Check.practices.get().state == CheckState.WANTED
    assert claimed_ids() == []


def test_a_practice_match_that_gave_way_three_times_fails() -> None:
    practice = practise(make.league(players=2).players[0].agent)
    for run in (1, 2, 3):
        assert claimed_ids() == [practice.pk]
        runs.yield_to_match(check_id=practice.pk, run=run)
    stored = Check.practices.get()
    assert (stored.state, stored.problem) == (
        "FAILED",
        "A match or a check of the agent, or other people, came first, three times.",
    )


def test_a_practice_match_gives_way_to_a_check_of_its_address_and_starts_after_it() -> None:
    made = make.league(players=2)
    practice = practise(made.players[0].agent)
    [job] = taking.take(now=NOW)
    check = asking.ask(endpoint="", token=made.players[0].token, caller=REMOTE, now=after(1))
    assert taking.overtaken([job], NOW) == set()
    assert taking.overtaken([job], after(1)) == {practice.pk}
    runs.yield_to_match(check_id=practice.pk, run=1)
    assert claimed_ids(after(1)) == [check.pk]


def test_an_agent_gets_no_match_while_it_practises() -> None:
    made = make.league(players=2)
    practise(made.players[0].agent, now=None)
    # `occupied` uses the current time, so the practice match has to run now, not at NOW.
    [job] = taking.take(now=Check.practices.get().due_at)
    assert taking.occupied() == {"127.0.0.1|8101"}
    assert job.opponent == "easy"


def test_an_agent_that_has_moved_since_does_not_practise_at_its_new_address() -> None:
    player = make.league(players=2).players[0]
    practice = practise(player.agent)
    new_address = {"endpoint": "http://127.0.0.1:8999/mcp", "endpoint_key": "127.0.0.1|8999/mcp?"}
    Agent.objects.filter(pk=player.agent.pk).update(**new_address)
    assert claimed_ids() == []
    stored = Check.practices.get(pk=practice.pk)
    assert (stored.state, stored.problem) == ("FAILED", "The agent has registered anew since: ask again.")


def test_at_an_address_that_two_agents_name_an_agent_has_to_show_its_token() -> None:
    made = make.league(players=2)
    rival, other = made.players
    practise(other.agent)
    [job] = taking.take(now=NOW)
    assert job.shown_by == frozenset()
    runs.finish_practice(check_id=job.check_id, run=1, report={"status": "WIN", "steps": []}, now=NOW)
    path = rival.agent.endpoint.replace("/mcp", "/other")
    port = rival.agent.endpoint.rpartition(":")[2].partition("/")[0]
    thief = make.player("Thief", "fall", port=int(port), contact_endpoint=path)
    practise(thief.agent, now=after(1))
    [job] = taking.take(now=after(1))
    own = set(AgentToken.objects.filter(agent=thief.agent).values_list("sha256", flat=True))
    assert job.shown_by == own
    assert job.tokens == own
    assert job.player_id == thief.agent.code


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETED"])
def test_at_the_address_of_another_leagues_agent_an_agent_has_to_show_its_token(state: str) -> None:
    rival = make.league(players=2).players[0].agent
    League.objects.filter(pk="fall").update(state=state)
    make.open_league("next")
    practise(make.player("Thief", "next", port=8101).agent)
    [job] = taking.take(now=NOW)
    assert (job.endpoint, job.league_id, len(job.shown_by)) == (rival.endpoint, "next", 1)
    # So no round is announced to that program, whose own league may be running.
    assert job.in_play


def test_a_practice_match_of_a_deleted_agent_fails() -> None:
    player = make.league(players=2).players[0]
    practise(player.agent)
    Agent.objects.filter(pk=player.agent.pk).delete()
    assert claimed_ids() == []
    assert Check.practices.get().state == CheckState.FAILED


def test_callbacks_reach_the_practice_match() -> None:
    player = make.league(players=2).players[0]
    practice = practise(player.agent)
    assert claimed_ids() == [practice.pk]
    message = {"message_type": "GAME_JOIN_ACK", "match_id": "R7M1", "player_id": "P01", "accept": True}
    assert relaying.relay_answer(player=player.agent, message_type="GAME_JOIN_ACK", match_id="R7M1", message=message)
    [(check_id, kind, _message)] = relaying.take({practice.pk})
    assert (check_id, kind) == (practice.pk, "GAME_JOIN_ACK")


def test_a_practice_match_of_a_killed_process_is_played_again() -> None:
    practice = practise(make.league(players=2).players[0].agent)
    assert claimed_ids() == [practice.pk]
    assert claimed_ids(NOW + timedelta(seconds=taking.CLAIM_TIMEOUT_S + 1)) == []
    assert claimed_ids(NOW + timedelta(seconds=taking.PRACTICE_CLAIM_TIMEOUT_S + 1)) == [practice.pk]


# Readiness ----------------------------------------------------------------------------------------


def test_a_practice_match_changes_no_readiness_and_is_not_listed_among_checks() -> None:
    made = make.league(players=2, require_check=True)
    agent = made.players[0].agent
    before = readiness.readiness([agent])
    practice = practise(agent)
    assert readiness.readiness([agent]) == before
    taking.take(now=NOW)
    assert readiness.readiness([agent]) == before
    runs.finish_practice(check_id=practice.pk, run=1, report={"status": "WIN", "steps": []}, now=NOW)
    assert readiness.readiness([agent]) == before
    assert not Check.objects.exists()
    assert not list(agent.checks.all())
