"""The settings of a league: names, defaults and ranges of the ruling's section 11."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from league_sdk.protocol.league_settings import LeagueSettings

DEFAULTS: dict[str, Any] = {
    "join_timeout_s": 5,
    "move_timeout_s": 30,
    "game_over_timeout_s": 5,
    "generic_timeout_s": 10,
    "announce_wait_s": 2,
    "max_retries": 3,
    "retry_base_s": 1,
    "retry_factor": 2,
    "request_patience_s": 130,
    "breaker_threshold": 5,
    "breaker_reset_s": 30,
    "win_points": 3,
    "draw_points": 1,
    "loss_points": 0,
    "technical_loss_points": 0,
    "min_players": 2,
    "max_players": 10000,
    "auto_advance": False,
    "error_style": "error",
    "no_show": "technical_loss",
    "suspend_after": 2,
    "shutdown_after": 5,
    "registration_code": None,
    "require_check": False,
    "referee_lease_s": 8,
    "hold_s": None,
}
BOUNDS: dict[str, tuple[Any, Any, Any, Any]] = {  # refused, lowest, highest, refused
    "join_timeout_s": (0, 0.001, 3600, 3600.1),
    "move_timeout_s": (0, 0.001, 3600, 3600.1),
    "game_over_timeout_s": (0, 0.001, 3600, 3600.1),
    "generic_timeout_s": (0, 0.001, 3600, 3600.1),
    "announce_wait_s": (-0.1, 0, 600, 600.1),
    "max_retries": (-1, 0, 10, 11),
    "retry_base_s": (-0.1, 0, 60, 60.1),
    "retry_factor": (0.9, 1, 10, 10.1),
    "request_patience_s": (0, 0.001, 3600, 3600.1),
    "breaker_threshold": (0, 1, 1000, 1001),
    "breaker_reset_s": (0, 0.001, 3600, 3600.1),
    "win_points": (-101, -100, 100, 101),
    "draw_points": (-101, -100, 100, 101),
    "loss_points": (-101, -100, 100, 101),
    "technical_loss_points": (-101, -100, 100, 101),
    "min_players": (1, 2, 10000, 10001),
    "max_players": (1, 2, 10000, 10001),
    "suspend_after": (0, 1, 5, 1001),
    "shutdown_after": (0, 2, 1000, 1001),
    "referee_lease_s": (0.9, 1, 600, 600.1),
    "hold_s": (0, 0.001, 86400, 86400.1),
}


def refused(**values: Any) -> tuple[Any, ...]:
    """Where the first complaint is about."""
    with pytest.raises(ValidationError) as caught:
        LeagueSettings.model_validate(values)
    return caught.value.errors()[0]["loc"]


def test_names_and_defaults_are_those_of_the_ruling() -> None:
    assert LeagueSettings().model_dump() == DEFAULTS


def test_every_number_has_bounds_here() -> None:
    others = {"auto_advance", "error_style", "no_show", "registration_code", "require_check"}
    assert DEFAULTS.keys() - BOUNDS.keys() == others


@pytest.mark.parametrize("name", BOUNDS)
def test_each_bound(name: str) -> None:
    below, lowest, highest, above = BOUNDS[name]
    for value in (lowest, highest):
        assert getattr(LeagueSettings.model_validate({name: value}), name) == value
    for value in (below, above, "many", [], {}):
        assert refused(**{name: value}) == (name,)


@pytest.mark.parametrize("name", [name for name in BOUNDS if name.endswith("_s")])
def test_seconds_may_be_fractions_but_finite(name: str) -> None:
    assert getattr(LeagueSettings.model_validate({name: 2.25}), name) == 2.25
    for value in (math.nan, math.inf, -math.inf):
        assert refused(**{name: value}) == (name,)


@pytest.mark.parametrize("name", ["max_retries", "win_points", "breaker_threshold", "suspend_after", "max_players"])
def test_counts_are_whole(name: str) -> None:
    assert refused(**{name: 2.5}) == (name,)


@pytest.mark.parametrize(
    ("name", "allowed", "wrong"),
    [
        ("error_style", "result", "exception"),
        ("no_show", "cancel", "forfeit"),
        ("registration_code", "x" * 64, "x" * 65),
        ("registration_code", None, 7),
        ("auto_advance", True, "perhaps"),
        ("require_check", True, 2),
    ],
)
def test_words_and_switches(name: str, allowed: Any, wrong: Any) -> None:
    assert getattr(LeagueSettings.model_validate({name: allowed}), name) == allowed
    assert refused(**{name: wrong}) == (name,)


@pytest.mark.parametrize("name", ["move_timeout", "Win_points", "", "retries"])
def test_an_unknown_name_is_named(name: str) -> None:
    assert refused(**{name: 1}) == (name,)


@pytest.mark.parametrize("values", [{"min_players": 5, "max_players": 4}, {"suspend_after": 3, "shutdown_after": 2}])
def test_what_contradicts_itself(values: dict[str, int]) -> None:
    assert refused(**values) == ()


def test_settings_do_not_change_under_a_match() -> None:
    with pytest.raises(ValidationError):
        LeagueSettings().max_retries = 0  # type: ignore[misc]


def test_a_referee_is_told_everything_but_what_only_the_league_manager_needs() -> None:
    told = LeagueSettings(registration_code="secret", move_timeout_s=0.5).for_referee()
    hidden = ("registration_code", "require_check", "min_players", "max_players")
    assert told == {name: value for name, value in DEFAULTS.items() if name not in hidden} | {"move_timeout_s": 0.5}
    assert LeagueSettings.model_validate(told).for_referee() == told


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 4 * 5 + 7 + 4 * 30 + 7 + 2 * 5 + 10),  # tries and waits of both requests, GAME_OVER twice, the report
        ({"request_patience_s": 20}, 20 + 20 + 2 * 5 + 10),
        ({"max_retries": 0}, 5 + 30 + 2 * 5 + 10),
        ({"retry_base_s": 2, "retry_factor": 1}, 4 * 5 + 6 + 4 * 30 + 6 + 2 * 5 + 10),
    ],
)
def test_the_longest_match(changes: dict[str, Any], seconds: float) -> None:
    assert LeagueSettings.model_validate(changes).longest_match_s() == seconds


@pytest.mark.parametrize("name", sorted(name for name in DEFAULTS if DEFAULTS[name] is not False))
def test_truth_is_no_number(name: str) -> None:
    for value in (True, False):
        with pytest.raises(ValidationError, match="must not be true or false"):
            LeagueSettings.model_validate({name: value})


def test_what_an_instructor_writes_is_taken_for_what_it_means() -> None:
    found = LeagueSettings.model_validate({"auto_advance": "true", "require_check": 1, "max_retries": "2"})
    assert (found.auto_advance, found.require_check, found.max_retries) == (True, True, 2)
