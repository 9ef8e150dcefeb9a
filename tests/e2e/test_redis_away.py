"""Redis goes away in the middle of matches: no player pays for it, and the desk says whose fault it is."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from league_sdk.cli.app import main
from tests.e2e.desk import Desk
from tests.e2e.scaled import scaled_site
from tests.e2e.site import Player, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(300)]
LEAGUE = "away"
BLAME = (
    *("players did not answer", "would lose", "unreachable", "too many silences", "Several programs", "start one"),
    *("was not connected", "no answer"),
)
"""What the desk says of players and referees that are to blame themselves."""


def asked(players: list[Player], message_type: str) -> int:
    """How many players have been sent a message of this type."""
    return sum(any(one["message_type"] == message_type for one in player.messages()) for player in players)


@pytest.mark.parametrize("away_s", [2, 20])
def test_no_player_pays_for_redis_that_was_away(tmp_path: Path, away_s: float) -> None:
    with ExitStack() as stack:
        site, redis = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        web_of_referee, web_of_players = site.start_web(2)
        site.start_referee(web_of_referee)
        site.wait_for_referees(web_of_referee, 1)
        web_of_referee.create(LEAGUE, auto_advance=True)
        desk = Desk(web_of_referee, LEAGUE)
        stack.callback(desk.close)
        players = []
        for number, way in enumerate(("poll", "websocket", "poll", "websocket"), 1):
            options = ("--choice", "alternate", "--dial", way, "--league-id", LEAGUE, "--delay-choice", "0.5")
            players.append(Player(web_of_players, f"Agent{number}", tmp_path, *options))
            stack.callback(players[-1].close)
        web_of_referee.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        wait_for("a player is asked to choose", lambda: asked(players, "CHOOSE_PARITY_CALL"))

        redis.kill()
        killed_at, said = time.monotonic(), []
        # Players are checked meanwhile, too.
        web_of_referee.post(f"/leagues/{LEAGUE}/agents/check")

        def is_over() -> bool:
            said.append(desk.text())
            return time.monotonic() - killed_at >= away_s

        wait_for(f"Redis has been away for {away_s} s", is_over)
        redis.start()
        try:
            web_of_referee.wait_until(LEAGUE, "COMPLETED", 120)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{site.logs()}") from None
        said.append(desk.text())

        matches = web_of_referee.get(f"/leagues/{LEAGUE}/matches")
        assert [one["status"] for one in matches if one["status"] not in ("WIN", "DRAW")] == []
        assert len(matches) == 6
        rows = web_of_referee.get(f"/leagues/{LEAGUE}/standings")
        assert {row["technical_losses"] for row in rows} == {0}
        agents = web_of_referee.get(f"/leagues/{LEAGUE}/agents")
        assert {one["state"] for one in agents if one["kind"] == "player"} <= {"REGISTERED", "ACTIVE", "SHUTDOWN"}
        assert main(["verify", f"{web_of_referee.url}/leagues/{LEAGUE}/"]) == 0
        assert [sentence for text in said for sentence in BLAME if sentence in text] == []
        if away_s > 5:
            assert any("Redis" in text for text in said)
