"""Practice matches with real agents: what is reported of them, and that nothing else has changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from django.apps import apps

from agents_registry.models import Agent, AgentToken
from league_sdk.protocol.league_settings import LeagueSettings
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
from tests.matches.checks.working import at_work

pytestmark = pytest.mark.django_db(transaction=True)


def everything() -> dict[str, Any]:
    """Every row of every table of ours but the practice matches, and what is made of them."""
    rows: dict[str, Any] = {}
    for label in ("agents_registry", "matches"):
        for model in apps.get_app_config(label).get_models():
            # The manager of the checks leaves the practice matches out.
            rows[model.__name__] = sorted(map(str, model._default_manager.values_list()))
    league = League.objects.get()
    agents = list(Agent.objects.order_by("pk"))
    known, desk = readiness.readiness(agents), facts.Facts(league, ())
    return rows | {
        "readiness": known,
        "table": list(sight.public(league).standings),
        "desk": [facts.start_warnings(desk), facts.closing_warnings(desk), desk.readiness],
        "learned": [(agent.spoken, agent.learned, agent.problem, agent.state) for agent in agents],
    }


NOISE = f"tok_{'b' * 32}<script>"


class Swearing(Bot):
    """Answers with an error that says why."""

    async def choose(self, params: Params) -> Any:
        raise Wrong(-32000)

    def error(self, rpc_id: Any, code: int) -> Any:
        return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": "KeyError: 'x'"}}


class Flooding(Bot):
    """Answers with bodies that are much too long, and with tokens in them."""

    def reply(self, rpc_id: Any, result: Any) -> Any:
        return {
            "jsonrpc": "2.0",
            "result": {**result, "more": [NOISE] * 400},
            "id": rpc_id,
        }


def moved(url: str) -> Agent:
    """P01, which is at this address now."""
    key = url.removeprefix("http://").replace(":", "|", 1).replace("/mcp", "/mcp?")
    Agent.objects.filter(code="P01").update(endpoint=url, endpoint_key=key)
    return Agent.objects.select_related("league").get(code="P01")


@pytest.fixture
async def ended(here: Agents) -> AsyncIterator[Any]:
    """Has an agent at an address practise; its row at the end."""

    async def practise(url: str, play: Any = performing.play, **how: Any) -> Check:
        def ask() -> Check:
            return practising.ask(agent=moved(url), proven=True, asked_by="127.0.0.1", **{"opponent": "medium"} | how)

        practice = await here.in_db(ask)
        async with at_work(here, play=play):
            await here.until_in_db(lambda: Check.practices.get(pk=practice.pk).finished_at is not None)
        return await here.in_db(lambda: Check.practices.get(pk=practice.pk))

    yield practise


SHORT = {"join_timeout_s": 1, "move_timeout_s": 1, "max_retries": 1, "retry_base_s": 0.1, "game_over_timeout_s": 1}


async def test_a_practice_match_changes_nothing_but_its_own_row(here: Agents, ended: Any) -> None:
    place = await here.in_db(lambda: make.playing(players=4, **SHORT))
    await here.in_db(lambda: make.finish_round(place))
    reports = []
    async with AsyncExitStack() as stack:
        able = await stack.enter_async_context(started(AlwaysEven(), "even_odd"))
        failing = await stack.enter_async_context(listening(Swearing().serve))
        async with listening(Bot().serve) as gone:
            pass
        for url in (able, failing, gone):
            await here.in_db(partial(moved, url))
            before = await here.in_db(everything)
            practice = await ended(url)
            reports.append(practice.report)
            assert await here.in_db(everything) == before
            assert (practice.state, practice.passed) == ("DONE", None)
    assert reports[0]["status"] in {"WIN", "LOSS", "DRAW"}
    assert [report["status"] for report in reports[1:]] == ["TECHNICAL_LOSS", "NOT_PLAYED"]
    assert reports[1]["faults"][0]["said"] == "KeyError: 'x'"
    assert reports[2]["reason"] == "the address cannot be reached."


async def test_the_report_has_the_result_the_board_and_every_message(here: Agents, ended: Any) -> None:
    await here.in_db(lambda: make.setting(players=2))
    await here.in_db(lambda: League.objects.update(game_type="tic_tac_toe"))
    async with started(AlwaysEven(), "tic_tac_toe") as url:
        practice = await ended(url, opponent="hard", second=True)
    report = practice.report
    assert report["status"] in ("LOSS", "DRAW")
    assert (report["opponent"], report["role"], report["players"]) == ("hard", "PLAYER_B", ["P02", "P01"])
    kinds = [step["message_type"] or "house" for step in report["steps"]]
    assert kinds[:4] == ["ROUND_ANNOUNCEMENT", "GAME_INVITATION", "house", "GAME_MOVE_CALL"]
    assert kinds[-1] == "GAME_OVER"
    assert report["view"]["board"]


async def test_an_agent_decides_the_content_of_a_report_but_not_its_size(here: Agents, ended: Any) -> None:
    await here.in_db(lambda: make.setting(players=2, **SHORT))
    async with listening(Flooding().serve) as url:
        practice = await ended(url, play=partial(performing.play, max_chars=6000))
    stored = json.dumps(practice.report)
    assert len(stored) < 20_000
    assert [step.get("left_out", False) for step in practice.report["steps"]] == [False, False, True, True]
    assert "tok_b" not in stored


async def test_a_failure_of_the_match_itself_is_not_the_agents_fault(here: Agents) -> None:
    async def broken(*_all: Any) -> dict[str, Any]:
        raise RuntimeError("broken")

    def ask() -> Check:
        agent = make.setting(players=2).players[0].agent
        return practising.ask(agent=agent, proven=True, asked_by="127.0.0.1", opponent="easy")

    practice = await here.in_db(ask)
    async with at_work(here, play=broken):
        await here.until_in_db(lambda: Check.practices.get(pk=practice.pk).state == "FAILED")
    known = await here.in_db(lambda: Check.practices.get(pk=practice.pk))
    assert known.problem == "The practice match itself failed; the site's log says why."
    assert LeagueSettings().max_retries
    assert await here.in_db(lambda: AgentToken.objects.filter(agent=known.agent).count()) == 1
