"""The check of a referee: it is given matches between two scripted players, and watched from all sides."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from league_sdk.conformance.cast import LEAGUE_ID, MANAGER, A, B, Cast, Heard, Script
from league_sdk.conformance.clauses import REFEREE
from league_sdk.conformance.exchange import Exchange, Line, Stopped
from league_sdk.conformance.habits import METHOD_NOT_FOUND, PARSE_ERROR, judge_refusal
from league_sdk.conformance.listener import own_address
from league_sdk.conformance.refereeing import (
    judge_asking,
    judge_over,
    judge_report,
    judge_schema,
    shown,
    winner_of,
    wrong_result,
)  # fmt: skip
from league_sdk.conformance.report import Clause, Report, Verdict
from league_sdk.conformance.verdicts import OnClause, Verdicts
from league_sdk.dialects import shapes, starts
from league_sdk.dialects.hunt import Memory
from league_sdk.protocol import tokens
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.transport.client import Client

LIMIT_S, CONTACT_S = 10.0, 5.0
DEFAULT_OVERALL_S = 90.0
DEFAULT_REGISTER_WAIT_S = 3.0
MATCH_S = 15.0
"""How long a result is waited for."""
SILENT_MATCH_S = 25.0
"""The same with a silent player: a referee that keeps to the settings needs three seconds."""
ESSENTIAL = ("http.reached", "start.taken", "invite.both", "choose.both", "over.right", "report.sent", "report.right")
_SHORT = {"move_timeout_s": 1.0, "max_retries": 1, "retry_base_s": 0.1}
_BROKEN = b'{"jsonrpc": "2.0", "method": "ping", "id": 1'


@dataclass(slots=True)
class _Talk:
    line: Line
    verdicts: Verdicts
    cast: Cast
    way: str = ""
    round_id: int = field(default_factory=lambda: 1000 + 100 * secrets.randbelow(90))


async def check_referee(  # noqa: PLR0913 - the options of a command line
    url: str,
    *,
    client: Client,
    on_clause: OnClause | None = None,
    listen: str | None = None,
    manager_port: int = 0,
    register_wait_s: float = DEFAULT_REGISTER_WAIT_S,
    overall_s: float = DEFAULT_OVERALL_S,
    on_listening: Callable[[str], None] | None = None,
) -> Report:
    """Check a referee. Its many arguments are the options of ``league check``; all but two have a default.

    Args:
        url: its address.
        client: the transport.
        on_clause: told of each clause as it is decided.
        listen: this machine's address, where players and league manager listen; None finds it out.
        manager_port: where the league manager listens; 0 for a free port.
        register_wait_s: seconds to wait for its registration with that league manager.
        overall_s: seconds for everything after that.
        on_listening: told the league manager's address, so that the referee can be started with it.

    Returns:
        The report; ``can_play`` says whether a league can have it judge.

    Raises:
        OSError: a port cannot be had.
    """
    cast = Cast()
    host = listen if listen is not None else await asyncio.to_thread(own_address, url)
    await cast.start(host, manager_port)
    stopped = ""
    verdicts = Verdicts("referee", url, REFEREE, on_clause)
    try:
        if on_listening is not None:
            on_listening(cast.endpoint(MANAGER))
        await _registered(verdicts, cast, register_wait_s)
        talk = _Talk(Line(url, client, memory=Memory(), overall_s=overall_s), verdicts, cast)
        await _contact(talk)
        await _fair_match(talk)
        await _illegal_match(talk)
        await _silent_match(talk)
        await _misbehave(talk)
    except Stopped as reason:
        stopped = str(reason)
    finally:
        await cast.stop()
    can_play = all(verdicts.verdict_of(name) in (Verdict.CONFORMS, Verdict.TOLERATED) for name in ESSENTIAL)
    return verdicts.report(can_play=can_play, stopped=stopped, summary=lambda clauses: _summary(clauses, can_play))


async def _registered(verdicts: Verdicts, cast: Cast, wait_s: float) -> None:
    try:
        async with asyncio.timeout(wait_s):
            await cast.registered.wait()
    except TimeoutError:
        where = cast.endpoint(MANAGER)
        verdicts.skipped(
            "register.sent", f"It did not within {wait_s:g} s. Start it with {where} as its league manager."
        )
        verdicts.skipped("register.request", "There was none.")
        return
    heard = next(one for one in cast.heard if one.kind == MessageType.REFEREE_REGISTER_REQUEST)
    verdicts.conforms("register.sent", "It did.", shown(heard))
    judge_schema(verdicts, "register.request", MessageType.REFEREE_REGISTER_REQUEST, [heard])


async def _contact(talk: _Talk) -> None:
    line, verdicts = talk.line, talk.verdicts
    exchange = await line.call({"jsonrpc": "2.0", "method": "ping", "id": line.next_id()}, limit_s=CONTACT_S)
    if exchange.status is None:
        verdicts.fails("http.reached", f"{exchange.failure}. Is it running, on this address and port?", exchange)
        raise Stopped("the address cannot be reached")
    verdicts.conforms("http.reached", f"HTTP {exchange.status} in {exchange.elapsed_ms} ms.", exchange)
    verdicts.conforms("tool.ping", f"HTTP {exchange.status}.", exchange)


# Starting a match (ruling, section 10) ------------------------------------------------------------------------


def _start_message(talk: _Talk, match_id: str, rules: LeagueSettings) -> dict[str, Any]:
    """``start_match`` with everything that our referees and real ones look for."""
    cast = talk.cast
    seats: dict[str, Any] = {}
    for side, name in (("A", A), ("B", B)):
        seats[f"player_{side}"] = {
            "id": name,
            "endpoint": cast.endpoint(name),
            "dialect": shapes.CANONICAL,
            "spoken": {},
            "league_token": tokens.new_token(),
            "auth_token_sha256": [tokens.digest(cast.tokens[name])],
            "your_standings": {"wins": 0, "losses": 0, "draws": 0},
            "joined_before": False,
            "suspended": False,
        }
        seats |= {f"player_{side}_id": name, f"player_{side}_endpoint": cast.endpoint(name)}
    settings = rules.for_referee()
    flat = {name: value for name, value in settings.items() if name.endswith(("_s", "_points", "_retries"))}
    return envelope(
        START_MATCH.upper(),
        sender=LEAGUE_MANAGER,
        conversation_id=f"conv-check-{match_id.lower()}",
        now=datetime.now(UTC),
        auth_token=cast.tokens[MANAGER],
        league_id=LEAGUE_ID,
        round_id=talk.round_id,
        match_id=match_id,
        attempt=1,
        game_type="even_odd",
        **flat,
        settings=settings,
        endpoint_policy={"refused_ports": []},
        **seats,
    )


async def _start(talk: _Talk, script: Script, **rules: Any) -> tuple[str, list[Exchange]]:
    """Start a match in every way until it is taken; its id, and what was said.

    Raises:
        Stopped: it takes none.
    """
    talk.round_id += 1
    match_id = f"R{talk.round_id}M1"
    talk.cast.scripts[match_id] = script
    message = _start_message(talk, match_id, LeagueSettings(**rules))
    said = []
    for way in [talk.way] if talk.way else starts.ways(shapes.CANONICAL, {}):
        exchange = await _offer(talk, way, message)
        said.append(exchange)
        body = exchange.came if exchange.readable else None
        status, readable = exchange.status or 0, exchange.readable
        offer, _ = starts.read_reply(body, status=status, readable=readable, rpc_id=exchange.rpc_id)
        if exchange.timed_out or (exchange.status is not None and offer is starts.Offer.TAKEN):
            # Some play the whole match before they answer.
            talk.way = way
            return match_id, said
        if exchange.status is None or offer is not starts.Offer.NOT_UNDERSTOOD:
            break
    return "", said


async def _offer(talk: _Talk, way: str, message: dict[str, Any]) -> Exchange:
    rpc_id = talk.line.next_id()
    if way != starts.ANNOUNCEMENT:
        return await talk.line.call(starts.wrap(way, message, rpc_id), limit_s=LIMIT_S, rpc_id=rpc_id)
    names = ("match_id", "league_id", "round_id", "game_type", "player_A_id", "player_B_id")
    row = {name: message[name] for name in (*names, "player_A_endpoint", "player_B_endpoint")}
    kept = ("protocol", "sender", "timestamp", "conversation_id", "auth_token", "league_id", "round_id", "settings")
    announcement = {name: message[name] for name in kept} | {"matches": [row | {"referee_endpoint": talk.line.url}]}
    announcement["message_type"] = str(MessageType.ROUND_ANNOUNCEMENT)
    body = shapes.SHAPES[shapes.CANONICAL].wrap(announcement, rpc_id)
    return await talk.line.call(body, limit_s=LIMIT_S, rpc_id=rpc_id)


async def _result(talk: _Talk, match_id: str, wait_s: float) -> Heard | None:
    """The report of a match, None when none came in time."""
    try:
        async with asyncio.timeout(max(min(wait_s, talk.line.left_s()), 0)):
            await talk.cast.reported(match_id).wait()
    except TimeoutError:
        return None
    return talk.cast.of(match_id, MessageType.MATCH_RESULT_REPORT)[0]


# The matches --------------------------------------------------------------------------------------------------


async def _fair_match(talk: _Talk) -> None:
    verdicts, cast = talk.verdicts, talk.cast
    match_id, said = await _start(talk, Script.FAIR)
    if not match_id:
        why = f"In no spelling. To the last it said: {said[-1].in_words()}."
        verdicts.fails("start.taken", why, said[0])
        raise Stopped("it takes no match")
    if talk.way == f"{shapes.CANONICAL}:{START_MATCH}":
        verdicts.conforms("start.taken", "It took start_match.", said[-1])
    else:
        verdicts.tolerated(
            "start.taken", f"It takes {talk.way}; ours is start_match, and the league tries both.", said[-1]
        )
    repeated = _start_message(talk, match_id, LeagueSettings()) | {"attempt": 1}
    await _offer(talk, talk.way, repeated)
    report = await _result(talk, match_id, MATCH_S)
    judge_asking(verdicts, cast, match_id)
    judge_over(verdicts, cast, match_id)
    if report is None:
        verdicts.fails(
            "report.sent", f"No MATCH_RESULT_REPORT within {MATCH_S:g} s. Is our address its league manager's?"
        )
    else:
        verdicts.conforms("report.sent", "It did.", shown(report))
        judge_report(verdicts, cast, match_id, report)
    invited = [len(cast.of(match_id, MessageType.GAME_INVITATION, name)) for name in (A, B)]
    if invited == [1, 1]:
        verdicts.conforms("start.repeated", "One invitation to each.")
    else:
        verdicts.tolerated(
            "start.repeated", f"{invited[0]} and {invited[1]} invitations: a result counts once all the same."
        )


async def _illegal_match(talk: _Talk) -> None:
    verdicts, cast = talk.verdicts, talk.cast
    match_id, _ = await _start(talk, Script.ILLEGAL_FIRST)
    if not match_id:
        return
    report = await _result(talk, match_id, MATCH_S)
    errors = [one for one in cast.of(match_id, MessageType.GAME_ERROR, A) if one.message.get("error_code") == "E004"]
    if errors:
        verdicts.conforms("illegal.error", "It did.", shown(errors[0]))
    else:
        verdicts.tolerated("illegal.error", "PLAYER_A was not told why its choice did not count.")
    calls = cast.of(match_id, MessageType.CHOOSE_PARITY_CALL, A)
    if len(calls) > 1:
        verdicts.conforms("illegal.again", "It did.", shown(calls[1]))
    else:
        verdicts.tolerated("illegal.again", "It did not: one slip, and the match is lost.")
    over = cast.of(match_id, MessageType.GAME_OVER)
    if report is None or not over:
        verdicts.fails("illegal.result", f"No result within {MATCH_S:g} s.")
        return
    wrong = wrong_result(over[0].message.get("game_result"))
    if not wrong:
        verdicts.conforms("illegal.result", f"{winner_of(over[0])} won.", shown(over[0]))
    elif winner_of(over[0]) == B and len(calls) == 1:
        verdicts.tolerated("illegal.result", "It was lost by the slip.", shown(over[0]))
    else:
        verdicts.fails("illegal.result", wrong, shown(over[0]))


async def _silent_match(talk: _Talk) -> None:
    verdicts, cast = talk.verdicts, talk.cast
    match_id, _ = await _start(talk, Script.SILENT, **_SHORT)
    if not match_id:
        return
    report = await _result(talk, match_id, SILENT_MATCH_S)
    errors = [one for one in cast.of(match_id, MessageType.GAME_ERROR, B) if one.message.get("error_code") == "E001"]
    if errors:
        verdicts.conforms("silent.error", "It did.", shown(errors[0]))
    else:
        verdicts.tolerated("silent.error", "PLAYER_B was not told that it was too late.")
    over = cast.of(match_id, MessageType.GAME_OVER, A)
    if report is None or not over:
        why = f"No result within {SILENT_MATCH_S:g} s, though the settings allow one second and one retry."
        verdicts.skipped("silent.loss", f"{why} With limits of its own it may come to it later.")
        return
    result = over[0].message.get("game_result")
    status = result.get("status") if isinstance(result, Mapping) else None
    if status == "TECHNICAL_LOSS" and winner_of(over[0]) == A:
        verdicts.conforms("silent.loss", "It does.", shown(over[0]))
    else:
        why = (
            f"status was {seen_text(status)}, winner {seen_text(winner_of(over[0]))}; expected TECHNICAL_LOSS and {A}."
        )
        verdicts.fails("silent.loss", why, shown(over[0]))


async def _misbehave(talk: _Talk) -> None:
    line, verdicts, rpc_id = talk.line, talk.verdicts, talk.line.next_id()
    body = {"jsonrpc": "2.0", "method": "no_such_method", "params": {}, "id": rpc_id}
    unknown = await line.call(body, limit_s=LIMIT_S, rpc_id=rpc_id)
    hint = "The league goes on to the next spelling of a start after it."
    judge_refusal(verdicts, "robust.unknown_method", unknown, METHOD_NOT_FOUND, hint)
    broken = await line.call(_BROKEN, limit_s=LIMIT_S)
    judge_refusal(verdicts, "robust.broken_json", broken, PARSE_ERROR, "Its sender looks for the mistake elsewhere.")


def _summary(clauses: Mapping[str, Clause], can_play: bool) -> str:
    failed = sum(clause.verdict is Verdict.FAILS for clause in clauses.values())
    mended = sum(clause.verdict is Verdict.TOLERATED for clause in clauses.values())
    if not can_play:
        good = (Verdict.CONFORMS, Verdict.TOLERATED)
        first = next(clauses[name] for name in ESSENTIAL if clauses[name].verdict not in good)
        return f"A league cannot have this referee judge as it is: {first.title}: {first.why}"
    if failed or mended:
        return f"A league can have this referee judge; {failed} points failed and {mended} tolerated."
    return "A league can have this referee judge, and all that was asked of it is as the documents have it."
