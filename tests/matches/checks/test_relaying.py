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


def start_check(member: make.RegisteredAgent) -> taking.Job:
    """Start a check of this player."""
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
    made = make.league(players=2)
    job, token = start_check(made.players[0]), made.players[0].token
    assert post(client, token)["status"] == "RECEIVED"
    [(check_id, message_type, message)] = relaying.take({job.check_id})
    assert (check_id, message_type, message["match_id"]) == (job.check_id, "GAME_JOIN_ACK", JOIN["match_id"])
    assert token not in str(message)
    assert answers_for(job) == []


def test_an_answer_is_refused_while_no_check_of_its_sender_runs(client: Client) -> None:
    made = make.league(players=2)
    job = start_check(made.players[0])
    # A token reaches no other player's check.
    assert refused(client, made.players[1].token) == "E001"
    assert runs.finish(check_id=job.check_id, run=job.run, report=report(), now=NOW)
    assert refused(client, made.players[0].token) == "E001"
    assert CheckAnswer.objects.count() == 0


def test_an_answer_for_a_match_in_play_goes_to_that_match(client: Client) -> None:
    made = make.running_league(players=2)
    assert post(client, made.players[0].token, match_id="R1M1")["match_id"] == "R1M1"
    assert CheckAnswer.objects.count() == 0


def test_a_sender_with_too_many_undelivered_answers_is_refused_and_nobody_else(client: Client) -> None:
    made = make.league(players=2)
    first, second = (start_check(player) for player in made.players)
    for number in range(outbox.MAX_RELAYED_ANSWERS):
        post(client, made.players[0].token, number=number)
    assert refused(client, made.players[0].token) == "E002"
    assert post(client, made.players[1].token)["status"] == "RECEIVED"
    both = answers_for(first, second)
    assert both == [(first.check_id, "GAME_JOIN_ACK")] * outbox.MAX_RELAYED_ANSWERS + [
        (second.check_id, "GAME_JOIN_ACK")
    ]


def test_an_agent_that_only_names_an_address_has_to_name_the_match(client: Client) -> None:
    """Otherwise it could refuse invitations in the name of the program that listens there."""
    made = make.league(players=2)
    alias, listener = made.players[1].agent, made.players[0].agent
    alias.endpoint, alias.endpoint_key, alias.shown_at = listener.endpoint, listener.endpoint_key, None
    alias.save()
    job = start_check(made.players[0])
    assert refused(client, made.players[1].token, match_id=None) == "E003"
    assert answers_for(job) == []
    # The agent of the program that listens there was registered from its own machine.
    assert job.own_tokens == {tokens.digest(made.players[0].token)}
    post(client, made.players[0].token, match_id=None)
    assert answers_for(job) == [(job.check_id, "GAME_JOIN_ACK")]
    # An answer that names its match counts with the token of any agent at the address: a program may be registered
    # more than once.
    assert job.tokens == {tokens.digest(player.token) for player in made.players}
    for player in made.players:
        post(client, player.token)
    assert answers_for(job) == [(job.check_id, "GAME_JOIN_ACK")] * 2


def test_if_no_agent_has_proved_to_be_at_the_address_both_have_to_name_the_match(client: Client) -> None:
    made = make.league(players=2)
    address = {"endpoint": made.players[0].agent.endpoint, "endpoint_key": made.players[0].agent.endpoint_key}
    Agent.objects.filter(kind="player").update(shown_at=None, **address)
    job = start_check(made.players[0])
    assert job.own_tokens == set()
    for player in made.players:
        assert refused(client, player.token, match_id=None) == "E003"
    Agent.objects.filter(pk=made.players[1].agent.pk).update(league=None)
    assert refused(client, made.players[0].token, match_id=None) == "E003"
    Agent.objects.filter(pk=made.players[1].agent.pk).delete()
    post(client, made.players[0].token, match_id=None)
    assert answers_for(job) == [(job.check_id, "GAME_JOIN_ACK")]


def test_in_a_check_over_a_line_only_its_agent_may_leave_out_the_match(client: Client) -> None:
    made = make.league(players=2)
    agent = made.players[0].agent
    job = start_check(made.players[0])
    Check.objects.filter(pk=job.check_id).update(way="poll", endpoint_key=line_key(agent.pk), agent=agent)
    Agent.objects.filter(kind="player").update(shown_at=None, endpoint_key=agent.endpoint_key)
    assert relaying.may_name_no_match(Check.objects.get()) == {agent.pk}


def test_answers_of_checks_that_are_over_are_deleted(client: Client) -> None:
    made = make.league(players=2)
    first, second = (start_check(player) for player in made.players)
    post(client, made.players[0].token)
    assert runs.finish(check_id=first.check_id, run=first.run, report=report(), now=NOW)
    assert answers_for(second) == []
    assert CheckAnswer.objects.count() == 0


@pytest.mark.parametrize("origin", ["of the address", "with the token", "by the league"])
def test_the_program_at_an_address_is_not_checked_as_the_agent_that_only_names_it(origin: str) -> None:
    """A program that looks at id and league_token would fail such a check; its league could leave it out for that."""
    made = make.league(players=2, require_check=True)
    rival, thief = (player.agent for player in made.players)
    address = {"endpoint": rival.endpoint, "endpoint_key": rival.endpoint_key}
    Agent.objects.filter(pk=thief.pk).update(shown_at=None, **address)
    if origin == "by the league":
        asking.queue_agent(Agent.objects.get(pk=thief.pk), Check(asked_by="", due_at=NOW, created_at=NOW))
    else:
        ask(rival.endpoint, token=made.players[1].token if origin == "with the token" else "")
    [job] = taking.take(now=NOW)
    known = (job.player_id, job.league_token, job.own_tokens)
    assert known == (rival.code, credentials.league_token(rival), {tokens.digest(made.players[0].token)})
    # If no agent has proved to be at the address, the site cannot know whose program it is.
    Agent.objects.update(shown_at=None)
    Check.objects.update(state="WANTED", agent=thief)
    [job] = taking.take(now=NOW)
    assert job.player_id == thief.code
