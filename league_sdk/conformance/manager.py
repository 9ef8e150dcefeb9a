"""The check of a league manager: registers a referee and two players, sends queries, and breaks the rules.

What is registered stays registered: check a league manager that no class is using.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from league_sdk.conformance.clauses.manager import MANAGER, QUERIES
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.judgements import is_refused, league_code
from league_sdk.conformance.listener import Listener, own_address
from league_sdk.conformance.probes import REQUEST_TIMEOUT_S, WRONG_BODIES, check_contact, check_wrong_bodies
from league_sdk.conformance.report import Report
from league_sdk.conformance.subject import Subject
from league_sdk.conformance.subject_caller import SubjectCaller
from league_sdk.conformance.verdicts import OnClause, Verdicts
from league_sdk.dialects import inbound
from league_sdk.dialects.memory import Memory
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.protocol.sentences import _, say
from league_sdk.transport.client import Caller

CHECK_TIMEOUT_S = 60.0
ANNOUNCEMENT_TIMEOUT_S = 0.5
"""How long to wait for the announcement of a league that starts by itself."""
_WRONG_QUERIES: Mapping[str, Mapping[str, Any]] = {
    "auth.missing": {"auth_token": None},
    "message.timestamp": {"timestamp": "2025-01-15T10:30:00+02:00"},
    "message.missing_field": {"query_type": None},
    "message.league": {"league_id": "no_such_league"},
}
"""For each clause, the fields that make a query wrong; None leaves a field out."""


@dataclass(slots=True)
class _Agent:
    """An agent that the check registers."""

    kind: str
    name: str
    endpoint: str
    id: str = ""
    token: str = ""
    league_id: str = ""


@dataclass(slots=True)
class _Talk:
    """A check in progress. ``conversations`` has the conversation_id of each message, with its exchange."""

    caller: SubjectCaller
    verdicts: Verdicts
    exchanges: list[Exchange] = field(default_factory=list)
    conversations: list[tuple[str, Exchange]] = field(default_factory=list)

    async def say(self, kind: MessageType, who: _Agent, **fields: Any) -> Exchange:
        """Send a message of one of our agents under its canonical method; a field that is None is left out."""
        message = {name: value for name, value in (_message(kind, who) | fields).items() if value is not None}
        exchange = await self.call(METHODS[kind], message)
        self.conversations.append((message["conversation_id"], exchange))
        return exchange

    async def query(self, who: _Agent, **changes: Any) -> Exchange:
        """Send LEAGUE_QUERY for the table, with these changes."""
        return await self.say(MessageType.LEAGUE_QUERY, who, **{"query_type": "GET_STANDINGS"} | changes)

    async def call(self, method: str, params: Mapping[str, Any]) -> Exchange:
        """Send any request."""
        exchange = await self.caller.call(rpc.call(method, params, self.caller.next_id()), limit_s=REQUEST_TIMEOUT_S)
        self.caller.check_alive()
        self.exchanges.append(exchange)
        return exchange


def _message(kind: MessageType, who: _Agent) -> dict[str, Any]:
    return envelope(
        kind,
        sender=f"{who.kind}:{who.id or who.name}",
        conversation_id=f"conv-check-{uuid.uuid4()}",
        now=datetime.now(UTC),
        auth_token=who.token or None,
        league_id=who.league_id or None,
    )


async def check_manager(subject: Subject, client: Caller, on_clause: OnClause | None = None) -> Report:
    """Check a league manager; arguments as of :func:`.checking.check`.

    Raises:
        OSError: no port can be opened for the league manager's messages.
    """
    url = subject.url
    verdicts = Verdicts(MANAGER, url, on_clause)
    caller = SubjectCaller(url, client, memory=Memory(), overall_s=CHECK_TIMEOUT_S)
    talk = _Talk(caller, verdicts)
    announced: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def hear(request: inbound.Inbound, body: Any, path: str) -> dict[str, Any]:
        if request.name == MessageType.ROUND_ANNOUNCEMENT:
            announced.put_nowait(request.message)
        return {"status": "received"}

    listener = Listener(hear)
    await listener.start(subject.listen or await own_address(url))
    try:
        with verdicts.until_stopped():
            await _exchanges(talk, listener.endpoint)
            await _check_announcement(verdicts, announced)
    finally:
        await caller.aclose()
        await listener.stop()
    _decide_replies(talk)
    return verdicts.report()


async def _exchanges(talk: _Talk, endpoint: str) -> None:
    await check_contact(talk.caller, talk.verdicts)
    player = await _register(talk, endpoint)
    if player.token:
        await _check_queries(talk, player)
        await _check_refusals(talk, player)
    await _check_robustness(talk, player)


# Registration (004 4.1, 4.2) ----------------------------------------------------------------------------------


async def _register(talk: _Talk, endpoint: str) -> _Agent:
    """Register a referee and two players; returns the first player."""
    verdicts, mark = talk.verdicts, uuid.uuid4().hex[:6]
    await _register_one(talk, _Agent("referee", f"Check {mark} R", endpoint))
    player = _Agent("player", f"Check {mark} A", endpoint)
    other = _Agent("player", f"Check {mark} B", endpoint.replace("/mcp", "/b/mcp"))
    await _register_one(talk, player)
    if player.token:
        second = await _send_registration(talk, other)
        _store(other, second)
        distinct = other.id and other.id != player.id and other.token != player.token
        verdicts.decide("player.distinct", distinct, second, first=player.id, second=other.id)
        again = await _send_registration(talk, player)
        own_id = again.message.get("player_id")
        is_same = again.message.get("status") == "ACCEPTED" and own_id == player.id
        verdicts.decide("player.again", is_same, again, again=seen_text(own_id), id=player.id)
    refused = _Agent("player", f"Check {mark} C", endpoint)
    verdicts.judge("register.no_address", await _send_registration(talk, refused, contact_endpoint=None))
    verdicts.judge("register.old_version", await _send_registration(talk, refused, protocol_version="1.0.0"))
    return player


async def _send_registration(talk: _Talk, who: _Agent, **changes: Any) -> Exchange:
    about: dict[str, Any] = {
        "display_name": who.name,
        "version": "1.0.0",
        "protocol_version": "2.1.0",
        "game_types": ["even_odd"],
        "contact_endpoint": who.endpoint,
    }
    kind = MessageType.LEAGUE_REGISTER_REQUEST
    if who.kind == "referee":
        kind, about["max_concurrent_matches"] = MessageType.REFEREE_REGISTER_REQUEST, 2
    meta = {name: value for name, value in (about | changes).items() if value is not None}
    return await talk.say(kind, who, **{f"{who.kind}_meta": meta}, sender=f"{who.kind}:{who.name}")


def _store(who: _Agent, exchange: Exchange) -> None:
    message = exchange.message
    if message.get("status") == "ACCEPTED":
        who.id = str(message.get(f"{who.kind}_id") or "")
        who.token = str(message.get("auth_token") or "")
        who.league_id = str(message.get("league_id") or "")


async def _register_one(talk: _Talk, who: _Agent) -> None:
    """Register an agent, and decide the clauses about the answer."""
    exchange = await _send_registration(talk, who)
    _store(who, exchange)
    is_accepted = exchange.message.get("status") == "ACCEPTED"
    lacking = say(_("without id or token")) if is_accepted else exchange.in_words()
    stated = exchange.message.get("reason")
    reason = str(stated)[:200] if stated else lacking
    talk.verdicts.decide(f"{who.kind}.accepted", who.id and who.token, exchange, id=who.id, reason=reason)
    if who.id and who.token:
        talk.verdicts.as_shown(f"{who.kind}.response", [(_result(exchange), exchange)])


# Questions (004 4.9) ------------------------------------------------------------------------------------------


async def _check_queries(talk: _Talk, player: _Agent) -> None:
    verdicts = talk.verdicts
    for name in QUERIES:
        query, clause = f"GET_{name.upper()}", f"query.{name}"
        exchange = await talk.query(player, query_type=query, query_params={"player_id": player.id})
        if _is_answer(exchange) and exchange.message.get("success") is not False:
            verdicts.as_shown(clause, [(_result(exchange), exchange)])
        else:
            verdicts.decide(clause, False, exchange)
    params = _message(MessageType.LEAGUE_QUERY, player)
    del params["message_type"]
    direct = await talk.call("get_standings", params)
    verdicts.decide("tool.get_standings", _is_answer(direct), direct)
    unknown = await talk.query(player, query_type="GET_NOTHING")
    verdicts.decide("query.unknown", is_refused(unknown) or league_code(unknown), unknown)


async def _check_refusals(talk: _Talk, player: _Agent) -> None:
    """Send messages that it has to refuse because of their sender, or because a field is wrong."""
    verdicts, wrong_token = talk.verdicts, tokens.new_token()
    wrong = await talk.query(player, auth_token=wrong_token)
    verdicts.judge("auth.wrong", wrong)
    verdicts.decide("auth.no_echo", wrong_token not in str(wrong.response_body), wrong)
    for name, changes in _WRONG_QUERIES.items():
        verdicts.judge(name, await talk.query(player, **changes))
    details = {"drawn_number": 8, "choices": {player.id: "even"}}
    result = {"winner": player.id, "score": {player.id: 3}, "details": details}
    fields = {"round_id": 1, "match_id": "R1M1", "game_type": "even_odd", "result": result}
    verdicts.judge("auth.player_report", await talk.say(MessageType.MATCH_RESULT_REPORT, player, **fields))


async def _check_robustness(talk: _Talk, player: _Agent) -> None:
    caller, verdicts = talk.caller, talk.verdicts
    exchanges = await check_wrong_bodies(caller, verdicts, *WRONG_BODIES)
    talk.exchanges.append(exchanges["robust.unknown_method"])
    large = rpc.call("ping", {"x": "x" * MAX_BODY_BYTES}, caller.next_id())
    verdicts.judge("robust.large", await caller.call(large, limit_s=REQUEST_TIMEOUT_S))
    if player.token:
        after = await talk.query(player)
        verdicts.decide("robust.afterwards", _is_answer(after), after)


async def _check_announcement(verdicts: Verdicts, announced: asyncio.Queue[dict[str, Any]]) -> None:
    try:
        async with asyncio.timeout(ANNOUNCEMENT_TIMEOUT_S):
            message = await announced.get()
    except TimeoutError:
        why = _("It started no league within {limit} s, and need not.")
        verdicts.skip("round.announcement", say(why, limit=f"{ANNOUNCEMENT_TIMEOUT_S:g}"))
        return
    verdicts.as_shown("round.announcement", [(message, Exchange(None, response_body=message, readable=True))])


# The clauses about all replies -------------------------------------------------------------------------


def _decide_replies(talk: _Talk) -> None:
    verdicts, exchanges = talk.verdicts, talk.exchanges
    if not exchanges:
        return
    no_reply = next((exchange for exchange in exchanges if not _is_reply(exchange)), None)
    verdicts.decide("rpc.reply", no_reply is None, no_reply or exchanges[0], answers=len(exchanges))
    wrong_id = next((exchange for exchange in exchanges if not _has_id(exchange)), None)
    verdicts.decide("rpc.id", wrong_id is None, wrong_id or exchanges[0], answers=len(exchanges))
    astray = next((exchange for sent, exchange in talk.conversations if _conversation(exchange) != sent), None)
    evidence = astray or exchanges[0]
    verdicts.decide("query.conversation", astray is None, evidence, conversation=seen_text(_conversation(evidence)))


def _is_answer(exchange: Exchange) -> bool:
    return exchange.answer.refused is None and bool(exchange.message)


def _result(exchange: Exchange) -> Any:
    """The ``result`` as it came; unwrapping would open the ``data`` of a query."""
    body = exchange.response_body
    return body.get("result", body) if isinstance(body, Mapping) else body


def _is_reply(exchange: Exchange) -> bool:
    body = exchange.response_body
    is_rpc = isinstance(body, Mapping) and body.get("jsonrpc") == "2.0" and ("result" in body) != ("error" in body)
    return is_rpc and exchange.status == 200


def _has_id(exchange: Exchange) -> bool:
    return isinstance(exchange.response_body, Mapping) and exchange.response_body.get("id") == exchange.sent["id"]


def _conversation(exchange: Exchange) -> Any:
    return (exchange.error_data or exchange.message).get("conversation_id")
