"""What the referee tells the players of a committed draw, and when (ruling, section 12)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league_sdk.judging.match.brief import Brief
from league_sdk.protocol import schemas
from league_sdk.rules.draws import CommittedDraw, commitment
from tests.league_sdk.judging.scripted import DECLINED, SILENCE, A, B, ScriptedMatch, brief

SEED = bytes(range(32))


def committed(play: int = 1, **changes: Any) -> Brief:
    """The brief of a match whose draw is committed to; ``play`` is 2 when the instructor has ordered a replay."""
    return replace(brief(**changes), draw_seed=SEED, draw_commitment=commitment(SEED), play=play)


@pytest.mark.parametrize("play", [1, 2])
async def test_the_players_can_check_a_draw_by_the_messages_that_they_receive(play: int) -> None:
    scripted = ScriptedMatch(brief=committed(play))
    await scripted.play()
    for player in (A, B):
        (call,), (over,) = scripted.to(player, "CHOOSE_PARITY_CALL"), scripted.to(player, "GAME_OVER")
        assert schemas.problems("GAME_OVER", over.message) == []
        result, facts = over.message["game_result"], over.message
        assert call.message["draw_commitment"] == commitment(bytes.fromhex(result["draw_seed"]))
        assert (facts["attempt"], result["play"]) == (1, play)
        seed, choices = bytes.fromhex(result["draw_seed"]), (result["choices"][A], result["choices"][B])
        chance = CommittedDraw(seed, facts["league_id"], facts["match_id"], result["play"], choices)
        assert result["drawn_number"] == chance.randint(1, 10)


async def test_the_seed_is_revealed_without_a_draw_too() -> None:
    scripted = ScriptedMatch(moves={B: [SILENCE] * 4}, brief=committed())
    await scripted.play()
    result = scripted.to(A, "GAME_OVER")[0].message["game_result"]
    assert (result["status"], result["drawn_number"], result["draw_seed"]) == ("TECHNICAL_LOSS", None, SEED.hex())


async def test_game_over_of_a_lost_attempt_reveals_no_seed() -> None:
    scripted = ScriptedMatch(joins={A: [DECLINED, DECLINED]}, brief=committed(attempt=2))
    await scripted.play()
    # The first GAME_OVER frees the player of attempt 1, whose referee was lost.
    lost, end = (one.message for one in scripted.to(A, "GAME_OVER"))
    assert (lost["attempt"], lost["game_result"]["status"], "draw_seed" in lost["game_result"]) == (
        1,
        "CANCELLED",
        False,
    )
    assert (end["attempt"], end["game_result"]["draw_seed"]) == (2, SEED.hex())


async def test_the_seed_is_secret_until_game_over() -> None:
    scripted = ScriptedMatch(brief=committed())
    await scripted.play()
    assert not any(SEED.hex() in str(one.message) for one in scripted.sent if one.type != "GAME_OVER")
    last = max(one.published_before for one in scripted.sent if one.type == "GAME_OVER")
    assert SEED.hex() not in str(scripted.published[:last])


async def test_game_over_has_no_seed_when_the_match_has_none() -> None:
    scripted = ScriptedMatch()
    await scripted.play()
    result = scripted.to(A, "GAME_OVER")[0].message["game_result"]
    assert not {"draw_seed", "play"}.intersection(result)
