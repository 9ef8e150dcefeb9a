"""POST /mcp: raw body in, status and reply out. The table of methods, one short handler each.

The ladder of checks is that of the ruling's section 5; every error is turned into its wire form
here and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents_registry import registration
from agents_registry.models import Agent, Kind
from agents_registry.requests import read_request
from league_sdk.protocol import rpc
from league_sdk.protocol.envelope import check_protocol, parse_sender, parse_stamp
from league_sdk.protocol.errors import (
    InternalError,
    InvalidFormat,
    LeagueError,
    MissingField,
    RefereeNotRegistered,
    TokenInvalid,
    TokenMissing,
    UnknownLeague,
    UnknownMethod,
)
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.messages import BY_METHOD, QUERY_TYPES, REPORT_PROGRESS, WRAPPER_METHOD, MessageType
from league_sdk.protocol.transcript import clean
from leaguesite.calls import Call
from leaguesite.mcp_queries import league_query, tool
from leaguesite.refusals import error_message
from matches.league import entry, play, reports, results
from matches.models import League

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Method:
    """A handler and what must be shown before it runs.

    Attributes:
        required: envelope fields without which the message is refused.
        authenticated: whether it needs an auth_token.
    """

    handle: Callable[[Call], dict[str, Any]]
    required: tuple[str, ...] = ()
    authenticated: bool = False
    lenient: bool = False


def answer(
    raw: bytes, *, content_type: str, caller: str, address_league: str | None = None
) -> tuple[int, dict[str, Any] | None]:
    """Answer one HTTP request.

    Args:
        raw: the body.
        content_type: the header.
        caller: the IP address it came from.
        address_league: the league in the address, for ``/leagues/{id}/mcp``.

    Returns the HTTP status and the reply; no reply for a notification.
    """
    body: Any = None
    call: Call | None = None
    request: rpc.Request | None = None
    status = 200
    try:
        rpc.check_http(content_type, len(raw))
        body = rpc.loads(raw)
        request = rpc.read_request(body)
        call = Call(_name(request), request.params, caller, address_league)
        reply = rpc.result(request.id, _perform(call))
    except LeagueError as error:
        status, reply = error.http_status, _refusal(error, body, call)
    except Exception:
        logger.exception("a call of %s failed", call.name if call else "/mcp")
        reply = _refusal(InternalError("The league manager failed; nothing was changed."), body, call)
    if request is not None and request.notification:
        # JSON-RPC 2.0, 4.1: not even an error is answered.
        return 204, None
    return status, reply


def _name(request: rpc.Request) -> str:
    """What a request asks for, by its method, or by the message type inside a wrapper (004 5.11.2)."""
    method = request.method
    if method == WRAPPER_METHOD:
        method = request.params.get("message_type") or method
    named = BY_METHOD.get(method, method) if isinstance(method, str) else None
    if named not in METHODS:
        raise UnknownMethod(
            "There is no such method.", field="method", seen=method, expected=", ".join(sorted(_PUBLIC_NAMES))
        )
    return str(named)


def _perform(call: Call) -> dict[str, Any]:
    method = METHODS[call.name]
    check_protocol(call.params)
    for field in method.required:
        if call.params.get(field) in (None, ""):
            raise MissingField(f"{field} is missing.", field=field, expected=_EXPECTED[field])
    if not method.lenient and call.params.get("timestamp") is not None:
        parse_stamp(call.params["timestamp"])
    if not method.lenient:
        _find_league(call)
        _authenticate(call, needed=method.authenticated)
    return method.handle(call)


def _find_league(call: Call) -> None:
    named = call.address_league or call.params.get("league_id")
    if named is None:
        return
    if not isinstance(named, str) or len(named) > MAX_ID_CHARS or "\x00" in named:
        raise InvalidFormat("league_id must be a string.", field="league_id", seen=named, expected="a league id")
    call.league = next(iter(League.objects.filter(pk=named)), None)
    if call.league is not None:
        return
    token = call.params.get("auth_token")
    if isinstance(token, str) and token:
        # An agent of the lobby goes on naming the league it was promised.
        agent = registration.find_agent(token)
        if agent is not None and agent.promised_league_id == named:
            call.agent = agent
            call.league = agent.league
            return
    raise UnknownLeague(f"There is no league {named!r}.", field="league_id", seen=named, expected="a league id")


def _authenticate(call: Call, *, needed: bool) -> None:
    token = call.params.get("auth_token")
    if token in (None, ""):
        if needed:
            raise TokenMissing(
                "auth_token is missing.", field="auth_token", expected="the auth_token of your registration"
            )
        return
    if not isinstance(token, str):
        raise TokenInvalid("auth_token must be a string.", field="auth_token", expected="a string")
    agent = call.agent = call.agent or registration.authenticate(token)
    if call.name == MessageType.MATCH_RESULT_REPORT and agent.kind == Kind.PLAYER:
        raise RefereeNotRegistered(
            "Only referees report results.", field="auth_token", expected="the auth_token of a referee"
        )
    if agent.league_id is not None:
        # Naming the league that it was promised in the lobby goes on working.
        if call.league is not None and call.league.pk not in (agent.league_id, agent.promised_league_id):
            raise TokenInvalid(
                f"This auth_token belongs to {agent.league_id}.",
                field="league_id",
                seen=call.league.pk,
                expected=agent.league_id,
            )
        if call.league is None or call.league.pk != agent.league_id:
            call.league = agent.league
    _check_sender(call, agent)


def _check_sender(call: Call, agent: Agent) -> None:
    """The sender must be the agent that owns the token, by its id or the name it registered under."""
    sender = call.params.get("sender")
    if sender is None:
        return
    kind, name = parse_sender(sender) if isinstance(sender, str) else ("", "")
    claimed = name or kind
    same_kind = not name or kind == agent.kind
    if not claimed or not same_kind or claimed not in (agent.code, agent.name, agent.sender_name, agent.display_name):
        raise TokenInvalid(
            "The sender is not the owner of this auth_token.",
            field="sender",
            seen=sender,
            expected=f"{agent.kind}:{agent.code}",
        )


def _refusal(error: LeagueError, body: Any, call: Call | None) -> dict[str, Any]:
    """A LEAGUE_ERROR in its JSON-RPC clothes (004 8.10.1; ruling section 5)."""
    rpc_id = rpc.request_id(body)
    original = call.name if call else None
    if call is None and isinstance(body, dict) and isinstance(body.get("method"), str):
        original = body["method"][:MAX_ID_CHARS]
    conversation = call.conversation_id if call else None
    # What the sender wrote may be repeated here, and a token may stand in the wrong field.
    message = clean(error_message(error, original_message_type=original, conversation_id=conversation))
    if call is not None and not isinstance(error, InternalError) and _error_style(call) == "result":
        return rpc.result(rpc_id, message)
    return rpc.error(rpc_id, error.rpc_code, message["message"], message)


def _error_style(call: Call) -> str:
    """The setting of the league that was meant, also when the request failed before that was checked."""
    named = call.address_league or call.params.get("league_id")
    league = call.league
    if league is None and isinstance(named, str) and "\x00" not in named:
        league = League.objects.filter(pk=named).first()
    return league.rules.error_style if league is not None else "error"


# Handlers -------------------------------------------------------------------------------------


def _register_player(call: Call) -> dict[str, Any]:
    """LEAGUE_REGISTER_REQUEST (004 4.2)."""
    request = read_request(call.params, kind=Kind.PLAYER, caller=call.caller)
    named = entry.named_league(call.params, call.params.get("player_meta"), call.address_league)
    done = entry.register_player(request=request, named=named)
    return _registered(call, MessageType.LEAGUE_REGISTER_RESPONSE, "player_id", done)


def _register_referee(call: Call) -> dict[str, Any]:
    """REFEREE_REGISTER_REQUEST (004 4.1)."""
    request = read_request(call.params, kind=Kind.REFEREE, caller=call.caller)
    done = entry.register_referee(
        request=request,
        named=entry.named_league({}, None, call.address_league),
        own_address=call.address_league is not None,
    )
    return _registered(call, MessageType.REFEREE_REGISTER_RESPONSE, "referee_id", done)


def _registered(call: Call, message_type: str, id_field: str, done: entry.Entry) -> dict[str, Any]:
    if done.agent is None:
        return call.message(
            message_type,
            league_id=done.league_id,
            status="REJECTED",
            **{id_field: None},
            reason=done.reason,
            rejection_reason=done.reason,
            legacy_code=done.legacy_code,
        )
    return call.message(
        message_type,
        auth_token=done.auth_token,
        league_id=done.league_id,
        status="ACCEPTED",
        **{id_field: done.agent.code},
        league_token=registration.league_token(done.agent),
        reason=None,
        rejection_reason=None,
    )


def _report_result(call: Call) -> dict[str, Any]:
    """MATCH_RESULT_REPORT (004 4.6.2)."""
    league, referee = _league_and_referee(call)
    attempt = call.params.get("attempt")
    match_id = reports.text(call.params.get("match_id"), field="match_id", expected="a match id")
    done = results.report(
        referee=referee,
        league_id=league.pk,
        match_id=match_id,
        attempt=None if attempt is None else reports.whole_number(attempt, field="attempt"),
        params=call.params,
        transcript=reports.read_entries(call.params.get("transcript")),
    )
    return call.message("MATCH_RESULT_ACK", league_id=league.pk, match_id=match_id, **done)


def _report_progress(call: Call) -> dict[str, Any]:
    """Our report_progress (ruling, section 10): progress of all matches of a referee, and its heartbeat."""
    if call.agent is None or call.agent.kind != Kind.REFEREE:
        raise RefereeNotRegistered("Only referees report progress.", field="auth_token")
    items = reports.read_progress(call.params)
    return {"matches": play.progress(referee=call.agent, items=items, leaving=call.params.get("leaving") is True)}


def _league_and_referee(call: Call) -> tuple[League, Agent]:
    if call.agent is None or call.agent.kind != Kind.REFEREE:
        raise RefereeNotRegistered("Only referees report results.", field="auth_token")
    if call.league is None:
        raise MissingField("league_id is missing.", field="league_id", expected="the match's league")
    return call.league, call.agent


def _ping(call: Call) -> dict[str, Any]:
    """004 5.12.2."""
    return {"status": "ok"}


def _list_tools(call: Call) -> dict[str, Any]:
    return {"tools": [{"name": name} for name in sorted(_PUBLIC_NAMES)]}


_SIGNED = ("sender", "timestamp", "conversation_id")
_EXPECTED = {
    "sender": "type:id, such as player:P01",
    "timestamp": "YYYY-MM-DDTHH:MM:SSZ, in UTC",
    "conversation_id": "an id of the conversation",
    "league_id": "the id of the league",
}

METHODS: dict[str, Method] = {
    MessageType.LEAGUE_REGISTER_REQUEST: Method(_register_player, lenient=True),
    MessageType.REFEREE_REGISTER_REQUEST: Method(_register_referee, lenient=True),
    MessageType.MATCH_RESULT_REPORT: Method(_report_result, _SIGNED, authenticated=True),
    MessageType.LEAGUE_QUERY: Method(league_query, _SIGNED, authenticated=True),
    REPORT_PROGRESS: Method(_report_progress, _SIGNED, authenticated=True),
    "ping": Method(_ping, lenient=True),
    "list_tools": Method(_list_tools, lenient=True),
    **{name: Method(tool(query)) for name, query in QUERY_TYPES.items()},
}
"""By message type, or by tool name."""

_PUBLIC_NAMES = [
    *(method for method, kind in BY_METHOD.items() if kind in METHODS),
    *(name for name in METHODS if name not in set(MessageType)),
]
