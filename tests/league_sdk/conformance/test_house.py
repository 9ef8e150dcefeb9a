"""A house agent that searches for its moves in a process of its own, which ends with its match."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.conformance.house import HouseApart
from league_sdk.rules.registry import get_game
from league_sdk.strategies.house import house_agent


async def moves(house: HouseApart, game_type: str, count: int) -> list[Any]:
    """The first moves of the house agent against itself."""
    game, players = get_game(game_type), ("P01", "P02")
    state, made = game.new_state(players), list[Any]()
    for turn in range(count):
        me = players[turn % 2]
        made.append(await house.move(game, state, me, {"game_type": game_type}))
        state = game.apply(state, me, made[-1])
    return made


@pytest.mark.parametrize(
    ("game_type", "count"), [pytest.param("tic_tac_toe", 9, marks=pytest.mark.exhaustive), ("connect_four", 4)]
)
async def test_a_house_agent_thinks_in_one_process_which_ends_with_its_match(game_type: str, count: int) -> None:
    house = HouseApart("hard", house_agent("hard", game_type))
    await moves(house, game_type, 1)
    process = house.process
    assert process is not None
    assert len(await moves(house, game_type, count)) == count
    assert house.process is process
    await house.aclose()
    assert (process.returncode, house.process) == (-9, None)


async def test_a_house_agent_that_need_not_search_gets_no_process() -> None:
    house = HouseApart("medium", house_agent("medium", "connect_four"))
    await moves(house, "connect_four", 2)
    assert house.process is None
    await house.aclose()


async def test_a_house_agent_moves_again_after_its_process_was_killed() -> None:
    house = HouseApart("hard", house_agent("hard", "tic_tac_toe"))
    await moves(house, "tic_tac_toe", 1)
    assert house.process is not None
    house.process.kill()
    await house.process.wait()
    assert await moves(house, "tic_tac_toe", 1) == [0]
    assert house.process is None
