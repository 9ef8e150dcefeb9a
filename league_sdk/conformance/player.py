"""The check of a player: every exchange of a league, outside any (004 6.2.3; 004 chapter 8 in its order)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from league_sdk.conformance import habits
from league_sdk.conformance.clauses import PLAYER
from league_sdk.conformance.exchange import Callbacks, Exchange, Line, Stopped
from league_sdk.conformance.fixtures import REFEREE_ENDPOINT, Identity, Match, Stage
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.talk import Limits, Talk
from league_sdk.conformance.verdicts import OnClause, Verdicts
from league_sdk.dialects import answers, shapes
from league_sdk.dialects.answers import Understanding
from league_sdk.dialects.hunt import Memory
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.rules.game import Game
from league_sdk.rules.registry import games
from league_sdk.transport.client import Client

DEFAULT_GAME = "even_odd"
DEFAULT_LIMITS = Limits()
NOT_HEARD = "It answers by callback: that could not be heard here."
ESSENTIAL = ("http.reached", "join.in_time", "join.accepts", "choice.in_time", "choice.legal")
"""What an agent needs to play at all."""
_READ = (
    "join.field", "choice.field", "rpc.reply", "rpc.id", "answer.message_type", "answer.protocol", "answer.timestamp",
    "answer.conversation_id", "answer.match_id", "answer.other",
)  # fmt: skip
"""Clauses about what stood in the answers, decided when the matches are over."""


async def check_player(  # noqa: PLR0913 - the options of a command line
    url: str,
    *,
    client: Client,
    game_types: Sequence[str] = (DEFAULT_GAME,),
    on_clause: OnClause | None = None,
    limits: Limits = DEFAULT_LIMITS,
    identity: Identity | None = None,
    callbacks: Callbacks | None = None,
    dialect: str = shapes.CANONICAL,
    stays: bool = False,
    farewell: bool = True,
) -> Report:
    """Run every exchange with a player and say clause by clause how it did.

    Its many arguments are the options of ``league check``, and what a site knows of an agent; most have a default.

    Args:
        url: its address.
        client: the transport; its policy decides what may be called.
        game_types: what it plays; unknown ones are passed over.
        on_clause: told of each clause as it is decided.
        limits: in seconds.
        identity: how it is registered, for an agent that is.
        callbacks: who listens for answers that come as a POST; without one they cannot be heard.
        dialect: the way of speaking to try first.
        stays: it is behind a gateway, where another path is another program.
        farewell: send LEAGUE_COMPLETED at the end; some agents go home when they get it.

    Returns the report, whatever the agent does.
    """
    game, others = _games(game_types)
    memory = Memory(dialect=dialect, stays=stays)
    line = Line(url, client, memory=memory, overall_s=limits.overall_s, callbacks=callbacks)
    stage = Stage(
        identity or Identity(),
        game,
        referee_endpoint=callbacks.endpoint if callbacks else REFEREE_ENDPOINT,
        join_s=limits.join_s,
        move_s=limits.move_s,
    )
    talk = Talk(line, stage, Verdicts("player", url, PLAYER, on_clause), limits)
    stopped = ""
    try:
        await _exchanges(talk, others, heard_by_post=callbacks is not None, farewell=farewell)
    except Stopped as reason:
        stopped = str(reason)
        _decide_read(talk)
        await talk.leave_free()
    return _report(talk.verdicts, memory, stopped)


async def _exchanges(talk: Talk, others: Sequence[Game], *, heard_by_post: bool, farewell: bool) -> None:
    stage = talk.stage
    await _contact(talk)
    first = stage.match(ROLES[0])
    # Nothing is known of its words yet: what it does not understand now is asked again later.
    announced = await talk.tell(stage.round_announcement(first), probe=True)
    await _first_match(talk, first, heard_by_post=heard_by_post)
    await _second_match(talk, stage.match(ROLES[1]), announced)
    _decide_read(talk)
    await habits.check_tools(talk, others)
    await habits.check_robustness(talk)
    if farewell:
        habits.judge_told(talk, "message.league_completed", await talk.tell(stage.league_completed()))


def _report(verdicts: Verdicts, memory: Memory, stopped: str) -> Report:
    if not stopped and verdicts.verdict_of("join.accepts") is not Verdict.CONFORMS:
        stopped = "it joined no match"
    can_play = all(verdicts.verdict_of(name) is Verdict.CONFORMS for name in ("join.accepts", "choice.legal"))
    return verdicts.report(
        can_play=can_play,
        stopped=stopped,
        summary=lambda clauses: _summary(clauses, can_play),
        dialect=memory.spoken.get(MessageType.GAME_INVITATION, ""),
        spoken=memory.spoken,
    )


def _games(game_types: Sequence[str]) -> tuple[Game, list[Game]]:
    """The game to check with, and the others the agent declares."""
    known = [games()[name] for name in dict.fromkeys(game_types) if name in games()]
    main = next((game for game in known if game.game_type == DEFAULT_GAME), None)
    main = main or (known[0] if known else games()[DEFAULT_GAME])
    return main, [game for game in known if game is not main]


async def _contact(talk: Talk) -> None:
    """The test of 004 5.12.2: does anything answer?"""
    body = {"jsonrpc": "2.0", "method": "ping", "id": talk.line.next_id()}
    exchange = await talk.line.call(body, limit_s=talk.limits.contact_s)
    if exchange.status is not None:
        talk.verdicts.conforms("http.reached", f"HTTP {exchange.status} in {exchange.elapsed_ms} ms.", exchange)
    else:
        why = f"{exchange.failure[:1].upper()}{exchange.failure[1:]}. Is the agent running, on this address and port?"
        talk.verdicts.fails("http.reached", why, exchange)
    talk.line.check_alive()


async def _first_match(talk: Talk, match: Match, *, heard_by_post: bool) -> None:
    """As PLAYER_A: joins, is invited again, chooses, is asked again, wins."""
    verdicts = talk.verdicts
    invited = await _judged_invitation(talk, match, heard_by_post)
    if invited.timed_out:
        raise Stopped("it did not answer its invitation")
    joined = talk.joined(invited)
    if joined:
        again = await talk.invite(match)
        if talk.joined(again):
            verdicts.conforms("join.repeated", "It accepted again.", again)
        else:
            why = f"It accepted first, and then: {_said(again)}. The league lets the first answer stand."
            verdicts.tolerated("join.repeated", why, again)
    chosen = await talk.choose(match)
    move = _judge_choice(talk, match, chosen, heard_by_post)
    if move is not None:
        repeated = await talk.choose(match)
        second = talk.move(repeated)
        if second == move:
            verdicts.conforms("choice.repeated", f"It chose {seen_text(move)} both times.", repeated)
        else:
            said = seen_text(second) if second is not None else _said(repeated)
            why = f"First {seen_text(move)}, then {said}. The first valid one stands: keep it until GAME_OVER."
            verdicts.tolerated("choice.repeated", why, repeated)
    habits.judge_told(talk, "message.game_over_win", await talk.end(match, "WIN", move))
    stage = talk.stage
    habits.judge_told(talk, "message.standings_update", await talk.tell(stage.standings_update(match)))
    habits.judge_told(talk, "message.round_completed", await talk.tell(stage.round_completed(match)))


async def _judged_invitation(talk: Talk, match: Match, heard_by_post: bool) -> Exchange:
    verdicts = talk.verdicts
    try:
        exchange = await talk.invite(match)
    except Stopped:
        # The third silence in a row is still one to an invitation.
        verdicts.fails("join.in_time", f"No answer to the invitation within {talk.limits.join_s:g} s.")
        raise
    _judge_json(talk, exchange)
    if exchange.timed_out:
        verdicts.fails("join.in_time", f"It did not answer within {talk.limits.join_s:g} s.", exchange)
        return exchange
    accepted = answers.accepted(exchange.message) if exchange.answered else None
    if accepted is not None:
        verdicts.conforms("join.in_time", f"In {exchange.elapsed_ms} ms.", exchange)
    if accepted:
        verdicts.conforms("join.accepts", "It accepted.", exchange)
    elif accepted is False:
        verdicts.fails(
            "join.accepts", "It refused: accept must be true for an invitation to a match of its own.", exchange
        )
    elif exchange.understanding is Understanding.RECEIPT and not heard_by_post:
        verdicts.skipped("join.in_time", NOT_HEARD)
        verdicts.skipped("join.accepts", NOT_HEARD, exchange)
    elif exchange.understanding is Understanding.RECEIPT:
        why = f"It confirmed the receipt, and within {talk.limits.join_s:g} s no GAME_JOIN_ACK came by POST."
        verdicts.fails("join.in_time", why, exchange)
    else:
        why = f"No way of asking brought accept: true. To the first it said: {_said(exchange)}."
        verdicts.fails("join.accepts", why, exchange)
    return exchange


def _judge_json(talk: Talk, exchange: Exchange) -> None:
    line = talk.line
    if line.memory.url:
        why = f"Not at the address given, but at {line.memory.url}. The league finds it; register that address."
        talk.verdicts.tolerated("http.json", why, exchange)
    elif line.ever_json:
        talk.verdicts.conforms("http.json", "JSON came.", exchange)
    elif exchange.status is not None:
        why = f"HTTP {exchange.status}, and no JSON. Does the agent take POST at this very path?"
        talk.verdicts.fails("http.json", why, exchange)


def _judge_choice(talk: Talk, match: Match, exchange: Exchange, heard_by_post: bool) -> object:
    """Decide the clauses about the first choice; the legal choice, or None."""
    verdicts, limit = talk.verdicts, talk.limits.move_s
    move = talk.move(exchange)
    if move is not None:
        verdicts.conforms("choice.in_time", f"In {exchange.elapsed_ms} ms.", exchange)
        illegal = talk.illegal(match, move)
        if not illegal:
            verdicts.conforms("choice.legal", f"It chose {seen_text(move)}.", exchange)
            return move
        verdicts.fails("choice.legal", illegal, exchange)
    elif exchange.timed_out:
        verdicts.fails("choice.in_time", f"It did not answer within {limit:g} s.", exchange)
    elif exchange.understanding is Understanding.RECEIPT and not heard_by_post:
        verdicts.skipped("choice.in_time", NOT_HEARD)
        verdicts.skipped("choice.legal", NOT_HEARD, exchange)
    elif exchange.understanding is Understanding.RECEIPT:
        why = f"It confirmed the receipt, and within {limit:g} s no choice came by POST."
        verdicts.fails("choice.in_time", why, exchange)
    else:
        name = talk.stage.game.choice_field
        why = f"No way of asking brought {name}. To the first it said: {_said(exchange)}."
        verdicts.fails("choice.legal", why, exchange)
    return None


async def _second_match(talk: Talk, match: Match, announced: Exchange) -> None:
    """As PLAYER_B, with a GAME_ERROR before its choice, and a draw."""
    verdicts, stage = talk.verdicts, talk.stage
    if not announced.answered and announced.status is not None:
        # Now that the agent's words are known.
        announced = await talk.tell(stage.round_announcement(match))
    habits.judge_told(talk, "message.round_announcement", announced)
    if verdicts.verdict_of("join.accepts") is not Verdict.CONFORMS:
        return
    invited = await talk.invite(match)
    if talk.joined(invited):
        verdicts.conforms("second.join", "It accepted.", invited)
    else:
        verdicts.fails("second.join", f"It joined its first match, but not this one: {_said(invited)}.", invited)
    error = stage.game_error(match, error_code="E001", action_required=str(stage.game.response_message), again=True)
    habits.judge_told(talk, "message.game_error", await talk.tell(error))
    chosen = await talk.choose(match)
    move = talk.move(chosen)
    illegal = talk.illegal(match, move) if move is not None else _said(chosen)
    if illegal:
        verdicts.fails("second.choice", f"No legal choice in this match: {illegal}", chosen)
    else:
        verdicts.conforms("second.choice", f"It chose {seen_text(move)}.", chosen)
    habits.judge_told(talk, "message.game_over_draw", await talk.end(match, "DRAW", move))


def _decide_read(talk: Talk) -> None:
    """Decide what is told by the answers as a whole; nothing when there was none."""
    verdicts = talk.verdicts
    if not talk.heard or verdicts.verdict_of("rpc.id") is not None:
        return
    all_of_them = f"In all {talk.heard.total()} answers."
    of_moves = talk.heard.total() - talk.heard[MessageType.GAME_JOIN_ACK]
    unheard = {"join.field": not talk.heard[MessageType.GAME_JOIN_ACK], "choice.field": not of_moves}
    for name in _READ:
        if name == "rpc.id" and talk.sample is not None and _bare(talk.sample):
            verdicts.skipped(name, "There was no JSON-RPC around its replies.", talk.sample)
        elif name in talk.odd:
            verdicts.tolerated(name, *talk.odd[name])
        elif unheard.get(name):
            verdicts.skipped(name, "There was no such answer.")
        else:
            verdicts.conforms(name, all_of_them, talk.sample)
    _decide_identity(talk)
    if talk.stage.who.league_token in talk.tokens:
        verdicts.tolerated("answer.auth_token", "It sent our own token back; its own is the one from its registration.")
    elif talk.tokens:
        verdicts.conforms("answer.auth_token", "It sent one.")
    else:
        verdicts.skipped(
            "answer.auth_token", "It sent none; this check has given it none. Registered, it must send its own."
        )
    _decide_names(talk)


def _bare(exchange: Exchange) -> bool:
    came = exchange.came
    return exchange.by_callback or (isinstance(came, Mapping) and "jsonrpc" not in came and "id" not in came)


def _decide_identity(talk: Talk) -> None:
    verdicts, right = talk.verdicts, talk.stage.who.player_id
    strange = [name for name in talk.own_ids if name != right]
    if strange:
        why = f"It called itself {seen_text(strange[0])}, and is {right}: take the id from the registration."
        verdicts.tolerated("answer.player_id", why, talk.own_ids[strange[0]])
    elif "answer.player_id" in talk.odd:
        verdicts.tolerated("answer.player_id", *talk.odd["answer.player_id"])
    else:
        verdicts.conforms("answer.player_id", f"It called itself {right}.", talk.sample)
    if "answer.sender" in talk.odd:
        verdicts.tolerated("answer.sender", *talk.odd["answer.sender"])
    elif (found := next((one for one in talk.senders if one != f"player:{right}"), None)) is not None:
        why = f"sender was {seen_text(found)}, expected player:{right}."
        verdicts.tolerated("answer.sender", why, talk.senders[found])
    else:
        verdicts.conforms("answer.sender", f"player:{right}.", talk.sample)


def _decide_names(talk: Talk) -> None:
    spoken = talk.line.memory.spoken
    other = {
        kind: shapes.SHAPES[shape].method(kind) or "no method"
        for kind, shape in spoken.items()
        if shapes.signature(shape, kind) != shapes.signature(shapes.CANONICAL, kind)
    }
    if not other:
        talk.verdicts.conforms("method.names", "All it understood was in the words of chapter 8.")
        return
    kind, method = next(iter(other.items()))
    canonical = shapes.canonical_method(kind)
    why = f"{kind} was understood as {method} ({spoken[kind]}). The league finds that; chapter 8 calls it {canonical}."
    talk.verdicts.tolerated("method.names", why)


def _said(exchange: Exchange) -> str:
    if exchange.answered and answers.accepted(exchange.message) is False:
        return "it refused"
    return exchange.in_words()


def _summary(clauses: Mapping[str, Clause], can_play: bool) -> str:
    failed = [clause for clause in clauses.values() if clause.verdict is Verdict.FAILS]
    mended = [clause for clause in clauses.values() if clause.verdict is Verdict.TOLERATED]
    if not can_play:
        if any(clauses[name].why == NOT_HEARD for name in ("join.accepts", "choice.legal")):
            return "This agent answers by callback, which could not be heard here: whether it can play is not known."
        stuck = [clauses[name] for name in ESSENTIAL if clauses[name].verdict is Verdict.FAILS]
        first = (stuck or failed or [clauses["join.accepts"]])[0]
        return f"This agent cannot play here as it is: {first.why}"
    points = [f"{_points(len(failed))} failed"] * bool(failed) + [f"{_points(len(mended))} tolerated"] * bool(mended)
    if points:
        return f"This agent can play here as it is; {' and '.join(points)}."
    return "This agent can play here, and all that was asked of it is as the documents have it."


def _points(number: int) -> str:
    return "one point" if number == 1 else f"{number} points"
