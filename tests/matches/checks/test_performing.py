"""Practice matches with real agents: their reports, and that they change nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from django.apps import apps

from agents_registry.models import Agent
from league_sdk.strategies import AlwaysEven
from matches.checks import performing, practising
from matches.desk import facts
from matches.models import Check, League
from matches.view import readiness, sight
from tests import factories as make
from tests.bots.base import listening
from tests.league_sdk.conformance.agents import Agent as Bot
from tests.league_sdk.conformance.agents import Params, Wrong
from tests.league_sdk.conformance.playing import started
from tests.matches.agent_server import Agents
from tests.matches.checks.working import checker_running

pytestmark = pytest.mark.django_db(transaction=True)


def everything() -> dict[str, Any]:
    """Every row of every table of the site but the practice matches, and what pages make of these rows."""
    rows: dict[str, Any] = {}
    for label in ("agents_registry", "matches"):
        for model in apps.get_app_config(label).get_models():
            # The manager of the checks leaves the practice matches out.
            rows[model.__name__] = sorted(map(str, model._default_manager.values_list()))
    league = League.objects.get()
    agents = list(Agent.objects.order_by("pk"))
    verdicts, desk = readiness.readiness(agents), facts.Facts(league, ())
    return rows | {
        "readiness": verdicts,
        "table": list(sight.public(league).standings),
        "desk": [facts.start_warnings(desk), facts.closing_warnings(desk), desk.readiness],
        "learned": [(agent.spoken, agent.learned, agent.problem, agent.state) for agent in agents],
    }


TOKEN_AND_SCRIPT = f"tok_{'b' * 32}<script>"


class Failing(Bot):
    """Answers a call for its choice with an error and its reason."""

    async def choose(self, params: Params) -> Any:
        raise Wrong(-32000)

    def error(self, rpc_id: Any, code: int) -> Any:
        return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": "KeyError: 'x'"}}


class Flooding(Bot):
    """Answers with bodies that are much too long, and with tokens in them."""

    def reply(self, rpc_id: Any, result: Any) -> Any:
        return {
            "jsonrpc": "2.0",
            "result": {**result, "more": [TOKEN_AND_SCRIPT] * 400},
            "id": rpc_id,
        }


def move_p01(url: str) -> Agent:
    """Give P01 this address; returns P01."""
    key = url.removeprefix("http://").replace(":", "|", 1).replace("/mcp", "/mcp?")
    Agent.objects.filter(code="P01").update(endpoint=url, endpoint_key=key)
    return Agent.objects.select_related("league").get(code="P01")


@pytest.fixture
async def practise(db_thread: Agents) -> AsyncIterator[Any]:
    """A function that has P01 practise at an address, and returns the practice match at its end."""

    async def practise_at(url: str, play: Any = performing.play, **how: Any) -> Check:
        def ask() -> Check:
            return practising.ask(
                agent=move_p01(url), proven=True, asked_by="127.0.0.1", **{"opponent": "medium"} | how
            )

        practice = await db_thread.in_db(ask)
        async with checker_running(db_thread, play=play):
            await db_thread.until_in_db(lambda: Check.practices.get(pk=practice.pk).finished_at is not None)
        return await db_thread.in_db(lambda: Check.practices.get(pk=practice.pk))

    yield practise_at


SHORT_TIMEOUTS = {
    "join_timeout_s": 1,
    "move_timeout_s": 1,
    "max_retries": 1,
    "retry_base_s": 0.1,
    "game_over_timeout_s": 1,
}


async def test_a_practice_match_changes_no_row_but_its_own(db_thread: Agents, practise: Any) -> None:
    made = await db_thread.in_db(lambda: make.running_league(players=4, **SHORT_TIMEOUTS))
    await db_thread.in_db(lambda: make.finish_round(made))
    reports = []
    async with AsyncExitStack() as stack:
        able = await stack.enter_async_context(started(AlwaysEven(), "even_odd"))
        failing = await stack.enter_async_context(listening(Failing().serve))
        async with listening(Bot().serve) as gone:
            pass
        for url in (able, failing, gone):
            await db_thread.in_db(partial(move_p01, url))
            before = await db_thread.in_db(everything)
            practice = await practise(url)
            reports.append(practice.report)
            assert await db_thread.in_db(everything) == before
            assert (practice.state, practice.passed) == ("DONE", None)
    assert reports[0]["status"] in {"WIN", "LOSS", "DRAW"}
    assert [report["status"] for report in reports[1:]] == ["TECHNICAL_LOSS", "NOT_PLAYED"]
    assert reports[1]["faults"][0]["said"] == "KeyError: 'x'"
    assert reports[2]["reason"] == "the address cannot be reached."


async def test_the_report_has_the_result_the_board_and_every_message(db_thread: Agents, practise: Any) -> None:
    await db_thread.in_db(lambda: make.league(players=2))
    await db_thread.in_db(lambda: League.objects.update(game_type="tic_tac_toe"))
    async with started(AlwaysEven(), "tic_tac_toe") as url:
        practice = await practise(url, opponent="hard", second=True)
    report = practice.report
    assert report["status"] in ("LOSS", "DRAW")
    assert (report["opponent"], report["role"], report["players"]) == ("hard", "PLAYER_B", ["P02", "P01"])
    kinds = [step["message_type"] or "house" for step in report["steps"]]
    assert kinds[:4] == ["ROUND_ANNOUNCEMENT", "GAME_INVITATION", "house", "GAME_MOVE_CALL"]
    assert kinds[-1] == "GAME_OVER"
    assert report["view"]["board"]


async def test_an_agent_decides_the_content_of_a_report_but_not_its_size(db_thread: Agents, practise: Any) -> None:
    await db_thread.in_db(lambda: make.league(players=2, **SHORT_TIMEOUTS))
    async with listening(Flooding().serve) as url:
        practice = await practise(url, play=partial(performing.play, max_chars=6000))
    stored = json.dumps(practice.report)
    assert len(stored) < 20_000
    assert [step.get("left_out", False) for step in practice.report["steps"]] == [False, False, True, True]
    assert "tok_b" not in stored


async def test_a_failure_of_the_match_itself_is_not_the_agents_fault(db_thread: Agents) -> None:
    async def broken(*_all: Any) -> dict[str, Any]:
        raise RuntimeError("broken")

    def ask() -> Check:
        agent = make.league(players=2).players[0].agent
        return practising.ask(agent=agent, proven=True, asked_by="127.0.0.1", opponent="easy")

    practice = await db_thread.in_db(ask)
    async with checker_running(db_thread, play=broken):
        await db_thread.until_in_db(lambda: Check.practices.get(pk=practice.pk).state == "FAILED")
    stored_practice = await db_thread.in_db(lambda: Check.practices.get(pk=practice.pk))
    assert stored_practice.problem == "The practice match itself failed; the site's log says why."
    agent = await db_thread.in_db(lambda: Agent.objects.get(pk=stored_practice.agent_id))
    assert (stored_practice.passed, agent.problem, agent.state) == (None, "", "REGISTERED")
