"""What a referee is told by ``start_match`` (ruling, section 10), read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from league_sdk.match_messages import Receiver
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat, LeagueError, MissingField
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import ROLES
from league_sdk.protocol.states import ResultStatus

Flag = Annotated[bool, BeforeValidator(lambda value: value is True)]
"""Whatever is not ``true`` is false."""
Hex = Annotated[bytes, BeforeValidator(lambda value: bytes.fromhex(value) if isinstance(value, str) else value)]
_READ = ConfigDict(populate_by_name=True)


@dataclass(frozen=True, config=_READ)
class Standings:
    """``your_standings`` of a player."""

    wins: StrictInt = 0
    losses: StrictInt = 0
    draws: StrictInt = 0


@dataclass(frozen=True, config=_READ)
class Seat:
    """One player of a match.

    Attributes:
        player_id: its id in the league.
        role: PLAYER_A or PLAYER_B.
        endpoint: where it listens.
        dialect: how it registered.
        league_token: what our messages to it carry.
        token_digests: SHA-256 of the auth_tokens it may prove a callback with.
        standings: ``your_standings``.
        joined_before: it accepted in an earlier attempt.
        suspended: it gets one invitation, without retries (ruling, section 8).
        behind_gateway: it is behind a gateway, where another path is another program.
        spoken: by message type, the dialect that it was seen to understand.
        inbox_key: the key with which the league manager takes messages for the player's inbox; empty if it has none.
        dials_out: the player had a poll or a socket open when the match was given out.
        connect_grace_s: seconds within which a player that dials out must have taken a message.
        learned: what else was found out of how it speaks, as :meth:`Memory.shared` gives it.
        registration: names its registration: what was found out of an earlier agent at its address does not count.
        unproven: the digests of auth_tokens that were given to somebody who named its address; an answer from that
            address proves them.
        excused: how many tries at it a failure of a referee spoilt in earlier attempts.
        path_secret: the secret at the end of the path at which it is heard (decision 13); it looks like a token, and is
            hidden wherever tokens are.
    """

    player_id: Annotated[StrictStr, Field(validation_alias="id")]
    role: StrictStr
    endpoint: StrictStr
    dialect: StrictStr
    league_token: StrictStr
    token_digests: Annotated[tuple[StrictStr, ...], Field(validation_alias="auth_token_sha256")]
    standings: Annotated[Standings, Field(validation_alias="your_standings")]
    joined_before: Flag = False
    suspended: Flag = False
    behind_gateway: Annotated[Flag, Field(validation_alias="stays")] = False
    spoken: dict[str, StrictStr] = field(default_factory=dict)
    inbox_key: StrictStr = ""
    dials_out: Flag = False
    connect_grace_s: float = 5.0
    learned: dict[str, Any] = field(default_factory=dict)
    registration: StrictStr = ""
    unproven: Annotated[tuple[StrictStr, ...], Field(validation_alias="unproven_sha256")] = ()
    excused: StrictInt = 0
    path_secret: str = field(default_factory=tokens.new_token, compare=False, repr=False)

    def owns(self, token: str) -> bool:
        """Whether this is an auth_token of the player."""
        digest = tokens.digest(token)
        return any(tokens.same(digest, known) for known in self.token_digests)


@dataclass(frozen=True)
class Sealed:
    """The verdict of an earlier attempt, which only has to be told and reported (ruling, section 12).

    Attributes:
        attempt, conversation_id: of the attempt that was decided; GAME_OVER carries them.
    """

    attempt: StrictInt
    conversation_id: StrictStr
    status: ResultStatus
    reason: StrictStr
    details: dict[str, Any]
    winner_player_id: StrictStr | None = None


@dataclass(frozen=True, config=_READ)
class Brief:
    """One attempt at one match.

    Attributes:
        player_a, player_b: the seats of PLAYER_A and PLAYER_B.
        relayed: ``referee_endpoint`` is the league manager's, which passes answers on to this referee.
        seals: the league manager stores the verdict before the players hear it.
        second_look: a player that this referee does not reach is asked by a referee in another place before it loses.
        draw_seed: what the number is drawn from; None when this referee draws by itself.
        draw_commitment: the SHA-256 of the seed, as the players are told it.
        play: 1, and one more for each replay that the instructor ordered.
        moves: the moves that earlier attempts recorded, in order, each as player and move.
        sealed: the verdict that has to be told; None for a match that has to be played.
    """

    settings: LeagueSettings
    league_id: StrictStr
    round_id: StrictInt
    match_id: StrictStr
    attempt: StrictInt
    game_type: StrictStr
    conversation_id: StrictStr
    player_a: Annotated[Seat, Field(validation_alias="player_A")]
    player_b: Annotated[Seat, Field(validation_alias="player_B")]
    referee_id: str
    referee_endpoint: str
    relayed: bool = False
    seals: Flag = False
    second_look: Flag = False
    draw_seed: Hex | None = None
    draw_commitment: StrictStr = ""
    play: StrictInt = 1
    moves: tuple[tuple[StrictStr, Any], ...] = ()
    sealed: Sealed | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes ``start_match`` idempotent."""
        return self.league_id, self.match_id, self.attempt

    @property
    def about(self) -> dict[str, Any]:
        """The fields that name the attempt in logs."""
        names = ("league_id", "round_id", "match_id", "attempt", "conversation_id")
        return {name: getattr(self, name) for name in names}

    @property
    def seats(self) -> tuple[Seat, Seat]:
        """Both players."""
        return self.player_a, self.player_b

    @property
    def player_ids(self) -> tuple[str, str]:
        """PLAYER_A and PLAYER_B."""
        return self.player_a.player_id, self.player_b.player_id

    def to(self, seat: Seat) -> Receiver:
        """The player at one seat as the receiver of messages."""
        return Receiver(
            league_id=self.league_id,
            round_id=self.round_id,
            match_id=self.match_id,
            game_type=self.game_type,
            conversation_id=self.conversation_id,
            referee_id=self.referee_id,
            referee_endpoint=self.endpoint_for(seat),
            player_id=seat.player_id,
            opponent_id=next(other.player_id for other in self.seats if other is not seat),
            role=seat.role,
            league_token=seat.league_token,
            standings=asdict(seat.standings),
            draw_commitment=self.draw_commitment,
        )

    def endpoint_for(self, seat: Seat) -> str:
        """The endpoint of this referee for the player at one seat; nobody else is told its path.

        If answers are ``relayed``, it is the league manager's, which has no such paths.
        """
        if self.relayed:
            return self.referee_endpoint
        parts = urlsplit(self.referee_endpoint)
        path = parts.path.rstrip("/") or "/mcp"
        return parts._replace(path=f"{path}/{seat.path_secret}").geturl()


