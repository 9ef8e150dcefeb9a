"""The table of methods that agents may call at the league manager, each with a short handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db import transaction

from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials, learned
from agents_registry.requests.reading import Request, read_request
from league_sdk.dialects.inbound import outbound_shape
from league_sdk.dialects.words import ANSWERS, READY
from league_sdk.protocol.errors import LeagueError, MissingField, OutOfTime, RefereeNotRegistered, RuleError
from league_sdk.protocol.messages import BY_METHOD, QUERY_TYPES, REPORT_PROGRESS, MessageType
from leaguesite.mcp import instructing
from leaguesite.mcp.admission import (
    address_of_own_process,
    admit_registration,
    count_unreadable_registration,
    count_wrong_codes,
    count_wrong_referee_keys,
)
from leaguesite.mcp.calls import Call, Deferred, Held, as_sent
from leaguesite.mcp.checking import check_agent
from leaguesite.mcp.inboxes import next_message, submit_response
from leaguesite.mcp.playing import play
from leaguesite.mcp.practising import practice_match
from leaguesite.mcp.queries import answer_query, league_query
from leaguesite.mcp.tools import list_tools
from leaguesite.serving.known_tokens import known_tokens
from leaguesite.serving.paths import INBOX, INBOX_SOCKET
from matches.checks import relaying, tending
from matches.league import entry, outbox, progress, reporting, reports
from matches.league.progress_reading import read_progress
from matches.models import League
from matches.view import referees, summaries


@dataclass(frozen=True, slots=True)
class Method:
    """A handler and what must be shown before it runs.

    Attributes:
        handle: the handler.
        required: envelope fields without which the message is refused.
        authenticated: whether it needs an auth_token.
        lenient: whether league, token and timestamp are left for the handler to check.
        instructor: whether it needs the instructor's API key, and nothing else.
    """

    handle: Callable[[Call], dict[str, Any] | Deferred | Held]
    required: tuple[str, ...] = ()
    authenticated: bool = False
    lenient: bool = False
    instructor: bool = False


def _request(call: Call, kind: Kind) -> Request:
    try:
        request = read_request(
            call.params,
            kind=kind,
            caller=call.source.caller.machine_ip or address_of_own_process(call),
            shape=outbound_shape(call.request),
            code_in_address=call.source.code,
        )
    except LeagueError:
        count_unreadable_registration(call)
        raise
    # An agent that calls MCP tools and fetches its messages is a client, not a server with tools to call.
    return replace(request, shape="canonical") if call.without_envelope and request.has_inbox_only else request


def _register_player(call: Call) -> dict[str, Any]:
    """LEAGUE_REGISTER_REQUEST (ruling, section 3)."""
    request = _request(call, Kind.PLAYER)
    admit_registration(call, request)
    named = entry.named_league(call.params, call.params.get("player_meta"), call.source.league_id)
    result = entry.register_player(request=request, named=named)
    count_wrong_codes(call, request, result.league_id)
    if result.agent is not None and result.proven:
        # A check that cannot be asked for is no reason to refuse the registration.
        transaction.on_commit(partial(tending.after_registration, agent=result.agent), robust=True)
    return _registered(call, MessageType.LEAGUE_REGISTER_RESPONSE, "player_id", result)


def _register_referee(call: Call) -> dict[str, Any]:
    """REFEREE_REGISTER_REQUEST (ruling, section 3)."""
    request = _request(call, Kind.REFEREE)
    admit_registration(call, request)
    count_wrong_referee_keys(call, request)
    result = entry.register_referee(
        request=request,
        named=entry.named_league({}, None, call.source.league_id),
        own_address=call.source.league_id is not None,
    )
    return _registered(call, MessageType.REFEREE_REGISTER_RESPONSE, "referee_id", result)


def _registered(call: Call, message_type: str, id_field: str, result: entry.Entry) -> dict[str, Any]:
    if result.agent is None:
        return call.message(
            message_type,
            league_id=result.league_id,
            status="REJECTED",
            **{id_field: None},
            reason=result.reason,
            rejection_reason=result.reason,
            legacy_code=result.legacy_code,
        )
    known_tokens.learn(result.auth_token, result.agent)
    return call.message(
        message_type,
        auth_token=result.auth_token,
        league_id=result.league_id,
        status=_accepted_word(call.params),
        **{id_field: result.agent.code},
        league_token=credentials.league_token(result.agent),
        inbox=_inbox(call.source.site),
        reason=None,
        rejection_reason=None,
    )


def _inbox(site: str) -> dict[str, str]:
    """The addresses at which an agent that dials out fetches its messages (ruling, section 13)."""
    return {"poll_url": f"{site}/{INBOX}", "websocket_url": f"ws{site.removeprefix('http')}/{INBOX_SOCKET}"}


def _accepted_word(params: dict[str, Any]) -> str:
    """ACCEPTED, as every document says; an agent whose ``protocol_version`` is "league.v2" waits for REGISTERED."""
    holders = [params, *(value for value in params.values() if isinstance(value, dict))]
    named = any(holder.get("protocol_version") == "league.v2" for holder in holders)
    return "REGISTERED" if named else "ACCEPTED"


def _report_result(call: Call) -> dict[str, Any]:
    """MATCH_RESULT_REPORT (ruling, section 4)."""
    league, referee = _league_and_referee(call)
    attempt = call.params.get("attempt")
    match_id = reports.text(call.params.get("match_id"), field="match_id", expected="a match id")
    outcome = reporting.report(
        referee=referee,
        league_id=league.pk,
        match_id=match_id,
        attempt=None if attempt is None else reports.whole_number(attempt, field="attempt"),
        params=call.params,
        transcript=reports.read_entries(call.params.get("transcript")),
    )
    return call.message("MATCH_RESULT_ACK", league_id=league.pk, match_id=match_id, **outcome)


def _report_progress(call: Call) -> dict[str, Any]:
    """Our report_progress (ruling, section 10): the progress of a referee's matches, also its heartbeat."""
    if call.agent is None or call.agent.kind != Kind.REFEREE:
        raise RefereeNotRegistered("Only referees report progress.", field="auth_token")
    items = read_progress(call.params)
    return {"matches": progress.progress(referee=call.agent, items=items, leaving=call.params.get("leaving") is True)}


