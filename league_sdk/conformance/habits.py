"""The rest of the check of a player: messages that ask for nothing, other tools, and what nobody expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.raw import PAUSE_S, PIECES, RawFailed, post_slowly
from league_sdk.conformance.report import Verdict
from league_sdk.conformance.talk import Talk
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects import answers
from league_sdk.dialects.answers import Understanding, read_answer, understanding
from league_sdk.dialects.hunt import Hunt
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import NotJson, seen_text
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.rules.game import Game
from league_sdk.transport.client import answer_in_stream

METHOD_NOT_FOUND, PARSE_ERROR = -32601, -32700
_AUTH_CODES = ("E011", "E012")
_BROKEN = b'{"jsonrpc": "2.0", "method": "ping", "id": 1'


def judge_told(talk: Talk, name: str, exchange: Exchange) -> None:
    """Decide a clause about a message that asks for nothing: any answer does no harm, silence does."""
    verdicts = talk.verdicts
    if exchange.answered:
        verdicts.conforms(name, f"Answered in {exchange.elapsed_ms} ms.", exchange)
    elif exchange.status is not None or exchange.understanding is Understanding.NOT_UNDERSTOOD:
        why = f"It said: {exchange.in_words()}. The league does not mind; an agent that ignores it misses something."
        verdicts.tolerated(name, why, exchange)
    else:
        verdicts.fails(
            name, f"{exchange.failure[:1].upper()}{exchange.failure[1:]}. Answer anything, at once.", exchange
        )


async def check_tools(talk: Talk, others: Sequence[Game]) -> None:
    """ping, get_player_state, and the generic move (004 5.12.2, 8.11.2, 3.8.2)."""
    line, verdicts = talk.line, talk.verdicts
    exchange = await line.call({"jsonrpc": "2.0", "method": "ping", "id": line.next_id()}, limit_s=talk.limits.other_s)
    if exchange.status is None:
        verdicts.fails("tool.ping", exchange.failure, exchange)
    else:
        verdicts.conforms("tool.ping", f"HTTP {exchange.status} in {exchange.elapsed_ms} ms.", exchange)
    line.check_alive()
    await _check_state(talk)
    await _check_generic_move(talk, others)


async def _check_state(talk: Talk) -> None:
    line, verdicts, name = talk.line, talk.verdicts, "tool.get_player_state"
    rpc_id = line.next_id()
    who = talk.stage.who
    params = {"player_id": who.player_id, "auth_token": who.league_token}
    exchange = await line.call(rpc.call("get_player_state", params, rpc_id), limit_s=talk.limits.other_s, rpc_id=rpc_id)
    if exchange.status is None:
        verdicts.tolerated(name, f"{exchange.failure}. Answer what you do not know with an error.", exchange)
    elif error_code_of(exchange) in _AUTH_CODES:
        verdicts.conforms(name, "It wants a token for it.", exchange)
    elif _understood(exchange):
        verdicts.conforms(name, "It answered.", exchange)
    else:
        verdicts.skipped(name, "It has none, and need not.", exchange)
    line.check_alive()


def error_code_of(exchange: Exchange) -> object:
    """``error.data.error_code``, or None."""
    refused = exchange.answer.refused
    data = refused.get("data") if isinstance(refused, Mapping) else None
    return data.get("error_code") if isinstance(data, Mapping) else None


def _understood(exchange: Exchange) -> bool:
    status = exchange.status or 0
    told = understanding(exchange.answer, status=status, readable=exchange.readable, message_type="")
    return told is Understanding.ANSWERED and bool(exchange.message)


async def _check_generic_move(talk: Talk, others: Sequence[Game]) -> None:
    """With a game the agent declares; else as a probe, which costs nothing."""
    verdicts, name, ours = talk.verdicts, "tool.make_move", talk.stage
    if ours.game.call_message == MessageType.GAME_MOVE_CALL and not others:
        verdicts.conforms(name, f"It played {ours.game.game_type} with it.")
        return
    if verdicts.verdict_of("join.accepts") is not Verdict.CONFORMS:
        return
    talk.stage = ours.of(others[0]) if others else ours
    match = talk.stage.match(ROLES[0])
    invited = await talk.invite(match)
    # Of an agent that has not declared it, it is asked once, and not in every way.
    exchange = await talk.choose(match, generic=True, patient=bool(others))
    move = talk.move(exchange)
    illegal = talk.illegal(match, move) if move is not None else ""
    if move is not None and not illegal:
        verdicts.conforms(name, f"It chose {seen_text(move)} in {talk.stage.game.game_type}.", exchange)
    elif others:
        said = illegal or (exchange.in_words() if talk.joined(invited) else "it did not join the match")
        verdicts.fails(name, f"It declares {talk.stage.game.game_type}, and made no legal move in it: {said}", exchange)
    elif illegal:
        verdicts.tolerated(name, f"{illegal} It matters only to games that are played with GAME_MOVE_CALL.", exchange)
    else:
        verdicts.skipped(name, "It does not know it, and plays no game that needs it.", exchange)
    await talk.end(match)
    talk.stage = ours


async def check_robustness(talk: Talk) -> None:
    """What an agent meets that it did not expect (004 6.3.3)."""
    if talk.verdicts.verdict_of("join.accepts") is Verdict.CONFORMS:
        await _check_extra_fields(talk)
        await _check_slow_body(talk)
        await _check_wrong_messages(talk)
    await _check_wrong_bodies(talk)
    await _check_afterwards(talk)


async def _check_extra_fields(talk: Talk) -> None:
    match = talk.stage.match(ROLES[0])
    strange = {"x_unknown": {"list": [1, None, {"deep": True}], "text": "שלום"}, "x_number": 2.5}
    message = talk.stage.invitation(match, **strange)
    exchange = await talk.line.ask(message, limit_s=talk.limits.join_s, patient=False, probe=True)
    if talk.joined(exchange):
        talk.verdicts.conforms("robust.extra_fields", "It accepted.", exchange)
    else:
        said = "it refused" if exchange.answered else exchange.in_words()
        why = f"With unknown fields in the invitation: {said}. Read the fields you need and pass over the others."
        talk.verdicts.fails("robust.extra_fields", why, exchange)
    talk.line.check_alive()
    judge_told(talk, "message.game_over_technical_loss", await talk.end(match, "TECHNICAL_LOSS"))


async def _check_slow_body(talk: Talk) -> None:
    verdicts, line, match = talk.verdicts, talk.line, talk.stage.match(ROLES[1])
    message = talk.stage.invitation(match)
    proposal = Hunt(message, url=line.url, memory=line.memory, patient=False).propose(line.next_id())
    if proposal is not None and line.left_s() > 0:
        limit = min(talk.limits.join_s + PIECES * PAUSE_S, line.left_s())
        sent, name = proposal.body, "robust.slow_body"
        try:
            held = line.memory.session
            more = held.headers() if held is not None else None
            reply = await post_slowly(line.at, rpc.dumps(sent), policy=line.client.policy, limit_s=limit, headers=more)
        except RawFailed as error:
            why = f"{error}. Read Content-Length bytes before you answer."
            verdicts.fails(name, why, Exchange(sent, proposal.shape, failure=str(error)))
        else:
            kind = reply.content_type.partition(";")[0].strip().lower()
            streamed = kind == "text/event-stream"
            body, readable = _decoded(answer_in_stream(reply.body) if streamed else reply.body)
            answer = read_answer(body if readable else None, rpc_id=proposal.rpc_id)
            exchange = Exchange(sent, proposal.shape, reply.status, body, answer, readable=readable)
            if readable and (answers.accepted(answer.message) or line.answers_by_post):
                verdicts.conforms(name, "It answered.", exchange)
            else:
                why = f"It said: {exchange.in_words()}. Read Content-Length bytes before you answer."
                verdicts.fails(name, why, exchange)
            if kind == "application/json":
                verdicts.conforms("http.content_type", "application/json.")
            else:
                verdicts.tolerated("http.content_type", f"Content-Type was {seen_text(reply.content_type)}.", exchange)
    judge_told(talk, "message.game_over_cancelled", await talk.end(match))


def _decoded(raw: bytes) -> tuple[Any, bool]:
    try:
        return rpc.loads(raw), True
    except NotJson as error:
        return f"(no JSON) {error.message}", False


async def _check_wrong_messages(talk: Talk) -> None:
    match = talk.stage.match(ROLES[0])
    invitation, over = talk.stage.invitation(match), talk.stage.game_over(match, "CANCELLED")
    hint = "What is unusable has to be said, or the sender never learns of it."
    wrong = {"match_id": ["R1M1"], "round_id": "one", "opponent_id": 7, "context": 1}
    spoilt: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "robust.missing_field": lambda message: {name: item for name, item in message.items() if name != "match_id"},
        "robust.wrong_type": lambda message: message | {name: wrong[name] for name in wrong if name in message},
    }
    for clause, spoil in spoilt.items():
        exchange = await talk.line.ask(spoil(invitation), limit_s=talk.limits.join_s, patient=False, probe=True)
        judge_refusal(talk.verdicts, clause, exchange, None, hint)
        talk.line.check_alive()
        # Who took it for a match is in that one until it is over, and may be able to play a single one at a time.
        await talk.line.ask(spoil(over), limit_s=talk.limits.game_over_s, patient=False, probe=True)
        talk.line.check_alive()
    await talk.end(match)


async def _check_wrong_bodies(talk: Talk) -> None:
    line, limit = talk.line, talk.limits.other_s
    rpc_id = line.next_id()
    unknown = await line.call(rpc.call("no_such_method", {}, rpc_id), limit_s=limit, rpc_id=rpc_id)
    why = "The league goes on to the next way of speaking after an error -32601; other answers cost it time."
    judge_refusal(talk.verdicts, "robust.unknown_method", unknown, METHOD_NOT_FOUND, why)
    broken = await line.call(_BROKEN, limit_s=limit)
    judge_refusal(talk.verdicts, "robust.broken_json", broken, PARSE_ERROR, "The league never sends such; others may.")
    one = {"jsonrpc": "2.0", "method": "ping", "id": line.next_id()}
    batch = await line.call([one], limit_s=limit)
    judge_refusal(talk.verdicts, "robust.batch", batch, None, "The league never sends batches.")
    quiet = await line.call({"jsonrpc": "2.0", "method": "ping"}, limit_s=limit)
    if quiet.status is None:
        talk.verdicts.fails("robust.notification", f"{quiet.failure}. HTTP wants an answer, if an empty one.", quiet)
    elif quiet.status < 300 and not (quiet.readable and quiet.came):
        talk.verdicts.conforms("robust.notification", f"HTTP {quiet.status}, empty.", quiet)
    else:
        why = "It answered with a body; JSON-RPC has none for a request without id. The league sends none."
        talk.verdicts.tolerated("robust.notification", why, quiet)
    line.check_alive()


def judge_refusal(verdicts: Verdicts, name: str, exchange: Exchange, code: int | None, hint: str) -> None:
    """A JSON-RPC error (of that code) conforms; any other answer does no harm; none at all does."""
    refused = exchange.answer.refused
    given = refused.get("code") if isinstance(refused, Mapping) else None
    if exchange.status is None:
        why = f"{exchange.failure[:1].upper()}{exchange.failure[1:]}. An agent has to answer, with an error if need be."
        verdicts.fails(name, why, exchange)
    elif isinstance(given, int) and not isinstance(given, bool) and code in (None, given):
        verdicts.conforms(name, f"Error {given}.", exchange)
    else:
        wanted = f"error {code}" if code is not None else "a JSON-RPC error"
        said = "it was accepted" if exchange.answered else exchange.in_words()
        verdicts.tolerated(name, f"Expected {wanted}, but: {said}. {hint}", exchange)


async def _check_afterwards(talk: Talk) -> None:
    if any(talk.verdicts.verdict_of(name) is not Verdict.CONFORMS for name in ("join.accepts", "choice.legal")):
        return
    match = talk.stage.match(ROLES[1])
    exchange = await talk.invite(match)
    joined = talk.joined(exchange)
    if joined:
        exchange = await talk.choose(match)
    move = talk.move(exchange)
    if joined and move is not None and not talk.illegal(match, move):
        talk.verdicts.conforms("robust.afterwards", f"It joined and chose {seen_text(move)}.", exchange)
    else:
        why = f"After the unusable requests it does not play on: {exchange.in_words()}."
        talk.verdicts.fails("robust.afterwards", why, exchange)
    await talk.end(match)
