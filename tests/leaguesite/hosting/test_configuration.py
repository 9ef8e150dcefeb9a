"""The configuration of a site in the files of 004 chapter 9: what the site makes of it, how mistakes are reported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from leaguesite.hosting import configuration, place
from leaguesite.hosting.configuration import Configuration, UnusableConfig
from matches.league import opening
from matches.league.errors import Invalid
from matches.models import League
from matches.view import queries
from tests.paths import ROOT


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """A copy of the course's sample, which a test may edit."""
    settings.DATA_DIR = tmp_path / "data"
    # Assigned so that pytest-django restores them after the test.
    settings.LEAGUE_NEW_LEAGUES, settings.LEAGUE_GAMES = {}, None
    settings.LEAGUE_DEFAULT_ID = "league_2025_even_odd"
    return Path(shutil.copytree(ROOT / "examples" / "config", tmp_path / "config"))


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def set_in(path: Path, at: str, value: Any) -> None:
    """Change one field, such as ``timeouts.move_timeout_sec``."""

    def change(content: dict[str, Any]) -> None:
        *parts, last = at.split(".")
        for part in parts:
            content = content[part]
        content[last] = value

    edit(path, change)


def test_the_sample_of_the_course_is_what_the_site_does_without_files(folder: Path) -> None:
    assert configuration.read(folder) == Configuration(
        "league_2025_even_odd",
        {},
        ("even_odd", "even_odd_numbers", "tic_tac_toe", "connect_four"),
        (
            {
                "league_id": "league_2025_even_odd",
                "display_name": "Even/Odd League 2025",
                "game_type": "even_odd",
                "settings": {},
            },
        ),
    )


@pytest.mark.django_db
def test_system_json_sets_the_defaults_of_new_leagues(folder: Path) -> None:
    system = folder / "system.json"
    set_in(system, "timeouts.move_timeout_sec", 12)
    set_in(system, "timeouts.game_join_ack_timeout_sec", 7)
    set_in(system, "timeouts.generic_response_timeout_sec", 8)
    set_in(system, "retry_policy", {"max_retries": 1, "backoff_strategy": "fixed"})
    set_in(system, "default_league_id", "first")
    shutil.rmtree(folder / "leagues")
    configuration.open_leagues(configuration.use(str(folder)))
    place.ensure_league()
    first = League.objects.get(pk="first")
    expected = {"move_timeout_s": 12, "join_timeout_s": 7, "generic_timeout_s": 8, "max_retries": 1, "retry_factor": 1}
    assert first.settings == expected
    own = opening.create_league(league_id="own", display_name="Own", settings={"move_timeout_s": 30})
    assert own.settings == expected | {"move_timeout_s": 30}
    assert opening.create_league(league_id="demo", display_name="Demo", demo=True).settings == {}


@pytest.mark.django_db
def test_the_form_of_a_new_league_begins_with_the_defaults_of_system_json(folder: Path, desk: Client) -> None:
    set_in(folder / "system.json", "timeouts.move_timeout_sec", 12)
    configuration.use(str(folder))
    page = desk.get("/admin/matches/league/add/")
    assert page.context["adminform"].form.initial["move_timeout_s"] == 12
    fields = {"league_id": "a", "display_name": "A", "game_type": "even_odd", "error_style": "error"}
    for league_id, field, stored in (("a", "", 12), ("b", "30", 30), ("c", "12", 12)):
        body = fields | {"league_id": league_id, "move_timeout_s": field, "no_show": "technical_loss"}
        desk.post("/admin/matches/league/add/", body)
        assert League.objects.get(pk=league_id).rules.move_timeout_s == stored


@pytest.mark.django_db
def test_leagues_of_the_files_are_opened_once_and_existing_ones_stay_as_they_are(folder: Path) -> None:
    opening.create_league(league_id="league_2025_even_odd", display_name="Mine", settings={"win_points": 5})
    other = folder / "leagues" / "fall.json"
    shutil.copy(folder / "leagues" / "league_2025_even_odd.json", other)
    for at, value in (("league_id", "fall"), ("game_type", "tic_tac_toe"), ("scoring.win_points", 2)):
        set_in(other, at, value)
    set_in(other, "participants.max_players", 40)
    shutil.copy(other, folder / "leagues" / "over.json")
    set_in(folder / "leagues" / "over.json", "league_id", "over")
    set_in(folder / "leagues" / "over.json", "status", "COMPLETED")
    for _ in range(2):
        configuration.open_leagues(configuration.use(str(folder)))
    rows = League.objects.order_by("pk").values_list("pk", "display_name", "game_type", "settings")
    assert list(rows) == [
        ("fall", "Even/Odd League 2025", "tic_tac_toe", {"win_points": 2, "max_players": 40}),
        ("league_2025_even_odd", "Mine", "even_odd", {"win_points": 5}),
    ]


