"""Django's side of the dispatcher: the routes of the paths that agents call, a request in, a response out."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from league_sdk.protocol.dispatch import Post
from leaguesite.mcp.calls import Came
from leaguesite.mcp.dispatcher import Answering
from leaguesite.serving.handler import PutOff
from leaguesite.serving.paths import AGENT_PATHS
from matches.audience.views.audience import index


@csrf_exempt
def message(request: HttpRequest, league_id: str | None = None, *, register: bool = False) -> HttpResponse:
    """Answer one message of an agent.

    Args:
        request: its POST.
        league_id: the league under whose own address it came.
        register: a name and an address are enough.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"], content=b"Method not allowed")
    came = Came(
        caller=request.caller,
        league_id=league_id,
        code=request.GET.get("code", ""),
        register=register,
        authorization=request.headers.get("Authorization", ""),
    )
    found = Answering(came)
    found.begin(Post(request.body, request.headers.get("Content-Type", ""), came.authorization))
    if found.put_off and getattr(request, "may_be_put_off", False):
        return PutOff(partial(_finished, found))
    return _finished(found)


@csrf_exempt
def root(request: HttpRequest) -> HttpResponseBase:
    """The list of leagues; an agent that was given only host and port posts its messages here."""
    return message(request) if request.method == "POST" else index(request)


def _finished(found: Answering) -> HttpResponse:
    found.finish()
    reply = found.reply
    if not isinstance(reply.body, bytes):
        return HttpResponse(status=reply.status, headers=reply.headers)
    # With a length it goes out in one piece: no middleware that would add one is passed.
    head = reply.headers | {"Content-Length": str(len(reply.body))}
    response = HttpResponse(reply.body, status=reply.status, content_type="application/json", headers=head)
    # A refusal is an answer like any other: who sends too much does not fill the log besides.
    response._has_been_logged = True
    return response


urlpatterns = [
    # Agents come with and without the slash at the end, and a redirect would lose their POST.
    re_path(f"^{one.pattern('(?P<league_id>[^/]+)')}/?$", message, {"register": one.register}, name=one.name)
    for one in AGENT_PATHS
]
