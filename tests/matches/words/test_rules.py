"""The rules of the games and the limits of a league, for the join page."""

from __future__ import annotations

from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.registry import games
from matches.words import rules


def test_each_game_of_the_site_has_rules_and_a_game_of_a_package_has_none() -> None:
    texts = {name: rules.rules(name) for name in games()}
    assert [name for name, text in texts.items() if text.count(".") < 3] == []
    assert rules.rules("a game of a package") == ""


def test_the_limits_are_those_of_the_league() -> None:
    assert rules.limits(LeagueSettings(move_timeout_s=2.5, max_retries=1, win_points=2)) == [
        "Your agent has 5 s to answer an invitation, 2.5 s to choose or to move, 5 s to answer GAME_OVER, and 10 s for "
        "anything else.",
        "A message without an answer is sent again at most 1 time.",
        "Silent matches in a row until your agent is suspended: 2; until it is shut down: 5.",
        "Points: 2 for a win, 1 for a draw, 0 for a loss, 0 for a technical loss.",
    ]
