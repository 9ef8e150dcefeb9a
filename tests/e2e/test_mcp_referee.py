"""A referee as an MCP server over real sockets: players ask it about their match while the match is played.

They ask at the moments when there is something to gain: when the opponent has chosen and they have not, and when
GAME_OVER has reached them and they have not answered it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.bots.hostile.base import MOVE, OVER, OWN, Agent, Behaviour, Call, Talk, message, result
from tests.e2e.lone_referee import LEAGUE_TOKEN, LoneReferee, refereed
from tests.league_sdk.mcp.talking import BOTH, handshake_body, stateless

pytestmark = pytest.mark.e2e
ERAS = ("stateless", "handshake")
STEPS = ("collect_choices", "draw_number", "finalize_match")
SEED = "5e" * 32
SECRETS = (SEED, "draw_seed", "drawn_number", "parity_choice", '"even"', '"odd"')
RULES = {"move_timeout_s": 30, "join_timeout_s": 30, "game_over_timeout_s": 30, "max_retries": 0}


class Host:
    """A client of MCP of both eras at a referee, and a record of what it was answered."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http, self._url = http, url
        self._session: dict[str, str] = {}
        self.seen = ""

    async def _post(self, body: Any, headers: dict[str, str]) -> tuple[aiohttp.ClientResponse, Any]:
        named = {"Accept": BOTH} | {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._http.post(self._url, json=body, headers=named) as reply:
            raw = await reply.text()
        assert reply.status in (200, 202), raw
        self.seen += raw
        return reply, json.loads(raw) if raw else None

    async def ask(self, era: str, method: str, token: str = "", **params: Any) -> dict[str, Any]:
        """The result of a request in an era."""
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        if era == "stateless":
            body, headers = stateless(method, **params)
        else:
            body, headers = handshake_body(method, **params), await self._handshake()
        _, answer = await self._post(body, headers | bearer)
        outcome: dict[str, Any] = answer["result"]
        assert ("resultType" in outcome) == (era == "stateless")
        return outcome

    async def call(self, era: str, name: str, token: str = OWN, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        return await self.ask(era, "tools/call", token, name=name, arguments=arguments)

    async def _handshake(self) -> dict[str, str]:
        if not self._session:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
            reply, _ = await self._post(handshake_body("initialize", **hello), {})
            named = {"mcp_session_id": reply.headers["Mcp-Session-Id"], "mcp_protocol_version": "2025-11-25"}
            await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, named)
            self._session = named
        return self._session

    async def ask_too_early(self, match: str) -> list[dict[str, Any]]:
        """Ask for each step in each era; returns the answers that are not refusals."""
        calls = [(era, name) for era in ERAS for name in STEPS]
        answers = [await self.call(era, name, match_id=match) for era, name in calls]
        return [answer for answer in answers if "after GAME_OVER" not in str(answer.get("structuredContent"))]


class Curious:
    """Two players: the first asks before it chooses, the second before it answers GAME_OVER."""

    def __init__(self) -> None:
        self.first = Agent(Behaviour("asks first", "", self._choose, MOVE))
        self.second = Agent(Behaviour("asks at the end", "", self._take_note, OVER))
        self.host: Host | None = None
        self.referee: LoneReferee | None = None
        self.states: list[dict[str, Any]] = []
        self.answers_too_early: list[list[dict[str, Any]]] = []

    async def _choose(self, talk: Talk, call: Call) -> None:
        await self._ask_for_states(call.params["match_id"], "P02")
        await talk.say(result(call, message(call)))

    async def _take_note(self, talk: Talk, call: Call) -> None:
        await self._ask_for_states(call.params["match_id"], "P01")
        await talk.say(result(call, {"status": "ok"}))

    async def _ask_for_states(self, match: str, opponent: str) -> None:
        assert self.host is not None and self.referee is not None
        league = self.referee.league
        while opponent not in (await self._state("handshake", match))["locked_in"]:
            league.changed.clear()
            await league.changed.wait()
        self.states += [await self._state(era, match) for era in ERAS]
        self.answers_too_early.append(await self.host.ask_too_early(match))

    async def _state(self, era: str, match: str) -> dict[str, Any]:
        assert self.host is not None
        state: dict[str, Any] = (await self.host.call(era, "get_match_state", match_id=match))["structuredContent"]
        return state


async def _report_of(referee: LoneReferee, match: str) -> dict[str, Any]:
    """Wait for the report of a match."""
    while match not in referee.league.results:
        referee.league.changed.clear()
        await referee.league.changed.wait()
    return referee.league.results[match]


@pytest.mark.parametrize("era", ["stateless", pytest.param("handshake", marks=pytest.mark.long)])
async def test_players_learn_the_secrets_of_their_match_by_mcp_only_after_its_end(tmp_path: Path, era: str) -> None:
    players = Curious()
    urls = await players.first.start(), await players.second.start()
    try:
        async with refereed(tmp_path / "referee.log") as referee:
            host = players.host = Host(referee.session, referee.league.endpoint)
            players.referee = referee
            tools = {tool["name"]: tool for tool in (await host.ask(era, "tools/list"))["tools"]}
            assert {"start_match", "get_match_state", *STEPS} <= tools.keys()
            host.seen = ""
            start = referee.start_of("R1M1", *urls, **RULES) | {"draw_seed": SEED}
            del start["auth_token"]
            assert (await host.call(era, "start_match", **start))["structuredContent"]["error_code"] == "E012"
            assert (await host.call(era, "start_match", LEAGUE_TOKEN, **start))["structuredContent"]["accepted"]

            report = await _report_of(referee, "R1M1")
            assert (report["status"] in ("WIN", "DRAW"), report["faults"]) == (True, [])
            # Both players asked at the moments of most gain, and were told nothing.
            assert players.answers_too_early == [[], []]
            assert [state["view"] for state in players.states] == [{}] * 4
            assert [state["locked_in"] for state in players.states[:2]] == [["P02"]] * 2
            assert [secret for secret in SECRETS if secret in host.seen] == []

            steps = [(await host.call(era, name, match_id="R1M1"))["structuredContent"] for name in STEPS]
            details = report["result"]["details"]
            assert steps[0]["choices"] == details["choices"] == {"P01": "even", "P02": "even"}
            assert (steps[1]["drawn_number"], steps[1]["draw_seed"]) == (details["drawn_number"], SEED)
            assert steps[2]["game_result"]["winner_player_id"] == report["result"]["winner"]
            stranger = await host.call(era, "finalize_match", "tok_" + "9" * 32, match_id="R1M1")
            assert stranger["structuredContent"]["error_code"] == "E002"
            assert referee.league.reports == ["R1M1"]
            assert [agent.methods.count(OVER) for agent in (players.first, players.second)] == [1, 1]
    finally:
        await players.first.stop()
        await players.second.stop()
