"""Callbacks: whose they are, and which match they belong to (ruling, sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from league_sdk.judging.brief import Brief, Seat
from league_sdk.judging.mailbox import Mailbox
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import TokenInvalid, TokenMissing

RELAYED_FOR = "relayed_for"
"""In a callback that the league manager passes on: the player whose it is."""


def find_seat(
    table: Iterable[tuple[Brief, Mailbox]], message: Mapping[str, Any], *, trusted_token: str
) -> tuple[Brief, Seat, Mailbox] | None:
    """The match and the seat that a callback belongs to, by match_id, sender and token.

    Args:
        table: the matches being played here.
        message: the unwrapped callback.
        trusted_token: what the league manager shows when it passes a callback on.

    Returns None when no match here fits.

    Raises:
        TokenMissing: E011, the match is here and the callback shows no token.
        TokenInvalid: E012, it shows one that is not a player's of the match.
    """
    match_id, league_id = message.get("match_id", message.get("game_id")), message.get("league_id")
    token = message.get("auth_token") or message.get("league_token")
    relayed = isinstance(token, str) and bool(trusted_token) and tokens.same(token, trusted_token)
    here = False
    proven: list[tuple[Brief, Seat, Mailbox]] = []
    for brief, mailbox in table:
        if match_id is not None and match_id != brief.match_id:
            continue
        if league_id is not None and match_id is not None and league_id != brief.league_id:
            continue
        here = here or match_id is not None
        for seat in brief.seats:
            shown = isinstance(token, str) and _is_token_of(seat, token)
            if (message.get(RELAYED_FOR) == seat.player_id) if relayed else shown:
                proven.append((brief, seat, mailbox))
    if len(proven) > 1:
        # One agent that plays itself under one token: the sender tells which seat is meant.
        said = str(message.get("sender") or message.get("player_id") or "")
        proven = [one for one in proven if said.rpartition(":")[2] == one[1].player_id] or proven
    if proven:
        return proven[0]
    if not here or relayed:
        return None
    if not token:
        raise TokenMissing("auth_token is missing.", field="auth_token", expected="the auth_token of your registration")
    raise TokenInvalid(
        "This is not the token of a player of the match.",
        field="auth_token",
        expected="the auth_token of your registration",
    )


def _is_token_of(seat: Seat, token: str) -> bool:
    digest = tokens.digest(token)
    return tokens.same(token, seat.league_token) or any(tokens.same(digest, known) for known in seat.token_digests)