def _league_and_referee(call: Call) -> tuple[League, Agent]:
    if call.agent is None or call.agent.kind != Kind.REFEREE:
        raise RefereeNotRegistered("Only referees report results.", field="auth_token")
    league = call.league or referees.judged_league(call.agent, call.params.get("match_id"))
    if league is None:
        raise MissingField("league_id is missing.", field="league_id", expected="the match's league")
    return league, call.agent


def _relay(call: Call) -> dict[str, Any]:
    """Pass on a player's answer that was sent to us instead of its referee, or its check (ruling, section 9)."""
    if call.agent is None or call.agent.kind != Kind.PLAYER:
        raise RuleError("Only players answer referees.", field="auth_token", expected="a player's auth_token")
    wanted_id = call.params.get("match_id", call.params.get("game_id"))
    match_id = wanted_id if isinstance(wanted_id, str) else None
    answer: dict[str, Any] = {
        "player": call.agent,
        "message_type": call.name,
        "match_id": match_id,
        "message": call.params,
    }
    try:
        match_id = outbox.relay_answer(**answer)
    except OutOfTime:
        if not relaying.relay_answer(**answer):
            raise
    return call.message("ANSWER_RECEIPT", status="RECEIVED", match_id=match_id, original_message_type=call.name)


def _ready(call: Call) -> dict[str, Any]:
    """AGENT_READY_REQUEST: a player that says so need not answer invitations (our choice)."""
    if call.agent is None or call.agent.kind != Kind.PLAYER:
        raise RuleError("Only players say that they are ready.", field="auth_token", expected="a player's auth_token")
    learned.learn_dialect(agent_id=call.agent.pk, spoken={READY: outbound_shape(call.request)})
    return call.message("AGENT_READY_RESPONSE", status="READY", player_id=call.agent.code)


def _list_leagues(call: Call) -> dict[str, Any]:
    """Every league that is not in the archive, as the API lists them (our choice)."""
    shown = League.objects.filter(archived_at__isnull=True)
    rows = summaries.league_rows(shown.order_by("-created_at"))
    return call.message("LEAGUE_LIST", leagues=as_sent(rows))


def _ping(call: Call) -> dict[str, Any]:
    """Answer a ping (004 5.12.2)."""
    return {"status": "ok"}


_ENVELOPE = ("sender", "timestamp", "conversation_id")
EXPECTED = {
    "sender": "type:id, such as player:P01",
    "timestamp": "YYYY-MM-DDTHH:MM:SSZ, in UTC",
    "conversation_id": "an id of the conversation",
}
"""The ``expected`` of an error about each envelope field."""

METHODS: dict[str, Method] = {
    MessageType.LEAGUE_REGISTER_REQUEST: Method(_register_player, lenient=True),
    MessageType.REFEREE_REGISTER_REQUEST: Method(_register_referee, lenient=True),
    MessageType.MATCH_RESULT_REPORT: Method(_report_result, _ENVELOPE, authenticated=True),
    MessageType.LEAGUE_QUERY: Method(league_query, _ENVELOPE, authenticated=True),
    REPORT_PROGRESS: Method(_report_progress, _ENVELOPE, authenticated=True),
    **{name: Method(_relay, authenticated=True) for name in ANSWERS},
    "ping": Method(_ping, lenient=True),
    "list_tools": Method(list_tools, lenient=True),
    **{
        tool.name: Method(partial(instructing.act, name=tool.name), lenient=True, instructor=True)
        for tool in instructing.TOOLS
    },
    **{name: Method(partial(answer_query, query=query)) for name, query in QUERY_TYPES.items()},
    "list_games": Method(partial(answer_query, query="GET_GAMES")),
    "list_leagues": Method(_list_leagues, lenient=True),
    "check_agent": Method(check_agent, authenticated=True),
    "practice_match": Method(practice_match, authenticated=True),
    "next_message": Method(next_message, authenticated=True),
    "submit_response": Method(submit_response, authenticated=True),
    "play": Method(play, authenticated=True),
    READY: Method(_ready, authenticated=True),
}
"""The methods by message type or tool name."""

PUBLIC_NAMES = [
    *(method for method, kind in BY_METHOD.items() if kind in METHODS),
    *(name for name in METHODS if name not in set(MessageType)),
]
"""The methods that are named when an unknown one was called."""
