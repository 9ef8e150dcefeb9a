"""Before an agent's call is carried out: has it come too often? (``agents_registry.attempts`` counts; SECURITY.md.)

All of it raises :class:`TooOften`: HTTP 429 with a LEAGUE_ERROR that says what was counted, and ``Retry-After``.
"""

from __future__ import annotations

from django.conf import settings

from agents_registry import attempts as counting
from agents_registry import credentials
from agents_registry.attempts import API_KEY, CODE, REFEREE_KEY, TOKEN, Wait, attempts
from agents_registry.models import Agent, Kind
from agents_registry.requests import Request
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TokenInvalid
from league_sdk.protocol.messages import MessageType
from leaguesite.mcp.calls import Call
from leaguesite.mcp.home import home
from leaguesite.observing import metrics
from leaguesite.serving.turns import known_tokens
from matches.league import refusing

REGISTERING = frozenset({MessageType.LEAGUE_REGISTER_REQUEST, MessageType.REFEREE_REGISTER_REQUEST})
"""Counted apart from all other calls without a token that is known."""


def admit(call: Call, *, known: bool) -> None:
    """Let a call in, or not; asked before the database is.

    Args:
        call: the call.
        known: whether the method looks at the token, so that its owner will be known.
    """
    token = call.params.get("auth_token")
    address = call.came.caller.ip
    if call.name in REGISTERING:
        # It is counted once it is read: who registers one agent without end uses up no other's registrations.
        if _is_anybody(call):
            _refuse(attempts.refuse_entrant(address))
        return
    if not (known and isinstance(token, str) and token):
        _refuse(attempts.count_stranger(address))
        return
    _refuse(attempts.refuse_secret(TOKEN, address, token), "auth_token")
    # Where strangers have called too often a token is counted when it is known: made-up ones leave nothing behind.
    count = attempts.count_call if attempts.refuse_stranger(address) is None else attempts.refuse_call
    _refuse(count(token), "auth_token")


def owner_of(call: Call, token: str) -> Agent:
    """Whose token this is.

    Raises:
        TokenInvalid: nobody's; it is counted.
    """
    uncounted = attempts.refuse_stranger(call.came.caller.ip) is not None
    try:
        agent = call.agent or credentials.authenticate(token)
    except TokenInvalid:
        known_tokens.forget(token)
        _refuse(attempts.count_stranger(call.came.caller.ip))
        attempts.secret_was_wrong(TOKEN, call.came.caller.ip, token)
        raise
    known_tokens.learn(token, agent)
    if agent.site_key:
        attempts.let_call(token)
    if uncounted:
        _refuse(attempts.count_call(token), "auth_token")
    return agent


def note_failed(call: Call) -> None:
    """Count a call that failed before its token was looked at, if the token is nobody's: any is easily made up."""
    token = call.params.get("auth_token")
    if isinstance(token, str) and token and call.agent is None and credentials.find_agent(token) is None:
        _refuse(attempts.count_stranger(call.came.caller.ip))


def note_unreadable(call: Call) -> None:
    """Count a registration that cannot be read as a stranger's call."""
    if _is_anybody(call):
        _refuse(attempts.count_stranger(call.came.caller.ip))


def _is_anybody(call: Call) -> bool:
    """Whoever a proxy hides is counted as one; our own processes are not, or strangers would use up their share."""
    return bool(call.came.caller.near) or not home(call)


def admit_registration(call: Call, request: Request) -> None:
    """Let a registration in, or not."""
    address = call.came.caller.ip
    _refuse(attempts.count_registration(address, request.name, request.address.key, request.codes))
    if _is_anybody(call):
        _refuse(attempts.count_entrant(address))
    kind = REFEREE_KEY if request.kind == Kind.REFEREE else CODE
    for code in request.codes:
        _refuse(attempts.refuse_secret(kind, address, code), "registration_code")


def note_codes(call: Call, request: Request, league_id: str | None) -> None:
    """Count the codes of a registration that were nobody's, whether or not it was let in for another reason."""
    for code in refusing.wrong_codes(league_id, request.codes):
        attempts.secret_was_wrong(CODE, call.came.caller.ip, code)


def note_referee_codes(call: Call, request: Request) -> None:
    """Count the codes of a referee that are not the site's key. It is taken in without one, and judges nothing."""
    for code in request.codes:
        if not tokens.same(code, settings.LEAGUE_REFEREE_KEY):
            attempts.guess_was_wrong(REFEREE_KEY, call.came.caller.ip, code)


def admit_key(call: Call, key: str) -> None:
    """Have the instructor's API key looked at, or not."""
    _refuse(attempts.refuse_secret(API_KEY, call.came.caller.ip, key), "auth_token")


def key_was_wrong(call: Call, key: str) -> None:
    """Count a wrong API key."""
    attempts.secret_was_wrong(API_KEY, call.came.caller.ip, key)


def _refuse(wait: Wait | None, field: str | None = None) -> None:
    if wait is not None:
        metrics.limited(wait.name)
        raise counting.too_often(wait, field=field)
