"""What start_match tells a referee, read strictly (ruling, section 10)."""

import copy
from typing import Any

import pytest

from league_sdk.judging.brief import Brief, Seat, read_brief
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


def test_a_brief_is_read() -> None:
    brief = read(START)
    assert brief == Brief(
        league_id="league_2025_even_odd",
        round_id=1,
        match_id="R1M1",
        attempt=1,
        game_type="even_odd",
        conversation_id="conv-r1m1-001",
        seats=(
            Seat(
                player_id="P01",
                role="PLAYER_A",
                endpoint="http://localhost:8101/mcp",
                dialect="canonical",
                league_token="tok_" + "1" * 32,
                token_digests=("a" * 64,),
                standings={"wins": 1, "losses": 2, "draws": 3},
                joined_before=False,
                suspended=False,
            ),
            Seat(
                player_id="P02",
                role="PLAYER_B",
                endpoint="http://localhost:8102/mcp",
                dialect="canonical",
                league_token="tok_" + "2" * 32,
                token_digests=("b" * 64,),
                standings={"wins": 1, "losses": 2, "draws": 3},
                joined_before=False,
                suspended=False,
            ),
        ),
        settings=LeagueSettings(),
        referee_id="REF01",
        referee_endpoint="http://localhost:8001/mcp",
    )
    assert (brief.key, brief.player_ids) == (("league_2025_even_odd", "R1M1", 1), ("P01", "P02"))


def test_what_may_be_left_out_or_said_beside_it() -> None:
    seat = seat_params("P01", "1", "a") | {"your_standings": {"wins": 4, "rank": "first"}, "auth_token_sha256": []}
    brief = read(START | {"player_A": seat, "settings": {"move_timeout_s": 2.5}, "hello": "world"})
    assert (brief.seats[0].standings, brief.seats[0].token_digests) == ({"wins": 4, "losses": 0, "draws": 0}, ())
    assert brief.settings == LeagueSettings(move_timeout_s=2.5)


@pytest.mark.parametrize(("value", "flag"), [(True, True), (False, False), (1, False), ("true", False), (None, False)])
def test_flags_of_a_seat_are_true_or_nothing(value: Any, flag: bool) -> None:
    seat = seat_params("P01", "1", "a") | {"joined_before": value, "suspended": value}
    first = read(START | {"player_A": seat}).seats[0]
    assert (first.joined_before, first.suspended) == (flag, flag)


STRINGS = ["league_id", "match_id", "game_type", "conversation_id", "player_A.id", "player_B.endpoint",
           "player_A.dialect", "player_B.league_token"]  # fmt: skip
WHOLE = ["round_id", "attempt"]
OBJECTS = ["settings", "player_A", "player_B", "player_A.your_standings"]


@pytest.mark.parametrize("path", [*STRINGS, *WHOLE, *OBJECTS, "player_B.auth_token_sha256"])
@pytest.mark.parametrize("value", [DROP, None])
def test_a_missing_field_is_e003_and_named(path: str, value: Any) -> None:
    with pytest.raises(LeagueError) as caught:
        read(changed(path, value))
    assert (caught.value.error_code, caught.value.context["field"]) == ("E003", path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((path, value) for path in STRINGS for value in (7, ["x"], True)),
        *((path, value) for path in WHOLE for value in ("1", 1.0, True, [])),
        *((path, value) for path in OBJECTS for value in ("x", [], 7)),
        ("player_B.auth_token_sha256", "a" * 64),
        ("player_A.your_standings.wins", "four"),
        ("player_B.your_standings.draws", True),
    ],
)
def test_a_field_of_the_wrong_type_is_e002_and_named(path: str, value: Any) -> None:
    with pytest.raises(LeagueError) as caught:
        read(changed(path, value))
    assert (caught.value.error_code, caught.value.context["field"]) == ("E002", path)


def test_a_digest_that_is_no_text_is_e002() -> None:
    with pytest.raises(LeagueError) as caught:
        read(changed("player_A.auth_token_sha256", ["a" * 64, 7]))
    assert (caught.value.error_code, caught.value.context["field"]) == ("E002", "player_A.auth_token_sha256")


@pytest.mark.parametrize(
    ("settings", "field", "seen"),
    [
        ({"move_timeout_s": -1}, "settings.move_timeout_s", "-1"),
        ({"moves": 1}, "settings.moves", "1"),
        ({"max_retries": "many"}, "settings.max_retries", '"many"'),
    ],
)
def test_settings_are_held_to_their_ranges(settings: dict[str, Any], field: str, seen: str) -> None:
    with pytest.raises(LeagueError) as caught:
        read(START | {"settings": settings})
    assert (caught.value.error_code, caught.value.context["field"], caught.value.context["seen"]) == (
        "E002",
        field,
        seen,
    )


def test_no_token_is_repeated() -> None:
    with pytest.raises(LeagueError) as caught:
        read(changed("player_A.league_token", ["tok_" + "1" * 32]))
    assert "1111" not in str(caught.value.context)
