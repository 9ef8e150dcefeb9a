"""What a service that is not an agent answers is read only by the owner of its address and the staff.

A player's address leads to a service of the school that is not an agent. A real referee plays matches with it, and the
service answers in every way that might become public. The referee's reports go to the league as usual; then everything
that the public may read is searched for these answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from aiohttp import web
from django.test import Client

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from agents_registry.registering import registration
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from matches.audience.pages import match as match_page
from matches.audience.pages import mine
from matches.checks import asking
from matches.checks.asking import NotAllowed
from matches.league import losses
from matches.models import Check, Event
from matches.view.sight import everything
from tests import factories as make
from tests.bots.base import listening
from tests.league_sdk.judging.starts import LEAGUE_TOKEN, START, Link
from tests.matches.audience.test_audience_privacy import texts

pytestmark = pytest.mark.django_db

SECRET = "AKIA-a-secret-text"
SHORT = {"max_retries": 0, "join_timeout_s": 2, "move_timeout_s": 2, "referee_lease_s": 120}
Answers = Callable[[dict[str, Any]], web.Response]


def page(status: int, **how: Any) -> Answers:
    return lambda _: web.Response(status=status, **{"text": f"<title>{SECRET}</title>", **how})


def value(made: Callable[[dict[str, Any]], Any], status: int = 200) -> Answers:
    return lambda body: web.json_response(made(body), status=status)


def result(**fields: Any) -> Answers:
    return value(lambda body: {"jsonrpc": "2.0", "id": body.get("id"), "result": fields})


def error(code: int, status: int = 200) -> Answers:
    wrong = {"code": code, "message": SECRET, "data": {SECRET: SECRET}}
    return value(lambda body: {"jsonrpc": "2.0", "id": body.get("id"), "error": wrong}, status)


ANSWERS: dict[str, Answers] = {
    "an object": value(lambda _: {"AccessKeyId": SECRET, SECRET: 1, "message": SECRET}),
    "an object with our names": value(lambda _: {"status": SECRET, "choice": SECRET, "message_type": SECRET}),
    "a result": result(status=SECRET, key=SECRET),
    "a text": value(lambda body: {"jsonrpc": "2.0", "id": body.get("id"), "result": SECRET}),
    "a list": value(lambda _: [SECRET, {"name": SECRET}]),
    "it joins, and moves as nobody can": result(accept=True, parity_choice=SECRET, note=SECRET),
    "what was asked, and more": value(lambda body: {**body, "server": SECRET}),
    "what was asked, changed": value(lambda body: {**body, "params": {**body.get("params", {}), "host": SECRET}}),
    "an error of the method": error(-32601),
    "an error": error(-32000, 500),
    "a page": page(200, content_type="text/html"),
    "a login": page(401, headers={"WWW-Authenticate": f'Basic realm="{SECRET}"', "X-Key": SECRET}),
    "a redirect": page(302, headers={"Location": f"http://127.0.0.1:1/{SECRET}", "Set-Cookie": f"key={SECRET}"}),
    "a failure": page(500, reason=SECRET),
    "another encoding": page(200, text=SECRET, headers={"Content-Encoding": SECRET}),
    "a stream": page(200, text=f"data: {SECRET}\n\n", headers={"Content-Type": "text/event-stream"}),
    "a type": page(200, text="{}", headers={"Content-Type": f"application/{SECRET}"}),
}


async def match_against(answers: Answers, params: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """One match of such a service (PLAYER_A) with an agent: what is reported, and what the agent was sent."""
    sent: list[Any] = []

    async def inner(request: web.Request) -> web.Response:
        return answers(await request.json())

    async def agent(request: web.Request) -> web.Response:
        body = await request.json()
        sent.append(body)
        result = {"accept": True, "parity_choice": "odd"}
        return web.json_response({"jsonrpc": "2.0", "id": body.get("id"), "result": result})

    link = Link()
    referee = Referee(link, endpoint="http://127.0.0.1:1/mcp", max_concurrent=2)  # type: ignore[arg-type]
    async with listening({"/inner/{any:.*}": inner, "/agent": agent}) as at, aclosing(referee):
        seats = {
            f"player_{side}": START[f"player_{side}"] | {"id": params[f"player_{side}_id"], "endpoint": at + path}
            for side, path in (("A", "/inner/x"), ("B", "/agent"))
        }
        assert referee.start_match(START | params | seats | {"auth_token": LEAGUE_TOKEN})["accepted"]
        while not link.reports:
            link.changed.clear()
            await link.changed.wait()
        return link.reports[0], sent


async def all_played(params: dict[str, Any]) -> list[tuple[dict[str, Any], list[Any]]]:
    return await asyncio.gather(*(match_against(answers, params) for answers in ANSWERS.values()))


@pytest.mark.exhaustive
def test_only_the_owner_and_the_staff_read_answers_that_are_not_league_messages(client: Client) -> None:
    made = make.running_league()
    match = made.match("R1M1")
    params = {
        "league_id": "fall",
        "match_id": "R1M1",
        "attempt": match.attempt,
        "settings": LeagueSettings(**SHORT).for_referee(),
        "player_A_id": match.player_a.code,
        "player_B_id": match.player_b.code,
    }
    reports = asyncio.run(all_played(params))
    # The other player is told who has won and why, and nothing more.
    for name, (_, sent) in zip(ANSWERS, reports, strict=True):
        kinds = {one["params"]["message_type"] for one in sent if isinstance(one.get("params"), dict)}
        assert MessageType.GAME_OVER in kinds, name
        assert SECRET not in json.dumps(sent), name
    entries = [entry for report, _ in reports for entry in report["transcript"]]
    faults = [fault for report, _ in reports for fault in report["faults"]]
    assert len(faults) == len(ANSWERS)
    lost = {fault["detail"]: fault for fault in faults if SECRET in fault["detail"]}
    assert lost, "the owner is told what came, so there is something to keep back"
    reason = "; ".join(str(fault["sentence"]) for fault in faults)
    assert SECRET not in reason
    make.report(
        match,
        None,
        **make.no_answer_from(match, match.player_a.code)
        | {
            "faults": list(lost.values())[:10],
            "reason": reason[:300],
            "transcript": [entry | {"n": n} for n, entry in enumerate(entries)],
        },
    )
    # The owner and the staff read the secret, so there was something for the public to find.
    whole = match_page.messages(everything(made.league), "R1M1", None, staff=True)
    owned = mine.context(made.league, [match.player_a], match_id="R1M1")
    other = mine.context(made.league, [match.player_b], match_id="R1M1")
    assert [SECRET in str(one) for one in (whole, owned, other)] == [True, True, False]
    readers = [where for where, text in texts(client, made) if SECRET in text]
    assert readers == []


@pytest.mark.exhaustive
def test_problems_and_reports_do_not_quote_answers_to_the_public(client: Client) -> None:
    """A check's report, the last problem of an agent, a referee that would not begin."""
    made = make.running_league()
    match = made.match("R1M1")
    make.progress(match, transcript=[make.entry(0), make.entry(1)])
    Agent.objects.filter(pk=match.player_a.pk).update(problem=f"HTTP 500: {SECRET}")
    registration.note_ping(agent_id=match.player_b.pk, problem=f"its reply {{'key': '{SECRET}'}} holds no answer")
    check = asking.ask(endpoint=match.player_a.endpoint, caller=Caller("192.0.2.9", instructor=True))
    clause = {"id": "http.reached", "verdict": "fails", "why": SECRET, "came": SECRET, "sent": {}, "http_status": 200}
    more = {"title": "", "expected": "", "source": "", "elapsed_ms": 1}
    Check.objects.filter(pk=check.pk).update(
        state="DONE", problem=SECRET, passed=False, report={"summary": SECRET, "clauses": [clause | more]}
    )
    refused = f"start_match was refused: {{'key': '{SECRET}'}}"
    match.refresh_from_db()
    lost = losses.UntakenStart(match.pk, match.attempt, match.lease_until, refused, counts=True)
    losses.undeliverable(lost)
    assert Event.objects.get(kind="attempt_lost").data["why"] == {
        "code": "REFUSED",
        "args": {"sentence": "start_match"},
    }
    # Whoever knows the unguessable id of a check reads all of it.
    assert SECRET in client.get(f"/check/{check.pk}").content.decode()
    assert [where for where, text in texts(client, made) if SECRET in text] == []


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9200/", "http://localhost:9200/", "http://10.0.0.5/", "http://inner.example/"]
)
@pytest.mark.parametrize("caller", [Caller("192.0.2.7", direct=False), Caller("127.0.0.1", direct=False), Caller("")])
def test_a_visitor_whose_machine_is_not_known_has_no_address_called(endpoint: str, caller: Caller) -> None:
    with pytest.raises(NotAllowed):
        asking.ask(endpoint=endpoint, caller=caller)
    assert Check.objects.count() == 0


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "127.1", "2130706433"])
def test_localhost_means_the_visitors_own_machine(name: str) -> None:
    check = asking.ask(endpoint=f"http://{name}:9200/mcp", caller=Caller("192.0.2.7"))
    assert check.endpoint == "http://192.0.2.7:9200/mcp"
