"""The strict player ``chapter8.py`` accepts our samples, and reports deviations from 004 chapter 8 in changed ones.

End-to-end tests rely on it.
"""

import copy
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from tests.bots import chapter8_judge
from tests.bots.words import CHAPTER_8
from tests.paths import sample

Call = tuple[str, dict[str, Any]]
Change = Callable[[dict[str, dict[str, Any]]], Any]

ANNOUNCED, INVITED, CALLED, OVER = "notify_round", "handle_game_invitation", "choose_parity", "notify_match_result"
TABLE, ENDED, DONE, ERROR = "update_standings", "notify_round_completed", "notify_league_completed", "notify_game_error"


def samples_of_one_round() -> dict[str, dict[str, Any]]:
    """Our samples as P01 receives them, in a league of one round."""
    messages = {method: sample(name) for method, name in CHAPTER_8.items()}
    rows = messages[TABLE]["standings"]
    messages[ENDED]["next_round_id"] = None
    messages[DONE] |= {
        "total_rounds": 1,
        "total_matches": 2,
        "champion": {name: rows[0][name] for name in ("player_id", "display_name", "points")},
        "final_standings": [{name: row[name] for name in ("rank", "player_id", "points")} for row in rows],
    }
    messages[ERROR] |= {"affected_player": "P01", "player_id": "P01", "timestamp": messages[CALLED]["timestamp"]}
    return messages


NORMAL_ORDER = (ANNOUNCED, INVITED, CALLED, OVER, TABLE, ENDED, DONE)


def deviations_in(calls: list[Call]) -> list[str]:
    """The deviations and notes that the strict player, as P01 who chooses even, reports for these calls."""
    deviations: list[str] = []

    def deviation(what: str, **facts: Any) -> None:
        deviations.append(f"{what}: {facts['field']}" if "field" in facts else what)

    judge = chapter8_judge.Judge(deviation, deviation, player_id="P01", league_id="league_2025_even_odd")
    times = {method: datetime.fromisoformat(params["timestamp"]) for method, params in samples_of_one_round().items()}
    for method, params in calls:
        judge.now = partial(times.__getitem__, method)
        judge.check(method, params)
        match = judge.matches.get(str(params.get("match_id")))
        if method == CALLED and match is not None:
            match.choice = "even"
    return deviations


def test_our_samples_have_no_deviation() -> None:
    messages = samples_of_one_round()
    assert deviations_in([(method, messages[method]) for method in NORMAL_ORDER]) == []
    with_errors_and_retries = [ANNOUNCED, INVITED, ERROR, INVITED, CALLED, ERROR, CALLED, OVER, TABLE, ENDED, DONE]
    assert deviations_in([(method, messages[method]) for method in with_errors_and_retries]) == []


