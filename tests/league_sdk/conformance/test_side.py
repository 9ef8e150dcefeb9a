"""The check asks as often as a match does, with GAME_ERRORs in between, and accepts the same answers."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.conformance.report import Verdict
from league_sdk.protocol.league_settings import LeagueSettings
from tests.league_sdk.conformance.agents import SHORT_LIMITS, Agent, Params, Wrong, checked, clause, having

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")


class Hesitant(Agent):
    """Chooses illegally until it gets a GAME_ERROR in the same match."""

    async def choose(self, params: Params) -> Any:
        matches_with_errors = [one["match_id"] for one in self.seen if one["message_type"] == "GAME_ERROR"]
        self.choices += 1
        parity = "even" if params["match_id"] in matches_with_errors else "neither"
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice=parity)


class SilentFirst(Agent):
    """Does not answer its first invitation and its first request for a choice in time."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: set[str] = set()

    async def ignore_first(self, kind: str) -> None:
        if kind not in self.kinds:
            self.kinds.add(kind)
            await self.never()

    async def join(self, params: Params) -> Any:
        await self.ignore_first("join")
        return await super().join(params)

    async def choose(self, params: Params) -> Any:
        await self.ignore_first("choose")
        return await super().choose(params)


AMPLE = LeagueSettings(move_timeout_s=5, generic_timeout_s=5, retry_base_s=0.05)
"""For an agent that always answers, also on a busy machine."""


@pytest.mark.parametrize(
    ("kind", "limits"),
    [(Hesitant, AMPLE), (SilentFirst, AMPLE.model_copy(update={"join_timeout_s": 1, "move_timeout_s": 1}))],
    ids=["Hesitant", "Silent"],
)
async def test_the_check_asks_again_where_a_match_asks_again(kind: type[Agent], limits: LeagueSettings) -> None:
    report = await checked(kind(), limits=limits)
    assert report.can_play, report.summary
    assert having(report, Verdict.FAILS) == set()


async def test_an_agent_that_never_chooses_legally_is_asked_as_often_as_in_a_match() -> None:
    class Neither(Agent):
        async def choose(self, params: Params) -> Any:
            self.choices += 1
            return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice="neither")

    agent = Neither()
    report = await checked(agent, limits=SHORT_LIMITS)
    assert not report.can_play
    first = next(one["match_id"] for one in agent.seen if one["message_type"] == "GAME_INVITATION")
    kinds = [one["message_type"] for one in agent.seen if one.get("match_id") == first]
    choices = ["CHOOSE_PARITY_CALL", "GAME_ERROR"] * 4
    assert kinds == ["GAME_INVITATION", *choices, "GAME_OVER"]


class MovesOnly(Agent):
    """Knows no invitations: it has said that it is ready."""

    async def join(self, params: Params) -> Any:
        raise Wrong(-32601)


@pytest.mark.parametrize(("ready_in", "can_play"), [("canonical", True), ("", False)])
async def test_an_agent_that_is_ready_joins_without_a_yes(ready_in: str, can_play: bool) -> None:
    report = await checked(MovesOnly(), limits=SHORT_LIMITS, ready_in=ready_in)
    assert report.can_play is can_play
    if can_play:
        assert clause(report, "join.accepts").why.startswith("It has said that it is ready for its games")
        assert "AGENT_READY_REQUEST" not in report.spoken
