"""The inbox as views of Django: a view identifies the caller in its thread; the event loop waits for messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from agents_registry.addresses.callers import sender_of
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import LeagueError, TokenInvalid
from league_sdk.protocol.inbox import KEY_HEADER
from leaguesite.inbox.admission import owner_of
from leaguesite.inbox.answering import Answer, InboxCaller, InboxRequest, answer, refused
from leaguesite.inbox.quick import VISITS
from leaguesite.observing.logs import keep_out_of_the_log
from leaguesite.serving.handler import HeldResponse
from leaguesite.serving.paths import DELIVER, INBOX
from matches.inbox.keys import opens, read_key


def _bearer(request: HttpRequest) -> str:
    scheme, _space, credential = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise TokenInvalid(
            "The Authorization header is missing.",
            field="Authorization",
            seen=request.headers.get("Authorization", "")[:10] or "nothing",
            expected="Bearer and the auth_token of your registration",
        )
    return credential.strip()


def _response(answer: Answer) -> HttpResponse:
    response = HttpResponse(answer.body, status=answer.status, headers=answer.head)
    keep_out_of_the_log(response)
    return response


def _held(request: HttpRequest, caller: InboxCaller) -> HeldResponse:
    headers = {name.lower(): value for name, value in request.headers.items()}
    inbox_request = InboxRequest(request.method or "", request.META.get("QUERY_STRING", ""), headers, request.body)
    VISITS.note(getattr(request, "scope", None), caller)
    return HeldResponse(request, partial(_answered, caller, inbox_request))


async def _answered(caller: InboxCaller, request: InboxRequest) -> HttpResponse:
    return _response(await answer(caller, request))


def _with_errors(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Make a view answer with its league errors instead of raising them."""

    @csrf_exempt
    def answered(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except LeagueError as error:
            return _response(refused(error))

    return answered


@_with_errors
def inbox(request: HttpRequest) -> HttpResponse:
    """GET: the messages that wait for the agent, at once or as soon as there are any. POST: its answers."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"], content=b"Method not allowed")
    token, address = _bearer(request), sender_of(request).ip
    return _held(request, InboxCaller(owner_of(token, address).pk, address, tokens.digest(token)))


@csrf_exempt
def deliver(request: HttpRequest) -> HttpResponse:
    """POST a JSON-RPC request to a player that dials out; the answer is the player's, or says why there is none.

    The key in the header comes with ``start_match`` and is valid for one seat of one attempt.
    """
    key = read_key(request.headers.get(KEY_HEADER, ""))
    if request.method != "POST" or key is None or not opens(key):
        return _response(Answer(404, b"{}"))
    return _held(request, InboxCaller(key.agent, seat=f"{key.match}.{key.attempt}"))


urlpatterns = [
    re_path(f"^{INBOX}/?$", inbox, name="inbox"),
    re_path(f"^{DELIVER}/?$", deliver, name="inbox_deliver"),
]
