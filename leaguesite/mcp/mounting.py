"""The core of MCP at the address that agents call: where its requests run.

A request that needs the database runs in the thread it came in, as every call of an agent does; what takes long in it
is done in the thread of queries. What waits (a stream, a session's answers, an inbox) runs on the event loop; the
caller of a tool that waits was identified in the thread before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from agents_registry.rate_limits.attempts import network_of
from agents_registry.registering import credentials
from league_sdk.dialects.inbound import Inbound
from league_sdk.mcp.requests import HttpRequest as McpRequest
from league_sdk.mcp.requests import Unfinished, begin_at_once, is_answered_at_once, run_at_once
from league_sdk.mcp.server import McpServer
from league_sdk.mcp.sessions import Sessions
from league_sdk.mcp.states import States
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import NOT_DECODED, Reply
from league_sdk.protocol.errors import TooOften
from leaguesite.mcp.admission import admit, is_instructor
from leaguesite.mcp.calls import Call, Source
from leaguesite.mcp.inboxes import HELD
from leaguesite.mcp.offering import Waiting, make_registry
from leaguesite.observing.logs import keep_out_of_the_log
from leaguesite.serving.handler import DeferredResponse, HeldResponse, OneHopRequest, StreamResponse
from leaguesite.serving.known_tokens import Bearer, known_tokens
from leaguesite.serving.origins import is_ours
from storage import clock


class _Pages:
    """Lets pages of the site itself in, as the middleware ``leaguesite.serving.agent_calls`` has done before."""

    def allow(self, origin: str, host: str) -> bool:
        return is_ours(origin, host)


_KEY = hashlib.sha256(settings.SECRET_KEY.encode()).digest()
server = McpServer(
    make_registry(),
    states=States(_KEY, lambda: clock.now().timestamp()),
    sessions=Sessions(_KEY, lambda: clock.now().timestamp()),
    origins=_Pages(),
)
"""The league manager as an MCP server, in this process."""


def answer(request: HttpRequest, source: Source, headers: Mapping[str, str], body: Any) -> HttpResponse:
    """Answer a request of MCP.

    Args:
        request: a request with any HTTP method.
        source: where it comes from.
        headers: by their names in lower case.
        body: its decoded body; None without one, or if it could not be decoded.
    """
    owner, counted = _owner(source.bearer), _is_counted_call(body)
    instructs = owner is None and not counted and is_instructor(source)
    refusal = None if counted or instructs else _refused(source, body, known=owner is not None)
    if refusal is not None:
        return _response(refusal)
    waits = _waits(body)
    mcp_request = McpRequest(
        request.method or "",
        headers,
        b"" if body is not None else request.body,
        principal=hashlib.sha256(source.bearer.encode()).hexdigest() if source.bearer else "",
        caller=_caller(source, owner, instructs=instructs),
        scope=Waiting(source, _name_in(body), _arguments_in(body)) if waits else source,
        at_once=body is not None and not waits and is_answered_at_once(body),
        decoded=NOT_DECODED if body is None else body,
    )
    if not isinstance(request, OneHopRequest):
        return _in_this_thread(mcp_request) if mcp_request.at_once else async_to_sync(_on_the_loop)(mcp_request)
    if not mcp_request.at_once:
        return HeldResponse(request, partial(_on_the_loop, mcp_request))
    begun = begin_at_once(server.handle(mcp_request))
    if isinstance(begun, Unfinished):
        return DeferredResponse(request, lambda: _response(begun.finish()))
    return _response(begun)


def _owner(token: str) -> Bearer | None:
    """The owner of a token; a token that is new to this process is looked up in the database."""
    owner = known_tokens.owner(token) if token else None
    agent = credentials.find_agent(token) if token and owner is None else None
    if agent is not None:
        known_tokens.learn(token, agent)
        owner = known_tokens.owner(token)
    return owner


def _caller(source: Source, owner: Bearer | None, *, instructs: bool) -> str:
    """The key of a caller, to which sessions and streams belong: the instructor's, the agent's, else its network's."""
    if instructs:
        return "instructor"
    return network_of(source.caller.ip) if owner is None else f"agent {owner.agent}"


def _is_counted_call(body: Any) -> bool:
    """Whether a request calls a tool: that is counted by itself, as any agent's or the instructor's call."""
    return isinstance(body, dict) and body.get("method") == "tools/call" and _name_in(body) in server.registry.tools


def _refused(source: Source, body: Any, *, known: bool) -> Reply | None:
    """The refusal of a caller that comes too often."""
    token = {"auth_token": source.bearer} if known else {}
    try:
        admit(Call(Inbound("canonical", "mcp", token), source), known=known)
    except TooOften as error:
        wait = str(error.context["retry_after_s"])
        reply = rpc.error(rpc.request_id(body), -32000, error.message, None)
        return Reply(error.http_status, rpc.dumps(reply), {"Retry-After": wait})
    return None


def _waits(body: Any) -> bool:
    """Whether a request calls a tool that waits. One without an id is not carried out."""
    if not isinstance(body, dict) or "id" not in body:
        return False
    return body.get("method") == "tools/call" and _name_in(body) in HELD


def _name_in(body: Mapping[str, Any]) -> str:
    """The name of the tool that is called; empty without one."""
    params = body.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return name if isinstance(name, str) else ""


def _arguments_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the tool that is called; the core refuses arguments that are not an object."""
    arguments = body["params"].get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def _in_this_thread(request: McpRequest) -> HttpResponse:
    return _response(run_at_once(server.handle(request)))


async def _on_the_loop(request: McpRequest) -> HttpResponse:
    return _response(await server.handle(request))


def _response(reply: Reply) -> HttpResponse:
    response: HttpResponse
    if reply.body is None or isinstance(reply.body, bytes):
        content = reply.body or b""
        head = {"Content-Type": "application/json"} if content else {}
        response = HttpResponse(content, status=reply.status, headers=head | reply.headers)
        response["Content-Length"] = str(len(content))
    else:
        response = StreamResponse(reply.body, status=reply.status, headers=reply.headers)
    keep_out_of_the_log(response)
    return response
