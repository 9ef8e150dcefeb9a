"""What the check tries besides matches: ping and tools, malformed bodies, and for players messages that are unusual or
cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.report import Verdict
from league_sdk.conformance.subject_caller import PIECE_PAUSE_S, PIECES, UNREACHABLE, Stopped, SubjectCaller
from league_sdk.conformance.talk import Talk
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects.answers import Understanding, understanding
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.sentences import _, say
from league_sdk.rules.game import Game

CONTACT_TIMEOUT_S, REQUEST_TIMEOUT_S = 5.0, 10.0
UNDECLARED_MOVE_S = 5.0
"""How long to wait for a move in a game that the agent did not declare: some agents confirm whatever they get, and then
send nothing."""
_AUTH_CODES = ("E011", "E012")
_PING = {"jsonrpc": "2.0", "method": "ping"}
_BROKEN = b'{"jsonrpc": "2.0", "method": "ping", "id": 1'


async def ping(caller: SubjectCaller, *, limit_s: float = CONTACT_TIMEOUT_S) -> Exchange:
    """Call the method ping, without params (004 5.12.2)."""
    return await caller.call({**_PING, "id": caller.next_id()}, limit_s=limit_s)


async def check_contact(caller: SubjectCaller, verdicts: Verdicts) -> None:
    """Check that a league manager or a referee answers at all.

    Raises:
        Stopped: nothing answers.
    """
    contact = await ping(caller)
    verdicts.judge("http.reached", contact)
    if contact.status is None:
        raise Stopped(say(UNREACHABLE))
    verdicts.judge("tool.ping", contact)


async def check_tools(talk: Talk, others: Sequence[Game]) -> None:
    """Check ping, get_player_state and the generic move (004 5.12.2, 8.11.2, 3.8.2)."""
    talk.verdicts.judge("tool.ping", await ping(talk.caller, limit_s=talk.limits.generic_timeout_s))
    talk.caller.check_alive()
    await _check_state(talk)
    await _check_generic_move(talk, others)


async def _check_state(talk: Talk) -> None:
    caller, verdicts, name, who = talk.caller, talk.verdicts, "tool.get_player_state", talk.league.who
    params = {"player_id": who.player_id, "auth_token": who.league_token}
    exchange = await caller.call(
        rpc.call("get_player_state", params, caller.next_id()), limit_s=talk.limits.generic_timeout_s
    )
    if exchange.error_data.get("error_code") in _AUTH_CODES:
        verdicts.record(name, Verdict.CONFORMS, say(_("It wants a token for it.")), exchange)
    elif exchange.status is None or _is_understood(exchange, exchange.status):
        verdicts.decide(name, exchange.status is not None, exchange)
    else:
        verdicts.skip(name, say(_("It has none, and need not.")), exchange)
    caller.check_alive()


def _is_understood(exchange: Exchange, status: int) -> bool:
    understood = understanding(exchange.answer, status=status, readable=exchange.readable, message_type="")
    return understood is Understanding.ANSWERED and bool(exchange.message)


async def _check_generic_move(talk: Talk, others: Sequence[Game]) -> None:
    """Check the generic move with a game that the agent declares; without one, a failure costs it nothing."""
    verdicts, name, league = talk.verdicts, "tool.make_move", talk.league
    if not verdicts.conforms("join.accepts"):
        return
    if league.game.call_message == MessageType.GAME_MOVE_CALL and not others:
        _decide_by_first_match(talk, name)
        return
    talk.league = league.of(others[0]) if others else league
    match, game_type = talk.league.match(ROLES[0]), talk.league.game.game_type
    invited = await talk.invite(match)
    # An agent that has not declared such a game is asked in its likeliest dialect only, and not waited for as long.
    limit_s = talk.limits.move_timeout_s if others else min(talk.limits.move_timeout_s, UNDECLARED_MOVE_S)
    exchange = await talk.choose(match, generic=True, patient=bool(others), once=not others, limit_s=limit_s)
    move, illegal = talk.move(exchange), talk.why_illegal(match, exchange)
    if others or not illegal:
        if move is None and not talk.has_joined(invited):
            illegal = say(_("it did not join the match"))
        verdicts.decide(name, not illegal, exchange, move=seen_text(move), game=game_type, illegal=illegal)
    elif move is not None:
        why = say(_("{illegal} It matters only to games that are played with GAME_MOVE_CALL."), illegal=illegal)
        verdicts.record(name, Verdict.TOLERATED, why, exchange)
    else:
        verdicts.skip(name, say(_("It does not know it, and plays no game that needs it.")), exchange)
    await talk.end(match)
    talk.league = league


def _decide_by_first_match(talk: Talk, name: str) -> None:
    """Decide the clause about the generic move by the choice in the first match, which was asked for with it."""
    verdicts, game_type = talk.verdicts, talk.league.game.game_type
    # Without an answer only the clause about the time is decided.
    choice = next(verdicts[clause] for clause in ("choice.legal", "choice.in_time") if clause in verdicts)
    if choice.verdict is Verdict.CONFORMS:
        verdicts.record(name, Verdict.CONFORMS, say(_("It played {game} with it."), game=game_type))
    elif choice.verdict is Verdict.FAILS:
        verdicts.decide(name, False, game=game_type, illegal=choice.why_words)
    else:
        verdicts.skip(name, choice.why_words or say(choice.why))


async def check_robustness(talk: Talk) -> None:
    """Check how a player takes what it does not expect (004 6.3.3)."""
    if talk.verdicts.conforms("join.accepts"):
        await _check_extra_fields(talk)
        await _check_slow_body(talk)
        await _check_wrong_messages(talk)
    await check_wrong_bodies(talk.caller, talk.verdicts, *WRONG_BODIES, limit_s=talk.limits.generic_timeout_s)
    talk.caller.check_alive()
    if talk.verdicts.conforms("join.accepts", "choice.legal"):
        await _check_afterwards(talk)


async def _check_extra_fields(talk: Talk) -> None:
    """Check that a player joins although the invitation has fields that the documents do not name."""
    match = talk.league.match(ROLES[0])
    strange = {"x_unknown": {"list": [1, None, {"deep": True}], "text": "שלום"}, "x_number": 2.5}
    exchange = await talk.invite(match, more=strange, once=True, patient=False, probe=True)
    talk.verdicts.decide("robust.extra_fields", talk.has_joined(exchange), exchange)
    talk.caller.check_alive()
    talk.verdicts.judge("message.game_over_technical_loss", await talk.end(match, "TECHNICAL_LOSS"))


async def _check_slow_body(talk: Talk) -> None:
    """Check that a player waits for an invitation whose body arrives in pieces, with pauses in between."""
    if talk.caller.dials_out:
        for name in ("robust.slow_body", "http.content_type"):
            talk.verdicts.skip(name, say(WHOLE_ONLY))
        return
    match, limit_s = talk.league.match(ROLES[1]), talk.limits.join_timeout_s + PIECES * PIECE_PAUSE_S
    exchange = await talk.invite(match, limit_s=limit_s, once=True, patient=False, probe=True, slowly=True)
    talk.verdicts.decide("robust.slow_body", talk.has_joined(exchange), exchange)
    if exchange.status is not None:
        kind = exchange.content_type.partition(";")[0].strip().lower()
        shown = seen_text(exchange.content_type)
        # MCP lets a server answer the call of a tool with a stream of events.
        right = kind == "application/json" or (exchange.tool_result is not None and kind == "text/event-stream")
        talk.verdicts.decide("http.content_type", right, exchange, type=shown)
    talk.verdicts.judge("message.game_over_cancelled", await talk.end(match))


async def _check_wrong_messages(talk: Talk) -> None:
    """Send invitations that lack a field or have fields of a wrong type, and judge the player's answers."""
    match = talk.league.match(ROLES[0])
    invitation, over = talk.league.invitation(match), talk.league.game_over(match, "CANCELLED")
    wrong = {"match_id": ["R1M1"], "round_id": "one", "opponent_id": 7, "context": 1}
    spoilt: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "robust.missing_field": lambda message: {name: item for name, item in message.items() if name != "match_id"},
        "robust.wrong_type": lambda message: message | {name: wrong[name] for name in wrong if name in message},
    }
    for clause, spoil in spoilt.items():
        exchange = await talk.caller.ask(
            spoil(invitation), limit_s=talk.limits.join_timeout_s, patient=False, probe=True
        )
        talk.verdicts.judge(clause, exchange)
        talk.caller.check_alive()
        # A player may have joined this match and may play one match at a time: end the match as well.
        await talk.tell(spoil(over), probe=True)
    await talk.end(match)


