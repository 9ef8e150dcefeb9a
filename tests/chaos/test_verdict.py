"""The verdict on a run reports every kind of violation, and a plan depends only on its seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from tests.chaos import inside, plan
from tests.chaos.players import Player, Room
from tests.chaos.rows import Agent, MatchRow, Snapshot
from tests.chaos.verdict import violations

RESULT = {"status": "WIN", "winner_player_id": "P01", "drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}}
DETAILS = {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}}
MATCH = MatchRow("fall", "R1M1", 1, "P01", "P02", "FINISHED", "WIN", "P01", 2, 1, "conv-2", DETAILS, [], 1.0)
COUNTED = ("fall", 1, "match_finished", {"match_id": "R1M1", "status": "WIN", "winner_id": "P01"}, 1.0)
OVER = ("fall", 2, "league_completed", {}, 1.0)
ROWS = [
    {"player_id": one, "points": points, "wins": wins, "draws": 0, "played": 1}
    for one, points, wins in (("P01", 3, 1), ("P02", 0, 0))
]
ACCEPTED = {"league_id": "fall", "match_id": "R1M1", "attempt": 2, "status": "WIN", "winner": "P01"}


def game_over(attempt: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "message_type": "GAME_OVER",
        "conversation_id": f"conv-{attempt}",
        "match_id": "R1M1",
        "attempt": attempt,
        "game_result": RESULT | changes,
    }


def broadcast(kind: str, **fields: Any) -> dict[str, Any]:
    return {"message_type": kind, "conversation_id": f"conv-{kind}", "round_id": 1, **fields}


def player(number: int) -> Player:
    made = Player(
        "fall", f"Agent{number}", "http://127.0.0.1:1/mcp", random.Random(0), f"P0{number}", [f"tok_{number}"]
    )
    final = [{"player_id": row["player_id"], "points": row["points"]} for row in ROWS]
    made.received = [
        # The first attempt was lost, and players were told that it was cancelled.
        game_over(1, status="CANCELLED", winner_player_id=None),
        game_over(),
        broadcast("LEAGUE_STANDINGS_UPDATE", standings=ROWS),
        broadcast("LEAGUE_COMPLETED", final_standings=final),
    ]
    return made


class Case:
    """A league of two players without violations; tests change it."""

    def __init__(self) -> None:
        self.players = [player(1), player(2)]
        digests = [(number, hashlib.sha256(f"tok_{number}".encode()).hexdigest()) for number in (1, 2)]
        agents = [
            Agent(number, "player", f"P0{number}", "fall", f"Agent{number}", "SHUTDOWN", 0, "") for number in (1, 2)
        ]
        self.snapshot = Snapshot(
            {"fall": "COMPLETED"}, [("fall", 1, "COMPLETED")], [MATCH], [COUNTED, OVER], agents, digests, {}
        )
        self.table, self.accepted = list(ROWS), [ACCEPTED]

    def change(self, **fields: Any) -> None:
        self.snapshot = replace(self.snapshot, **fields)

    def match(self, **fields: Any) -> None:
        self.change(matches=[replace(MATCH, **fields)])

    def agent(self, **fields: Any) -> None:
        self.change(agents=[replace(self.snapshot.agents[0], **fields), self.snapshot.agents[1]])

    def receives(self, *messages: dict[str, Any]) -> None:
        self.players[0].received += messages

    def violations(self) -> list[str]:
        return violations(self.snapshot, self.players, {"fall": self.table}, self.accepted)


def test_a_correct_league_has_no_violations() -> None:
    case = Case()
    # Messages may repeat, with the same conversation_id.
    case.receives(game_over(), *case.players[0].received[2:])
    assert case.violations() == []


SEAL = {"attempt": 1, "conversation_id": "conv-1"}


def test_a_verdict_that_another_referee_tells_keeps_its_attempt_and_conversation() -> None:
    case = Case()
    case.match(seal=SEAL)
    for one in case.players:
        one.received[:2] = [game_over(1)]
    # Either report may have been accepted: that of the first referee, or that of the referee that told the verdict.
    case.accepted.append(ACCEPTED | {"attempt": 1})
    assert case.violations() == []


def test_players_need_not_be_told_a_verdict_that_no_referee_could_tell() -> None:
    case = Case()
    case.match(seal=SEAL | {"untold": True})
    for one in case.players:
        one.received[:2] = []
    assert case.violations() == []
    case.match(seal=SEAL)
    assert len(case.violations()) == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda case: case.receives(game_over(1, winner_player_id="P02")), "the last GAME_OVER told (1,"),
        (lambda case: case.receives(game_over(drawn_number=6)), "GAME_OVER and the record differ in drawn_number"),
        (
            lambda case: case.receives(game_over() | {"conversation_id": "conv-9"}),
            "the last GAME_OVER told (2, 'conv-9'",
        ),
        (lambda case: case.players[0].received.clear(), "it was never told how it ended"),
        (lambda case: case.receives(game_over(1, drawn_number=7), game_over()), "two ends were told"),
        (lambda case: case.players[1].received.insert(0, game_over(1, winner_player_id="P02")), "two ends were told"),
        (lambda case: case.match(seal={"attempt": 1, "conversation_id": "conv-1"}), "the last GAME_OVER told (2,"),
        (
            lambda case: case.receives(broadcast("ROUND_COMPLETED"), broadcast("ROUND_COMPLETED", n=1)),
            "twice and differs",
        ),
        (
            lambda case: case.receives(
                broadcast("ROUND_COMPLETED"), broadcast("ROUND_COMPLETED") | {"conversation_id": "x"}
            ),
            "came as ['conv-ROUND_COMPLETED', 'x']",
        ),
        (lambda case: case.receives(broadcast("LEAGUE_STANDINGS_UPDATE", standings=[])), "twice and differs"),
        (lambda case: case.change(events=[COUNTED, ("fall", 2, *COUNTED[2:]), ("fall", 3, *OVER[2:])]), "2 results"),
        (lambda case: case.change(events=[("fall", 1, *OVER[2:])]), "0 results were counted"),
        (lambda case: case.change(events=[COUNTED, ("fall", 3, *OVER[2:])]), "not numbered one by one"),
        (lambda case: case.change(leagues={"fall": "RUNNING"}), "fall is RUNNING"),
        (lambda case: case.change(rounds=[("fall", 1, "RUNNING")]), "round 1 is RUNNING"),
        (lambda case: case.change(waiting={"fall": 3}), "3 messages wait"),
        (lambda case: case.match(status="TECHNICAL_LOSS"), "a player was charged: TECHNICAL_LOSS"),
        (lambda case: case.match(faults=[{"player_id": "P02"}]), "a player was charged: WIN"),
        (lambda case: case.match(winner="P02"), "the site's table"),
        (lambda case: case.agent(silences=1), "was charged"),
        (lambda case: case.agent(code="P09"), "was told that it is P01, and is P09"),
        (lambda case: case.change(agents=case.snapshot.agents * 2), "is registered 2 times"),
        (lambda case: case.change(tokens=[]), "accepted registrations are not on record"),
        (lambda case: case.accepted.append(ACCEPTED | {"attempt": 1, "winner": "P02"}), "was accepted"),
        (lambda case: case.table.reverse(), "is not the computed one"),
        (lambda case: case.change(matches=[]), "fall has 0 matches for 2 players"),
        (lambda case: case.change(events=[COUNTED, OVER, ("fall", 3, *OVER[2:])]), "was completed 2 times"),
        (lambda case: case.match(status="DRAW", winner=None), "counted as WIN P01, is DRAW None"),
        (lambda case: case.match(state="HELD"), "is HELD after attempt 2, 1 lost"),
        (lambda case: case.players[0].odd.append("it has no line"), "Agent1: it has no line"),
        (lambda case: case.receives(game_over() | {"match_id": "R9M9"}), "the end of R9M9, which there is not"),
        (lambda case: case.receives(broadcast("LEAGUE_STANDINGS_UPDATE", standings=[])), "the last table it was told"),
        (lambda case: case.receives(broadcast("LEAGUE_COMPLETED", final_standings=[])), "the final table it was told"),
    ],
)
def test_the_verdict_reports_every_kind_of_violation(change: Callable[[Case], Any], expected: str) -> None:
    case = Case()
    change(case)
    reported = case.violations()
    assert any(expected in one for one in reported), reported


def test_each_episode_begins_with_rare_faults_that_do_not_wait_for_a_game_over() -> None:
    first = []
    for episode in range(3):
        faults = plan.TimedFaults(11, episode, "scaled")
        first += [faults.next() for _ in range(2)]
    assert {fault.what for fault in first} == {plan.REDIS, plan.POSTGRES, plan.STOP}
    assert not any(fault.at_game_over for fault in first)


def test_a_seed_gives_the_same_plan_again_and_another_seed_another() -> None:
    roles = [(role, number) for role in plan.POINTS for number in range(1, 30)]
    plans = [[plan.faults_of(seed, *role) for role in roles] for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]
    timed = [[plan.TimedFaults(seed, 0, "sqlite").next() for _ in range(9)] for seed in (1, 1, 2)]
    assert timed[0] == timed[1] != timed[2]


@pytest.mark.parametrize("role", plan.POINTS)
def test_the_plan_kills_each_process_once_and_over_many_processes_at_every_point(role: str) -> None:
    faults = [plan.faults_of(7, role, number) for number in range(1, 200)]
    assert all([fault.kind for fault in one].count(plan.KILL) == 1 for one in faults)
    assert {one[-1].kind for one in faults} == {plan.KILL}
    assert {one[-1].point for one in faults} == set(plan.POINTS[role])


def test_the_role_of_a_process_follows_from_its_command_line() -> None:
    lines = {
        "python manage.py host --port 1": "host",
        "python manage.py web --port 1": "web",
        "python manage.py conductor": "conductor",
        "python manage.py referee --league x": "",
        "python -m league_sdk.judging --started-by manage.py referee --league x": "referee",
        "python manage.py prepare": "",
        "python -m pytest": "",
    }
    assert {line: inside.role_of(line.split()) for line in lines} == lines


async def test_a_player_records_messages_it_understands_and_refuses_other_calls() -> None:
    room = Room(seed=1)
    await room.open()
    try:
        [agent] = room.seat("fall", 1)
        calls: list[dict[str, Any]] = [
            {"method": "tools/call", "params": {"name": "make_move", "arguments": {"message_type": "GAME_MOVE_CALL"}}},
            {"method": "update_standings", "params": broadcast("LEAGUE_STANDINGS_UPDATE", standings=ROWS)},
        ]
        async with aiohttp.ClientSession() as http:
            answers = []
            for number, body in enumerate(calls):
                async with http.post(agent.endpoint, json=body | {"id": number}) as reply:
                    answers.append(await reply.json())
    finally:
        await room.close()
    assert [answer.keys() & {"result", "error"} for answer in answers] == [{"error"}, {"result"}]
    assert agent.received == [calls[1]["params"]]
