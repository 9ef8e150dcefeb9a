"""What a call to a player comes back as (ruling, section 6)."""

from typing import Any

import pytest

from league_sdk.judging import player_line as module
from league_sdk.judging.heard import Heard
from league_sdk.judging.referee import Referee
from league_sdk.protocol.faults import Cause
from league_sdk.transport.client import Broken, CallFailed, NotReached, Reply, TimedOut
from tests.league_sdk.judging.scripted import seat
from tests.league_sdk.judging.staged import KEY, Stage, begin
from tests.league_sdk.judging.starts import START

INVITATION = {"message_type": "GAME_INVITATION", "match_id": "R1M1"}


class Line:
    """Instead of the HTTP client: answers from a list, keeps what was sent."""

    def __init__(self, *answers: Reply | CallFailed) -> None:
        self.answers, self.posted = list(answers), list[tuple[str, Any, float]]()

    async def post(self, url: str, message: Any, *, limit_s: float, headers: None = None) -> Reply:
        self.posted.append((url, message, limit_s))
        # The last one is given to all that follows, whatever the spelling.
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, CallFailed):
            raise answer
        return answer

    async def aclose(self) -> None:
        self.answers.clear()


async def ask(referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch, line: Line, **rules: Any) -> Any:
    monkeypatch.setattr(module, "Client", lambda **_: line)
    await begin(referee, START | {"settings": rules})
    return stage.asks[KEY]


def reply(status: int, body: Any, problem: str = "") -> Reply:
    return Reply(status, body, problem, 0.5)


ACCEPT = {"message_type": "GAME_JOIN_ACK", "accept": True}


@pytest.mark.parametrize(
    ("answer", "code", "message", "connected", "fault"),
    [
        (reply(200, {"jsonrpc": "2.0", "result": ACCEPT, "id": 1001}), None, ACCEPT, True, (None, "")),
        (reply(500, {"detail": "oops"}), "E009", {}, True, ("HTTP_STATUS", "HTTP 500")),
        (reply(503, None, "The body is not JSON: x."), "E009", {}, True, ("HTTP_STATUS", "HTTP 503")),
        (reply(404, None), "E002", {}, True, ("HTTP_STATUS", "HTTP 404")),
        (reply(200, None, "The body is not JSON: x."), "E002", {}, True, ("NOT_JSON", "The body is not JSON: x")),
        (
            reply(200, {"jsonrpc": "2.0", "error": {"code": -32000, "message": f"no tok_{'a' * 32}"}, "id": 1001}),
            "E002",
            {},
            True,
            ("WRONG_MESSAGE", "it answered with the error 'no tok_…'"),
        ),
        (TimedOut("no answer within 5 s", connected=True), "E001", {}, True, ("DEADLINE", "")),
        (
            TimedOut("no connection within 5 s", connected=False, cause=Cause.CONNECT),
            "E001",
            {},
            False,
            ("CONNECT", "no connection within 5 s"),
        ),
        (NotReached("no connection", connected=False), "E009", {}, False, ("CONNECT", "no connection")),
        (
            NotReached("the name of the address is not known", connected=False, cause=Cause.NAME_LOOKUP),
            "E009",
            {},
            False,
            ("NAME_LOOKUP", "the name of the address is not known"),
        ),
        (
            Broken("the connection broke off", connected=True),
            "E009",
            {},
            True,
            ("CONNECT", "the connection broke off"),
        ),
    ],
)
async def test_what_a_call_comes_back_as(
    referee: Referee,
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    answer: Reply | CallFailed,
    code: str | None,
    message: dict[str, Any],
    connected: bool,
    fault: tuple[str | None, str],
) -> None:
    line = Line(answer)
    heard = await (await ask(referee, stage, monkeypatch, line))(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)
    assert (heard.error_code, heard.message, heard.connected) == (code, message, connected)
    assert (heard.cause, str(heard.detail)) == fault
    assert heard.problem == "" if code is None else heard.problem != ""
    sent = {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": INVITATION, "id": 1001}
    assert line.posted[0] == ("http://localhost:8101/mcp", sent, 5)


async def test_after_five_failures_in_a_row_a_player_is_not_called(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = NotReached("the name of the address is not known", connected=False, cause=Cause.NAME_LOOKUP)
    line = Line(*[down] * 5, reply(200, {"result": ACCEPT}))
    call = await ask(referee, stage, monkeypatch, line)
    first, second = seat("P01", "PLAYER_A"), seat("P02", "PLAYER_B")
    for _ in range(5):
        await call(first, INVITATION, limit_s=5)
    assert await call(first, INVITATION, limit_s=5) == Heard(
        error_code="E009",
        problem="not called: 5 failures in a row",
        connected=False,
        cause=Cause.NAME_LOOKUP,
        detail="not called any more: 5 failures in a row",
    )
    assert (await call(second, INVITATION, limit_s=5)).message == ACCEPT
    assert [url for url, _, _ in line.posted] == ["http://localhost:8101/mcp"] * 5 + ["http://localhost:8102/mcp"]


@pytest.mark.parametrize("fault", [{"cause": Cause.REFEREE}, {"cause": Cause.CONNECT, "cut_off": True}])
async def test_what_may_be_our_own_failure_is_not_counted_against_an_address(
    referee: Referee, stage: Stage, monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any]
) -> None:
    monkeypatch.setattr(module, "network_problem", lambda: "this machine has no network")
    ours = NotReached("no way out", connected=False, **fault)
    line = Line(*[ours] * 9, reply(200, {"result": ACCEPT}))
    call = await ask(referee, stage, monkeypatch, line)
    for _ in range(9):
        await call(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)
    assert (await call(seat("P01", "PLAYER_A"), INVITATION, limit_s=5)).message == ACCEPT
