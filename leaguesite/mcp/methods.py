"""What agents may ask of the league manager: the table of methods, one short handler each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents_registry import credentials
from agents_registry.models import Agent, Kind
from agents_registry.requests import Request, read_request
from league_sdk.dialects.inbound import outbound_shape
from league_sdk.dialects.words import ANSWERS
from league_sdk.protocol.errors import LeagueError, MissingField, RefereeNotRegistered, RuleError
from league_sdk.protocol.messages import BY_METHOD, QUERY_TYPES, REPORT_PROGRESS, MessageType
from leaguesite.mcp import handshake
from leaguesite.mcp.admission import admit_registration, note_codes, note_referee_codes, note_unreadable
from leaguesite.mcp.calls import Call, Later
from leaguesite.mcp.home import home
from leaguesite.mcp.queries import league_query, tool
from leaguesite.mcp.tools import create_schedule
from leaguesite.serving.turns import known_tokens
from matches.league import entry, outbox, progress, reporting, reports
from matches.league.progress_reading import read_progress
from matches.models import League
from matches.view import referees


@dataclass(frozen=True, slots=True)
class Method:
    """A handler and what must be shown before it runs.

    Attributes:
        required: envelope fields without which the message is refused.
        authenticated: whether it needs an auth_token.
        lenient: neither league nor token nor timestamp is looked at before the handler.
    """

    handle: Callable[[Call], dict[str, Any] | Later]
    required: tuple[str, ...] = ()
    authenticated: bool = False
    lenient: bool = False


def _request(call: Call, kind: Kind) -> Request:
    try:
        return read_request(
            call.params,
            kind=kind,
            caller=call.came.caller.near or home(call),
            shape=outbound_shape(call.asked),
            code_in_address=call.came.code,
        )
    except LeagueError:
        note_unreadable(call)
        raise


def _register_player(call: Call) -> dict[str, Any]:
    """LEAGUE_REGISTER_REQUEST (ruling, section 3)."""
    request = _request(call, Kind.PLAYER)
    admit_registration(call, request)
    named = entry.named_league(call.params, call.params.get("player_meta"), call.address_league)
    done = entry.register_player(request=request, named=named)
    note_codes(call, request, done.league_id)
    return _registered(call, MessageType.LEAGUE_REGISTER_RESPONSE, "player_id", done)


def _register_referee(call: Call) -> dict[str, Any]:
    """REFEREE_REGISTER_REQUEST (ruling, section 3)."""
    request = _request(call, Kind.REFEREE)
    admit_registration(call, request)
    note_referee_codes(call, request)
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
    known_tokens.learn(done.auth_token, done.agent)
    return call.message(
        message_type,
        auth_token=done.auth_token,
        league_id=done.league_id,
        status=_accepted_word(call.params),
        **{id_field: done.agent.code},
        league_token=credentials.league_token(done.agent),
        reason=None,
        rejection_reason=None,
    )


def _accepted_word(params: dict[str, Any]) -> str:
    """ACCEPTED, as every document has it; who registers as version "league.v2" waits for REGISTERED."""
    holders = [params, *(value for value in params.values() if isinstance(value, dict))]
    named = any(holder.get("protocol_version") == "league.v2" for holder in holders)
    return "REGISTERED" if named else "ACCEPTED"


def _report_result(call: Call) -> dict[str, Any]:
    """MATCH_RESULT_REPORT (ruling, section 4)."""
    league, referee = _league_and_referee(call)
    attempt = call.params.get("attempt")
    match_id = reports.text(call.params.get("match_id"), field="match_id", expected="a match id")
    done = reporting.report(
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
    """A player's answer that came to us instead of its referee: its match gets it (ruling, section 9)."""
    if call.agent is None or call.agent.kind != Kind.PLAYER:
        raise RuleError("Only players answer referees.", field="auth_token", expected="a player's auth_token")
    named = call.params.get("match_id", call.params.get("game_id"))
    match_id = outbox.relay_answer(
        player=call.agent,
        message_type=call.name,
        match_id=named if isinstance(named, str) else None,
        message=call.params,
    )
    return call.message("ANSWER_RECEIPT", status="RECEIVED", match_id=match_id, original_message_type=call.name)


def _ping(call: Call) -> dict[str, Any]:
    """004 5.12.2."""
    return {"status": "ok"}


_SIGNED = ("sender", "timestamp", "conversation_id")
EXPECTED = {
    "sender": "type:id, such as player:P01",
    "timestamp": "YYYY-MM-DDTHH:MM:SSZ, in UTC",
    "conversation_id": "an id of the conversation",
    "league_id": "the id of the league",
}
"""What an envelope field should have been, for the error."""

METHODS: dict[str, Method] = {
    MessageType.LEAGUE_REGISTER_REQUEST: Method(_register_player, lenient=True),
    MessageType.REFEREE_REGISTER_REQUEST: Method(_register_referee, lenient=True),
    MessageType.MATCH_RESULT_REPORT: Method(_report_result, _SIGNED, authenticated=True),
    MessageType.LEAGUE_QUERY: Method(league_query, _SIGNED, authenticated=True),
    REPORT_PROGRESS: Method(_report_progress, _SIGNED, authenticated=True),
    **{name: Method(_relay, authenticated=True) for name in ANSWERS},
    "ping": Method(_ping, lenient=True),
    "list_tools": Method(handshake.list_tools, lenient=True),
    "create_schedule": Method(create_schedule, lenient=True),
    **{name: Method(tool(query)) for name, query in QUERY_TYPES.items()},
    "initialize": Method(handshake.initialize, lenient=True),
    "notifications/initialized": Method(handshake.initialized, lenient=True),
    "tools/list": Method(handshake.list_tools, lenient=True),
}
"""By message type, or by tool name."""

PUBLIC_NAMES = [
    *(method for method, kind in BY_METHOD.items() if kind in METHODS),
    *(name for name in METHODS if name not in set(MessageType)),
]
"""What an unknown method is told there is."""