@pytest.mark.django_db
def test_the_registry_restricts_the_games_of_new_leagues(folder: Path) -> None:
    shutil.rmtree(folder / "leagues")
    edit(folder / "games" / "games_registry.json", lambda registry: registry["game_registry"].pop("even_odd"))
    configuration.use(str(folder))
    place.ensure_league()
    assert League.objects.get().game_type == "even_odd_numbers"
    assert list(queries.game_registry()["game_registry"]) == ["even_odd_numbers", "tic_tac_toe", "connect_four"]
    with pytest.raises(Invalid, match="There is no game"):
        opening.create_league(league_id="fall", display_name="Fall", game_type="even_odd")


SYSTEM, LEAGUE, GAMES = "system.json", "leagues/league_2025_even_odd.json", "games/games_registry.json"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("file", "at", "value", "expected"),
    [
        (SYSTEM, "timeouts.move_timeout_sec", "30", "field timeouts.move_timeout_sec must be int, not str"),
        (
            SYSTEM,
            "timeouts.move_timeout_sec",
            0,
            "field timeouts.move_timeout_sec: Input should be greater than 0, not 0",
        ),
        (SYSTEM, "timeouts", {}, "field timeouts.register_referee_timeout_sec is missing"),
        (
            SYSTEM,
            "retry_policy.max_retries",
            99,
            "field retry_policy.max_retries: Input should be less than or equal to",
        ),
        (
            SYSTEM,
            "retry_policy.backoff_strategy",
            "none",
            "backoff_strategy is 'none', and must be exponential or fixed",
        ),
        (SYSTEM, "protocol_version", "league.v1", "field protocol_version is 'league.v1', and must be league.v2"),
        (SYSTEM, "default_league_id", "../x", "field default_league_id: Use letters, digits, - and _ only"),
        (LEAGUE, "league_id", "other", "field league_id is 'other', not 'league_2025_even_odd'"),
        (LEAGUE, "status", "MAYBE", "field status is 'MAYBE', and must be ACTIVE"),
        (LEAGUE, "game_type", "chess", "field game_type is 'chess', and must be even_odd,"),
        (LEAGUE, "display_name", "x" * 65, "field display_name: Ensure this value has at most 64 characters"),
        (LEAGUE, "display_name", "a\0b", "field display_name holds a character that cannot be stored"),
        (LEAGUE, "scoring.win_points", 1000, "field scoring.win_points: Input should be less than or equal to 100"),
        (LEAGUE, "scoring.tiebreakers", ["wins"], "field scoring.tiebreakers is \"['wins']\", and must be"),
        (LEAGUE, "participants", {"min_players": 9, "max_players": 3}, "max_players is smaller than min_players"),
        (GAMES, "game_registry.chess", {"rules_module": "x"}, "is missing"),
        (
            GAMES,
            "game_registry.even_odd.rules_module",
            "os",
            "field game_registry.even_odd.rules_module is 'os', and must",
        ),
        (GAMES, "game_registry", {}, "field game_registry has no game"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_field_and_changes_nothing(
    folder: Path, settings: Any, file: str, at: str, value: Any, expected: str
) -> None:
    set_in(folder / file, at, value)
    with pytest.raises(UnusableConfig) as refused:
        configuration.use(str(folder))
    sentence = str(refused.value)
    assert expected in sentence and sentence.startswith(str(folder / file)) and sentence.endswith(".")
    assert "\n" not in sentence
    assert (settings.LEAGUE_NEW_LEAGUES, settings.LEAGUE_GAMES, League.objects.count()) == ({}, None, 0)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a":' * 5000, "\udcff"])
def test_a_file_that_is_not_an_object_is_named(folder: Path, text: str) -> None:
    (folder / SYSTEM).write_text(text, errors="surrogateescape")
    with pytest.raises(UnusableConfig) as refused:
        configuration.read(folder)
    assert str(refused.value).startswith(str(folder / SYSTEM))
    assert "\n" not in str(refused.value)


def test_a_folder_without_any_of_the_files_is_a_mistake(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnusableConfig, match=r"has none of system\.json"):
        configuration.read(tmp_path / "nowhere")


def test_a_folder_that_the_site_writes_is_refused_as_configuration(folder: Path, settings: Any) -> None:
    written = Path(settings.DATA_DIR) / "SHARED" / "config"
    shutil.copytree(folder, written)
    with pytest.raises(UnusableConfig, match="is in the folder that the site writes"):
        configuration.read(written)
    # The same files in another folder are accepted.
    configuration.read(folder)


def test_without_the_option_an_environment_variable_names_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(configuration.VARIABLE, raising=False)
    assert configuration.use(None) == Configuration()
    monkeypatch.setenv(configuration.VARIABLE, str(folder))
    assert configuration.use(None) == configuration.read(folder)
