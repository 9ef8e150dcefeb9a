"""The line between a referee's judging and its door: what goes in comes out, also what an attacker has put into it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from league_sdk.judging.door import Line
from league_sdk.judging.door_budgets import LEAGUE, STRANGER, Budgets
from league_sdk.judging.door_keeper import DoorKeeper, environment
from league_sdk.judging.door_pipe import MOST_FRAME_BYTES, Pipe, raised, refusal
from league_sdk.judging.referee import Referee
from league_sdk.judging.server import RefereeServer
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.errors import InternalError, InvalidFormat, LeagueError, TokenInvalid
from league_sdk.protocol.limits import MAX_JSON_DEPTH
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, START, Link


async def there() -> bool:
    return True


async def gone() -> bool:
    return False


@asynccontextmanager
async def lined(referee: Referee, link: Link) -> AsyncIterator[tuple[Line, Budgets, DoorKeeper]]:
    """A door's line with judging at its other end, in one process."""
    ours, theirs = socket.socketpair()
    keeper = DoorKeeper([], RefereeServer(referee, link))  # type: ignore[arg-type]
    budgets = Budgets()
    near, far = await Pipe.over(ours), await Pipe.over(theirs)
    line = Line(far, budgets)
    keeper._pipe = near
    keeper.tell()
    referee.seats_changed = keeper.tell
    work = [asyncio.create_task(keeper._serve(near)), asyncio.create_task(line.listen())]
    try:
        yield line, budgets, keeper
    finally:
        far.close()
        await asyncio.gather(*work)
        await keeper.aclose()


async def test_a_start_goes_over_the_line_once_its_sender_is_known_to_wait(
    referee: Referee, link: Link, stage: Stage
) -> None:
    async with lined(referee, link) as (line, budgets, _):
        hung_up = await line.perform("start_match", dict(START), gone)
        assert hung_up["accepted"] is False and "has not waited" in hung_up["reason"]
        assert await line.perform("start_match", dict(START), there) == {"accepted": True, "reason": None}
        assert budgets.caller("/mcp", f"Bearer {LEAGUE_TOKEN}") == LEAGUE
        doors = referee.open_seats
        assert len(doors) == 2 and [budgets.caller(f"/mcp/{door}", "") for door in doors] == list(doors)
        referee._give_up((START["league_id"], START["match_id"], START["attempt"]))
        # What was told before an answer is known before it.
        await line.health()
        assert [budgets.caller(f"/mcp/{door}", "") for door in doors] == [STRANGER, STRANGER]
    assert [key[1] for key in stage.begun] == ["R1M1"]


async def test_a_refusal_is_the_same_on_both_sides(referee: Referee, link: Link) -> None:
    async with lined(referee, link) as (line, _, _):
        with pytest.raises(InvalidFormat) as found:
            await line.perform("get_match_state", {"match_id": "R9M9"}, there)
    error = found.value
    assert (error.legacy_code, error.context["seen"]) == ("G003", '"R9M9"')


async def test_what_is_nested_as_deep_as_it_may_be_does_not_break_the_line(referee: Referee, link: Link) -> None:
    deep: Any = "x"
    for _ in range(MAX_JSON_DEPTH - 2):
        deep = [deep]
    body = rpc.loads(rpc.dumps({"params": deep}))
    async with lined(referee, link) as (line, _, _):
        with pytest.raises(LeagueError):
            await line.perform("get_match_state", {"match_id": body, "x": "\u2028\x7f😀"}, there)
        assert (await line.health())["status"] == "ok"


def test_an_error_that_is_not_known_is_a_failure_of_ours() -> None:
    assert type(raised(refusal(TokenInvalid("no", field="auth_token", seen="x")))) is TokenInvalid
    for kind in ("NAMES", "dumps", "", None, "Exception"):
        assert type(raised({"kind": kind, "message": "x", "context": None})) is InternalError


async def test_a_frame_that_is_none_of_ours_ends_the_line() -> None:
    for raw in ((MOST_FRAME_BYTES + 1).to_bytes(4, "big"), b"\0\0\0\2[]"):
        ours, theirs = socket.socketpair()
        near, far = await Pipe.over(ours), await Pipe.over(theirs)
        far._writer.write(raw)
        with pytest.raises(ValueError, match="frame"):
            await near.receive()
        far.close()
        near.close()


def test_a_door_gets_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("LEAGUE_REFEREE_KEY", "LEAGUE_METRICS_KEY", "DJANGO_SECRET", "PGPASSWORD", "DATABASE_URL", "CLASS_CODE")
    for name in (*secrets, "LEAGUE_LOG_FORMAT"):
        monkeypatch.setenv(name, tokens.new_token())
    assert environment().keys().isdisjoint(secrets)
    assert "LEAGUE_LOG_FORMAT" in environment()
