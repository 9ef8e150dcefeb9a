"""The settings of a league. tests/test_docs_protocol.py compares names, defaults and ranges with docs/protocol.md."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from league_sdk.protocol.league_settings import LeagueSettings

DEFAULTS = LeagueSettings().model_dump()


def refused(**values: Any) -> tuple[Any, ...]:
    """The location of the first validation error."""
    with pytest.raises(ValidationError) as caught:
        LeagueSettings.model_validate(values)
    return caught.value.errors()[0]["loc"]


OUT_OF_RANGE = {"join_timeout_s": 0, "max_retries": 11, "win_points": "many"}
FRACTIONS = dict.fromkeys(("max_retries", "win_points", "breaker_threshold", "suspend_after", "max_players"), 2.5)
UNKNOWN = dict.fromkeys(("move_timeout", "Win_points", "", "retries"), 1)


@pytest.mark.parametrize(("name", "value"), [*OUT_OF_RANGE.items(), *FRACTIONS.items(), *UNKNOWN.items()])
def test_an_invalid_or_unknown_setting_is_refused_by_name(name: str, value: Any) -> None:
    assert refused(**{name: value}) == (name,)


@pytest.mark.parametrize("name", [name for name in DEFAULTS if name.endswith("_s")])
def test_settings_in_seconds_accept_fractions_and_refuse_infinite_values(name: str) -> None:
    assert getattr(LeagueSettings.model_validate({name: 2.25}), name) == 2.25
    for value in (math.nan, math.inf, -math.inf):
        assert refused(**{name: value}) == (name,)


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
def test_settings_with_a_choice_of_values_refuse_others(name: str, allowed: Any, wrong: Any) -> None:
    assert getattr(LeagueSettings.model_validate({name: allowed}), name) == allowed
    assert refused(**{name: wrong}) == (name,)


@pytest.mark.parametrize("values", [{"min_players": 5, "max_players": 4}, {"suspend_after": 3, "shutdown_after": 2}])
def test_contradictory_settings_are_refused(values: dict[str, int]) -> None:
    assert refused(**values) == ()


def test_settings_are_immutable() -> None:
    with pytest.raises(ValidationError):
        LeagueSettings().max_retries = 0  # type: ignore[misc]


def test_for_referee_leaves_out_the_settings_of_registration() -> None:
    settings = LeagueSettings(registration_code="secret", move_timeout_s=0.5).for_referee()
    hidden = {"registration_code", "require_check", "agents_per_person", "min_players", "max_players"}
    assert settings == {name: value for name, value in DEFAULTS.items() if name not in {*hidden, "pause_if_absent"}} | {
        "move_timeout_s": 0.5
    }
    assert LeagueSettings.model_validate(settings).for_referee() == settings


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, 4 * 5 + 7 + 4 * 30 + 7 + 2 * 5 + 10),  # tries and waits of both requests, GAME_OVER twice, the report
        ({"request_patience_s": 20}, 20 + 20 + 2 * 5 + 10),
        ({"max_retries": 0}, 5 + 30 + 2 * 5 + 10),
        ({"retry_base_s": 2, "retry_factor": 1}, 4 * 5 + 6 + 4 * 30 + 6 + 2 * 5 + 10),
    ],
)
def test_the_longest_match_counts_all_tries_and_waits(changes: dict[str, Any], seconds: float) -> None:
    assert LeagueSettings.model_validate(changes).longest_match_s() == seconds


@pytest.mark.parametrize("name", sorted(name for name in DEFAULTS if DEFAULTS[name] is not False))
def test_a_boolean_is_refused_for_any_setting_that_is_not_boolean(name: str) -> None:
    for value in (True, False):
        with pytest.raises(ValidationError, match="must not be true or false"):
            LeagueSettings.model_validate({name: value})


def test_settings_accept_numbers_and_booleans_as_text() -> None:
    settings = LeagueSettings.model_validate({"auto_advance": "true", "require_check": 1, "max_retries": "2"})
    assert (settings.auto_advance, settings.require_check, settings.max_retries) == (True, True, 2)
