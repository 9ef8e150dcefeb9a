"""The check of referees: our own referee passes, and each fault of a faulty small referee is found."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import ClientSession, web

from league_sdk.conformance.clauses.referee import REFEREE
from league_sdk.conformance.referee import check_referee
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.subject import Subject
from league_sdk.judging.door.budgets import Budgets
from league_sdk.judging.door.http import DoorHandlers
from league_sdk.judging.door.server import RefereeServer
from league_sdk.judging.worker.league_link import LeagueLink, referee_meta
from league_sdk.judging.worker.referee import Referee
from league_sdk.transport.client import Client
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import clause, failed_and_tolerated, having, stamp

Params = dict[str, Any]
OF_EVERY_REFEREE = {name for name, rule in REFEREE.rules.items() if not rule.for_some}


class SmallReferee:
    """A small correct referee; tests override its methods.

    Attributes:
        start: the method by which the league manager gives it a match.
        number: the number that it draws in every match.
        registers: whether it registers with the league manager of the check.
    """

    start = "start_match"
    number = 8
    registers = True

    def __init__(self) -> None:
        self.manager = ""
        self.token = ""
        self.started: set[str] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, request: web.Request) -> web.Response:
        try:
            body = await request.json()
        except ValueError:
            return self.error(None, -32700)
        if body["method"] == "ping":
            return web.json_response({"jsonrpc": "2.0", "result": {"status": "ok"}, "id": body["id"]})
        if body["method"] != self.start:
            return self.error(body["id"], -32601)
        match = body["params"]
        if match["match_id"] not in self.started:
            self.started.add(match["match_id"])
            self.spawn(self.play(match))
        return web.json_response({"jsonrpc": "2.0", "result": {"accepted": True}, "id": body["id"]})

    def error(self, rpc_id: Any, code: int) -> web.Response:
        return web.json_response({"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, "id": rpc_id})

    def spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def post(self, url: str, method: str, params: Params) -> Params:
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        async with ClientSession() as session, session.post(url, json=body) as response:
            reply: Params = await response.json()
        return dict(reply.get("result") or {})

    async def register(self) -> None:
        meta = {
            "display_name": "Small",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": "http://127.0.0.1:8001/mcp",
            "max_concurrent_matches": 1,
        }
        message = self.message("REFEREE_REGISTER_REQUEST", "conv-reg", referee_meta=meta)
        answer = await self.post(self.manager, "register_referee", message)
        self.token = answer["auth_token"]

    def message(self, kind: str, conversation: str, **fields: Any) -> Params:
        head = {"protocol": "league.v2", "message_type": kind, "sender": "referee:REF01", "timestamp": stamp()}
        token = {"auth_token": self.token} if self.token else {}
        return head | {"conversation_id": conversation} | token | fields

    def to_player(self, kind: str, match: Params, name: str, **fields: Any) -> Params:
        keys = ("league_id", "round_id", "match_id", "game_type")
        known = {key: match[key] for key in keys}
        return self.message(kind, match["conversation_id"], **known, player_id=name, **fields)

    async def play(self, match: Params) -> None:
        names = {side: match[f"player_{side}_id"] for side in "AB"}
        url = {name: match[f"player_{side}_endpoint"] for side, name in names.items()}
        for side, name in names.items():
            fields = {"role_in_match": f"PLAYER_{side}", "opponent_id": names["B" if side == "A" else "A"]}
            message = self.to_player("GAME_INVITATION", match, name, **fields)
            await self.post(url[name], "handle_game_invitation", message)
        choices = await self.collect(match, url)
        result, report = self.result(choices)
        for name, address in url.items():
            message = self.to_player("GAME_OVER", match, name, game_result=result)
            await self.post(address, "notify_match_result", message)
        await self.report(match, report)

    async def collect(self, match: Params, url: dict[str, str]) -> Params:
        answers = await asyncio.gather(*(self.ask(match, name, url[name]) for name in url))
        return dict(zip(url, answers, strict=True))

    async def ask(self, match: Params, name: str, url: str, **more: Any) -> Any:
        context = {"opponent_id": "P00", "round_id": 1, "your_standings": {"wins": 0, "losses": 0, "draws": 0}}
        for _ in range(2):
            message = self.to_player("CHOOSE_PARITY_CALL", match, name, context=context, deadline=stamp(), **more)
            try:
                async with asyncio.timeout(match["settings"]["move_timeout_s"]):
                    choice = (await self.post(url, "choose_parity", message)).get("parity_choice")
            except TimeoutError:
                choice = None
            if choice in ("even", "odd"):
                return choice
            code = "E004" if choice else "E001"
            name_of = {"E004": "INVALID_PARITY_CHOICE", "E001": "TIMEOUT_ERROR"}[code]
            fields = {"error_code": code, "error_description": name_of, "affected_player": name}
            await self.post(url, "notify_game_error", self.to_player("GAME_ERROR", match, name, **fields))
        return None

    def result(self, choices: Params) -> tuple[Params, Params]:
        parity = ("even", "odd")[self.number % 2]
        silent = [name for name, choice in choices.items() if choice is None]
        winner = next(name for name, choice in choices.items() if choice and (silent or choice == parity))
        result = {
            "status": "TECHNICAL_LOSS" if silent else "WIN",
            "winner_player_id": winner,
            "drawn_number": None if silent else self.number,
            "number_parity": None if silent else parity,
            "choices": choices,
            "reason": "so it came",
        }
        score = {name: 3 if name == winner else 0 for name in choices}
        details = {"drawn_number": result["drawn_number"], "choices": choices}
        return result, {"winner": winner, "score": score, "details": details}

    async def report(self, match: Params, result: Params) -> None:
        keys = ("league_id", "round_id", "match_id", "game_type")
        fields = {key: match[key] for key in keys}
        message = self.message("MATCH_RESULT_REPORT", "conv-report", **fields, result=result)
        await self.post(self.manager, "report_match_result", message)


async def checked(referee: SmallReferee, **timeouts: float) -> Report:
    client = Client(agent_type="check")

    def begin(endpoint: str) -> None:
        referee.manager = endpoint
        if referee.registers:
            referee.spawn(referee.register())

    wait_s = 5.0 if referee.registers else 0.0
    try:
        async with listening(referee.serve) as url:
            subject = Subject(url=url, on_listening=begin, register_wait_s=wait_s)
            return await check_referee(subject, client, **timeouts)
    finally:
        await client.aclose()
        for task in referee.tasks:
            task.cancel()
        await asyncio.gather(*referee.tasks, return_exceptions=True)


async def test_our_own_referee_conforms_in_every_clause() -> None:
    client = Client(agent_type="check")
    doors: list[DoorHandlers] = []
    tasks: list[asyncio.Task[None]] = []

    async def serve(request: web.Request) -> web.Response:
        return await doors[0].mcp(request)

    async def work(link: LeagueLink, referee: Referee) -> None:
        try:
            await link.register()
            await referee.keep_reporting()
        finally:
            await referee.aclose()
            await link.aclose()

    async with listening(serve) as url:

        def begin(manager: str) -> None:
            own_meta = referee_meta("Ours", url, ["even_odd"], 4, registration_code="")
            link = LeagueLink(manager, own_meta)
            referee = Referee(link, endpoint=url, max_concurrent=4)
            server, budgets = RefereeServer(referee, link), Budgets()
            link.identified = lambda: budgets.expect_league(server.league_digest)
            doors.append(DoorHandlers(server, budgets))
            tasks.append(asyncio.create_task(work(link, referee)))

        report = await check_referee(Subject(url=url, on_listening=begin, register_wait_s=5), client)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await client.aclose()
    assert having(report, Verdict.CONFORMS) == set(REFEREE.rules), report.to_json()
    assert report.can_play


async def test_a_correct_referee_conforms() -> None:
    report = await checked(SmallReferee())
    assert having(report, Verdict.CONFORMS) == OF_EVERY_REFEREE, report.to_json()


class Assigned(SmallReferee):
    """Takes a match by another method than ``start_match``."""

    start = "assign_match"


class OneByOne(SmallReferee):
    """Asks the second player only when the first has answered."""

    async def collect(self, match: Params, url: dict[str, str]) -> Params:
        return {name: await self.ask(match, name, url[name]) for name in url}


class AlwaysDraw(SmallReferee):
    """Tells the players that every match ended in a draw, but reports a winner."""

    def result(self, choices: Params) -> tuple[Params, Params]:
        result, report = super().result(choices)
        return result | {"status": "DRAW", "winner_player_id": None}, report


class ReportsAnotherWinner(SmallReferee):
    """Reports another winner than it sent to the players."""

    async def report(self, match: Params, result: Params) -> None:
        await super().report(match, result | {"winner": "P02", "score": {"P01": 0, "P02": 3}})


class LocalTime(SmallReferee):
    """Gives GAME_OVER a timestamp without a time zone."""

    def message(self, kind: str, conversation: str, **fields: Any) -> Params:
        stamped = {"timestamp": "2025-01-15T10:30:00"} if kind == "GAME_OVER" else {}
        return super().message(kind, conversation, **fields) | stamped


class Unregistered(SmallReferee):
    """Does not register, so it has no token."""

    registers = False


class RevealsChoice(SmallReferee):
    """Reveals the choice of PLAYER_A to PLAYER_B."""

    async def collect(self, match: Params, url: dict[str, str]) -> Params:
        first, second = url
        choice = await self.ask(match, first, url[first])
        return {first: choice, second: await self.ask(match, second, url[second], opponent_choice=choice)}


WRONG: list[tuple[type[SmallReferee], set[str], set[str]]] = [  # a referee, the clauses it fails, those tolerated
    (Assigned, set(), {"start.taken"}),
    (OneByOne, set(), {"choose.parallel"}),
    (AlwaysDraw, {"over.right", "report.right", "illegal.result", "silent.loss"}, set()),
    (ReportsAnotherWinner, {"report.right"}, set()),
    (LocalTime, set(), {"over.message"}),
    (Unregistered, set(), {"invite.message", "choose.message", "over.message", "report.message"}),
    (RevealsChoice, {"choose.hidden"}, {"choose.parallel"}),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("kind", "fails", "tolerated"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
async def test_each_fault_is_reported_and_nothing_else(
    kind: type[SmallReferee], fails: set[str], tolerated: set[str]
) -> None:
    report = await checked(kind())
    assert failed_and_tolerated(report) == (fails, tolerated), report.to_json()
    assert report.can_play is not (fails & {"over.right", "report.right"} != set())


async def test_a_referee_that_takes_no_match_is_reported_as_unusable() -> None:
    class UnknownStart(SmallReferee):
        start = "conduct_match"

    report = await checked(UnknownStart())
    assert failed_and_tolerated(report) == ({"start.taken"}, set())
    assert clause(report, "over.right").why == "Not asked: it takes no match."
    assert report.summary.startswith(
        "A league cannot have this referee judge as it is: It takes a match: In no spelling."
    )


async def test_a_referee_that_reports_no_result_fails() -> None:
    class Quiet(SmallReferee):
        async def report(self, match: Params, result: Params) -> None:
            """Report nothing."""

    report = await checked(Quiet(), result_s=1, silent_result_s=1)
    assert failed_and_tolerated(report)[0] == {"report.sent", "illegal.result"}
    assert not report.can_play