_brief_reader = TypeAdapter(Brief)


def read_brief(params: Mapping[str, Any], *, referee_id: str, referee_endpoint: str, relayed: bool = False) -> Brief:
    """Read the params of a ``start_match``. A field that is null counts as missing.

    Args:
        params: the message.
        referee_id: the id of this referee.
        referee_endpoint: the address that players are told.
        relayed: that address is the league manager's, which passes answers on to this referee.

    Raises:
        MissingField, InvalidFormat: E003, E002, naming the field.
    """
    fields = _without_nulls(params)
    fields |= {"referee_id": referee_id, "referee_endpoint": referee_endpoint, "relayed": relayed}
    for name, role in zip(("player_A", "player_B"), ROLES, strict=True):
        if isinstance(fields.get(name), Mapping):
            fields[name] = _without_nulls(fields[name]) | {"role": role}
    try:
        return _brief_reader.validate_python(fields)
    except ValidationError as error:
        raise _refusal(error) from None


def _without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _refusal(error: ValidationError) -> LeagueError:
    """The error that names the first field that is wrong."""
    first = error.errors()[0]
    name = ".".join(part for part in first["loc"] if isinstance(part, str))
    if first["type"] == "missing" or first["input"] is None:
        return MissingField(f"{name} is missing.", field=name)
    # A seed is a secret, even a broken one.
    seen = None if name == "draw_seed" else first["input"]
    return InvalidFormat(f"{name}: {first['msg']}", field=name, seen=seen)
