"""What MCP wants of a referee that is a server of it, beside the league.v2 in which the league starts its matches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from league_sdk.conformance.exchange import CALL_TOOL
from league_sdk.conformance.mcp import forms
from league_sdk.conformance.mcp.server import Server, find_out, in_each_era, judge_greeting, judge_list
from league_sdk.conformance.mcp.sessions import check_session
from league_sdk.conformance.report import Verdict
from league_sdk.conformance.subject_caller import SubjectCaller
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects.arguments import plain_name
from league_sdk.dialects.discovery import DISCOVER, LIMIT_S
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol.messages import START_MATCH
from league_sdk.protocol.sentences import _, say
from league_sdk.transport.client import CallFailed

MATCH_STATE = "get_match_state"
TOOLS = (START_MATCH, "collect_choices", "draw_number", "finalize_match", MATCH_STATE)
"""The tools of a referee by 004 5.4.1."""
_MCP_ALONE = _(
    "All of them are there. But the league does not start matches through MCP: take the method start_match at the same "
    "address, too, by a POST without a session."
)


async def check_referee_mcp(caller: SubjectCaller, verdicts: Verdicts, question: Mapping[str, Any]) -> None:
    """Judge a referee as a server of MCP; nothing is reported for a referee that is not an MCP server.

    Args:
        question: the message with which ``get_match_state`` is called, which changes nothing.

    Raises:
        Stopped: the time of the check is used up.
    """
    server = await find_out(caller)
    if not server.memory.mcp:
        return
    evidence = server.exchanges.get(DISCOVER if server.is_stateless else forms.INITIALIZE)
    verdicts.decide("mcp.version", True, evidence, version=server.memory.mcp)
    await _check_results(verdicts, server, question)
    servers = await in_each_era(server)
    judge_greeting(verdicts, servers)
    judge_list(verdicts, servers)
    _judge_tools(verdicts, server)
    await check_session(verdicts, servers[-1])


def _judge_tools(verdicts: Verdicts, server: Server) -> None:
    names = {plain_name(name) for name in server.memory.tools or {}}
    missing = next((name for name in TOOLS if plain_name(name) not in names), None)
    takes_none = "start.taken" in verdicts and verdicts["start.taken"].verdict is Verdict.FAILS
    there = say(_MCP_ALONE if takes_none else _("All of them are there."))
    verdicts.decide("mcp.tools", missing is None, server.exchanges.get(LIST_TOOLS), wanted=missing, there=there)


async def _check_results(verdicts: Verdicts, server: Server, question: Mapping[str, Any]) -> None:
    """Call the tool that changes nothing, and judge its result; a JSON-RPC error has no result and is allowed."""
    tools = server.memory.tools or {}
    tool = next((tool for name, tool in tools.items() if plain_name(name) == plain_name(MATCH_STATE)), None)
    if tool is None:
        return
    body, _unfilled = tool.call("tools_list", question, 0)
    with suppress(CallFailed):
        answer = await server.call(server.memory.session, CALL_TOOL, body["params"], LIMIT_S)
        result = server.result(CALL_TOOL)
        if result is not None:
            wrong = forms.wrong_result(result, server.listed(tool.name), stateless=server.is_stateless)
            verdicts.decide("mcp.results", wrong is None, answer, wrong=wrong)
