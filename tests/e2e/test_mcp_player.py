"""Players that are only clients of MCP register, fetch their messages and answer by tools (ruling, section 13)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from league_sdk.protocol.schemas import problems
from tests.bots.words import stamp
from tests.e2e.mcp_tools import Tools
from tests.e2e.site import PATIENCE_S, Site, site_with_players, wait_for

pytestmark = pytest.mark.e2e
LEAGUE = "league_2025_even_odd"
MESSAGES_OF_A_ROUND = [
    *("ROUND_ANNOUNCEMENT", "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"),
    *("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"),
]


class McpPlayer:
    """A player that has no port.

    Args:
        site: where it registers.
        name: the player's name.
        answers_with_next_call: whether its answers come with the next ``next_message``, not by calls of their own.
    """

    def __init__(self, site: Site, name: str, *, answers_with_next_call: bool) -> None:
        self._answers_with_next_call = answers_with_next_call
        stranger = Tools(site.url)
        self.entry = stranger.call("register_player", display_name=name, delivery="poll")
        stranger.close()
        self.tools = Tools(site.url, self.entry["auth_token"])
        self.seen: list[str] = []

    def break_off(self) -> None:
        """Ask for a message, and hang up before there is any."""
        with pytest.raises(httpx.ReadTimeout):
            self.tools.post("next_message", {}, timeout_s=0.3)

    def play(self) -> list[str]:
        """Play until the league is over; returns the types of the messages that came."""
        after, answers = "", list[dict[str, Any]]()
        while "LEAGUE_COMPLETED" not in self.seen:
            found = self.tools.call("next_message", after=after, responses=answers)
            after, answers = found["next"], []
            for request in [message["request"] for message in found["messages"]]:
                answer = {"jsonrpc": "2.0", "id": request["id"], "result": self._result(request["params"])}
                if self._answers_with_next_call:
                    answers.append(answer)
                else:
                    assert self.tools.call("submit_response", response=answer)["accepted"] == 1
        if answers:
            self.tools.call("next_message", wait_s=0, responses=answers)
        return self.seen

    def _result(self, params: dict[str, Any]) -> dict[str, Any]:
        kind = params["message_type"]
        assert problems(kind, params) == []
        self.seen.append(kind)
        own = {
            "GAME_INVITATION": ("GAME_JOIN_ACK", {"arrival_timestamp": stamp(), "accept": True}),
            "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}),
        }
        if kind not in own:
            return {"status": "ok"}
        message_type, fields = own[kind]
        head = {"protocol": "league.v2", "message_type": message_type, "sender": f"player:{self.entry['player_id']}"}
        repeated = {name: params[name] for name in ("conversation_id", "match_id")}
        proof = {"player_id": self.entry["player_id"], "auth_token": self.entry["auth_token"], "timestamp": stamp()}
        return head | repeated | proof | fields


def test_a_league_of_players_that_are_clients_of_mcp(tmp_path: Path) -> None:
    site = Site(tmp_path / "data", "--no-demo")
    try:
        players = [McpPlayer(site, f"Agent{number}", answers_with_next_call=number % 2 == 0) for number in range(1, 5)]
        for player in players:
            player.break_off()
        with ThreadPoolExecutor(len(players)) as pool:
            games = [pool.submit(player.play) for player in players]
            site.play_to_the_end(LEAGUE)
            seen = [game.result(timeout=PATIENCE_S) for game in games]
        for player in players:
            player.tools.close()
        assert seen == [MESSAGES_OF_A_ROUND * 3 + ["LEAGUE_COMPLETED"]] * 4
        matches = site.get(f"/leagues/{LEAGUE}/matches")
        assert [(match["attempt"], match["status"] in ("WIN", "DRAW")) for match in matches] == [(1, True)] * 6
        # The API shows such players as reached by poll.
        agents = site.get(f"/leagues/{LEAGUE}/agents")
        assert {one["reached_by"] for one in agents if one["kind"] == "player"} == {"poll"}
        assert site.stop() == 0
    finally:
        site.close()


@pytest.mark.long
def test_an_agent_starts_a_check_of_itself_by_a_tool(tmp_path: Path) -> None:
    with site_with_players(tmp_path, 2) as (site, players):
        tools = Tools(site.url, players[0].auth_token())
        check = tools.call("check_agent")

        def ended() -> dict[str, Any] | None:
            now = tools.call("check_agent", check_id=check["check_id"])
            return now if now["ask_again_after_s"] is None else None

        done = wait_for("the check has ended", ended)
        assert (done["state"], done["passed"], done["report"]["role"]) == ("DONE", True, "player")
        assert done["endpoint"] == players[0].endpoint
        # Nobody else was called.
        assert players[1].messages() == []
        tools.close()
