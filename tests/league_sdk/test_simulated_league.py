"""The messages of a simulated league have the fields of real ones, so that a check asks what a league would."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.protocol.messages import ROLES
from league_sdk.rules.draws import CommittedDraw, commitment
from league_sdk.rules.registry import games
from league_sdk.simulated_league import Identity, SimulatedLeague
from tests.paths import SAMPLES


def league() -> SimulatedLeague:
    return SimulatedLeague(Identity(), games()["even_odd"])


def messages() -> dict[str, dict[str, Any]]:
    """One message of each type."""
    stage = league()
    match = stage.match(ROLES[0])
    sent = [
        stage.invitation(match),
        stage.move_call(match),
        stage.move_call(match, generic=True),
        stage.game_over(match, "WIN", "even"),
        stage.game_error(match),
        stage.round_announcement(match),
        stage.standings_update(match),
        stage.round_completed(match),
        stage.league_completed(),
    ]
    return {message["message_type"]: message for message in sent}


def fields(value: Any, at: str = "") -> set[str]:
    """The path of every field inside; the ids of players are no names of fields."""
    if isinstance(value, dict):
        inner = {f"{at}.{name}": item for name, item in value.items() if not name.startswith("P0")}
        return set(inner).union(*(fields(item, path) for path, item in inner.items()))
    return set().union(*(fields(item, at) for item in value)) if isinstance(value, list) else set()


OF_COMMITTED_DRAWS = {"CHOOSE_PARITY_CALL": {".draw_commitment"}, "GAME_MOVE_CALL": {".draw_commitment"}} | {
    "GAME_OVER": {".game_result.draw_seed", ".game_result.play"}
}
"""Fields that the samples lack: their referee publishes no commitment to its draws."""


@pytest.mark.parametrize("name", messages())
def test_a_simulated_message_has_the_fields_of_a_real_one(name: str) -> None:
    real = fields(SAMPLES[name]) | OF_COMMITTED_DRAWS.get(name, set())
    assert fields(messages()[name]) - {".context.check"} == real


def test_the_number_follows_from_the_seed_that_was_committed_to() -> None:
    stage = league()
    match = stage.match(ROLES[0])
    call, over = stage.move_call(match), stage.game_over(match, "WIN", "odd")
    result = over["game_result"]
    assert (call["draw_commitment"], result["draw_seed"]) == (commitment(match.seed), match.seed.hex())
    draw = CommittedDraw(match.seed, stage.who.league_id, match.match_id, 1, ("odd", "even"))
    assert (result["status"], result["drawn_number"]) == ("WIN", draw.randint(1, 10))


def test_a_referees_path_ends_in_a_secret_of_the_match() -> None:
    stage = league()
    first, second = (stage.invitation(stage.match(role))["referee_endpoint"] for role in ROLES)
    assert first != second
    assert first.startswith("http://127.0.0.1:8001/mcp/tok_")
