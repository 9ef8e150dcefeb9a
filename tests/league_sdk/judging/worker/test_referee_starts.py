"""Several matches that the league manager gives to a referee in one call (``start_matches``)."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol.errors import InvalidFormat
from tests.league_sdk.judging.staged import WIN, Stage, in_play, settle
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, START, Link


async def test_several_matches_are_taken_in_one_call_each_with_its_own_answer(
    referee: Referee, stage: Stage, link: Link
) -> None:
    starts = [
        START,
        START | {"match_id": "R1M2", "game_type": "chess"},
        START | {"match_id": "R1M3", "auth_token": "tok_" + "0" * 32},
        {name: value for name, value in START.items() if name != "player_A"} | {"match_id": "R1M4"},
        START,
    ]
    answers = referee.start_matches({"auth_token": LEAGUE_TOKEN, "matches": starts})["matches"]
    assert [(one["accepted"], one.get("error_code")) for one in answers] == [
        (True, None),
        (False, None),
        (False, "E012"),
        (False, "E003"),
        (True, None),
    ]
    await settle()
    await stage.end_and_settle(WIN)
    assert [report["match_id"] for report in link.reports] == ["R1M1"]


@pytest.mark.parametrize("matches", [None, "R1M1", {}, [START, "R1M2"]])
async def test_a_call_without_a_valid_list_of_matches_starts_none(referee: Referee, matches: Any) -> None:
    with pytest.raises(InvalidFormat) as refused:
        referee.start_matches({"auth_token": LEAGUE_TOKEN, "matches": matches})
    assert (refused.value.error_code, referee.in_play) == ("E002", 0)
    assert LEAGUE_TOKEN not in str(refused.value.context)


async def test_an_internal_error_in_one_start_does_not_affect_the_answers_to_the_others(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Referee.start_match

    def failing(self: Referee, params: dict[str, Any]) -> dict[str, Any]:
        if params["match_id"] == "R1M2":
            raise KeyError("never seen outside")
        return start(self, params)

    monkeypatch.setattr(Referee, "start_match", failing)
    answers = referee.start_matches({"matches": [START, START | {"match_id": "R1M2"}, START | {"match_id": "R1M3"}]})
    assert [(one["accepted"], one.get("error_code")) for one in answers["matches"]] == [
        (True, None),
        (False, "E009"),
        (True, None),
    ]
    assert "never seen" not in str(answers)
    assert [in_play(referee, f"R1M{number}") for number in (1, 2, 3)] == [True, False, True]
