"""Answers that a player under check sends to the league manager reach its check, and no other."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from agents_registry.addresses.reading import line_key
from agents_registry.models import Agent
from agents_registry.registering import credentials
from league_sdk.protocol import tokens
from matches.checks import asking, relaying, runs, taking
from matches.league import outbox
from matches.models import Check, CheckAnswer
from tests import factories as make
from tests import wire
from tests.matches.checks.asks import NOW, ask
from tests.matches.reports import report

pytestmark = pytest.mark.django_db
JOIN = {"match_id": "R123456M1", "accept": True}


def under_check(member: make.Member) -> taking.Job:
    """A check of this player that runs now."""
    check = ask(member.agent.endpoint, now=NOW)
    [job] = [one for one in taking.take(now=NOW) if one.check_id == check.pk]
    return job


def post(client: Client, token: str, **fields: Any) -> Any:
    return wire.ask(client, "GAME_JOIN_ACK", JOIN | {"auth_token": token} | fields)


def refused(client: Client, token: str, **fields: Any) -> str:
    return str(wire.refused(client, "GAME_JOIN_ACK", JOIN | {"auth_token": token} | fields)["error_code"])


def answers_for(*jobs: taking.Job) -> list[tuple[UUID, str]]:
    return [(check_id, message_type) for check_id, message_type, _ in relaying.take({job.check_id for job in jobs})]


def test_an_answer_reaches_the_check_of_its_sender_once(client: Client) -> None:
    place = make.setting(players=2)
    job, token = under_check(place.players[0]), place.players[0].token
    assert post(client, token)["status"] == "RECEIVED"
    [(check_id, message_type, message)] = relaying.take({job.check_id})
    assert (check_id, message_type, message["match_id"]) == (job.check_id, "GAME_JOIN_ACK", JOIN["match_id"])
    assert token not in str(message)
    assert answers_for(job) == []


def test_without_a_check_that_runs_nothing_waits_for_an_answer(client: Client) -> None:
    place = make.setting(players=2)
    job = under_check(place.players[0])
    # Another player's token opens no other's check.
    assert refused(client, place.players[1].token) == "E001"
    assert runs.finish(check_id=job.check_id, run=job.run, report=report(), now=NOW)
    assert refused(client, place.players[0].token) == "E001"
    assert CheckAnswer.objects.count() == 0


def test_an_answer_for_a_match_in_play_goes_there(client: Client) -> None:
    world = make.playing(players=2)
    assert post(client, world.players[0].token, match_id="R1M1")["match_id"] == "R1M1"
    assert CheckAnswer.objects.count() == 0


def test_a_sender_has_a_few_answers_on_their_way_and_keeps_nobody_else_out(client: Client) -> None:
    place = make.setting(players=2)
    first, second = (under_check(player) for player in place.players)
    for number in range(outbox.MAX_RELAYED_ANSWERS):
        post(client, place.players[0].token, number=number)
    assert refused(client, place.players[0].token) == "E002"
    assert post(client, place.players[1].token)["status"] == "RECEIVED"
    both = answers_for(first, second)
    assert both == [(first.check_id, "GAME_JOIN_ACK")] * outbox.MAX_RELAYED_ANSWERS + [
        (second.check_id, "GAME_JOIN_ACK")
    ]


def test_an_agent_at_anothers_address_has_to_know_the_match(client: Client) -> None:
    """Otherwise it could refuse invitations in the name of the program that listens there."""
    place = make.setting(players=2)
    alias, listens = place.players[1].agent, place.players[0].agent
    alias.endpoint, alias.endpoint_key, alias.shown_at = listens.endpoint, listens.endpoint_key, None
    alias.save()
    job = under_check(place.players[0])
    assert refused(client, place.players[1].token, match_id=None) == "E003"
    assert answers_for(job) == []
    # The program that listens there has registered from its own machine.
    assert job.own_tokens == {tokens.digest(place.players[0].token)}
    post(client, place.players[0].token, match_id=None)
    assert answers_for(job) == [(job.check_id, "GAME_JOIN_ACK")]
    # Readiness belongs to the address: the program there may be registered more than once.
    assert job.tokens == {tokens.digest(player.token) for player in place.players}
    for player in place.players:
        post(client, player.token)
    assert answers_for(job) == [(job.check_id, "GAME_JOIN_ACK")] * 2


def test_where_nobody_has_shown_to_be_there_both_have_to_know_the_match(client: Client) -> None:
    place = make.setting(players=2)
    where = {"endpoint": place.players[0].agent.endpoint, "endpoint_key": place.players[0].agent.endpoint_key}
    Agent.objects.filter(kind="player").update(shown_at=None, **where)
    job = under_check(place.players[0])
    assert job.own_tokens == set()
    for player in place.players:
        assert refused(client, player.token, match_id=None) == "E003"
    Agent.objects.filter(pk=place.players[1].agent.pk).update(league=None)
    assert refused(client, place.players[0].token, match_id=None) == "E003"
    Agent.objects.filter(pk=place.players[1].agent.pk).delete()
    post(client, place.players[0].token, match_id=None)
    assert answers_for(job) == [(job.check_id, "GAME_JOIN_ACK")]


def test_over_a_line_an_agent_answers_for_itself_alone(client: Client) -> None:
    place = make.setting(players=2)
    agent = place.players[0].agent
    job = under_check(place.players[0])
    Check.objects.filter(pk=job.check_id).update(way="poll", endpoint_key=line_key(agent.pk), agent=agent)
    Agent.objects.filter(kind="player").update(shown_at=None, endpoint_key=agent.endpoint_key)
    assert relaying.may_name_no_match(Check.objects.get()) == {agent.pk}


def test_answers_of_checks_that_are_over_are_deleted(client: Client) -> None:
    place = make.setting(players=2)
    first, second = (under_check(player) for player in place.players)
    post(client, place.players[0].token)
    assert runs.finish(check_id=first.check_id, run=first.run, report=report(), now=NOW)
    assert answers_for(second) == []
    assert CheckAnswer.objects.count() == 0


@pytest.mark.parametrize("origin", ["of the address", "with the token", "by the league"])
def test_the_program_at_an_address_is_not_checked_as_the_agent_that_only_names_it(origin: str) -> None:
    """A program that minds its own id and league_token would fail, and its league could leave it out for that."""
    place = make.setting(players=2, require_check=True)
    rival, thief = (player.agent for player in place.players)
    where = {"endpoint": rival.endpoint, "endpoint_key": rival.endpoint_key}
    Agent.objects.filter(pk=thief.pk).update(shown_at=None, **where)
    if origin == "by the league":
        asking.queue_agent(Agent.objects.get(pk=thief.pk), Check(asked_by="", due_at=NOW, created_at=NOW))
    else:
        ask(rival.endpoint, token=place.players[1].token if origin == "with the token" else "")
    [job] = taking.take(now=NOW)
    known = (job.player_id, job.league_token, job.own_tokens)
    assert known == (rival.code, credentials.league_token(rival), {tokens.digest(place.players[0].token)})
    # Where nobody has shown to be there the site cannot know better.
    Agent.objects.update(shown_at=None)
    Check.objects.update(state="WANTED", agent=thief)
    [job] = taking.take(now=NOW)
    assert job.player_id == thief.code
