"""A check leaves an agent free for its next match, also one that can play a single match at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from league_sdk.conformance.fixtures import Identity, Stage
from league_sdk.protocol.messages import ROLES
from league_sdk.rules.registry import games
from tests.bots.one_match_only import OneMatchOnly
from tests.bots.scripted import listening
from tests.league_sdk.conformance.agents import BRIEF, Agent, Params, checked


async def test_an_agent_of_one_match_takes_its_next_one_after_a_check() -> None:
    """Anybody may have an agent checked; that must not make it refuse its match."""
    agent = OneMatchOnly(thinks_s=0)
    with listening(agent) as server:
        await checked(server.endpoint)
    stage = Stage(Identity(), games()["even_odd"], referee_endpoint="http://127.0.0.1:1/mcp", join_s=5, move_s=5)
    invitation = stage.invitation(stage.match(ROLES[0])) | {"match_id": "R7M1"}
    assert agent({"params": invitation})["accept"] is True


class SlowToChoose(Agent):
    """Joins every match, and thinks for longer than the whole check may take."""

    async def choose(self, params: Params) -> Any:
        return await self.never()


async def test_a_check_whose_time_is_used_up_ends_the_match_that_it_began() -> None:
    agent = SlowToChoose()
    report = await checked(agent, limits=replace(BRIEF, move_s=60, overall_s=1))
    assert report.clause("choice.legal").why == "Not asked: the time of the check is used up."
    begun = {message["match_id"] for message in agent.seen if message["message_type"] == "GAME_INVITATION"}
    ended = {message["match_id"] for message in agent.seen if message["message_type"] == "GAME_OVER"}
    assert begun == ended
    assert begun
