"""The routes of the paths that agents call, and the dispatcher as a view of Django."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from agents_registry.addresses.callers import sender_of
from agents_registry.addresses.public import site_address_for_caller
from league_sdk.mcp.versions import SESSION_HEADER, is_mcp
from league_sdk.protocol.dispatch import Post
from league_sdk.protocol.errors import LeagueError
from leaguesite.mcp import mounting
from leaguesite.mcp.calls import Source
from leaguesite.mcp.dispatcher import Answering
from leaguesite.observing.logs import keep_out_of_the_log
from leaguesite.serving.handler import DeferredResponse, HeldResponse, OneHopRequest
from leaguesite.serving.paths import AGENT_PATHS
from matches.audience.views.audience import index


@csrf_exempt
def message(request: HttpRequest, league_id: str | None = None, *, register: bool = False) -> HttpResponse:
    """Answer one message of an agent.

    Args:
        request: its POST.
        league_id: the league under whose own address it came.
        register: whether a name and an address are enough.
    """
    headers = {name.lower(): value for name, value in request.headers.items()}
    if request.method != "POST" and (register or SESSION_HEADER not in headers):
        return HttpResponseNotAllowed(["POST"], content=b"Method not allowed")
    source = Source(
        caller=sender_of(request),
        league_id=league_id,
        code=request.GET.get("code", ""),
        register=register,
        authorization=request.headers.get("Authorization", ""),
        site=site_address_for_caller(request),
    )
    sent_as = (headers.get("content-type", ""), source.authorization, headers.get("content-encoding", ""))
    post, body = Post(request.body, *sent_as), None
    # What cannot be read is refused in the words of the protocol that its headers show.
    with suppress(LeagueError):
        body = post.decode() if request.method == "POST" else None
        post = replace(post, decoded=body)
    if not register and is_mcp(body, headers):
        return mounting.answer(request, source, headers, body)
    exchange = Answering(source)
    exchange.begin(post)
    if exchange.held:
        whole = partial(_waited_for, exchange)
        return HeldResponse(request, whole) if isinstance(request, OneHopRequest) else async_to_sync(whole)()
    if exchange.deferred and isinstance(request, OneHopRequest):
        return DeferredResponse(request, partial(_finished, exchange))
    return _finished(exchange)


@csrf_exempt
def root(request: HttpRequest) -> HttpResponseBase:
    """The list of leagues. An agent that was given only host and port posts its messages here, too."""
    return message(request) if request.method == "POST" else index(request)


async def _waited_for(exchange: Answering) -> HttpResponse:
    await exchange.wait()
    return _finished(exchange)


def _finished(exchange: Answering) -> HttpResponse:
    exchange.finish()
    reply = exchange.reply
    if not isinstance(reply.body, bytes):
        return HttpResponse(status=reply.status, headers=reply.headers)
    # The middleware that adds a length is bypassed; with one the answer is sent in one piece.
    head = reply.headers | {"Content-Length": str(len(reply.body))}
    response = HttpResponse(reply.body, status=reply.status, content_type="application/json", headers=head)
    # A caller that sends too much would fill the log with refusals.
    keep_out_of_the_log(response)
    return response


urlpatterns = [
    # Agents call with and without the slash at the end, and a redirect would lose their POST.
    re_path(
        f"^{path.pattern_in_any_case('(?P<league_id>[^/]+)')}/?$", message, {"register": path.register}, name=path.name
    )
    for path in AGENT_PATHS
]
