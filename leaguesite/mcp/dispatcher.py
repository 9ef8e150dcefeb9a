"""POST /mcp and /register: raw body in, status and reply out.

The ladder of checks is that of the ruling's section 5; every error is turned into its wire form
here and nowhere else. What a request asks for, and how it was dressed, is read by
``league_sdk.dialects.inbound``; the handlers stand in :mod:`leaguesite.mcp.methods`.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from agents_registry import credentials
from agents_registry.models import Agent, Kind
from league_sdk.dialects import inbound
from league_sdk.dialects.words import ANSWERS
from league_sdk.protocol import rpc
from league_sdk.protocol.dispatch import NO_CONTENT, Exchange, Post
from league_sdk.protocol.envelope import check_protocol, parse_sender, parse_stamp
from league_sdk.protocol.errors import (
    InternalError,
    InvalidFormat,
    LeagueError,
    MissingField,
    RefereeNotRegistered,
    TokenInvalid,
    TokenMissing,
    TooOften,
    UnknownLeague,
    UnknownMethod,
)
from league_sdk.protocol.limits import MAX_ID_CHARS
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.transcript import clean
from leaguesite.mcp.admission import REGISTERING, admit, note_failed, note_unreadable, owner_of
from leaguesite.mcp.calls import Call, Came, Json, Later
from leaguesite.mcp.methods import EXPECTED, METHODS, PUBLIC_NAMES, Method
from leaguesite.mcp.telemetry import recorded
from leaguesite.serving.refusals import error_message
from matches.league import find
from matches.models import League

_HOLE = f"<{secrets.token_hex(16)}>"
"""Stands in a reply for what is JSON already; nobody else knows it."""


class Answering(Exchange[inbound.Inbound]):
    """One HTTP request on its way to its answer, which may be made in two steps.

    Args:
        came: from where, and to which address.
    """

    failure = "The league manager failed; nothing was changed."

    def __init__(self, came: Came) -> None:
        super().__init__()
        self._came = came
        self._call: Call | None = None
        self._later: Later | None = None

    @property
    def put_off(self) -> bool:
        """Whether the answer takes long to make: :meth:`finish` makes it."""
        return self._later is not None

    def begin(self, post: Post) -> None:
        """Read the request, and answer it unless that takes long."""
        with recorded() as seen:
            with self.guarded():
                call = self._call = seen.read(Call(self.read(post), self._came))
                found = _perform(call)
                if isinstance(found, Later):
                    self._later = found
                    seen.put_off = True
                else:
                    self.answer(found)
            seen.error_code = self._error_code

    def finish(self) -> None:
        """Make the answer that was put off; nothing if none was."""
        later, self._later = self._later, None
        if later is None or self._call is None:
            return
        with recorded() as seen:
            seen.read(self._call)
            with self.guarded():
                self.answer(later.make())
            seen.error_code = self._error_code

    @property
    def _error_code(self) -> str:
        if isinstance(self.error, TooOften):
            # No error of ours: it has a metric of its own.
            return str(self.error.http_status)
        return self.error.error_code if self.error is not None else ""

    def understand(self, body: Any, post: Post) -> inbound.Inbound:
        """See :class:`Exchange`; a token in the head counts as one in the message."""
        asked = inbound.read(body, register=self._came.register)
        inbound.with_bearer(asked, post.authorization)
        return asked

    def answer(self, message: dict[str, Any]) -> None:
        """See :class:`Exchange`; ``data`` that is JSON already is put into the body as it is."""
        data = message.get("data")
        if not isinstance(data, Json) or self.asked is None:
            super().answer(message)
            return
        super().answer(message | {"data": _HOLE if self.asked.plain else json.loads(data)})
        if isinstance(self.reply.body, bytes):
            self.reply.body = self.reply.body.replace(f'"{_HOLE}"'.encode(), data, 1)

    def dress(self, asked: inbound.Inbound, message: Any) -> Any:
        """See :class:`Exchange`; an answer looks as its question did."""
        return inbound.reply(asked, message)

    def refusal(self, error: LeagueError, body: Any) -> Any:
        """See :class:`Exchange`."""
        return _refusal(error, body, self._call)

    def status_of_silence(self, asked: inbound.Inbound) -> int:
        """See :class:`Exchange`; MCP wants its own notifications accepted with 202."""
        return 202 if asked.name.startswith("notifications/") else NO_CONTENT


def _perform(call: Call) -> dict[str, Any] | Later:
    method = METHODS.get(call.name)
    if method is None:
        raise UnknownMethod(
            "There is no such method.", field="method", seen=call.name, expected=", ".join(sorted(PUBLIC_NAMES))
        )
    admit(call, known=not method.lenient)
    try:
        _check(call, method)
    except LeagueError:
        if not method.lenient:
            note_failed(call)
        elif call.name in REGISTERING:
            note_unreadable(call)
        raise
    if not method.lenient:
        _authenticate(call, needed=method.authenticated)
    return method.handle(call)


def _check(call: Call, method: Method) -> None:
    """What can be wrong with a call whoever sends it."""
    check_protocol(call.params)
    for field in method.required:
        if call.params.get(field) in (None, ""):
            raise MissingField(f"{field} is missing.", field=field, expected=EXPECTED[field])
    if method.lenient:
        return
    if call.params.get("timestamp") is not None and call.name not in ANSWERS:
        parse_stamp(call.params["timestamp"])
    _find_league(call)


def _find_league(call: Call) -> None:
    named = call.address_league or call.params.get("league_id")
    if named is None:
        return
    if not isinstance(named, str) or len(named) > MAX_ID_CHARS or "\x00" in named:
        raise InvalidFormat("league_id must be a string.", field="league_id", seen=named, expected="a league id")
    call.league = find.LEAGUE.one(pk=named)
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
        # Naming the league that it was promised in the lobby goes on working.
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


def _refusal(error: LeagueError, body: Any, call: Call | None) -> dict[str, Any]:
    """A LEAGUE_ERROR in the clothes of the request (ruling, section 5)."""
    original = call.name if call else body.get("method") if isinstance(body, dict) else None
    # An empty one names nothing: 004 4.10.1 has a text or null.
    original = (original[:MAX_ID_CHARS] or None) if isinstance(original, str) else None
    conversation = call.conversation_id if call else None
    # What the sender wrote may be repeated here, and a token may stand in the wrong field.
    message = clean(error_message(error, original_message_type=original, conversation_id=conversation))
    if call is None:
        return rpc.error(rpc.request_id(body), error.rpc_code, message["message"], message)
    # A tool's refusal is a result in either style, and says of itself that it is an error.
    own_way = isinstance(error, (InternalError, TooOften, UnknownMethod)) or call.asked.shape == "tools_call"
    if not own_way and _error_style(call) == "result":
        return inbound.reply(call.asked, message)
    return inbound.refuse(call.asked, code=error.rpc_code, sentence=message["message"], data=message)


def _error_style(call: Call) -> str:
    """The setting of the league that was meant, also when the request failed before that was checked."""
    named = call.address_league or call.params.get("league_id")
    league = call.league
    if league is None and isinstance(named, str) and "\x00" not in named:
        league = League.objects.filter(pk=named).first()
    return league.rules.error_style if league is not None else "error"
