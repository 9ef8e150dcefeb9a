"""Who may have an agent practise, how often, and whom a practice match never keeps waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from agents_registry.models import Agent, AgentToken, RosterEntry
from agents_registry.rosters import roster
from matches.checks import asking, practising, relaying, runs, taking
from matches.league import lifecycle, opening
from matches.league.errors import ActionRefused, Invalid
from matches.models import Check, CheckState, League, Match, Round
from matches.view import readiness
from tests import factories as make
from tests.matches.checks.asks import FAR, NOW, TEACHER, after, fill

pytestmark = pytest.mark.django_db


def practise(agent: Agent, *, proven: bool = True, now: Any = NOW, **how: Any) -> Check:
    return practising.ask(agent=agent, proven=proven, asked_by="192.0.2.7", now=now, **{"opponent": "easy"} | how)


def over(check: Check, now: Any = NOW) -> None:
    """Take a practice match, and end it."""
    [job] = [one for one in taking.take(now=now) if one.check_id == check.pk]
    assert runs.finish_practice(check_id=check.pk, run=job.run, report={"status": "WIN", "steps": []}, now=now)


def claimed_ids(now: Any = NOW, room: int = taking.MAX_RUNNING) -> list[Any]:
    return [job.check_id for job in taking.take(now=now, room=room)]


# Asking -----------------------------------------------------------------------------------------


def test_an_agent_practises_the_game_of_its_league_with_its_own_identity() -> None:
    place = make.setting(players=2)
    agent = place.players[0].agent
    practice = practise(agent, opponent="hard", second=True)
    [job] = taking.take(now=NOW)
    assert (job.check_id, job.opponent, job.second, job.game_types) == (practice.pk, "hard", True, ("even_odd",))
    assert (job.player_id, job.league_id, job.asked_by) == ("P01", "fall", "192.0.2.7")
    assert job.gives_way


@pytest.mark.parametrize(
    ("wish", "field", "sentence"),
    [
        ({"opponent": "godlike"}, "opponent", "There is no strength godlike."),
        ({"game_type": "connect_four"}, "game_type", "P01 does not play connect_four."),
        ({"game_type": "chess"}, "game_type", "P01 does not play chess."),
    ],
)
def test_what_cannot_be_played_is_refused(wish: dict[str, str], field: str, sentence: str) -> None:
    agent = make.setting(players=2).players[0].agent
    with pytest.raises(Invalid) as refused:
        practise(agent, **wish)
    assert (refused.value.field, str(refused.value)) == (field, sentence)
    assert not Check.checks_and_practices.exists()


def test_a_referee_does_not_practise() -> None:
    place = make.setting(players=2)
    with pytest.raises(Invalid, match="REF01 is not a player: only players practise"):
        practise(place.referees[0].agent)


def test_only_a_proven_owner_may_have_an_agent_practise() -> None:
    place = make.setting(players=2)
    with pytest.raises(ActionRefused, match="nobody has shown that it is yours") as refused:
        practise(place.players[0].agent, proven=False)
    assert refused.value.status == 403
    with pytest.raises(asking.NotAllowed, match="This auth_token belongs to no agent"):
        practising.ask_with_token(token="tok_" + "x" * 32, caller=FAR, opponent="easy")
    AgentToken.objects.filter(agent=place.players[1].agent).update(proven=False)
    with pytest.raises(asking.NotAllowed, match="nobody has shown that it is yours"):
        practising.ask_with_token(token=place.players[1].token, caller=FAR, opponent="easy")
    assert (
        practising.ask_with_token(token=place.players[0].token, caller=FAR, opponent="easy", now=NOW).agent is not None
    )


def test_one_at_a_time_and_the_same_again_is_the_same() -> None:
    agent = make.setting(players=2).players[0].agent
    first = practise(agent)
    assert practise(agent) == first
    with pytest.raises(asking.TooManyChecks, match="One practice match at a time"):
        practise(agent, opponent="hard")
    with pytest.raises(IntegrityError), transaction.atomic():
        Check.checks_and_practices.create(
            role="player", agent=agent, opponent="easy", endpoint="http://x", address="x", due_at=NOW, created_at=NOW
        )
    over(first)
    assert practise(agent, opponent="hard") != first


def test_ten_in_ten_minutes_and_then_it_is_said_when_the_next_may_be_asked_for() -> None:
    agent = make.setting(players=2).players[0].agent
    for number in range(practising.MAX_PER_WINDOW):
        over(practise(agent, now=after(number)), after(number))
    with pytest.raises(asking.TooManyChecks) as refused:
        practise(agent, now=after(20))
    sentence = "10 practice matches in 10 minutes are the most: ask for the next one at 10:10:00 UTC."
    assert (str(refused.value), refused.value.status) == (sentence, 429)
    assert practise(agent, now=after(practising.WINDOW_S)).state == CheckState.WANTED


def test_the_agents_of_one_person_count_together_in_every_league() -> None:
    one, other = make.setting(players=2), make.setting("spring", players=2)
    agents = [place.players[0].agent for place in (one, other)]
    for agent in agents:
        RosterEntry.objects.create(
            league=agent.league, name="Ada", email="ada@school.example", code=f"p-{agent.league_id}"
        )
        Agent.objects.filter(pk=agent.pk).update(owner=RosterEntry.objects.get(league=agent.league))
        agent.refresh_from_db()
    for number in range(practising.MAX_PER_WINDOW):
        over(practise(agents[number % 2], now=after(number)), after(number))
    for agent in agents:
        with pytest.raises(asking.TooManyChecks, match="10 practice matches in 10 minutes are the most"):
            practise(agent, now=after(20))
    assert practise(one.players[1].agent, now=after(20)).state == CheckState.WANTED


def test_many_agents_without_an_owner_have_a_limit_at_one_address_and_each_its_first() -> None:
    agents = [player.agent for player in make.setting(players=4).players]
    for number, agent in enumerate(agents[:3]):
        over(practise(agent, now=after(number)), after(number))
    played = {"opponent": "easy", "state": CheckState.DONE}
    fill(practising.MAX_PER_ADDRESS - 3, "192.0.2.7", asked_by="192.0.2.7", now=after(3), **played)
    with pytest.raises(asking.TooManyChecks) as refused:
        practise(agents[0], now=after(20))
    sentence = "Many practice matches were asked for from your network: ask for the next one at 10:10:00 UTC."
    assert (str(refused.value), refused.value.status) == (sentence, 429)
    over(practise(agents[3], now=after(20)), after(20))
    assert practising.ask(agent=agents[1], proven=True, asked_by="192.0.2.8", opponent="easy", now=after(30))


def test_so_many_of_one_place_wait_and_no_more() -> None:
    place = make.setting(players=3)
    fill(practising.MAX_WAITING_PER_PLACE - 2, "127.0.0.1", opponent="easy")
    for player in place.players[:2]:
        practise(player.agent)
    with pytest.raises(asking.TooManyChecks, match="Too many practice matches are waiting already"):
        practise(place.players[2].agent)
    # The queue of the checks is another one.
    assert asking.ask(endpoint="", token=place.players[2].token, caller=FAR, now=NOW).opponent == ""


def test_old_reports_are_forgotten() -> None:
    place = make.setting(players=2)
    asking.ask(endpoint="http://192.0.2.20:9000/mcp", caller=TEACHER, now=NOW)
    ids = []
    for number in range(runs.MAX_PRACTICES_PER_AGENT + 2):
        now = after(20 + number * practising.WINDOW_S)
        one = practise(place.players[0].agent, now=now)
        ids.append(one.pk)
        over(one, now)
    assert set(Check.practices.values_list("pk", flat=True)) == set(ids[2:])
    assert Check.objects.count() == 1


# Taking -----------------------------------------------------------------------------------------


def test_checks_come_first_and_practice_never_takes_the_last_place_that_they_could_have() -> None:
    place = make.setting(players=6)
    practices = [practise(player.agent) for player in place.players]
    check = asking.ask(endpoint="http://192.0.2.20:9000/mcp", caller=TEACHER, now=after(1))
    assert claimed_ids(after(1), room=taking.RESERVED_FOR_CHECKS) == [check.pk]
    assert claimed_ids(after(1)) == [one.pk for one in practices[:3]]
    # Three run, and neither a place nor its checks wait for that.
    more = [asking.ask(endpoint=f"http://127.0.0.1:{9100 + n}/mcp", caller=TEACHER, now=after(1)) for n in range(2)]
    assert claimed_ids(after(1), room=4) == [one.pk for one in more]


def test_one_at_a_time_while_a_round_is_played() -> None:
    place = make.setting(players=4)
    opening.close_registration(league_id="fall")
    first, second = (practise(player.agent) for player in place.players[:2])
    league_round = Round.objects.get(number=1)
    Round.objects.filter(pk=league_round.pk).update(state="RUNNING")
    assert claimed_ids() == [first.pk]
    assert claimed_ids() == []
    Round.objects.filter(pk=league_round.pk).update(state="COMPLETED")
    assert claimed_ids() == [second.pk]


def test_the_agent_that_has_played_less_is_first() -> None:
    place = make.setting(players=3)
    often, seldom, never = (player.agent for player in place.players)
    for number in range(3):
        over(practise(often, now=after(number)), after(number))
    over(practise(seldom, now=after(4)), after(4))
    waiting = [practise(one, now=after(10)).pk for one in (often, seldom, never)]
    assert claimed_ids(after(10)) == waiting[::-1]


def test_none_starts_while_a_match_of_its_agent_is_due_and_one_that_runs_gives_way() -> None:
    place = make.setting(players=4)
    opening.close_registration(league_id="fall")
    practice = practise(place.players[0].agent)
    [job] = taking.take(now=NOW)
    assert taking.overtaken([job], NOW) == set()
    lifecycle.start_round(league_id="fall")
    assert Match.objects.filter(state="READY").count() == 2
    assert taking.overtaken([job], NOW) == {practice.pk}
    runs.yield_to_match(check_id=practice.pk, run=1)
    assert Check.practices.get().state == CheckState.WANTED
    assert claimed_ids() == []


def test_it_gives_way_three_times_and_is_then_over() -> None:
    practice = practise(make.setting(players=2).players[0].agent)
    for run in (1, 2, 3):
        assert claimed_ids() == [practice.pk]
        runs.yield_to_match(check_id=practice.pk, run=run)
    known = Check.practices.get()
    assert (known.state, known.problem) == ("FAILED", "What the league asks of the agent came first, three times.")


def test_it_gives_way_to_a_check_that_waits_for_its_address_and_does_not_start_before_it() -> None:
    place = make.setting(players=2)
    practice = practise(place.players[0].agent)
    [job] = taking.take(now=NOW)
    check = asking.ask(endpoint="", token=place.players[0].token, caller=FAR, now=after(1))
    assert taking.overtaken([job], NOW) == set()
    assert taking.overtaken([job], after(1)) == {practice.pk}
    runs.yield_to_match(check_id=practice.pk, run=1)
    assert claimed_ids(after(1)) == [check.pk]


def test_its_agent_gets_no_match_meanwhile() -> None:
    place = make.setting(players=2)
    practise(place.players[0].agent, now=None)
    # `occupied` looks at the clock.
    [job] = taking.take(now=Check.practices.get().due_at)
    assert taking.occupied() == {"127.0.0.1|8101"}
    assert job.opponent == "easy"


def test_an_agent_that_has_moved_since_does_not_practise_at_its_new_address() -> None:
    player = make.setting(players=2).players[0]
    practice = practise(player.agent)
    there = {"endpoint": "http://127.0.0.1:8999/mcp", "endpoint_key": "127.0.0.1|8999/mcp?"}
    Agent.objects.filter(pk=player.agent.pk).update(**there)
    assert claimed_ids() == []
    known = Check.practices.get(pk=practice.pk)
    assert (known.state, known.problem) == ("FAILED", "The agent has registered anew since: ask again.")


def test_at_an_address_that_another_names_too_the_agent_has_to_show_its_token() -> None:
    place = make.setting(players=2)
    rival, other = place.players
    practise(other.agent)
    [job] = taking.take(now=NOW)
    assert job.shown_by == frozenset()
    runs.finish_practice(check_id=job.check_id, run=1, report={"status": "WIN", "steps": []}, now=NOW)
    path = rival.agent.endpoint.replace("/mcp", "/other")
    port = rival.agent.endpoint.rpartition(":")[2].partition("/")[0]
    thief = make.join("Thief", "fall", port=int(port), contact_endpoint=path)
    practise(thief.agent, now=after(1))
    [job] = taking.take(now=after(1))
    own = set(AgentToken.objects.filter(agent=thief.agent).values_list("sha256", flat=True))
    assert job.shown_by == own
    assert job.tokens == own
    assert job.player_id == thief.agent.code


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETED"])
def test_a_program_of_another_league_is_not_played_with_in_a_thiefs_name(state: str) -> None:
    rival = make.setting(players=2).players[0].agent
    League.objects.filter(pk="fall").update(state=state)
    make.open_league("next")
    practise(make.join("Thief", "next", port=8101).agent)
    [job] = taking.take(now=NOW)
    assert (job.endpoint, job.league_id, len(job.shown_by)) == (rival.endpoint, "next", 1)
    # Nor is a round announced there that does not exist.
    assert job.in_play


def test_a_practice_match_of_an_agent_that_is_gone_is_over() -> None:
    player = make.setting(players=2).players[0]
    practise(player.agent)
    Agent.objects.filter(pk=player.agent.pk).delete()
    assert claimed_ids() == []
    assert Check.practices.get().state == CheckState.FAILED


def test_answers_by_post_reach_it() -> None:
    player = make.setting(players=2).players[0]
    practice = practise(player.agent)
    assert claimed_ids() == [practice.pk]
    message = {"message_type": "GAME_JOIN_ACK", "match_id": "R7M1", "player_id": "P01", "accept": True}
    assert relaying.relay_answer(player=player.agent, message_type="GAME_JOIN_ACK", match_id="R7M1", message=message)
    [(check_id, kind, _message)] = relaying.take({practice.pk})
    assert (check_id, kind) == (practice.pk, "GAME_JOIN_ACK")


def test_one_that_a_killed_process_left_is_played_again() -> None:
    practice = practise(make.setting(players=2).players[0].agent)
    assert claimed_ids() == [practice.pk]
    assert claimed_ids(NOW + timedelta(seconds=taking.CLAIM_TIMEOUT_S + 1)) == []
    assert claimed_ids(NOW + timedelta(seconds=taking.PRACTICE_CLAIM_TIMEOUT_S + 1)) == [practice.pk]


# What it says of its agent: nothing ---------------------------------------------------------------


def test_a_practice_match_is_not_listed_among_checks() -> None:
    place = make.setting(players=2, require_check=True)
    agent = place.players[0].agent
    before = readiness.readiness([agent])
    practice = practise(agent)
    assert readiness.readiness([agent]) == before
    taking.take(now=NOW)
    assert readiness.readiness([agent]) == before
    runs.finish_practice(check_id=practice.pk, run=1, report={"status": "WIN", "steps": []}, now=NOW)
    assert readiness.readiness([agent]) == before
    assert not Check.objects.exists()
    assert not list(agent.checks.all())
    assert roster.exists("fall") is False
