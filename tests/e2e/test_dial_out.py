"""Players that nobody can call: they fetch their messages from the league (ruling, section 13)."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.scaled import WebProcess, scaled_site
from tests.e2e.site import Player, site_with_players, wait_for

pytestmark = pytest.mark.e2e
LEAGUE = "league_2025_even_odd"


MESSAGES_OF_A_ROUND = [
    *("ROUND_ANNOUNCEMENT", "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"),
    *("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"),
]


@pytest.mark.parametrize("way", ["poll", pytest.param("websocket", marks=pytest.mark.long)])
def test_a_league_of_players_that_dial_out(tmp_path: Path, way: str) -> None:
    with site_with_players(tmp_path, 4, player_options=("--choice", "alternate", "--dial", way)) as (site, players):
        site.play_to_the_end(LEAGUE)
        for player in players:
            player.wait_for_last_message()

        assert [player.deviations() for player in players] == [[], [], [], []]
        for player in players:
            seen = [message["message_type"] for message in player.messages()]
            assert seen == MESSAGES_OF_A_ROUND * 3 + ["LEAGUE_COMPLETED"]
        matches = site.get(f"/leagues/{LEAGUE}/matches")
        assert [match["attempt"] for match in matches] == [1] * 6
        assert site.stop() == 0


@pytest.mark.long
def test_no_player_loses_a_point_when_the_site_restarts_during_a_match(tmp_path: Path) -> None:
    options = ("--choice", "alternate", "--dial", "poll", "--delay-choice", "0.5")
    with site_with_players(tmp_path, 4, player_options=options) as (site, players):
        site.post(f"/leagues/{LEAGUE}/start", {"auto_advance": True})
        messages_in_play = ("CHOOSE_PARITY_CALL", "GAME_OVER")
        wait_for(
            "a player is asked",
            lambda: any(one["message_type"] in messages_in_play for p in players for one in p.messages()),
        )
        site.kill()
        site.start()
        site.wait_until(LEAGUE, "COMPLETED")
        matches = site.get(f"/leagues/{LEAGUE}/matches")
        assert {match["status"] for match in matches} <= {"WIN", "DRAW"}
        assert site.stop() == 0


@pytest.mark.long
@pytest.mark.parametrize("way", ["poll", "websocket"])
def test_players_may_fetch_messages_from_another_process_than_the_referee_calls(tmp_path: Path, way: str) -> None:
    with ExitStack() as stack:
        site, _ = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        web_of_referee, web_of_players = site.start_web(2)
        site.start_referee(web_of_referee)
        players = []
        for number in range(1, 5):
            players.append(Player(web_of_players, f"Agent{number}", tmp_path, "--choice", "alternate", "--dial", way))
            stack.callback(players[-1].close)
        site.wait_for_referees(web_of_referee, 1)
        web_of_referee.play_to_the_end(LEAGUE)
        for player in players:
            player.wait_for_last_message()
            seen = [message["message_type"] for message in player.messages()]
            assert seen == MESSAGES_OF_A_ROUND * 3 + ["LEAGUE_COMPLETED"]
        assert [player.deviations() for player in players] == [[], [], [], []]
        assert {match["attempt"] for match in web_of_referee.get(f"/leagues/{LEAGUE}/matches")} == {1}


@pytest.mark.long
@pytest.mark.parametrize("way", ["poll", "websocket"])
def test_no_player_loses_a_point_while_the_process_with_its_line_stands_still(tmp_path: Path, way: str) -> None:
    league = "stalled"
    limits = {"join_timeout_s": 2, "move_timeout_s": 2, "retry_base_s": 0.1, "auto_advance": True}
    with ExitStack() as stack:
        site, _ = stack.enter_context(scaled_site(tmp_path))
        site.start_conductor()
        web_of_referee, web_of_players = site.start_web(2)
        site.start_referee(web_of_referee)
        site.wait_for_referees(web_of_referee, 1)
        web_of_referee.create(league, **limits)
        for number in range(1, 5):
            options = ("--choice", "alternate", "--dial", way, "--league-id", league)
            stack.callback(Player(web_of_players, f"Agent{number}", tmp_path, *options).close)

        web_of_players.process.send_signal(signal.SIGSTOP)
        stack.callback(web_of_players.process.send_signal, signal.SIGCONT)
        web_of_referee.post(f"/leagues/{league}/start", {"auto_advance": True})
        wait_for("a match was interrupted, or decided", lambda: interrupted_or_decided(web_of_referee, league))
        web_of_players.process.send_signal(signal.SIGCONT)
        web_of_referee.wait_until(league, "COMPLETED")
        statuses = [match["status"] for match in web_of_referee.get(f"/leagues/{league}/matches")]
        assert len(statuses) == 6
        assert set(statuses) <= {"WIN", "DRAW"}


def interrupted_or_decided(web: WebProcess, league: str) -> bool:
    """Whether a match has a result, or waits for its next attempt."""
    return any(match["status"] or match["attempt"] > 1 for match in web.get(f"/leagues/{league}/matches"))
