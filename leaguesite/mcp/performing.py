"""Carry out a call: is it let in, is its envelope right, whose is it, and then its method."""

from __future__ import annotations

from typing import Any

from agents_registry.models import Agent, Kind
from agents_registry.registering import credentials
from league_sdk.dialects.words import ANSWERS
from league_sdk.protocol.envelope import check_protocol, parse_sender, parse_stamp
from league_sdk.protocol.errors import (
    InvalidFormat,
    LeagueError,
    MissingField,
    RefereeNotRegistered,
    TokenInvalid,
    TokenMissing,
    UnknownLeague,
    UnknownMethod,
)
from league_sdk.protocol.messages import MessageType
from leaguesite.mcp.admission import (
    REGISTERING,
    admit,
    admit_instructor,
    count_failed_call,
    count_unreadable_registration,
    owner_of,
)
from leaguesite.mcp.calls import Call, Deferred, Held, find_league, is_id
from leaguesite.mcp.methods import EXPECTED, METHODS, PUBLIC_NAMES, Method


def perform(call: Call) -> dict[str, Any] | Deferred | Held:
    """Carry out a call.

    Returns:
        The message of the answer, or what makes it if that takes long or has to be waited for.

    Raises:
        LeagueError: it is refused; nothing was changed.
    """
    method = METHODS.get(call.name)
    if method is None:
        raise UnknownMethod(
            "There is no such method.", field="method", seen=call.name, expected=", ".join(sorted(PUBLIC_NAMES))
        )
    if method.instructor:
        admit_instructor(call)
        return method.handle(call)
    admit(call, known=not method.lenient)
    try:
        _check(call, method)
    except LeagueError:
        if not method.lenient:
            count_failed_call(call)
        elif call.name in REGISTERING:
            count_unreadable_registration(call)
        raise
    if not method.lenient:
        _authenticate(call, needed=method.authenticated)
    return method.handle(call)


def _check(call: Call, method: Method) -> None:
    """Check what can be wrong with a call by any caller."""
    check_protocol(call.params)
    for field in () if call.without_envelope else method.required:
        if call.params.get(field) in (None, ""):
            raise MissingField(f"{field} is missing.", field=field, expected=EXPECTED[field])
    if method.lenient:
        return
    if call.params.get("timestamp") is not None and call.name not in ANSWERS:
        parse_stamp(call.params["timestamp"])
    _find_league(call)


def _find_league(call: Call) -> None:
    named = call.league_id
    if named is None:
        return
    if not is_id(named):
        raise InvalidFormat("league_id must be a string.", field="league_id", seen=named, expected="a league id")
    call.league = find_league(named)
    if call.league is not None:
        return
    token = call.params.get("auth_token")
    if isinstance(token, str) and token:
        # An agent of the lobby goes on naming the league it was promised.
        agent = credentials.find_agent(token)
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
    agent = call.agent = owner_of(call, token)
    if call.name == MessageType.MATCH_RESULT_REPORT and agent.kind == Kind.PLAYER:
        raise RefereeNotRegistered(
            "Only referees report results.", field="auth_token", expected="the auth_token of a referee"
        )
    if agent.league_id is not None:
        # An agent may go on naming the league that it was promised in the lobby.
        if call.league is not None and call.league.pk not in (agent.league_id, agent.promised_league_id):
            raise TokenInvalid(
                f"This auth_token belongs to {agent.league_id}.",
                field="league_id",
                seen=call.league.pk,
                expected=agent.league_id,
            )
        if call.league is None or call.league.pk != agent.league_id:
            call.league = agent.league
    # On a callback the token is the proof; ids inside are the agent's own affair (and noted).
    if call.name not in ANSWERS:
        _check_sender(call, agent)


def _check_sender(call: Call, agent: Agent) -> None:
    """The sender must be the agent that owns the token, by its id or what it called itself when it registered."""
    sender = call.params.get("sender")
    if sender is None:
        return
    kind, name = parse_sender(sender) if isinstance(sender, str) else ("", "")
    claimed = name or kind
    same_kind = not name or kind == agent.kind
    # Half of real agents go on using an id of their own.
    known = {agent.code, agent.name, agent.sender_name, agent.display_name, agent.wanted_id}
    if not claimed or not same_kind or claimed not in known:
        raise TokenInvalid(
            "The sender is not the owner of this auth_token.",
            field="sender",
            seen=sender,
            expected=f"{agent.kind}:{agent.code}",
        )
