"""Labels and ranges of a league's settings, as the forms show them."""

from __future__ import annotations

from league_sdk.protocol.league_settings import LeagueSettings
from matches.desk.setting_labels import LABELS, hint, limits


def test_every_setting_has_a_label() -> None:
    assert set(LABELS) == set(LeagueSettings.model_fields)


def test_the_range_of_a_setting_is_that_of_its_model() -> None:
    # The number that the setting must be more than, its smallest value, its largest value.
    assert limits("move_timeout_s") == (0, None, 3600)
    assert limits("win_points") == (None, -100, 100)
    assert limits("hold_s") == (0, None, 86400)
    assert limits("auto_advance") == (None, None, None)


def test_a_hint_tells_default_and_range() -> None:
    assert hint("move_timeout_s") == "Empty: 30. More than 0, at most 3600."
    assert hint("retry_factor") == "Empty: 2. From 1 to 10."
    assert hint("max_players") == "Empty: 10000. From 2 to 10000."
    assert hint("hold_s") == "Empty: never. More than 0, at most 86400."
