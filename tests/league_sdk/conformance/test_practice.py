"""A practice match: played to its end against every strength, and what is said of agents that do not play."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from league_sdk.conformance.house import House
from league_sdk.conformance.practice import Practice, practise
from league_sdk.conformance.steps import Step
from league_sdk.conformance.subject import NOBODY, Subject
from league_sdk.protocol import tokens
from league_sdk.protocol.messages import ROLES
from league_sdk.rules.registry import games
from league_sdk.simulated_league import Identity
from league_sdk.strategies import AlwaysEven, AlwaysOdd, Random
from league_sdk.strategies.house import STRENGTHS, house_agent
from league_sdk.transport.client import Client
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import SHORT_LIMITS, TOKEN, Agent, Params
from tests.league_sdk.conformance.playing import started


async def practised(url: str, house: House, game_type: str = "even_odd", **more: Any) -> Practice:
    """Play one practice match."""
    client = Client(agent_type="check")
    try:
        subject = Subject(url=url, limits=SHORT_LIMITS, listen=NOBODY, identity=Identity(known=True))
        return await practise(subject, client, house, game_type=game_type, **more)
    finally:
        await client.aclose()


def types_sent(practice: Practice) -> list[str]:
    """The types of the messages that were sent."""
    return [step.message_type for step in practice.steps if step.message_type]


@pytest.mark.parametrize(
    "strength", [STRENGTHS[-1], *(pytest.param(one, marks=pytest.mark.exhaustive) for one in STRENGTHS[:-1])]
)
@pytest.mark.parametrize(
    ("game_type", "role"),
    [
        pytest.param(*case, marks=pytest.mark.exhaustive if case == ("connect_four", ROLES[1]) else ())
        for case in product(sorted(games()), ROLES)
    ],
)
async def test_every_game_is_played_with_every_strength(game_type: str, strength: str, role: str) -> None:
    async with started(Random(), game_type) as url:
        house = House(strength, house_agent(strength, game_type))
        practice = await practised(url, house, game_type, role=role)
    assert practice.played
    assert (practice.game_type, practice.opponent, practice.role) == (game_type, strength, role)
    types = types_sent(practice)
    assert (types[:2], types[-1]) == (["ROUND_ANNOUNCEMENT", "GAME_INVITATION"], "GAME_OVER")
    assert not [step.problem for step in practice.steps if step.problem]
    assert json.loads(json.dumps(practice.to_json()))["status"] == practice.status
    if game_type == "tic_tac_toe" and strength == "hard":
        assert practice.status != "WIN"


async def test_the_choices_decide_as_in_a_league_and_no_token_is_shown() -> None:
    async with started(AlwaysEven(), "even_odd") as url:
        practice = await practised(url, House("x", AlwaysOdd()))
    even = practice.view["drawn_number"] % 2 == 0
    assert practice.status == ("WIN" if even else "LOSS")
    assert "tok_" not in json.dumps(practice.to_json(), ensure_ascii=False).replace("tok_…", "")


class Refuses(Agent):
    async def join(self, params: Params) -> Any:
        return self.message("GAME_JOIN_ACK", params, accept=False, reason="no time today")


class NeverMoves(Agent):
    async def choose(self, params: Params) -> Any:
        return await self.never()


class Illegal(Agent):
    async def choose(self, params: Params) -> Any:
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice="neither")


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (Refuses, "P01 gave no valid answer to GAME_INVITATION (tries: 1): it refused the invitation"),
        (NeverMoves, "P01 did not answer CHOOSE_PARITY_CALL in 0.5 s"),
        (Illegal, "P01 answered CHOOSE_PARITY_CALL with no legal move (tries: 4)"),
    ],
)
async def test_an_agent_that_does_not_play_loses_technically_and_is_told_why(agent: type[Agent], sentence: str) -> None:
    made = agent()
    async with listening(made.serve) as url:
        practice = await practised(url, House("x", AlwaysOdd()))
        made.over.set()
    assert practice.status == "TECHNICAL_LOSS"
    assert sentence in practice.reason
    assert made.methods[-1] == "notify_match_result"
    assert made.seen[-1]["game_result"]["status"] == "TECHNICAL_LOSS"
    assert sentence in made.seen[-1]["game_result"]["reason"]


async def test_a_practice_match_at_an_address_without_an_agent_is_not_played() -> None:
    async with listening(Agent().serve) as url:
        pass
    practice = await practised(url, House("x", AlwaysOdd()))
    assert practice.status == "NOT_PLAYED"
    assert practice.reason == "the address cannot be reached."
    assert not practice.played


async def test_a_watcher_is_told_of_each_step_as_it_happens() -> None:
    steps = list[Step]()
    async with started(Random(), "connect_four") as url:
        house = House("easy", house_agent("easy", "connect_four"))
        practice = await practised(url, house, "connect_four", on_step=lambda step, view: steps.append(step))
    assert tuple(steps) == practice.steps
    assert any(step.move is not None and not step.message_type for step in steps)


async def test_a_match_that_is_overtaken_ends_while_an_answer_is_waited_for() -> None:
    # The match is overtaken as soon as something was sent.
    made, sent = NeverMoves(), list[str]()

    def on_step(step: Step, _view: object) -> None:
        sent.append(step.message_type)

    async with listening(made.serve) as url:
        client = Client(agent_type="check")
        limits = SHORT_LIMITS.model_copy(update={"move_timeout_s": 300, "request_patience_s": 900})
        subject = Subject(url=url, limits=limits, overall_s=900, listen=NOBODY, is_overtaken=lambda: bool(sent))
        practice = await practise(subject, client, House("x", AlwaysOdd()), game_type="even_odd", on_step=on_step)
        made.over.set()
        await client.aclose()
    assert (practice.status, practice.reason) == ("NOT_PLAYED", "the agent is due in a match.")
    assert practice.reason_words == {"text": "the agent is due in a match", "facts": {}}
    assert made.methods[-1] == "notify_match_result"
    assert made.seen[-1]["game_result"]["status"] == "CANCELLED"


@pytest.mark.parametrize(("expected_token", "status"), [(TOKEN, "played"), ("tok_" + "b" * 32, "NOT_PLAYED")])
async def test_at_an_address_of_several_the_agent_shows_its_token_before_it_is_played_with(
    expected_token: str, status: str
) -> None:
    agent = Agent()
    async with listening(agent.serve) as url:
        client = Client(agent_type="check")
        subject = Subject(url=url, limits=SHORT_LIMITS, listen=NOBODY, proving_digests={tokens.digest(expected_token)})
        practice = await practise(subject, client, House("x", AlwaysOdd()), game_type="even_odd")
        await client.aclose()
    assert ("played" if practice.played else practice.status) == status
    assert agent.choices == (1 if practice.played else 0)


async def test_faults_and_problems_are_also_given_in_parts_that_can_be_translated() -> None:
    made = NeverMoves()
    async with listening(made.serve) as url:
        practice = await practised(url, House("x", AlwaysOdd()))
        made.over.set()
    [fault] = practice.faults
    assert (fault["player_id"], fault["cause"], fault["message_type"]) == ("P01", "DEADLINE", "CHOOSE_PARITY_CALL")
    failures = [step for step in practice.steps if step.problem]
    assert failures[0].problem_words == {"text": "no answer within {limit} s", "facts": {"limit": "0.5"}}
    assert practice.result["winner_player_id"] == "P02"
    assert practice.players == ("P01", "P02")


async def test_no_round_is_announced_to_an_agent_in_play() -> None:
    async with started(Random(), "even_odd") as url:
        client = Client(agent_type="check")
        subject = Subject(url=url, limits=SHORT_LIMITS, listen=NOBODY, identity=Identity(known=True), in_play=True)
        practice = await practise(subject, client, House("x", AlwaysOdd()), game_type="even_odd")
        await client.aclose()
    assert types_sent(practice) == ["GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"]