def put(method: str, path: str, value: Any) -> Change:
    """A function that sets one field, or removes it (``...``); the path may go into objects and arrays."""

    def change(messages: dict[str, dict[str, Any]]) -> None:
        holder: Any = messages[method]
        *parents, name = path.split(".")
        for parent in parents:
            holder = holder[int(parent)] if isinstance(holder, list) else holder[parent]
        if value is Ellipsis:
            del holder[name]
        else:
            holder[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "first"),
    [
        # the envelope
        (put(ANNOUNCED, "protocol", "league.v1"), "field is wrong: protocol"),
        (put(ANNOUNCED, "sender", "league_manager:boss"), "field is wrong: sender"),
        (put(INVITED, "sender", "REF01"), "field is wrong: sender"),
        (put(INVITED, "timestamp", "2025-01-15T10:15:00+00:00"), "field is wrong: timestamp"),
        (put(INVITED, "timestamp", "2025-01-15T12:15:00Z"), "timestamp is not the time"),
        (put(CALLED, "conversation_id", ...), "field is missing: conversation_id"),
        (put(CALLED, "message_type", "GAME_MOVE_CALL"), "field is wrong: message_type"),
        (put(OVER, "auth_token", ""), "field is wrong: auth_token"),
        (put(TABLE, "league_id", "another"), "league_id is not the one we registered in"),
        # the announcement
        (put(ANNOUNCED, "round_id", "1"), "field is wrong: round_id"),
        (put(ANNOUNCED, "matches.0.player_A_id", ...), "field is missing: matches[0].player_A_id"),
        (put(ANNOUNCED, "matches.1.referee_endpoint", None), "field is wrong: matches[1].referee_endpoint"),
        (put(ANNOUNCED, "matches.1.player_B_id", "P02"), "a player or a match stands twice in a round"),
        (put(ANNOUNCED, "matches.1.match_id", "R2M2"), "match_id is of another round"),
        # one match
        (put(INVITED, "role_in_match", "PLAYER_B"), "role_in_match contradicts the announcement"),
        (put(INVITED, "opponent_id", "P03"), "opponent_id contradicts the announcement"),
        (put(INVITED, "match_id", "R1M2"), "invitation for a match that was not announced as ours"),
        (put(CALLED, "deadline", ...), "field is missing: deadline"),
        (put(CALLED, "deadline", "2025-01-15T10:14:59Z"), "the deadline is not in the future"),
        (put(CALLED, "player_id", "P02"), "player_id contradicts our registration"),
        (put(CALLED, "context.your_standings", ...), "field is missing: context.your_standings"),
        (put(CALLED, "context.your_standings.wins", 1), "your_standings is not our record"),
        (put(CALLED, "conversation_id", "conv-other"), "conversation_id contradicts the invitation"),
        (put(OVER, "sender", "referee:REF02"), "sender contradicts the invitation"),
        (put(OVER, "game_result.winner_player_id", "P02"), "the verdict is not what the rules say"),
        (put(OVER, "game_result.status", "DRAW"), "the verdict is not what the rules say"),
        (put(OVER, "game_result.status", "VICTORY"), "field is wrong: game_result.status"),
        (put(OVER, "game_result.drawn_number", 11), "field is wrong: game_result.drawn_number"),
        (put(OVER, "game_result.drawn_number", None), "a played match without a number, or a parity of none"),
        (put(OVER, "game_result.number_parity", "odd"), "number_parity is wrong"),
        (put(OVER, "game_result.choices.P01", "odd"), "the choice named as ours is not ours"),
        (put(OVER, "game_result.choices.P02", "Odd"), "a choice is neither even nor odd"),
        (put(OVER, "game_result.choices.P02", ...), "choices must have exactly both players"),
        (put(OVER, "game_result.reason", ""), "field is wrong: game_result.reason"),
        # the table and the end
        (put(TABLE, "standings.0.wins", 2), "played is not wins + draws + losses"),
        (put(TABLE, "standings.0.points", 2), "points are not 3/1/0"),
        (put(TABLE, "standings.3.rank", 3), "ranks do not count up from 1"),
        (put(TABLE, "standings.3.player_id", "P03"), "a player stands twice in the table"),
        (put(TABLE, "standings.2.display_name", ...), "field is missing: standings[2].display_name"),
        (put(ENDED, "matches_completed", 1), "the counts of matches differ"),
        (put(ENDED, "summary.draws", 0), "the summary does not add up"),
        (put(ENDED, "next_round_id", 3), "next_round_id is not the next"),
        (put(DONE, "total_rounds", 2), "LEAGUE_COMPLETED before the last round"),
        (put(DONE, "total_matches", 3), "total_matches is not the sum"),
        (put(DONE, "champion.player_id", "P02"), "the champion is not the first of the table"),
        (put(DONE, "final_standings", []), "final_standings are empty or unusable"),
        (put(DONE, "final_standings.1.points", 2), "final_standings are not the last table"),
    ],
)
def test_the_judge_notices_one_wrong_field(change: Change, first: str) -> None:
    messages = samples_of_one_round()
    change(messages)
    assert deviations_in([(method, messages[method]) for method in NORMAL_ORDER])[:1] == [first]


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ((ANNOUNCED, ANNOUNCED), "the same broadcast twice"),
        ((INVITED,), "invitation for a match that was not announced as ours"),
        ((ANNOUNCED, CALLED), "call before the invitation"),
        ((ANNOUNCED, OVER), "result before the invitation"),
        ((ANNOUNCED, INVITED, INVITED), "asked again without a GAME_ERROR in between"),
        (
            (ANNOUNCED, INVITED, CALLED, INVITED),
            "an invitation again, in the middle of its conversation",
        ),
        ((ANNOUNCED, INVITED, CALLED, CALLED), "asked again without a GAME_ERROR in between"),
        ((ANNOUNCED, INVITED, CALLED, OVER, OVER), "GAME_OVER twice in one conversation"),
        ((ANNOUNCED, INVITED, CALLED, OVER, CALLED), "a choice is asked for after GAME_OVER"),
        ((ANNOUNCED, INVITED, CALLED, OVER, ENDED), "ROUND_COMPLETED before the standings of its round"),
        ((TABLE,), "standings of a round that is not open"),
        ((ANNOUNCED, INVITED, CALLED, TABLE), "our row is not our record"),
        ((ANNOUNCED, INVITED, CALLED, OVER, TABLE, DONE), "LEAGUE_COMPLETED before the last round"),
        ((*NORMAL_ORDER, INVITED), "a call after LEAGUE_COMPLETED"),
    ],
)
def test_the_judge_notices_a_wrong_order_of_messages(order: tuple[str, ...], first: str) -> None:
    messages = samples_of_one_round()
    calls = [(method, copy.deepcopy(messages[method])) for method in order]
    assert deviations_in(calls)[:1] == [first]


def test_the_judge_notices_a_round_without_our_game_over() -> None:
    messages = samples_of_one_round()
    order = (ANNOUNCED, INVITED, CALLED, TABLE, ENDED)
    deviations = deviations_in([(method, messages[method]) for method in order])
    assert deviations == ["our row is not our record", "the round ended and no GAME_OVER came"]


@pytest.mark.parametrize(
    ("path", "value", "first"),
    [
        ("error_description", "Timeout", "error_description is not the code's name"),
        ("affected_player", "P04", "affected_player is not in the match"),
        ("retry_info.retry_count", 2, "retry_info contradicts the flat fields"),
        ("retry_info", ..., "field is missing: retry_info"),
        ("max_retries", 0, "retry_info contradicts the flat fields"),
        ("consequence", ..., "field is missing: consequence"),
        ("action_required", "ANSWER", "field is wrong: action_required"),
    ],
)
def test_the_judge_notices_a_wrong_game_error(path: str, value: Any, first: str) -> None:
    messages = samples_of_one_round()
    put(ERROR, path, value)(messages)
    calls = [(method, messages[method]) for method in (ANNOUNCED, INVITED, CALLED, ERROR)]
    assert deviations_in(calls)[:1] == [first]
