"""Before an agent's call is carried out: has it come too often? (SECURITY.md; ``rate_limits.attempts`` counts.)

A call that comes too often raises ``TooOften``: HTTP 429 with a LEAGUE_ERROR that says what was counted, and
``Retry-After``.

The site's own processes on this machine are recognised here, too. With a trusted proxy on this machine, every caller
has a loopback address: it says nothing of the caller, whose address is empty then. Our own referees and sample players,
which call directly, look the same. Only their key shows who they are: a connection without it may be anybody's.
"""

from __future__ import annotations

from django.conf import settings

from agents_registry.models import Agent, Kind
from agents_registry.rate_limits.attempts import (
    CALLS,
    CODE,
    ENTRANTS,
    REFEREE_KEY,
    STRANGERS,
    TOKEN,
    attempts,
)
from agents_registry.registering import credentials
from agents_registry.requests.reading import Request
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TokenInvalid, TokenMissing, TooOften
from league_sdk.protocol.messages import MessageType
from leaguesite.login.accounts import opens
from leaguesite.mcp.calls import Call, Source
from leaguesite.serving.callers import THIS_MACHINE
from leaguesite.serving.known_tokens import known_tokens
from leaguesite.serving.refusals import refuse_if_too_often
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
    address = call.source.caller.ip
    if call.name in REGISTERING:
        # A registration is counted when it has been read (:func:`admit_registration`), by name and address: somebody
        # who registers one agent again and again does not use up the registrations of others.
        if _is_stranger(call):
            refuse_if_too_often(attempts.refuse_call(ENTRANTS, address))
        return
    if not (known and isinstance(token, str) and token):
        refuse_if_too_often(attempts.count_call(STRANGERS, address))
        return
    refuse_if_too_often(attempts.refuse_secret(TOKEN, address, token), "auth_token")
    # If strangers have called too often from there, a token is counted only when its owner is known (:func:`owner_of`):
    # tokens that are made up leave no counters behind.
    is_counted_now = attempts.refuse_call(STRANGERS, address) is None
    wait = attempts.count_call(CALLS, token) if is_counted_now else attempts.refuse_call(CALLS, token)
    refuse_if_too_often(wait, "auth_token")


def admit_instructor(call: Call) -> None:
    """Let a call of the instructor in: the API key is its ``Authorization: Bearer``, or its ``auth_token``.

    Calls with the key are not counted: the instructor may be behind the same address as the class, which cannot use
    them up.

    Raises:
        TokenMissing, TokenInvalid: no key, or another; it is counted as a stranger's call.
    """
    bearer, expected = call.source.bearer, "the instructor's API key"
    key = bearer if bearer and not bearer.startswith("tok_") else call.params.get("auth_token")
    if isinstance(key, str) and key and opens(key, call.source.caller.ip):
        return
    refuse_if_too_often(attempts.count_call(STRANGERS, call.source.caller.ip))
    if key in (None, ""):
        raise TokenMissing(f"{call.name} is for the instructor.", field="auth_token", expected=expected)
    raise TokenInvalid("This is not the instructor's API key.", field="auth_token", expected=expected)


def is_instructor(source: Source) -> bool:
    """Whether a request that calls no tool shows the API key in a header; a wrong one is counted as anywhere else.

    A caller that has tried too many keys counts as one without a key, and is not refused: an MCP client may send the
    credential of another server with every request.
    """
    key = source.bearer
    try:
        return bool(key) and not key.startswith("tok_") and opens(key, source.caller.ip)
    except TooOften:
        return False


def owner_of(call: Call, token: str) -> Agent:
    """The agent that owns a token.

    Raises:
        TokenInvalid: nobody does; it is counted.
    """
    uncounted = attempts.refuse_call(STRANGERS, call.source.caller.ip) is not None
    try:
        agent = call.agent or credentials.authenticate(token)
    except TokenInvalid:
        known_tokens.forget(token)
        refuse_if_too_often(attempts.count_call(STRANGERS, call.source.caller.ip))
        attempts.secret_was_wrong(TOKEN, call.source.caller.ip, token)
        raise
    known_tokens.learn(token, agent)
    if agent.site_key:
        attempts.let_call(token)
    if uncounted:
        refuse_if_too_often(attempts.count_call(CALLS, token), "auth_token")
    return agent


def count_failed_call(call: Call) -> None:
    """Count a call that failed before its token was looked at, if the token is nobody's: anybody can make one up."""
    token = call.params.get("auth_token")
    if isinstance(token, str) and token and call.agent is None and credentials.find_agent(token) is None:
        refuse_if_too_often(attempts.count_call(STRANGERS, call.source.caller.ip))


def count_unreadable_registration(call: Call) -> None:
    """Count a registration that cannot be read, unless one of our own processes sent it, among strangers' calls."""
    if _is_stranger(call):
        refuse_if_too_often(attempts.count_call(STRANGERS, call.source.caller.ip))


def admit_registration(call: Call, request: Request) -> None:
    """Let a registration in, or not."""
    address = call.source.caller.ip
    refuse_if_too_often(attempts.count_registration(address, request.name, request.endpoint_key, request.codes))
    if _is_stranger(call):
        refuse_if_too_often(attempts.count_call(ENTRANTS, address))
    kind = REFEREE_KEY if request.kind == Kind.REFEREE else CODE
    for code in request.codes:
        refuse_if_too_often(attempts.refuse_secret(kind, address, code), "registration_code")


def count_wrong_codes(call: Call, request: Request, league_id: str | None) -> None:
    """Count the codes of a player that are no code of this league, even if it was let in for another reason."""
    for code in refusing.wrong_codes(league_id, request.codes):
        attempts.secret_was_wrong(CODE, call.source.caller.ip, code)


def count_wrong_referee_keys(call: Call, request: Request) -> None:
    """Count the codes of a referee that are not the site's key. A referee without it needs a permission."""
    for code in request.codes:
        if not tokens.same(code, settings.LEAGUE_REFEREE_KEY):
            attempts.guess_was_wrong(REFEREE_KEY, call.source.caller.ip, code)


def address_of_own_process(call: Call) -> str:
    """The address of this machine, if one of the site's own processes registers (our choice; ruling, section 9).

    Args:
        call: a registration.

    Returns:
        This machine's address for a connection of this machine, without a proxy's headers, that brings the referees'
        key in ``referee_meta`` or the demo's in ``player_meta``; empty for anybody else.
    """
    if not call.source.caller.past_proxy:
        return ""
    keys = {"referee_meta": settings.LEAGUE_REFEREE_KEY, "player_meta": settings.LEAGUE_DEMO_KEY}
    for name, key in keys.items():
        meta = call.params.get(name)
        code = meta.get("registration_code") if isinstance(meta, dict) else None
        if isinstance(code, str) and key and tokens.same(code, key):
            return THIS_MACHINE
    return ""


def _is_stranger(call: Call) -> bool:
    """Whether a registration counts as a stranger's.

    All callers that a proxy hides count as one. Our own processes behind it do not, or strangers would use up their
    share.
    """
    return bool(call.source.caller.machine_ip) or not address_of_own_process(call)
