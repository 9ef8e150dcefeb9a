"""What start_match tells a referee, read strictly (ruling, section 10)."""

import copy
from typing import Any

import pytest

from league_sdk.judging.match.brief import Brief, Seat, Standings, read_brief
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.league_settings import LeagueSettings
from tests.league_sdk.judging.starts import START, seat_params

DROP = object()


def read(params: dict[str, Any]) -> Brief:
    return read_brief(params, referee_id="REF01", referee_endpoint="http://localhost:8001/mcp")


def changed(path: str, value: Any) -> dict[str, Any]:
    params = copy.deepcopy(START)
    *parents, name = path.split(".")
    holder = params
    for parent in parents:
        holder = holder[parent]
    if value is DROP:
        del holder[name]
    else:
        holder[name] = value
    return params


def expected_seat(player_id: str, role: str, letter: str, digit: str) -> Seat:
    return Seat(
        player_id=player_id,
        role=role,
        endpoint=f"http://localhost:81{player_id[1:]}/mcp",
        dialect="canonical",
        league_token="tok_" + digit * 32,
        token_digests=(letter * 64,),
        standings=Standings(wins=1, losses=2, draws=3),
    )


def test_a_brief_is_read() -> None:
    brief = read(START)
    assert brief == Brief(
        league_id="league_2025_even_odd",
        round_id=1,
        match_id="R1M1",
        attempt=1,
        game_type="even_odd",
        conversation_id="conv-r1m1-001",
        player_a=expected_seat("P01", "PLAYER_A", "a", "1"),
        player_b=expected_seat("P02", "PLAYER_B", "b", "2"),
        settings=LeagueSettings(),
        referee_id="REF01",
        referee_endpoint="http://localhost:8001/mcp",
    )
    assert (brief.key, brief.player_ids) == (("league_2025_even_odd", "R1M1", 1), ("P01", "P02"))


def test_optional_and_unknown_fields_of_start_match_are_accepted() -> None:
    seat = seat_params("P01", "1", "a") | {"your_standings": {"wins": 4, "rank": "first"}, "auth_token_sha256": []}
    brief = read(START | {"player_A": seat, "settings": {"move_timeout_s": 2.5}, "hello": "world"})
    assert (brief.seats[0].standings, brief.seats[0].token_digests) == (Standings(wins=4), ())
    assert brief.settings == LeagueSettings(move_timeout_s=2.5)


@pytest.mark.parametrize(("value", "flag"), [(True, True), (False, False), (1, False), ("true", False), (None, False)])
def test_a_flag_of_a_seat_is_set_by_true_only(value: Any, flag: bool) -> None:
    seat = seat_params("P01", "1", "a") | {"joined_before": value, "suspended": value}
    first = read(START | {"player_A": seat}).seats[0]
    assert (first.joined_before, first.suspended) == (flag, flag)


STRINGS = ["league_id", "match_id", "game_type", "conversation_id", "player_A.id", "player_B.endpoint",
           "player_A.dialect", "player_B.league_token"]  # fmt: skip
INTEGERS = ["round_id", "attempt"]
OBJECTS = ["settings", "player_A", "player_B", "player_A.your_standings"]


@pytest.mark.parametrize("path", [*STRINGS, *INTEGERS, *OBJECTS, "player_B.auth_token_sha256"])
@pytest.mark.parametrize("value", [DROP, None])
def test_a_missing_field_is_refused_with_e003_and_its_name(path: str, value: Any) -> None:
    with pytest.raises(LeagueError) as caught:
        read(changed(path, value))
    assert (caught.value.error_code, caught.value.context["field"]) == ("E003", path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((path, value) for path in STRINGS for value in (7, ["x"], True)),
        *((path, value) for path in INTEGERS for value in ("1", 1.0, True, [])),
        *((path, value) for path in OBJECTS for value in ("x", [], 7)),
        ("player_B.auth_token_sha256", "a" * 64),
        ("player_A.auth_token_sha256", ["a" * 64, 7]),
        ("player_A.your_standings.wins", "four"),
        ("player_B.your_standings.draws", True),
        ("moves", [["P01", 4, 5]]),
        ("settings.move_timeout_s", -1),
        ("settings.moves", 1),
        ("settings.max_retries", "many"),
    ],
)
def test_a_malformed_field_is_refused_with_e002_and_its_name(path: str, value: Any) -> None:
    with pytest.raises(LeagueError) as caught:
        read(changed(path, value))
    assert (caught.value.error_code, caught.value.context["field"]) == ("E002", path)


def test_an_error_repeats_a_wrong_value_unless_it_is_secret() -> None:
    for path, value, seen in (
        ("settings.max_retries", "many", '"many"'),
        ("player_A.league_token", ["tok_" + "1" * 32], None),
        ("draw_seed", "7f7f7", "null"),
    ):
        with pytest.raises(LeagueError) as caught:
            read(changed(path, value))
        assert caught.value.context.get("seen") == seen
        assert "7f7f7" not in caught.value.message and "1111" not in str(caught.value.context)
