"""The referee: which matches it takes, what it shows and what it reports (ruling, sections 9 and 10).

``play_match`` is replaced: a match ends when and how the test says. The league manager only records what it is sent.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.fault import Fault
from league_sdk.judging.match.broken_off import MachineFailed
from league_sdk.judging.match.ending import Verdict
from league_sdk.judging.worker import league_link
from league_sdk.judging.worker.league_link import LeagueLink, Refused, referee_meta
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol import records
from league_sdk.protocol.errors import InvalidFormat, MissingField, TokenInvalid, TokenMissing
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import ResultStatus
from league_sdk.protocol.transcript import entry
from league_sdk.transport.client import Reply, TimedOut
from tests.league_sdk.judging.scripted import BEGIN
from tests.league_sdk.judging.staged import DETAILS, KEY, SEAT, TAKEN, WIN, Stage, begin, in_play, settle
from tests.league_sdk.judging.starts import AUTH_TOKEN, LEAGUE_TOKEN, START, Link, auth_token_of, with_tokens

# -- taking matches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "", 7, "tok_" + "f" * 32, AUTH_TOKEN, LEAGUE_TOKEN[:-1], [LEAGUE_TOKEN]])
async def test_start_match_is_taken_with_the_own_league_token_only(referee: Referee, stage: Stage, token: Any) -> None:
    with pytest.raises(TokenInvalid) as caught:
        referee.start_match(START | {"auth_token": token})
    assert (caught.value.error_code, caught.value.rpc_code) == ("E012", -32001)
    assert caught.value.context == {"field": "auth_token", "expected": "the league_token of this referee"}
    await settle()
    assert stage.begun == []


async def test_a_referee_takes_no_match_before_it_is_registered(referee: Referee, link: Link) -> None:
    link.identity = None
    with pytest.raises(TokenInvalid):
        referee.start_match(START | {"auth_token": ""})


async def test_start_match_checks_the_token_first(referee: Referee) -> None:
    with pytest.raises(TokenInvalid):
        referee.start_match({})
    with pytest.raises(MissingField) as caught:
        referee.start_match({"auth_token": LEAGUE_TOKEN})
    assert caught.value.context["field"] == "settings"


async def test_a_match_is_played_once_however_often_it_is_started(referee: Referee, link: Link, stage: Stage) -> None:
    assert [referee.start_match(START) for _ in range(3)] == [TAKEN] * 3
    await settle()
    await stage.end_and_settle(WIN)
    assert referee.start_match(START) == TAKEN
    await settle()
    assert (stage.begun, len(link.reports)) == ([KEY], 1)


@pytest.mark.parametrize("over", [False, True])
async def test_a_match_is_played_again_in_another_conversation_only_if_it_is_over(
    referee: Referee, link: Link, stage: Stage, over: bool
) -> None:
    """A league that starts again, such as the demo or a restored backup, has the same matches and attempts."""
    assert referee.start_match(START) == TAKEN
    await settle()
    if over:
        await stage.end_and_settle(WIN)
    second = START | {"conversation_id": "conv-r1m1-001-again"}
    assert [referee.start_match(second) for _ in range(2)] == [TAKEN, TAKEN]
    await settle()
    assert (stage.begun, stage.given_up, referee.in_play) == ([KEY, KEY] if over else [KEY], [], 1)
    await stage.end_and_settle(WIN)
    assert (len(link.reports), referee.in_play) == (2 if over else 1, 0)


async def test_the_same_match_id_in_two_leagues_is_two_matches(referee: Referee, stage: Stage) -> None:
    assert referee.start_match(START) == TAKEN
    assert referee.start_match(START | {"league_id": "other"}) == TAKEN
    await settle()
    assert stage.begun == [KEY, ("other", "R1M1", 1)]


async def test_a_new_attempt_replaces_the_earlier_one_and_an_old_one_is_refused(referee: Referee, stage: Stage) -> None:
    await begin(referee, START | {"attempt": 2})
    assert referee.start_match(START | {"attempt": 3}) == TAKEN
    await settle()
    assert stage.given_up == [("league_2025_even_odd", "R1M1", 2)]
    assert referee.start_match(START | {"attempt": 1}) == {
        "accepted": False,
        "reason": "attempt 3 is being played",
    }
    await settle()
    assert [key[2] for key in stage.begun] == [2, 3]


async def test_a_match_that_is_only_being_reported_takes_no_place(referee: Referee, link: Link, stage: Stage) -> None:
    """The league manager has the report, and may start the next match, before the referee knows that."""
    referee.start_match(START)
    await begin(referee, START | {"match_id": "R1M2"})
    answers: list[dict[str, Any]] = []
    link.on_report = lambda: answers.append(referee.start_match(START | {"match_id": "R1M3"}))
    await stage.end_and_settle(WIN)
    assert answers == [TAKEN]


async def test_a_full_referee_refuses_new_matches_and_accepts_repeated_ones(referee: Referee, stage: Stage) -> None:
    assert [referee.start_match(START | {"match_id": f"R1M{number}"}) for number in (1, 2, 3, 1)] == [
        TAKEN,
        TAKEN,
        {"accepted": False, "reason": "this referee plays 2 matches already"},
        TAKEN,
    ]
    await settle()
    await stage.end_and_settle(WIN)
    assert referee.start_match(START | {"match_id": "R1M3"}) == TAKEN


async def test_callers_of_players_that_no_match_uses_any_more_are_closed(referee: Referee, stage: Stage) -> None:
    for number in range(5):
        policy = {"refused_ports": [8000 + number // 2]}
        await begin(referee, START | {"match_id": f"R1M{number}", "endpoint_policy": policy})
        await stage.end_and_settle(WIN, stage.begun[-1])
    # Three policies, of which the last may be wanted again.
    assert [caller.closed for caller in stage.callers] == [1, 1, 0]


async def test_a_caller_of_players_that_a_match_still_uses_is_not_closed(referee: Referee, stage: Stage) -> None:
    for number in (1, 2):
        policy = {"refused_ports": [8000 + number]}
        await begin(referee, START | {"match_id": f"R1M{number}", "endpoint_policy": policy})
    assert [caller.closed for caller in stage.callers] == [0, 0]


async def test_a_game_without_rules_is_not_taken(referee: Referee) -> None:
    assert referee.start_match(START | {"game_type": "chess960"}) == {
        "accepted": False,
        "reason": "this referee has no rules for chess960",
    }


@pytest.mark.parametrize("policy", [None, 7, [], {"refused_ports": 8000}, {"refused_ports": ["8000", None]}])
async def test_a_malformed_endpoint_policy_does_not_stop_a_match(referee: Referee, stage: Stage, policy: Any) -> None:
    assert referee.start_match(START | {"endpoint_policy": policy}) == TAKEN
    await settle()
    assert stage.begun == [KEY]


# -- what a referee shows ---------------------------------------------------------------------------------


async def test_get_match_state_shows_a_player_its_match_without_choices(referee: Referee, stage: Stage) -> None:
    await begin(referee, with_tokens())
    log = stage.logs[KEY]
    log.join("P01")
    log.join("P02")
    log.lock_in("P02")
    secret = entry(n=0, at=BEGIN, sender="P02", recipient="REF01", message_type="X", body={"parity_choice": "odd"})
    log.add(secret, hidden=True)
    for player in ("P01", "P02"):
        assert referee.shown.state({"match_id": "R1M1", "auth_token": auth_token_of("league_2" + player)}) == {
            "match_id": "R1M1",
            "attempt": 1,
            "state": "WAITING_FOR_PLAYERS",
            "joined": ["P01", "P02"],
            "locked_in": ["P02"],
            "view": {},
        }


@pytest.mark.parametrize("token", [7, "tok_" + "1" * 32, LEAGUE_TOKEN, AUTH_TOKEN, "f" * 64, auth_token_of("P03")])
async def test_get_match_state_refuses_everybody_but_the_players(referee: Referee, token: Any) -> None:
    """They do not learn either whether it is played. A league_token is refused, too: every agent gets it."""
    referee.start_match(with_tokens())
    with pytest.raises(InvalidFormat) as played:
        referee.shown.state({"match_id": "R1M1", "auth_token": token})
    with pytest.raises(InvalidFormat) as not_played:
        referee.shown.state({"match_id": "R2M1", "auth_token": token})
    assert (played.value.message, played.value.legacy_code) == (not_played.value.message, "G003")


@pytest.mark.parametrize("params", [{}, {"auth_token": ""}, {"auth_token": None}, {"match_id": "R9M9"}])
async def test_get_match_state_without_a_token_is_e011(referee: Referee, params: dict[str, Any]) -> None:
    referee.start_match(with_tokens())
    with pytest.raises(TokenMissing) as caught:
        referee.shown.state({"match_id": "R1M1"} | params)
    assert (caught.value.error_code, caught.value.context["field"]) == ("E011", "auth_token")


async def test_get_match_state_finds_the_league_by_the_token(referee: Referee) -> None:
    referee.start_match(with_tokens())
    referee.start_match(with_tokens(league_id="other_league", attempt=7))
    token = auth_token_of("other_leP02")
    assert referee.shown.state({"match_id": "R1M1", "auth_token": token})["attempt"] == 7
    assert referee.shown.state({"match_id": "R1M1", "league_id": "other_league", "auth_token": token})["attempt"] == 7
    with pytest.raises(InvalidFormat):
        referee.shown.state({"match_id": "R1M1", "league_id": "league_2025_even_odd", "auth_token": token})


@pytest.mark.parametrize(
    "params", [{"match_id": "R9M9"}, {}, {"match_id": ["R1M1"]}, {"match_id": "R1M1", "league_id": 7}]
)
async def test_get_match_state_refuses_a_match_that_is_not_played_here(
    referee: Referee, params: dict[str, Any]
) -> None:
    referee.start_match(with_tokens())
    with pytest.raises(InvalidFormat) as caught:
        referee.shown.state(params | {"auth_token": auth_token_of("league_2P01")})
    assert caught.value.context["expected"] == "a match in play"


# -- what a referee reports -------------------------------------------------------------------------------

FAULT = Fault("P02", "E001", "GAME_INVITATION", 4, Cause.DEADLINE, 5.0)


@pytest.mark.parametrize(
    ("played", "score"),
    [
        (WIN, {"P01": 5, "P02": -1}),
        (Verdict(ResultStatus.DRAW, None, "r", DETAILS, ()), {"P01": 2, "P02": 2}),
        (Verdict(ResultStatus.TECHNICAL_LOSS, "P01", "r", {}, (FAULT,)), {"P01": 5, "P02": -3}),
        (Verdict(ResultStatus.TECHNICAL_LOSS, None, "r", {}, (FAULT,)), {"P01": 0, "P02": 0}),
    ],
)
async def test_match_result_report_has_the_verdict_and_the_score(
    referee: Referee, link: Link, stage: Stage, played: Verdict, score: dict[str, int]
) -> None:
    points = {"win_points": 5, "draw_points": 2, "loss_points": -1, "technical_loss_points": -3}
    await begin(referee, START | {"settings": points})
    await stage.end_and_settle(played)
    (report,) = link.reports
    expected = {
        "league_id": "league_2025_even_odd",
        "round_id": 1,
        "match_id": "R1M1",
        "game_type": "even_odd",
        "attempt": 1,
        "status": played.status,
        "reason": played.reason,
        "faults": [fault.to_report() for fault in played.faults],
        "result": {"winner": played.winner, "score": score, "details": played.details},
        "transcript": [],
    }
    assert {name: report[name] for name in expected} == expected
    assert not in_play(referee)


async def test_a_result_and_its_transcript_arrive_although_heartbeats_failed_at_first(
    referee: Referee, link: Link, stage: Stage
) -> None:
    await begin(referee)
    for n in range(20):
        stage.logs[KEY].add(entry(n=n, at=BEGIN, sender="P01", recipient="REF01", message_type="X", body="x" * 3000))
    failures = 2

    async def fail_at_first(matches: list[dict[str, Any]]) -> list[Any]:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise TimedOut("no answer within 10 s", connected=True)
        return []

    link.on_progress = fail_at_first
    stage.end(WIN)
    while not link.reports:
        link.changed.clear()
        await link.changed.wait()
    sent = [one["n"] for one in link.heartbeats[-1][0]["transcript"] + link.reports[0]["transcript"]]
    assert sent == list(range(20))


HANDED_BACK_ITEM = {"match_id": "R1M1", "attempt": 1, "state": "HANDED_BACK"}


async def handed_back(referee: Referee, link: Link) -> list[dict[str, Any]]:
    """Let the referee send its next heartbeat; returns the matches that it hands back with it, and why."""
    link.heartbeats.clear()
    link.changed.clear()
    task = asyncio.create_task(referee.keep_reporting())
    await link.changed.wait()
    await settle()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    names = ("match_id", "attempt", "state", "cause", "why")
    return [{name: one[name] for name in names} for one in link.heartbeats[0] if one["state"] == "HANDED_BACK"]


async def test_an_exception_in_one_match_ends_that_match_only(
    referee: Referee, link: Link, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    referee.start_match(START)
    await begin(referee, START | {"match_id": "R1M2"})
    await stage.end_and_settle(ZeroDivisionError("a mistake of ours"))
    assert [record.message for record in caplog.records] == ["match R1M1 of league_2025_even_odd failed here"]
    why = "an error in the referee's own code (ZeroDivisionError)"
    assert await handed_back(referee, link) == [HANDED_BACK_ITEM | {"cause": "REFEREE", "why": why}]
    assert (in_play(referee, "R1M1"), in_play(referee, "R1M2"), link.reports) == (False, True, [])
    assert await handed_back(referee, link) == []
    await stage.end_and_settle(WIN, ("league_2025_even_odd", "R1M2", 1))
    assert [report["match_id"] for report in link.reports] == ["R1M2"]


@pytest.mark.parametrize(("cause", "side"), [(Cause.LEAGUE, "LEAGUE"), (Cause.DEADLINE, "REFEREE"), (None, "REFEREE")])
async def test_a_match_whose_players_could_not_be_called_is_handed_back_with_the_side_that_failed(
    referee: Referee, link: Link, stage: Stage, cause: Cause | None, side: str
) -> None:
    await begin(referee)
    await stage.end_and_settle(MachineFailed(CallResult(excuse="it stood still", cause=cause)))
    assert await handed_back(referee, link) == [HANDED_BACK_ITEM | {"cause": side, "why": "it stood still"}]


async def test_a_match_that_cannot_begin_is_handed_back(referee: Referee, link: Link, stage: Stage) -> None:
    """A new caller reads certificates: without a file to spare for them the match must not stay in play for ever."""

    def no_file(*_: Any) -> Any:
        raise OSError(24, "Too many open files")

    stage.uses.new_caller = no_file
    await begin(referee)
    why = "an error in the referee's own code (OSError)"
    assert await handed_back(referee, link) == [HANDED_BACK_ITEM | {"cause": "REFEREE", "why": why}]
    assert not in_play(referee)


async def test_a_match_whose_result_is_refused_is_handed_back_as_the_leagues_fault(
    referee: Referee, link: Link, stage: Stage
) -> None:
    def refuse() -> None:
        raise Refused("E002", "result is missing.")

    link.on_report = refuse
    await begin(referee)
    await stage.end_and_settle(WIN)
    why = "the league manager did not take the result: E002: result is missing."
    assert await handed_back(referee, link) == [HANDED_BACK_ITEM | {"cause": "LEAGUE", "why": why}]
    assert not in_play(referee)


class Failing:
    """Replaces the HTTP client: a league manager whose every answer is a failure."""

    async def post(self, *_: object, **__: object) -> Reply:
        error = {"code": -32603, "message": "Our side failed.", "data": {"error_code": "E009"}}
        return Reply(200, {"jsonrpc": "2.0", "id": 1, "error": error}, "", 0)


async def test_a_referee_gives_up_a_report_that_the_league_manager_always_fails_to_take() -> None:
    waits = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    own_meta = referee_meta("R", "http://127.0.0.1:9/mcp", ["even_odd"], 1, "")
    link = LeagueLink("http://127.0.0.1:9/mcp", own_meta, Failing(), wait)  # type: ignore[arg-type]
    with pytest.raises(Refused):
        await link.report({"match_id": "R1M1"})
    assert (len(waits), waits[0], waits[-1]) == (league_link.MAX_REPORT_FAILURES - 1, 0.2, 3.0)


async def test_a_match_is_traced_with_the_calls_in_it(referee: Referee, stage: Stage) -> None:
    ended: list[str] = []

    @contextmanager
    def span(name: str, about: Mapping[str, Any]) -> Iterator[None]:
        yield
        ended.append(f"{name} {about.get('match_id')} {about.get('message_type')} {about.get('peer')}")

    remove = records.add_tracer(span)
    await begin(referee)
    await stage.asks[KEY](SEAT, {"message_type": "CHOOSE_PARITY_CALL"}, limit_s=5.0)
    await stage.end_and_settle(WIN)
    remove()
    # The test makes the call, not the match, so the call has no match id.
    assert ended == ["player call None CHOOSE_PARITY_CALL player:P01", "match R1M1 None None"]