WRONG_BODIES: Mapping[str, Callable[[SubjectCaller], Any]] = {
    "robust.unknown_method": lambda caller: rpc.call("no_such_method", {}, caller.next_id()),
    "robust.broken_json": lambda caller: _BROKEN,
    "robust.batch": lambda caller: [{**_PING, "id": caller.next_id()}],
    "robust.notification": lambda caller: _PING,
}
"""Makes the body that is sent for each clause; a notification is a call without an id."""
HTTP_ONLY = frozenset({"robust.broken_json", "robust.batch", "robust.notification"})
"""Clauses whose body is no JSON-RPC request, so that it cannot be put into the inbox of an agent that dials out."""
WHOLE_ONLY = _(
    "This agent fetches its messages from the league: it gets only whole JSON-RPC requests, so this cannot be tested."
)
_EARLIER_WHOLE_ONLY = _("A line of its own brings it whole JSON-RPC requests only, and no HTTP.")
"""The sentence that earlier versions stored in place of WHOLE_ONLY."""


async def check_wrong_bodies(
    caller: SubjectCaller, verdicts: Verdicts, *names: str, limit_s: float = REQUEST_TIMEOUT_S
) -> dict[str, Exchange]:
    """Send bodies of :data:`WRONG_BODIES` and judge the answers; returns the exchanges by clause."""
    exchanges = {}
    for name in names:
        if caller.dials_out and name in HTTP_ONLY:
            verdicts.skip(name, say(WHOLE_ONLY))
            continue
        exchanges[name] = await caller.call(WRONG_BODIES[name](caller), limit_s=limit_s)
        verdicts.judge(name, exchanges[name])
    return exchanges


async def _check_afterwards(talk: Talk) -> None:
    """Check that a player still joins a match and makes a legal choice after all that was wrong."""
    match = talk.league.match(ROLES[1])
    exchange = await talk.invite(match)
    joined = talk.has_joined(exchange)
    if joined:
        exchange = await talk.choose(match)
    still_plays = joined and not talk.why_illegal(match, exchange)
    talk.verdicts.decide("robust.afterwards", still_plays, exchange, move=seen_text(talk.move(exchange)))
    await talk.end(match)
