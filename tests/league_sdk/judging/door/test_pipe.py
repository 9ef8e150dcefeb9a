"""The pipe between a referee's judging and its door: messages arrive as they were sent, an attacker's too."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from league_sdk.judging.door.__main__ import JudgingClient
from league_sdk.judging.door.budgets import LEAGUE, STRANGER, Budgets
from league_sdk.judging.door.keeper import DoorKeeper, environment
from league_sdk.judging.door.pipe import MAX_FRAME_BYTES, Pipe, error_from_frame, error_to_frame
from league_sdk.judging.door.server import RefereeServer
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.errors import InternalError, InvalidFormat, LeagueError, TokenInvalid
from league_sdk.protocol.limits import MAX_JSON_DEPTH
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, START, Link, auth_token_of, with_tokens


async def waiting() -> bool:
    """The sender of a call waits for the answer."""
    return True


async def gone() -> bool:
    """The sender of a call has hung up."""
    return False


@asynccontextmanager
async def connected(referee: Referee, link: Link) -> AsyncIterator[tuple[JudgingClient, Budgets, DoorKeeper]]:
    """The door's end of a pipe with judging at the other end, in one process."""
    ours, theirs = socket.socketpair()
    keeper = DoorKeeper([], RefereeServer(referee, link))  # type: ignore[arg-type]
    budgets = Budgets()
    judging_end, door_end = await Pipe.over(ours), await Pipe.over(theirs)
    judging = JudgingClient(door_end, budgets)
    keeper._pipe = judging_end
    keeper.send_state()
    referee.seats_changed = keeper.send_state
    work = [asyncio.create_task(keeper._serve(judging_end)), asyncio.create_task(judging.listen())]
    try:
        yield judging, budgets, keeper
    finally:
        door_end.close()
        await asyncio.gather(*work)
        await keeper.aclose()


async def test_a_start_is_taken_only_while_its_sender_waits(referee: Referee, link: Link, stage: Stage) -> None:
    async with connected(referee, link) as (judging, budgets, _):
        hung_up = await judging.perform("start_match", dict(START), gone)
        assert hung_up["accepted"] is False and "has not waited" in hung_up["reason"]
        together = {"auth_token": LEAGUE_TOKEN, "matches": [dict(START)]}
        assert await judging.perform("start_matches", together, gone) == hung_up
        assert referee.in_play == 0
        assert await judging.perform("start_match", dict(START), waiting) == {"accepted": True, "reason": None}
        assert budgets.caller("/mcp", f"Bearer {LEAGUE_TOKEN}") == LEAGUE
        secrets = referee.open_seats
        assert len(secrets) == 2 and [budgets.caller(f"/mcp/{secret}", "") for secret in secrets] == list(secrets)
        referee._give_up((START["league_id"], START["match_id"], START["attempt"]))
        # The door gets to know which seats are closed before it gets the next answer.
        await judging.perform("health", {}, waiting)
        assert [budgets.caller(f"/mcp/{secret}", "") for secret in secrets] == [STRANGER, STRANGER]
    assert [key[1] for key in stage.begun] == ["R1M1"]


async def test_the_door_knows_the_players_in_play_by_their_proven_tokens(referee: Referee, link: Link) -> None:
    first, second = auth_token_of("league_2P01"), auth_token_of("league_2P02")
    params = with_tokens()
    params["player_B"] |= {"unproven_sha256": [tokens.digest(second)]}
    async with connected(referee, link) as (judging, budgets, _):
        assert (await judging.perform("start_match", params, waiting))["accepted"]
        secret = referee._running[params["league_id"], "R1M1", 1].brief.player_a.path_secret
        callers = [budgets.caller("/mcp", f"Bearer {token}") for token in (first, second, auth_token_of("league_2P03"))]
        assert callers == [secret, STRANGER, STRANGER]
        referee._give_up((params["league_id"], "R1M1", 1))
        await judging.perform("health", {}, waiting)
        assert budgets.caller("/mcp", f"Bearer {first}") == STRANGER


async def test_an_error_is_the_same_on_both_sides_of_the_pipe(referee: Referee, link: Link) -> None:
    async with connected(referee, link) as (judging, _, _):
        with pytest.raises(InvalidFormat) as raised:
            await judging.perform("get_match_state", {"match_id": "R9M9", "auth_token": "of nobody"}, waiting)
    error = raised.value
    assert (error.legacy_code, error.context["seen"]) == ("G003", '"R9M9"')


async def test_a_message_with_the_greatest_depth_passes_the_pipe(referee: Referee, link: Link) -> None:
    deep: Any = "x"
    for _ in range(MAX_JSON_DEPTH - 2):
        deep = [deep]
    body = rpc.loads(rpc.dumps({"params": deep}))
    async with connected(referee, link) as (judging, _, _):
        with pytest.raises(LeagueError):
            await judging.perform("get_match_state", {"match_id": body, "x": "\u2028\x7f😀"}, waiting)
        assert (await judging.perform("health", {}, waiting))["status"] == "ok"


def test_an_unknown_kind_of_error_becomes_an_internal_error() -> None:
    assert type(error_from_frame(error_to_frame(TokenInvalid("no", field="auth_token", seen="x")))) is TokenInvalid
    for kind in ("NAMES", "dumps", "", None, "Exception"):
        assert type(error_from_frame({"kind": kind, "message": "x", "context": None})) is InternalError


async def test_an_invalid_frame_raises_an_error() -> None:
    for raw in (b" " * (2 * MAX_FRAME_BYTES + 1), b"[]\n", b"x\n"):
        ours, theirs = socket.socketpair()
        judging_end, door_end = await Pipe.over(ours), await Pipe.over(theirs)
        door_end._writer.write(raw)
        with pytest.raises(ValueError, match=r"frame|limit|Expecting"):
            await judging_end.receive()
        door_end._writer.transport.abort()
        judging_end.close()


def test_a_door_gets_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("LEAGUE_REFEREE_KEY", "LEAGUE_METRICS_KEY", "DJANGO_SECRET", "PGPASSWORD", "DATABASE_URL", "CLASS_CODE")
    for name in (*secrets, "LEAGUE_LOG_FORMAT"):
        monkeypatch.setenv(name, tokens.new_token())
    assert environment().keys().isdisjoint(secrets)
    assert "LEAGUE_LOG_FORMAT" in environment()
