"""The check of a league manager: registers a referee and two players with it, asks, and breaks the rules.

What is registered stays registered: this is for a manager under test, not for one with a class in it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from league_sdk.conformance.clauses import MANAGER
from league_sdk.conformance.exchange import Exchange, Line, Stopped
from league_sdk.conformance.habits import METHOD_NOT_FOUND, PARSE_ERROR, error_code_of, judge_refusal
from league_sdk.conformance.listener import Listener, own_address
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.verdicts import OnClause, Verdicts
from league_sdk.dialects import inbound
from league_sdk.dialects.hunt import Memory
from league_sdk.protocol import schemas, tokens
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.limits import MAX_BODY_BYTES
from league_sdk.protocol.messages import METHODS, MessageType
from league_sdk.transport.client import Client

LIMIT_S, CONTACT_S, OVERALL_S = 10.0, 5.0, 60.0
START_WAIT_S = 0.5
"""How long a league that starts by itself is waited for."""
ESSENTIAL = ("http.reached", "referee.accepted", "player.accepted", "query.standings")
_GOOD = (Verdict.CONFORMS, Verdict.TOLERATED)
_BROKEN = b'{"jsonrpc": "2.0", "method": "ping", "id": 1'
_QUERIES = {
    "query.standings": "GET_STANDINGS",
    "query.schedule": "GET_SCHEDULE",
    "query.next_match": "GET_NEXT_MATCH",
    "query.player_stats": "GET_PLAYER_STATS",
}


@dataclass(slots=True)
class _Agent:
    """Someone who registers."""

    kind: str
    name: str
    endpoint: str
    id: str = ""
    token: str = ""
    league_id: str = ""

    @property
    def sender(self) -> str:
        return f"{self.kind}:{self.id or self.name}"


@dataclass(slots=True)
class _Talk:
    line: Line
    verdicts: Verdicts
    exchanges: list[Exchange] = field(default_factory=list)
    conversations: list[tuple[str, Exchange]] = field(default_factory=list)

    async def say(self, kind: MessageType, who: _Agent, **fields: Any) -> Exchange:
        """A message from one of ours under its canonical method; a field that is None is left out."""
        message = envelope(kind, sender=who.sender, conversation_id=f"conv-check-{uuid.uuid4()}", now=datetime.now(UTC))
        message |= {"auth_token": who.token or None, "league_id": who.league_id or None} | fields
        message = {name: value for name, value in message.items() if value is not None}
        exchange = await self.call(METHODS[kind], message)
        self.conversations.append((message["conversation_id"], exchange))
        return exchange

    async def call(self, method: str, params: Mapping[str, Any]) -> Exchange:
        """Any request."""
        rpc_id = self.line.next_id()
        body = {"jsonrpc": "2.0", "method": method, "params": dict(params), "id": rpc_id}
        exchange = await self.line.call(body, limit_s=LIMIT_S, rpc_id=rpc_id)
        self.line.check_alive()
        self.exchanges.append(exchange)
        return exchange


async def check_manager(
    url: str,
    *,
    client: Client,
    on_clause: OnClause | None = None,
    listen: str | None = None,
    overall_s: float = OVERALL_S,
) -> Report:
    """Check a league manager.

    Args:
        url: its address.
        client: the transport.
        on_clause: told of each clause as it is decided.
        listen: this machine's address, where the agents that are registered listen; None finds it out.
        overall_s: seconds for everything.

    Returns:
        The report; ``can_play`` says whether agents can register and ask.

    Raises:
        OSError: nobody can listen there.
    """
    line = Line(url, client, memory=Memory(), overall_s=overall_s)
    talk = _Talk(line, Verdicts("manager", url, MANAGER, on_clause))
    told: list[dict[str, Any]] = []
    announced = asyncio.Event()

    async def hear(came: inbound.Inbound, body: Any) -> dict[str, Any]:
        told.append(came.message)
        if came.name == MessageType.ROUND_ANNOUNCEMENT:
            announced.set()
        return {"status": "received"}

    listener = Listener(hear)
    host = listen if listen is not None else await asyncio.to_thread(own_address, url)
    await listener.start(host)
    stopped = ""
    try:
        await _exchanges(talk, listener.endpoint)
        await _announcement(talk, told, announced)
    except Stopped as reason:
        stopped = str(reason)
    finally:
        await listener.stop()
    _decide_replies(talk)
    can_play = all(talk.verdicts.verdict_of(name) in _GOOD for name in ESSENTIAL)
    return talk.verdicts.report(can_play=can_play, stopped=stopped, summary=lambda clauses: _summary(clauses, can_play))


async def _exchanges(talk: _Talk, endpoint: str) -> None:
    await _contact(talk)
    referee, player = await _register(talk, endpoint)
    if player.token:
        await _ask(talk, player)
        await _trespass(talk, player, referee)
    await _misbehave(talk, player)


async def _contact(talk: _Talk) -> None:
    line, verdicts = talk.line, talk.verdicts
    exchange = await line.call({"jsonrpc": "2.0", "method": "ping", "id": line.next_id()}, limit_s=CONTACT_S)
    if exchange.status is None:
        verdicts.fails("http.reached", f"{exchange.failure}. Is it running, on this address and port?", exchange)
        raise Stopped("the address cannot be reached")
    verdicts.conforms("http.reached", f"HTTP {exchange.status} in {exchange.elapsed_ms} ms.", exchange)
    verdicts.conforms("tool.ping", f"HTTP {exchange.status}.", exchange)


# Registration (004 4.1, 4.2) ----------------------------------------------------------------------------------


def _meta(who: _Agent, **changes: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "display_name": who.name,
        "version": "1.0.0",
        "protocol_version": "2.1.0",
        "game_types": ["even_odd"],
        "contact_endpoint": who.endpoint,
    }
    if who.kind == "referee":
        meta["max_concurrent_matches"] = 2
    return {name: value for name, value in (meta | changes).items() if value is not None}


async def _register(talk: _Talk, endpoint: str) -> tuple[_Agent, _Agent]:
    verdicts = talk.verdicts
    mark = uuid.uuid4().hex[:6]
    referee = _Agent("referee", f"Check {mark} R", endpoint)
    await _enter(talk, referee)
    player = _Agent("player", f"Check {mark} A", endpoint)
    other = _Agent("player", f"Check {mark} B", endpoint.replace("/mcp", "/b/mcp"))
    await _enter(talk, player)
    if player.token:
        second = await _request(talk, other)
        _take(other, second)
        if other.id and other.id != player.id and other.token != player.token:
            verdicts.conforms("player.distinct", f"{player.id} and {other.id}.", second)
        else:
            verdicts.fails("player.distinct", "A second player got no id and token of its own.", second)
        again = await _request(talk, player)
        same = again.message.get("player_id")
        if again.message.get("status") == "ACCEPTED" and same == player.id:
            verdicts.conforms("player.again", f"{player.id} again.", again)
        else:
            why = f"Registering again gave {seen_text(same)} instead of {player.id}: agents that restart come back so."
            verdicts.tolerated("player.again", why, again)
    nowhere = _Agent("player", f"Check {mark} C", endpoint)
    lacking = await _request(talk, nowhere, contact_endpoint=None)
    _judge_code(talk, "register.no_address", lacking, "E003")
    old = await _request(talk, nowhere, protocol_version="1.0.0")
    _judge_code(talk, "register.old_version", old, "E018")
    return referee, player


async def _request(talk: _Talk, who: _Agent, **changes: Any) -> Exchange:
    referee = who.kind == "referee"
    kind = MessageType.REFEREE_REGISTER_REQUEST if referee else MessageType.LEAGUE_REGISTER_REQUEST
    return await talk.say(kind, who, **{f"{who.kind}_meta": _meta(who, **changes)}, sender=f"{who.kind}:{who.name}")


def _take(who: _Agent, exchange: Exchange) -> None:
    message = exchange.message
    if message.get("status") == "ACCEPTED":
        who.id = str(message.get(f"{who.kind}_id") or "")
        who.token = str(message.get("auth_token") or "")
        who.league_id = str(message.get("league_id") or "")


async def _enter(talk: _Talk, who: _Agent) -> None:
    """Register one, and decide the clauses about the answer."""
    exchange = await _request(talk, who)
    _take(who, exchange)
    verdicts, kind = talk.verdicts, who.kind
    if not who.id or not who.token:
        lacking = "without id or token" if exchange.message.get("status") == "ACCEPTED" else exchange.in_words()
        reason = exchange.message.get("reason") or lacking
        verdicts.fails(f"{kind}.accepted", f"It was not accepted: {str(reason)[:200]}.", exchange)
        return
    verdicts.conforms(f"{kind}.accepted", f"Accepted as {who.id}.", exchange)
    answer = MessageType.REFEREE_REGISTER_RESPONSE if kind == "referee" else MessageType.LEAGUE_REGISTER_RESPONSE
    _judge_schema(talk, f"{kind}.response", answer, exchange)


# Questions (004 4.9) ------------------------------------------------------------------------------------------


async def _ask(talk: _Talk, player: _Agent) -> None:
    verdicts = talk.verdicts
    params = {"player_id": player.id}
    for name, query in _QUERIES.items():
        exchange = await talk.say(MessageType.LEAGUE_QUERY, player, query_type=query, query_params=params)
        if exchange.answer.refused is not None or exchange.message.get("success") is False or not exchange.message:
            verdicts.fails(name, f"{query}: {exchange.in_words()}.", exchange)
        else:
            _judge_schema(talk, name, MessageType.LEAGUE_QUERY_RESPONSE, exchange)
    kind, conversation = MessageType.LEAGUE_QUERY, f"conv-check-{uuid.uuid4()}"
    message = envelope(kind, sender=player.sender, conversation_id=conversation, now=datetime.now(UTC))
    del message["message_type"]
    direct = await talk.call("get_standings", message | {"auth_token": player.token, "league_id": player.league_id})
    if direct.answer.refused is None and direct.message:
        verdicts.conforms("tool.get_standings", "It answered.", direct)
    else:
        verdicts.tolerated("tool.get_standings", f"{direct.in_words()}. LEAGUE_QUERY does the same.", direct)
    unknown = await talk.say(MessageType.LEAGUE_QUERY, player, query_type="GET_NOTHING")
    if unknown.answer.refused is not None or unknown.message.get("success") is False or _code(unknown):
        verdicts.conforms("query.unknown", "Refused.", unknown)
    else:
        verdicts.tolerated("query.unknown", f"GET_NOTHING was answered: {unknown.in_words()}.", unknown)


async def _trespass(talk: _Talk, player: _Agent, referee: _Agent) -> None:
    """What it has to refuse of those it does not know, or knows otherwise."""
    kind, query = MessageType.LEAGUE_QUERY, {"query_type": "GET_STANDINGS"}
    missing = await talk.say(kind, player, **query, auth_token=None)
    _judge_code(talk, "auth.missing", missing, "E011")
    wrong_token = tokens.new_token()
    wrong = await talk.say(kind, player, **query, auth_token=wrong_token)
    _judge_code(talk, "auth.wrong", wrong, "E012")
    if wrong_token in str(wrong.came):
        why = "The wrong token stands in the error; it may be a right one with a slip."
        talk.verdicts.tolerated("auth.no_echo", why, wrong)
    else:
        talk.verdicts.conforms("auth.no_echo", "It does not.", wrong)
    result = {
        "winner": player.id,
        "score": {player.id: 3},
        "details": {"drawn_number": 8, "choices": {player.id: "even"}},
    }
    fields = {"round_id": 1, "match_id": "R1M1", "game_type": "even_odd", "result": result}
    report = await talk.say(MessageType.MATCH_RESULT_REPORT, player, **fields)
    _judge_code(talk, "auth.player_report", report, "E012", "E013")
    local = await talk.say(kind, player, **query, timestamp="2025-01-15T10:30:00+02:00")
    _judge_code(talk, "message.timestamp", local, "E021")
    lacking = await talk.say(kind, player)
    _judge_code(talk, "message.missing_field", lacking, "E003")
    elsewhere = await talk.say(kind, player, **query, league_id="no_such_league")
    _judge_code(talk, "message.league", elsewhere, "E014")


async def _misbehave(talk: _Talk, player: _Agent) -> None:
    line, verdicts = talk.line, talk.verdicts
    unknown = await talk.call("no_such_method", {})
    judge_refusal(verdicts, "robust.unknown_method", unknown, METHOD_NOT_FOUND, "Say which methods there are.")
    broken = await line.call(_BROKEN, limit_s=LIMIT_S)
    judge_refusal(verdicts, "robust.broken_json", broken, PARSE_ERROR, "Its sender looks for the mistake elsewhere.")
    batch = await line.call([{"jsonrpc": "2.0", "method": "ping", "id": line.next_id()}], limit_s=LIMIT_S)
    judge_refusal(verdicts, "robust.batch", batch, None, "003 does without batches.")
    quiet = await line.call({"jsonrpc": "2.0", "method": "ping"}, limit_s=LIMIT_S)
    if quiet.status is None:
        verdicts.fails("robust.notification", f"{quiet.failure}. HTTP wants an answer, if an empty one.", quiet)
    elif quiet.status < 300 and not (quiet.readable and quiet.came):
        verdicts.conforms("robust.notification", f"HTTP {quiet.status}, empty.", quiet)
    else:
        verdicts.tolerated("robust.notification", "It answered with a body; JSON-RPC has none for it.", quiet)
    await _large(talk)
    if player.token:
        after = await talk.say(MessageType.LEAGUE_QUERY, player, query_type="GET_STANDINGS")
        if after.answer.refused is None and after.message:
            verdicts.conforms("robust.afterwards", "It answered.", after)
        else:
            verdicts.fails("robust.afterwards", f"After all that: {after.in_words()}.", after)


async def _large(talk: _Talk) -> None:
    body = {"jsonrpc": "2.0", "method": "ping", "params": {"x": "x" * MAX_BODY_BYTES}, "id": talk.line.next_id()}
    large = await talk.line.call(body, limit_s=LIMIT_S)
    if large.timed_out:
        talk.verdicts.fails("robust.large", f"{large.failure}.", large)
    elif large.status is None or large.status >= 400 or large.answer.refused is not None:
        talk.verdicts.conforms("robust.large", f"Refused: {large.in_words()}.", large)
    else:
        talk.verdicts.tolerated("robust.large", "It took it. One agent must not fill the memory of all.", large)


async def _announcement(talk: _Talk, told: list[dict[str, Any]], announced: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(START_WAIT_S):
            await announced.wait()
    except TimeoutError:
        talk.verdicts.skipped("round.announcement", f"It started no league within {START_WAIT_S:g} s, and need not.")
        return
    message = next(one for one in told if one.get("message_type") == MessageType.ROUND_ANNOUNCEMENT)
    wrong = schemas.problems(MessageType.ROUND_ANNOUNCEMENT, message)
    exchange = Exchange(None, came=message, readable=True)
    if wrong:
        why = f"{wrong[0].field} was {wrong[0].seen}, expected {wrong[0].expected} ({wrong[0].clause})."
        talk.verdicts.tolerated("round.announcement", why, exchange)
    else:
        talk.verdicts.conforms("round.announcement", "It is.", exchange)


# Judging ------------------------------------------------------------------------------------------------------


def _judge_schema(talk: _Talk, name: str, kind: MessageType, exchange: Exchange) -> None:
    wrong = schemas.problems(kind, _result(exchange))
    if not wrong:
        talk.verdicts.conforms(name, "It is as shown.", exchange)
        return
    first = wrong[0]
    seen = "missing" if first.seen == "nothing" else first.seen
    why = f"{first.field} in {kind} was {seen}, expected {first.expected} ({first.clause})."
    talk.verdicts.tolerated(name, why, exchange)


def _code(exchange: Exchange) -> str:
    """The E-code of an answer: in error.data, or of a LEAGUE_ERROR in result (004 8.10.1)."""
    found = error_code_of(exchange) or exchange.message.get("error_code")
    return found if isinstance(found, str) else ""


def _judge_code(talk: _Talk, name: str, exchange: Exchange, *codes: str) -> None:
    verdicts, found = talk.verdicts, _code(exchange)
    rejected = exchange.message.get("status") == "REJECTED" or exchange.message.get("success") is False
    if found in codes:
        verdicts.conforms(name, f"{found}.", exchange)
    elif found or rejected or exchange.answer.refused is not None or (exchange.status or 0) >= 400:
        wanted = " or ".join(codes)
        verdicts.tolerated(name, f"It was refused, but not with {wanted}: {found or exchange.in_words()}.", exchange)
    else:
        said = exchange.failure or "it was taken as if it were right"
        verdicts.fails(name, f"Expected {' or '.join(codes)}, but {said}.", exchange)


def _decide_replies(talk: _Talk) -> None:
    """What is told by all replies together."""
    verdicts = talk.verdicts
    if not talk.exchanges:
        return
    odd = next((one for one in talk.exchanges if not _is_reply(one)), None)
    if odd is None:
        verdicts.conforms("rpc.reply", f"All {len(talk.exchanges)} were.", talk.exchanges[0])
    else:
        verdicts.tolerated("rpc.reply", f"One was not: {odd.in_words()}.", odd)
    other = next((one for one in talk.exchanges if not _has_id(one)), None)
    if other is None:
        verdicts.conforms("rpc.id", f"In all {len(talk.exchanges)} replies.", talk.exchanges[0])
    else:
        verdicts.tolerated("rpc.id", "Not in this one.", other)
    lost = next((one for sent, one in talk.conversations if _conversation(one) != sent), None)
    if lost is None:
        verdicts.conforms("query.conversation", "In all answers.", talk.exchanges[0])
    else:
        verdicts.tolerated("query.conversation", f"It was {seen_text(_conversation(lost))} here.", lost)


def _result(exchange: Exchange) -> Any:
    """What stands in ``result``, untouched: a query's ``data`` is no container to be opened."""
    came = exchange.came
    return came.get("result", came) if isinstance(came, Mapping) else came


def _is_reply(exchange: Exchange) -> bool:
    came = exchange.came
    whole = isinstance(came, Mapping) and came.get("jsonrpc") == "2.0" and ("result" in came) != ("error" in came)
    return whole and exchange.status == 200


def _has_id(exchange: Exchange) -> bool:
    return isinstance(exchange.came, Mapping) and exchange.came.get("id") == exchange.rpc_id


def _conversation(exchange: Exchange) -> Any:
    refused = exchange.answer.refused
    data = refused.get("data") if isinstance(refused, Mapping) else None
    holder = data if isinstance(data, Mapping) else exchange.message
    return holder.get("conversation_id")


def _summary(clauses: Mapping[str, Clause], can_play: bool) -> str:
    failed = sum(clause.verdict is Verdict.FAILS for clause in clauses.values())
    mended = sum(clause.verdict is Verdict.TOLERATED for clause in clauses.values())
    if not can_play:
        first = next(clauses[name] for name in ESSENTIAL if clauses[name].verdict not in _GOOD)
        return f"Agents cannot use this league manager as it is: {first.why}"
    if failed or mended:
        return f"Agents can register and ask here; {failed} points failed and {mended} tolerated."
    return "Agents can register and ask here, and all that was asked of it is as the documents have it."
