"""The page "My agent", opened with an agent's token or a personal code instead of an account; trials, practice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_cookie

from agents_registry.addresses.callers import sender_of
from agents_registry.rate_limits.attempts import CODE, attempts
from agents_registry.words import too_many_attempts
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from matches.audience.pages import exchanges
from matches.audience.pages import mine as pages
from matches.checks import practising
from matches.conducting import trials
from matches.league import refusing
from matches.league.errors import ActionRefused, NotFound
from matches.models import League, Message
from matches.view import own, queries
from matches.words import states


class NotYours(ActionRefused):
    """The session does not prove that the agent is the visitor's."""

    status = 403


@never_cache
@vary_on_cookie
@require_http_methods(["GET", "HEAD", "POST"])
def mine(request: HttpRequest, league_id: str) -> HttpResponse:
    """The page of one's own agent, or the form for its token or code, which a POST checks."""
    league = _league(league_id)
    if request.method == "POST":
        return _check_secret(request, league)
    opened = own.opened(league, own.remembered_credential(request.session, league))
    if opened is None:
        return _ask_for_secret(request, league)
    return _page(request, league, opened, request.GET)


@never_cache
@require_POST
def close(request: HttpRequest, league_id: str) -> HttpResponse:
    """Remove the credential from this browser's session."""
    league = _league(league_id)
    own.forget(request.session, league)
    return HttpResponseRedirect(reverse("mine", args=[league.pk]), status=303)


@never_cache
@require_POST
def again(request: HttpRequest, league_id: str) -> HttpResponse:
    """Have a request sent to the agent again, outside any match; the page shows the answer."""
    league = _league(league_id)
    opened = own.opened(league, own.remembered_credential(request.session, league))
    if opened is None:
        return _ask_for_secret(request, league, status=403)
    fields = request.POST
    try:
        _request_trial(league, opened, fields)
    except ActionRefused as refusal:
        return _page(request, league, opened, fields, refused=refusal.sentence, status=refusal.status)
    return HttpResponseRedirect(pages.address(league, fields["agent"], fields["match"]) + "#trial", status=303)


@never_cache
@require_POST
def practise(request: HttpRequest, league_id: str) -> HttpResponse:
    """Have the agent play a practice match, and go to its report."""
    league = _league(league_id)
    opened = own.opened(league, own.remembered_credential(request.session, league))
    if opened is None:
        return _ask_for_secret(request, league, status=403)
    fields = request.POST
    agent = next((agent for agent in opened.agents if agent.code == fields.get("agent")), None)
    if agent is None:
        raise Http404
    try:
        practice = practising.ask(
            agent=agent,
            proven=opened.proven,
            asked_by=sender_of(request).ip,
            opponent=fields.get("opponent", ""),
            game_type=fields.get("game_type", ""),
            second=fields.get("begins") == "house",
        )
    except ActionRefused as refusal:
        return _page(request, league, opened, fields, refused=refusal.sentence, status=refusal.status)
    return HttpResponseRedirect(reverse("practice_report", args=[practice.pk]), status=303)


def _league(league_id: str) -> League:
    return get_object_or_404(League, pk=league_id)


def _check_secret(request: HttpRequest, league: League) -> HttpResponse:
    secret = request.POST.get("secret", "").strip()[: own.MAX_SECRET_CHARS + 1]
    address = sender_of(request).ip
    # None if the caller may try; otherwise how long it has to wait, after too many wrong tries.
    wait = attempts.refuse_secret(CODE, address, secret)
    if wait is not None:
        answer = _ask_for_secret(request, league, too_many_attempts(wait.seconds), status=429)
        answer["Retry-After"] = str(wait.seconds)
        return answer
    credential = own.recognise(league, secret)
    if credential is None:
        if not refusing.is_code_of_any_league(secret):
            attempts.secret_was_wrong(CODE, address, secret)
        wrong = _(
            "This is neither the auth_token of a player of this league nor a personal code on its roster. Take the "
            "auth_token from the answer to your last registration."
        )
        return _ask_for_secret(request, league, wrong, status=403)
    # A new session key prevents session fixation.
    request.session.cycle_key()
    own.remember(request.session, league, credential)
    return HttpResponseRedirect(request.path, status=303)


def _ask_for_secret(request: HttpRequest, league: League, refused: str = "", status: int = 200) -> HttpResponse:
    # After a wrong try an earlier credential may still be valid.
    remembered = own.remembered_credential(request.session, league)
    expired = remembered is not None and own.opened(league, remembered) is None
    context = {"league": league, "refused": refused, "expired": expired}
    return render(request, "leagues/mine_open.html", context, status=status)


def _page(
    request: HttpRequest,
    league: League,
    opened: own.Opened,
    fields: Mapping[str, Any],
    *,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    chosen = {"agent_id": str(fields.get("agent", "")), "match_id": str(fields.get("match", ""))}
    context = pages.context(league, opened.agents, proven=opened.proven, **chosen)
    template = "leagues/mine_part.html" if request.GET.get("part") else "leagues/mine.html"
    return render(request, template, context | {"refused": refused}, status=status)


def _request_trial(league: League, opened: own.Opened, fields: Mapping[str, Any]) -> None:
    """Request a trial.

    Raises:
        Http404: the visitor has no such agent.
        ActionRefused: there is no such request, it cannot be sent now, or it is not proven that the agent is theirs.
    """
    agent = next((agent for agent in opened.agents if agent.code == fields.get("agent")), None)
    if agent is None:
        raise Http404
    if not opened.proven:
        raise NotYours(states.not_shown_to_be_yours())
    attempt, _dot, number = str(fields.get("entry", "")).partition(".")
    rows = Message.objects.filter(
        match__league=league, match__match_id=str(fields.get("match", "")).replace("\x00", "")
    )
    row = rows.filter(attempt=attempt, n=number).first() if _is_number(attempt) and _is_number(number) else None
    found = exchanges.exchanges([exchanges.AttemptEntry(row.attempt, row.entry)], agent) if row is not None else []
    if row is None or not found or not found[0].again:
        raise NotFound(_("There is no such request to %(agent)s that could be sent again.") % {"agent": agent.code})
    # Checked last, and refused without naming the match: an agent may be registered at an address that is not its own.
    if pages.is_in_play(agent):
        raise ActionRefused(_("A match is on at this address: nothing else is sent there until it is over."))
    trials.ask(
        agent=agent,
        exchange=found[0].key,
        message=row.entry["body"],
        choice_field=queries.choice_field(league.game_type),
        limit_s=_time_limit_s(league.rules, found[0].kind),
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _time_limit_s(rules: LeagueSettings, message_type: str) -> float:
    """The time limit, in seconds, that a referee sets a player for a message."""
    if message_type == MessageType.GAME_INVITATION:
        return rules.join_timeout_s
    if message_type in (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL):
        return rules.move_timeout_s
    return rules.game_over_timeout_s if message_type == MessageType.GAME_OVER else rules.generic_timeout_s
