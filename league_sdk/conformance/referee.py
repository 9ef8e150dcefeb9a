"""The check of a referee: it is given matches between two scripted players, which record what it sends."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from league_sdk.conformance.cast import LEAGUE_ID, MANAGER, A, B, Cast, Heard, Script
from league_sdk.conformance.clauses.referee import REFEREE
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.listener import own_address
from league_sdk.conformance.mcp.referees import MATCH_STATE, check_referee_mcp
from league_sdk.conformance.probes import REQUEST_TIMEOUT_S, check_contact, check_wrong_bodies
from league_sdk.conformance.refereeing import (
    judge_as_documented,
    judge_asking,
    judge_over,
    judge_report,
    judge_result,
    result_of,
    winner_of,
    wrong_result,
)
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.subject import Subject
from league_sdk.conformance.subject_caller import Stopped, SubjectCaller
from league_sdk.conformance.verdicts import OnClause, Verdicts
from league_sdk.dialects import shapes, starts
from league_sdk.dialects.memory import Memory
from league_sdk.protocol import tokens
from league_sdk.protocol.envelope import LEAGUE_MANAGER, envelope
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import START_MATCH, MessageType
from league_sdk.protocol.sentences import _, say
from league_sdk.transport.client import Caller

CHECK_TIMEOUT_S = 90.0
RESULT_TIMEOUT_S = 15.0
"""How long to wait for a result."""
SILENT_RESULT_TIMEOUT_S = 25.0
"""The time for the result of a match with a silent player: a referee that obeys the settings needs three seconds."""
_SHORT_LIMITS = {"move_timeout_s": 1.0, "max_retries": 1, "retry_base_s": 0.1}


@dataclass(slots=True)
class _Talk:
    """A check in progress; ``way`` is the way of starting a match that the referee takes, empty until it is known."""

    caller: SubjectCaller
    verdicts: Verdicts
    cast: Cast
    result_s: float
    silent_result_s: float
    way: str = ""
    round_id: int = field(default_factory=lambda: 1000 + 100 * secrets.randbelow(90))


async def check_referee(
    subject: Subject,
    client: Caller,
    on_clause: OnClause | None = None,
    *,
    result_s: float = RESULT_TIMEOUT_S,
    silent_result_s: float = SILENT_RESULT_TIMEOUT_S,
) -> Report:
    """Check a referee; arguments as of :func:`.checking.check`.

    Args:
        result_s: as :data:`RESULT_TIMEOUT_S`.
        silent_result_s: as :data:`SILENT_RESULT_TIMEOUT_S`.

    Raises:
        OSError: no port for the players or the league manager is free.
    """
    cast, url = Cast(), subject.url
    await cast.start(subject.listen or await own_address(url), subject.manager_port)
    verdicts = Verdicts(REFEREE, url, on_clause)
    try:
        if subject.on_listening is not None:
            subject.on_listening(cast.endpoint(MANAGER))
        await _check_registration(verdicts, cast, subject.register_wait_s)
        caller = SubjectCaller(url, client, memory=Memory(), overall_s=CHECK_TIMEOUT_S)
        caller.dials_out = subject.dials_out
        try:
            with verdicts.until_stopped():
                await _exchanges(_Talk(caller, verdicts, cast, result_s, silent_result_s))
            with verdicts.until_stopped():
                await _check_mcp(_Talk(caller, verdicts, cast, result_s, silent_result_s))
        finally:
            await caller.aclose()
    finally:
        await cast.stop()
    return verdicts.report()


async def _exchanges(talk: _Talk) -> None:
    caller, verdicts = talk.caller, talk.verdicts
    await check_contact(caller, verdicts)
    await _fair_match(talk)
    await _illegal_match(talk)
    await _silent_match(talk)
    await check_wrong_bodies(caller, verdicts, "robust.unknown_method", "robust.broken_json", limit_s=REQUEST_TIMEOUT_S)


async def _check_mcp(talk: _Talk) -> None:
    """Check a referee as a server of MCP; also one that took no match, as a referee that speaks only MCP takes none."""
    if not talk.verdicts.conforms("http.reached"):
        return
    match_id = next(iter(talk.cast.scripts), "R1M1")
    question = envelope(
        MATCH_STATE.upper(),
        sender=f"player:{A}",
        conversation_id="conv-check-state",
        now=datetime.now(UTC),
        auth_token=talk.cast.tokens[A],
        league_id=LEAGUE_ID,
        match_id=match_id,
        player_id=A,
    )
    await check_referee_mcp(talk.caller, talk.verdicts, question)


async def _check_registration(verdicts: Verdicts, cast: Cast, wait_s: float) -> None:
    await cast.until(lambda: cast.registration, wait_s)
    registration = cast.registration
    if registration is None:
        verdicts.decide("register.sent", False, limit=f"{wait_s:g}", where=cast.endpoint(MANAGER))
        verdicts.skip("register.request", say(_("There was none.")))
    else:
        verdicts.decide("register.sent", True, registration.evidence)
        judge_as_documented(verdicts, "register.request", [registration])


# Starting a match (ruling, section 10) ------------------------------------------------------------------------


def _start_message(talk: _Talk, match_id: str, league_settings: LeagueSettings) -> dict[str, Any]:
    """``start_match`` with everything that our referees and those of students look for."""
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
    settings = league_settings.for_referee()
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


async def _start(talk: _Talk, script: Script, **settings: Any) -> tuple[str, list[Exchange]]:
    """Start a match in one way after the other until the referee takes it.

    Returns its id, empty when it was not taken, and the exchanges.
    """
    talk.round_id += 1
    match_id = f"R{talk.round_id}M1"
    talk.cast.scripts[match_id] = script
    message = _start_message(talk, match_id, LeagueSettings(**settings))
    exchanges = []
    for way in [talk.way] if talk.way else starts.ways(shapes.CANONICAL, {}):
        exchange = await _offer(talk, way, message)
        exchanges.append(exchange)
        body, status = exchange.response_body if exchange.readable else None, exchange.status
        rpc_id = exchange.sent["id"]
        offer, _rest = starts.read_reply(body, status=status or 0, readable=exchange.readable, rpc_id=rpc_id)
        if exchange.timed_out or (status is not None and offer is starts.Offer.TAKEN):
            # Some referees play the whole match before they answer.
            talk.way = way
            return match_id, exchanges
        if status is None or offer is not starts.Offer.NOT_UNDERSTOOD:
            break
    return "", exchanges


async def _offer(talk: _Talk, way: str, message: dict[str, Any]) -> Exchange:
    rpc_id = talk.caller.next_id()
    if way != starts.ANNOUNCEMENT:
        return await talk.caller.call(starts.wrap(way, message, rpc_id), limit_s=REQUEST_TIMEOUT_S)
    names = ("match_id", "league_id", "round_id", "game_type", "player_A_id", "player_B_id")
    row = {name: message[name] for name in (*names, "player_A_endpoint", "player_B_endpoint")}
    head = ("protocol", "sender", "timestamp", "conversation_id", "auth_token", "league_id", "round_id", "settings")
    announcement = {name: message[name] for name in head} | {"matches": [row | {"referee_endpoint": talk.caller.url}]}
    announcement["message_type"] = str(MessageType.ROUND_ANNOUNCEMENT)
    return await talk.caller.call(shapes.SHAPES[shapes.CANONICAL].wrap(announcement, rpc_id), limit_s=REQUEST_TIMEOUT_S)


async def _result(talk: _Talk, match_id: str, wait_s: float) -> Heard | None:
    """Wait for the report of a match; None when it does not come in time."""

    def reports() -> list[Heard]:
        return talk.cast.of(match_id, MessageType.MATCH_RESULT_REPORT)

    await talk.cast.until(reports, max(min(wait_s, talk.caller.left_s()), 0))
    return next(iter(reports()), None)


# The matches --------------------------------------------------------------------------------------------------


async def _fair_match(talk: _Talk) -> None:
    verdicts, cast = talk.verdicts, talk.cast
    match_id, exchanges = await _start(talk, Script.FAIR)
    if not match_id:
        verdicts.decide("start.taken", False, exchanges[0], last=exchanges[-1].in_words())
        raise Stopped(say(_("it takes no match")))
    if talk.way == f"{shapes.CANONICAL}:{START_MATCH}":
        verdicts.decide("start.taken", True, exchanges[-1])
    else:
        why = _("It takes {way}; ours is start_match, and the league tries other ways, too.")
        verdicts.record("start.taken", Verdict.TOLERATED, say(why, way=talk.way), exchanges[-1])
    await _offer(talk, talk.way, _start_message(talk, match_id, LeagueSettings()))
    report = await _result(talk, match_id, talk.result_s)
    judge_asking(verdicts, cast, match_id)
    judge_over(verdicts, cast, match_id)
    verdicts.decide("report.sent", report, report.evidence if report else None, limit=f"{talk.result_s:g}")
    if report is not None:
        judge_report(verdicts, cast, match_id, report)
    a, b = (len(cast.of(match_id, MessageType.GAME_INVITATION, name)) for name in (A, B))
    verdicts.decide("start.repeated", a == b == 1, a=a, b=b)


async def _illegal_match(talk: _Talk) -> None:
    verdicts, cast = talk.verdicts, talk.cast
    match_id, _exchanges = await _start(talk, Script.ILLEGAL_FIRST)
    if not match_id:
        return
    report = await _result(talk, match_id, talk.result_s)
    _judge_error(talk, "illegal.error", match_id, A, "E004")
    calls = cast.of(match_id, MessageType.CHOOSE_PARITY_CALL, A)
    verdicts.decide("illegal.again", len(calls) > 1, calls[1].evidence if len(calls) > 1 else None)
    over = cast.of(match_id, MessageType.GAME_OVER)
    if report is None or not over:
        why = say(_("No result within {limit} s."), limit=f"{talk.result_s:g}")
        verdicts.record("illegal.result", Verdict.FAILS, why)
    elif wrong_result(over[0]) and winner_of(over[0]) == B and len(calls) == 1:
        why = say(_("The player was not asked again, and lost by its illegal choice."))
        verdicts.record("illegal.result", Verdict.TOLERATED, why, over[0].evidence)
    else:
        judge_result(verdicts, "illegal.result", over[0])


def _judge_error(talk: _Talk, name: str, match_id: str, player: str, code: str) -> None:
    """Decide whether a player received GAME_ERROR with a code."""
    errors = talk.cast.of(match_id, MessageType.GAME_ERROR, player)
    game_error = next((heard for heard in errors if heard.message.get("error_code") == code), None)
    talk.verdicts.decide(name, game_error, game_error.evidence if game_error else None)


async def _silent_match(talk: _Talk) -> None:
    match_id, _exchanges = await _start(talk, Script.SILENT, **_SHORT_LIMITS)
    if not match_id:
        return
    report = await _result(talk, match_id, talk.silent_result_s)
    _judge_error(talk, "silent.error", match_id, B, "E001")
    over = talk.cast.of(match_id, MessageType.GAME_OVER, A)
    if report is None or not over:
        why = _(
            "No result within {limit} s, though the settings allow one second and one retry. A referee with limits of"
            " its own may report it later."
        )
        talk.verdicts.skip("silent.loss", say(why, limit=f"{talk.silent_result_s:g}"))
        return
    status, winner = result_of(over[0]).get("status"), winner_of(over[0])
    right = status == "TECHNICAL_LOSS" and winner == A
    seen = {"status": seen_text(status), "seen": seen_text(winner), "winner": A}
    talk.verdicts.decide("silent.loss", right, over[0].evidence, **seen)
