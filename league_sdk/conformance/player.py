"""The check of a player: every exchange of a league, outside any (004 6.2.3; 004 chapter 8 in its order)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from league_sdk.conformance import probes, reading
from league_sdk.conformance.clauses.player import NOT_HEARD, PLAYER
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.mcp.players import check_mcp, is_through_tools
from league_sdk.conformance.opening import opened
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.subject import DEFAULT_GAME, Subject
from league_sdk.conformance.subject_caller import Stopped
from league_sdk.conformance.talk import Talk
from league_sdk.conformance.verdicts import OnClause, Verdicts
from league_sdk.dialects import answers, shapes
from league_sdk.dialects.answers import Understanding
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.messages import ROLES, MessageType
from league_sdk.protocol.sentences import Sentence, _, say
from league_sdk.rules.game import Game
from league_sdk.rules.registry import games
from league_sdk.simulated_league import REFEREE_ENDPOINT, Identity, Match, SimulatedLeague
from league_sdk.transport.client import Caller

_READY = say(_("It has said that it is ready for its games: so it has to move, and need not answer invitations."))
_IN_PLAY = say(_("Not sent: its league is being played, and it hears of the rounds and tables of that league alone."))
_TABLES = ("message.standings_update", "message.round_completed")
_NONE_SENT = say(_("It sent none; this check has given it none. Registered, it must send its own."))
_NO_SUCH_ANSWER = say(_("There was no such answer."))
_BARE = say(_("There was no JSON-RPC around its replies."))


async def check_player(subject: Subject, client: Caller, on_clause: OnClause | None = None) -> Report:
    """Check a player; arguments as of :func:`.checking.check`."""
    game, others = _games(subject.game_types)
    verdicts, limits = Verdicts(PLAYER, subject.url, on_clause), subject.limits
    async with opened(subject, client) as (caller, posts):
        endpoint, who = posts.endpoint or REFEREE_ENDPOINT, subject.identity or Identity()
        league = SimulatedLeague(
            who, game, referee_endpoint=endpoint, join_s=limits.join_timeout_s, move_s=limits.move_timeout_s
        )
        talk = Talk(caller, league, verdicts, limits, posts)
        with verdicts.until_stopped():
            await _exchanges(talk, others, subject)
        _decide_answer_contents(talk)
        await talk.cancel_open_matches()
    why_open = None if verdicts.conforms("join.accepts") else say(_("it joined no match"))
    report = verdicts.report(why_open=why_open, memory=caller.memory)
    if talk.server is not None:
        caller.memory.learn_from(talk.server.spoken, talk.server.shared())
    return report


async def _exchanges(talk: Talk, others: Sequence[Game], subject: Subject) -> None:
    league = talk.league
    first = league.match(ROLES[0])
    announced = None if subject.in_play else await _announce(talk, first)
    await _first_match(talk, first, in_play=subject.in_play)
    await _second_match(talk, league.match(ROLES[1]), announced)
    if talk.verdicts.conforms("join.accepts"):
        await _repeated_match(talk, league.match(ROLES[0]))
    _decide_answer_contents(talk)
    talk.server = await check_mcp(talk)
    await probes.check_tools(talk, others)
    await probes.check_robustness(talk)
    if subject.in_play:
        talk.verdicts.skip("message.league_completed", _IN_PLAY)
    elif subject.send_league_completed:
        talk.verdicts.judge("message.league_completed", await talk.tell(league.league_completed()))


async def _announce(talk: Talk, match: Match) -> Exchange:
    """Announce the round of the first match: the first that is sent to the agent."""
    # Its dialect is not known yet; if it does not understand this, it is sent again later.
    announcement, limit_s = talk.league.round_announcement(match), talk.limits.generic_timeout_s
    announced = await talk.caller.ask(announcement, limit_s=limit_s, patient=False, probe=True)
    # Only a silent agent is pinged here: a ping before the match might change its answers in it.
    is_silent = announced.status is None
    reached = await probes.ping(talk.caller, limit_s=min(probes.CONTACT_TIMEOUT_S, limit_s)) if is_silent else announced
    talk.verdicts.judge("http.reached", reached)
    talk.caller.check_alive()
    return announced


def _games(game_types: Sequence[str]) -> tuple[Game, list[Game]]:
    """The game to check with, and the others that the agent declares."""
    known = [games()[name] for name in dict.fromkeys(game_types) if name in games()]
    main = next((game for game in known if game.game_type == DEFAULT_GAME), None)
    main = main or (known[0] if known else games()[DEFAULT_GAME])
    return main, [game for game in known if game is not main]


async def _first_match(talk: Talk, match: Match, *, in_play: bool) -> None:
    """Have the agent play as PLAYER_A: it wins."""
    verdicts, league = talk.verdicts, talk.league
    invited = await _invite(talk, match)
    if invited.timed_out:
        raise Stopped(say(_("it did not answer its invitation")))
    # A league does not ask a player for a choice that has not joined. It is asked here, and not waited for as long, so
    # that the report says what it would have answered.
    limit_s = (
        talk.limits.move_timeout_s
        if talk.has_joined(invited)
        else min(talk.limits.join_timeout_s, talk.limits.move_timeout_s)
    )
    chosen = await talk.choose(match, limit_s=limit_s, judged_first=True)
    move, illegal = talk.move(chosen), talk.why_illegal(match, chosen)
    talk.cannot_play = talk.cannot_play or bool(illegal)
    _judge_answer(
        talk, "choice", chosen, is_answered=move is not None, good=not illegal, limit_s=limit_s,
        move=seen_text(move), illegal=illegal,
    )  # fmt: skip
    talk.caller.check_alive()
    legal = None if illegal else move
    verdicts.judge("message.game_over_win", await talk.end(match, "WIN", legal))
    if in_play:
        for clause in _TABLES:
            verdicts.skip(clause, _IN_PLAY)
        return
    verdicts.judge("message.standings_update", await talk.tell(league.standings_update(match)))
    verdicts.judge("message.round_completed", await talk.tell(league.round_completed(match)))


async def _invite(talk: Talk, match: Match) -> Exchange:
    verdicts, limit_s = talk.verdicts, talk.limits.join_timeout_s
    exchange = await talk.invite(match, judged_first=True)
    if "http.reached" not in verdicts:
        verdicts.judge("http.reached", exchange)
    if talk.caller.memory.url:
        why = _("Not at the address given, but at {url}. The league finds it; register that address.")
        verdicts.record("http.json", Verdict.TOLERATED, say(why, url=talk.caller.memory.url), exchange)
    elif talk.caller.ever_json or exchange.status is not None:
        verdicts.decide("http.json", talk.caller.ever_json, exchange)
    accepted = answers.accepted(exchange.message) if exchange.answered else None
    talk.cannot_play = not accepted
    if exchange.said_ready:
        verdicts.decide("join.in_time", True, exchange)
        verdicts.record("join.accepts", Verdict.CONFORMS, _READY, exchange)
    else:
        _judge_answer(talk, "join", exchange, is_answered=accepted is not None, good=accepted, limit_s=limit_s)
    talk.caller.check_alive()
    return exchange


_ASKED: Mapping[str, tuple[str, str, Sentence]] = {
    "join": ("join.in_time", "join.accepts", say("GAME_JOIN_ACK")),
    "choice": ("choice.in_time", "choice.legal", say(_("choice"))),
}
"""For each kind of request: the clause about its time, the clause about its content, and the name of the answer."""


def _judge_answer(
    talk: Talk, question: str, exchange: Exchange, *, is_answered: bool, good: object, limit_s: float, **facts: Any
) -> None:
    """Decide whether the agent answered in time, and whether the answer is right.

    Args:
        question: a key of :data:`_ASKED`.
        is_answered: whether there is an answer.
        good: whether it is right.
        facts: values of the placeholders in the clauses' texts.
    """
    verdicts, (in_time, right, name) = talk.verdicts, _ASKED[question]
    if is_answered:
        verdicts.decide(in_time, True, exchange)
        verdicts.decide(right, good, exchange, **facts)
    elif exchange.timed_out and exchange.way:
        verdicts.record(in_time, Verdict.FAILS, say("{failure}.", failure=exchange.failure), exchange)
    elif exchange.timed_out:
        verdicts.decide(in_time, False, exchange, limit=f"{limit_s:g}")
    elif exchange.failure and exchange.understanding is None:
        why = say(_("It could not be asked: {failure}."), failure=exchange.failure)
        verdicts.record(right, Verdict.FAILS, why, exchange)
    elif exchange.understanding is not Understanding.RECEIPT:
        field = "accept: true" if question == "join" else talk.league.game.choice_field
        text = _("No way of asking brought {field}. To the first it said: {said}.")
        why = say(text, field=field, said=exchange.in_words())
        verdicts.record(right, Verdict.FAILS, why, exchange)
    elif talk.caller.hears_posts:
        text = _("It confirmed the receipt, and within {limit} s no {name} came by POST.")
        why = say(text, limit=f"{limit_s:g}", name=name)
        if talk.posts.refused:
            text = _("{silent} A POST of its own was refused: {refused}")
            why = say(text, silent=why, refused=talk.posts.refused)
        verdicts.record(in_time, Verdict.FAILS, why, exchange)
    else:
        verdicts.skip(in_time, say(NOT_HEARD))
        verdicts.skip(right, say(NOT_HEARD), exchange)


async def _second_match(talk: Talk, match: Match, announced: Exchange | None) -> None:
    """Have the agent play as PLAYER_B: the match is a draw."""
    verdicts, league = talk.verdicts, talk.league
    if announced is not None and not announced.answered and announced.status is not None:
        # Now the agent's dialect is known.
        announced = await talk.tell(league.round_announcement(match))
    if announced is None:
        verdicts.skip("message.round_announcement", _IN_PLAY)
    else:
        verdicts.judge("message.round_announcement", announced)
    if not verdicts.conforms("join.accepts"):
        return
    invited = await talk.invite(match)
    verdicts.decide("second.join", talk.has_joined(invited), invited)
    chosen = await talk.choose(match)
    move, illegal = talk.move(chosen), talk.why_illegal(match, chosen)
    verdicts.decide("second.choice", not illegal, chosen, move=seen_text(move), illegal=illegal)
    verdicts.judge("message.game_over_draw", await talk.end(match, "DRAW", move))


async def _repeated_match(talk: Talk, match: Match) -> None:
    """Send the invitation and the call for a choice twice, and a GAME_ERROR, in a match of their own."""
    verdicts = talk.verdicts
    invited = await talk.invite(match, once=True)
    if not talk.has_joined(invited):
        return
    again = await talk.invite(match, once=True)
    verdicts.decide("join.repeated", talk.has_joined(again), again)
    chosen = await talk.choose(match, once=True)
    verdicts.judge("message.game_error", await talk.tell(talk.league.game_error(match)))
    if not talk.why_illegal(match, chosen):
        move, repeated = talk.move(chosen), await talk.choose(match, once=True)
        second = talk.move(repeated)
        second_answer = repeated.in_words() if second is None else seen_text(second)
        verdicts.decide("choice.repeated", second == move, repeated, move=seen_text(move), second=second_answer)
    await talk.end(match)


def _decide_answer_contents(talk: Talk) -> None:
    """Decide the clauses about the contents of all answers, once; without answers they stay open."""
    verdicts, answers_read = talk.verdicts, talk.answer_counts.total()
    if talk.first_answer is None or "rpc.id" in verdicts:
        return
    joins = talk.answer_counts[MessageType.GAME_JOIN_ACK]
    bare = _is_bare(talk.first_answer)
    reasons = (
        ("join.field", joins == 0, _NO_SUCH_ANSWER),
        ("choice.field", joins == answers_read, _NO_SUCH_ANSWER),
        ("answer.auth_token", not talk.sent_token, _NONE_SENT),
        ("rpc.id", bare, _BARE),
    )
    missing = {name: why for name, is_missing, why in reasons if is_missing}
    if bare:
        talk.deviations.pop("rpc.id", None)
    for name in reading.CLAUSES:
        if name in talk.deviations:
            sentence, exchange = talk.deviations[name]
            verdicts.record(name, Verdict.TOLERATED, sentence, exchange)
        elif name in missing:
            verdicts.skip(name, missing[name], talk.first_answer)
        else:
            verdicts.decide(name, True, talk.first_answer, answers=answers_read, id=talk.league.who.player_id)
    _decide_method_names(talk)


def _is_bare(exchange: Exchange) -> bool:
    """Whether the answer came without JSON-RPC around it."""
    body = exchange.response_body
    return exchange.by_callback or (isinstance(body, Mapping) and "jsonrpc" not in body and "id" not in body)


def _decide_method_names(talk: Talk) -> None:
    facts: dict[str, Any] = {}
    # A server of MCP is called through its tools, whatever they are called.
    serves_mcp = talk.first_answer is not None and talk.first_answer.tool_result is not None
    for kind, shape in talk.caller.memory.spoken.items():
        if serves_mcp and is_through_tools(shape, kind):
            continue
        if shapes.signature(shape, kind) != shapes.signature(shapes.CANONICAL, kind):
            method = shapes.SHAPES[shape].method(kind) or say(_("no method"))
            facts = {"kind": kind, "method": method, "shape": shape, "canonical": shapes.canonical_method(kind)}
            break
    if serves_mcp and not facts:
        talk.verdicts.record("method.names", Verdict.CONFORMS, say(_("Its tools were called by their names.")))
    else:
        talk.verdicts.decide("method.names", not facts, **facts)
