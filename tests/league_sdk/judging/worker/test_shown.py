"""What a referee shows of its matches once it has sent GAME_OVER, and for how long (004 5.4.1; ruling, section 12)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league_sdk.judging.worker import shown
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat, TokenInvalid, TokenMissing
from league_sdk.protocol.states import MatchState
from tests.league_sdk.judging.staged import DETAILS, KEY, WIN, Stage, begin
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, Link, auth_token_of, with_tokens

REQUEST_OF_P01 = {"match_id": "R1M1", "auth_token": auth_token_of("league_2P01")}
SEED = "5e" * 32


async def test_the_steps_are_those_of_the_last_game_over(referee: Referee, stage: Stage) -> None:
    await begin(referee, with_tokens(draw_seed=SEED, play=1))
    stage.logs[KEY].set_state(MatchState.COLLECTING_CHOICES, stage.clock.now())
    await stage.end_and_settle(WIN)
    match = referee.shown.ended_match(REQUEST_OF_P01)
    assert match.choices()["choices"] == DETAILS["choices"]
    assert match.choices()["at"] is not None
    drawn = {name: match.draw()[name] for name in ("drawn_number", "number_parity", "draw_seed", "play")}
    assert drawn == {"drawn_number": 8, "number_parity": "even", "draw_seed": SEED, "play": 1}
    assert match.end()["game_result"] == DETAILS | {
        "status": "WIN", "winner_player_id": "P01", "reason": WIN.reason, "draw_seed": SEED, "play": 1,
    }  # fmt: skip
    # The instructor orders a replay: the match has no result until GAME_OVER of the replay is sent.
    second_attempt = (*KEY[:2], 2)
    await begin(referee, with_tokens(attempt=2, play=2, conversation_id="conv-again"))
    with pytest.raises(InvalidFormat, match="after GAME_OVER"):
        referee.shown.ended_match(REQUEST_OF_P01)
    referee._give_up(second_attempt)
    with pytest.raises(InvalidFormat, match="not being played here"):
        referee.shown.ended_match(REQUEST_OF_P01)


async def test_a_match_that_is_sealed_is_not_shown_before_its_players_are_told(
    referee: Referee, stage: Stage, link: Link
) -> None:
    await begin(referee, with_tokens(seals=True))
    match = referee._running[KEY]
    match.seal, match.sealed = WIN.to_seal(match.brief), True
    with pytest.raises(InvalidFormat) as caught:
        referee.shown.ended_match(REQUEST_OF_P01)
    assert caught.value.context == {
        "field": "match_id",
        "seen": '"R1M1"',
        "expected": "a match whose players were all told its end",
    }
    assert "8" not in str(referee.shown.state(REQUEST_OF_P01))


async def test_the_moves_of_a_match_whose_end_another_referee_tells_are_shown(referee: Referee, stage: Stage) -> None:
    moves = [["P01", 4], ["P02", 1], ["P01", 0], ["P02", 2], ["P01", 8]]
    sealed = {"attempt": 1, "conversation_id": "conv-r1m1-001", "status": "WIN", "reason": "x", "details": {}}
    await begin(
        referee,
        with_tokens(attempt=2, game_type="tic_tac_toe", moves=moves, sealed=sealed | {"winner_player_id": "P01"}),
    )
    assert stage.begun == []
    match = referee.shown.ended_match(REQUEST_OF_P01)
    assert (match.attempt, match.choices()["moves"]) == (1, moves)


@pytest.mark.parametrize("token", [7, [REQUEST_OF_P01["auth_token"]], "tok_" + "9" * 32, LEAGUE_TOKEN, "f" * 64])
async def test_only_the_players_of_a_match_see_its_end(referee: Referee, stage: Stage, token: Any) -> None:
    await begin(referee, with_tokens())
    with pytest.raises(InvalidFormat):
        referee.shown.ended_match(REQUEST_OF_P01 | {"auth_token": token})
    await stage.end_and_settle(WIN)
    for params in (
        REQUEST_OF_P01 | {"auth_token": token},
        REQUEST_OF_P01 | {"league_id": "other"},
        REQUEST_OF_P01 | {"match_id": "R9M9"},
    ):
        with pytest.raises(InvalidFormat) as caught:
            referee.shown.ended_match(params)
        assert caught.value.legacy_code == "G003"
    with pytest.raises(TokenMissing):
        referee.shown.ended_match(REQUEST_OF_P01 | {"auth_token": None})
    for player in ("P01", "P02"):
        assert (
            referee.shown.ended_match(REQUEST_OF_P01 | {"auth_token": auth_token_of("league_2" + player)}).end()[
                "attempt"
            ]
            == 1
        )


async def test_a_caller_that_only_named_an_address_does_not_see_the_end_of_a_match(
    referee: Referee, stage: Stage
) -> None:
    digest = tokens.digest(REQUEST_OF_P01["auth_token"])
    start = with_tokens()
    start["player_A"] = start["player_A"] | {"unproven_sha256": [digest]}
    await begin(referee, start)
    running = referee._running[KEY]
    await stage.end_and_settle(WIN)
    with pytest.raises(InvalidFormat):
        referee.shown.ended_match(REQUEST_OF_P01)
    assert referee.shown.ended_match(REQUEST_OF_P01 | {"auth_token": auth_token_of("league_2P02")}).attempt == 1
    # The same holds while the result is being reported.
    referee._running[KEY] = running
    with pytest.raises(TokenInvalid):
        referee.shown.ended_match(REQUEST_OF_P01)
    del referee._running[KEY]
    # Then an answer from the address of P01 had the token.
    await begin(referee, start | {"attempt": 2, "conversation_id": "conv-again"})
    second_attempt = (*KEY[:2], 2)
    stage.logs[second_attempt].proofs["P01"] = digest
    await stage.end_and_settle(WIN, second_attempt)
    assert referee.shown.ended_match(REQUEST_OF_P01).attempt == 2


async def test_only_the_matches_that_ended_last_are_shown(referee: Referee, stage: Stage) -> None:
    await begin(referee, with_tokens())
    await stage.end_and_settle(WIN)
    first = referee.shown.ended_match(REQUEST_OF_P01)
    for number in range(shown.MAX_ENDED - 1):
        referee.shown.remember(replace(first, match_id=f"R9M{number}"))
    assert referee.shown.ended_match(REQUEST_OF_P01) == first
    key = (KEY[0], "R2M1", 1)
    await begin(referee, with_tokens(match_id=key[1]))
    await stage.end_and_settle(WIN, key)
    with pytest.raises(InvalidFormat):
        referee.shown.ended_match(REQUEST_OF_P01)
    assert referee.shown.ended_match(REQUEST_OF_P01 | {"match_id": "R2M1"}).match_id == "R2M1"
