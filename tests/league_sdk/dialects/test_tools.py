"""Which of an agent's tools takes which message."""

from __future__ import annotations

import pytest

from league_sdk.dialects.tools import Tool, choose_tool

CAMEL = (
    *("handleGameInvitation", "chooseParity", "notifyMatchResult", "notifyRound", "updateStandings"),
    *("notifyRoundCompleted", "notifyLeagueCompleted"),
)
OWN = ("receiveInvite", "pick_parity", "game-over", "newRound", "standingsTable", "end_of_round", "leagueEnded")
TYPES = (
    *("game_invitation", "choose_parity_call", "game_over", "round_announcement", "league_standings_update"),
    *("round_completed", "league_completed"),
)
KINDS = (
    *("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE"),
    *("ROUND_COMPLETED", "LEAGUE_COMPLETED"),
)


@pytest.mark.parametrize("names", [CAMEL, OWN, TYPES], ids=["camel", "own", "types"])
def test_tools_are_recognised_by_their_names_in_any_style(names: tuple[str, ...]) -> None:
    tools = {name: Tool(name) for name in names}
    assert tuple(choose_tool(tools, kind) for kind in KINDS) == names
