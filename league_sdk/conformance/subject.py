"""What is checked: an agent's address, what is known of it, and how long everything may take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from league_sdk.dialects import shapes
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.simulated_league import Identity

__all__ = ["DEFAULT_GAME", "DEFAULT_REGISTER_WAIT_S", "NOBODY", "Identity", "Limits", "Subject"]

DEFAULT_GAME = "even_odd"
DEFAULT_REGISTER_WAIT_S = 3.0
NOBODY = ""
"""The value of ``listen`` if the check has no port for answers by POST."""

Relayed = Callable[[str, Mapping[str, Any]], None]
"""Takes the type and the fields of an answer whose sender was proven."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one check of a player, times in seconds; the documents' own where they name one (004 2.7 table 5).

    Attributes:
        join_s: for GAME_JOIN_ACK.
        move_s: for a choice or move.
        game_over_s: for GAME_OVER.
        other_s: for everything else.
        contact_s: for the first sign of life (our choice).
        overall_s: for the whole check (our choice).
        max_retries: how often an invitation or a request for a move is repeated (004 2.9).
        retry_base_s: before the first repetition.
        retry_factor: each further pause is this many times as long.
        request_patience_s: for one request with all its repetitions.
    """

    join_s: float = 5
    move_s: float = 30
    game_over_s: float = 5
    other_s: float = 10
    contact_s: float = 5
    overall_s: float = 90
    max_retries: int = 3
    retry_base_s: float = 1
    retry_factor: float = 2
    request_patience_s: float = 130

    @property
    def generic_timeout_s(self) -> float:
        """The setting of this name in a league's settings."""
        return self.other_s

    @classmethod
    def of_league(cls, settings: LeagueSettings) -> Limits:
        """The limits of a match in a league with these settings."""
        return cls(
            settings.join_timeout_s,
            settings.move_timeout_s,
            settings.game_over_timeout_s,
            settings.generic_timeout_s,
            max_retries=settings.max_retries,
            retry_base_s=settings.retry_base_s,
            retry_factor=settings.retry_factor,
            request_patience_s=settings.request_patience_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An agent to be checked.

    Attributes:
        url: its address.
        role: ``player``, ``referee`` or ``manager``.
        listen: the address of this machine at which the agent's own calls are heard; None: find it out.
        game_types: players: what it plays; unknown ones are passed over.
        limits: players: in seconds.
        identity: players: how it is registered, for one that is.
        dialect: players: the dialect to try first.
        ready_in: players: the dialect in which it has said that it is ready for its games; empty if it has not.
        tokens: players: the SHA-256 of the auth_tokens that prove its answers by POST; None where nobody knows them.
        own_tokens: players: those of them with which an answer by POST need not name its match.
        on_posts: players: called with a function that takes the answers which the player sends to the league manager.
        behind_gateway: players: it is behind a gateway, where another path is another program.
        dials_out: the agent fetches what is sent; ``url`` is not called then, and the client leads to its inbox.
        is_overtaken: players: whether the agent is due in a match: the check stops then, and ends its own matches.
        in_play: players in a practice match: a league is being played with it. No round is announced to it then, as
            some count the rounds.
        proving_digests: players in a practice match: SHA-256 of auth_tokens, one of which the answer to the invitation
            must carry; empty if nobody else can be at its address.
        send_league_completed: players: send LEAGUE_COMPLETED at the end; some agents exit when they get it.
        manager_port: referees: where the league manager listens; 0 for a free port.
        register_wait_s: referees: seconds to wait for the registration with that league manager.
        on_listening: referees: told the league manager's address, so that the referee can be started with it.
    """

    url: str
    role: str = "player"
    listen: str | None = None
    game_types: Sequence[str] = (DEFAULT_GAME,)
    limits: Limits = Limits()
    identity: Identity | None = None
    dialect: str = shapes.CANONICAL
    ready_in: str = ""
    tokens: Collection[str] | None = None
    own_tokens: Collection[str] = ()
    on_posts: Callable[[Relayed], None] | None = None
    behind_gateway: bool = False
    dials_out: bool = False
    is_overtaken: Callable[[], bool] = lambda: False
    in_play: bool = False
    proving_digests: Collection[str] = ()
    send_league_completed: bool = True
    manager_port: int = 0
    register_wait_s: float = DEFAULT_REGISTER_WAIT_S
    on_listening: Callable[[str], None] | None = None
