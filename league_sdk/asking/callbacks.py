"""Callbacks: which player of which match sent one (ruling, sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from league_sdk.asking.mailbox import Mailbox
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TokenInvalid, TokenMissing

RELAYED_FOR = "relayed_for"
"""The field of a forwarded callback in which the league manager says which player sent it."""


class Seat(Protocol):
    """One player of a match."""

    @property
    def player_id(self) -> str: ...
    @property
    def league_token(self) -> str:
        """What our messages to it carry."""

    def owns(self, token: str) -> bool:
        """Whether this is an auth_token of the player."""


S_co = TypeVar("S_co", bound=Seat, covariant=True)


class Brief(Protocol[S_co]):
    """A match with its players."""

    @property
    def league_id(self) -> str: ...
    @property
    def match_id(self) -> str: ...
    @property
    def seats(self) -> tuple[S_co, ...]: ...


def find_seat(
    matches: Iterable[tuple[Brief[S_co], Mailbox]], message: Mapping[str, Any], *, trusted_token: str
) -> tuple[S_co, Mailbox] | None:
    """The seat of the player that sent a callback and the match's mailbox, by match_id, sender and token.

    Args:
        matches: those that are played here.
        message: the unwrapped callback.
        trusted_token: what the league manager authenticates with when it forwards a callback.

    Returns None when no match here fits.

    Raises:
        TokenMissing: E011, the match is here and the callback has no token.
        TokenInvalid: E012, the token is not one of the match's players.
    """
    match_id, league_id = message.get("match_id", message.get("game_id")), message.get("league_id")
    token = message.get("auth_token") or message.get("league_token")
    relayed = isinstance(token, str) and bool(trusted_token) and tokens.same(token, trusted_token)
    match_is_here = False
    proven: list[tuple[S_co, Mailbox]] = []
    for brief, mailbox in matches:
        if match_id is not None and match_id != brief.match_id:
            continue
        if league_id is not None and match_id is not None and league_id != brief.league_id:
            continue
        match_is_here = match_is_here or match_id is not None
        for seat in brief.seats:
            has_token = isinstance(token, str) and (tokens.same(token, seat.league_token) or seat.owns(token))
            if (message.get(RELAYED_FOR) == seat.player_id) if relayed else has_token:
                proven.append((seat, mailbox))
    if len(proven) > 1:
        # An agent that plays against itself has one token for both seats: the sender says which one it means.
        sender = str(message.get("sender") or message.get("player_id") or "").rpartition(":")[2]
        proven = [pair for pair in proven if pair[0].player_id == sender] or proven
    if proven:
        return proven[0]
    if not match_is_here or relayed:
        return None
    if not token:
        raise TokenMissing("auth_token is missing.", field="auth_token", expected="the auth_token of your registration")
    raise TokenInvalid(
        "This is not the token of a player of the match.",
        field="auth_token",
        expected="the auth_token of your registration",
    )
