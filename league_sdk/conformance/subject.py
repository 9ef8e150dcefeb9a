"""What is checked: an agent's address, what is known of it, and how long everything may take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from league_sdk.dialects import shapes
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.simulated_league import Identity

__all__ = ["DEFAULT_GAME", "DEFAULT_REGISTER_WAIT_S", "NOBODY", "Identity", "Subject"]

DEFAULT_GAME = "even_odd"
DEFAULT_REGISTER_WAIT_S = 3.0
NOBODY = ""
"""The value of ``listen`` if the check has no port for answers by POST."""

Relayed = Callable[[str, Mapping[str, Any]], None]
"""Takes the type and the fields of an answer whose sender was proven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An agent to be checked.

    Attributes:
        url: its address.
        role: ``player``, ``referee`` or ``manager``.
        listen: the address of this machine at which the agent's own calls are heard; None: find it out.
        game_types: players: what it plays; unknown ones are passed over.
        limits: players: how often and how long it is asked, as in a league with these settings; their defaults are what
            the documents say (004 2.7 table 5, 2.9).
        overall_s: players: seconds for the whole check (our choice).
        identity: players: how it is registered, for one that is.
        dialect: players: the dialect to try first.
        ready_in: players: the dialect in which it has said that it is ready for its games; empty if it has not.
        tokens: players: the SHA-256 of the auth_tokens that prove its answers by POST; None where nobody knows them.
        own_tokens: players: those of them with which an answer by POST need not name its match.
        on_posts: players: called with a function that takes the answers which the player sends to the league manager.
        behind_gateway: players: it is behind a gateway, where another path is another program.
        dials_out: the agent fetches what is sent; ``url`` is not called then, and the client leads to its inbox.
        is_overtaken: players: whether the agent is due in a match: the check stops then, and ends its own matches.
        in_play: players: a league is being played with it. It is sent no round and no table beside those of its league,
            as some count the rounds, or keep the last table.
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
    limits: LeagueSettings = field(default_factory=LeagueSettings)
    overall_s: float = 90
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
