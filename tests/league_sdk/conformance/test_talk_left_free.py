"""A check ends the matches it began, so that an agent that plays one match at a time can accept its next one."""

from __future__ import annotations

from typing import Any

from league_sdk.protocol.messages import ROLES
from league_sdk.rules.registry import games
from league_sdk.simulated_league import Identity, SimulatedLeague
from tests.bots.one_match_only import OneMatchOnly
from tests.bots.scripted import listening
from tests.league_sdk.conformance.agents import SHORT_LIMITS, Agent, Params, checked, clause


async def test_an_agent_that_plays_one_match_at_a_time_accepts_the_next_one_after_a_check() -> None:
    """Otherwise anybody could make an agent refuse its match by having it checked."""
    agent = OneMatchOnly(thinks_s=0)
    with listening(agent) as server:
        await checked(server.endpoint)
    stage = SimulatedLeague(
        Identity(), games()["even_odd"], referee_endpoint="http://127.0.0.1:1/mcp", join_s=5, move_s=5
    )
    invitation = stage.invitation(stage.match(ROLES[0])) | {"match_id": "R7M1"}
    assert agent({"params": invitation})["accept"] is True


class SlowToChoose(Agent):
    """Joins every match and does not choose before the check ends."""

    async def choose(self, params: Params) -> Any:
        return await self.never()


async def test_a_check_whose_time_is_used_up_ends_its_matches() -> None:
    agent = SlowToChoose()
    report = await checked(agent, limits=SHORT_LIMITS.model_copy(update={"move_timeout_s": 60}), overall_s=1)
    assert clause(report, "choice.legal").why == "Not asked: the time of the check is used up."
    begun = {message["match_id"] for message in agent.seen if message["message_type"] == "GAME_INVITATION"}
    ended = {message["match_id"] for message in agent.seen if message["message_type"] == "GAME_OVER"}
    assert begun == ended
    assert begun
