"""What a referee is told by ``start_match`` (ruling, section 10), read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat, MissingField
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import ROLES


@dataclass(frozen=True, slots=True)
class Seat:
    """One player of a match.

    Attributes:
        player_id: its id in the league.
        role: PLAYER_A or PLAYER_B.
        endpoint: where it listens.
        dialect: how it registered.
        spoken: by message type, the way of speaking it was seen to understand.
        league_token: what our messages to it carry.
        token_digests: SHA-256 of the auth_tokens it may prove a callback with.
        door: the secret at the end of the path at which it is heard (decision 13); it looks like a token, and is
            hidden wherever tokens are.
        unproven: those of them that were given to whoever named its address; an answer from there shows whose they are.
        standings: ``your_standings`` (wins, losses, draws).
        joined_before: it accepted in an earlier attempt.
        suspended: one invitation without retries (ruling, section 8).
        stays: it is behind a gateway, where another path is another program.
    """

    player_id: str
    role: str
    endpoint: str
    dialect: str
    league_token: str
    token_digests: tuple[str, ...]
    standings: dict[str, int]
    joined_before: bool
    suspended: bool
    stays: bool = False
    spoken: dict[str, str] = field(default_factory=dict)
    unproven: tuple[str, ...] = ()
    door: str = field(default_factory=tokens.new_token, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The verdict of an earlier attempt, which only has to be told and reported (ruling, section 12).

    Attributes:
        attempt, conversation_id: of the attempt that was decided; GAME_OVER carries them.
        verdict: the seal's fields, as the referee of that attempt sent them.
    """

    attempt: int
    conversation_id: str
    verdict: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Brief:
    """One attempt at one match.

    Attributes:
        seals: the league manager takes the verdict into safe keeping before the players hear it.
        draw_seed: what the number is drawn from; None when this referee draws by itself.
        draw_commitment: the SHA-256 of the seed, as the players are told it.
        play: 1, and one more for each replay that the instructor ordered.
        moves: player and move of what earlier attempts have on record, in order.
        excused: how many tries of this match have not counted so far.
        sealed: the verdict that has to be told; None for a match that has to be played.
    """

    league_id: str
    round_id: int
    match_id: str
    attempt: int
    game_type: str
    conversation_id: str
    seats: tuple[Seat, Seat]
    settings: LeagueSettings
    referee_id: str
    referee_endpoint: str
    seals: bool = False
    draw_seed: bytes | None = None
    draw_commitment: str = ""
    play: int = 1
    moves: tuple[tuple[str, Any], ...] = ()
    excused: int = 0
    sealed: Sealed | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes ``start_match`` idempotent."""
        return self.league_id, self.match_id, self.attempt

    @property
    def player_ids(self) -> tuple[str, str]:
        """PLAYER_A and PLAYER_B."""
        return self.seats[0].player_id, self.seats[1].player_id

    def endpoint_for(self, seat: Seat) -> str:
        """The address of this referee for the player at one seat: nobody else is told its path."""
        parts = urlsplit(self.referee_endpoint)
        path = parts.path.rstrip("/") or "/mcp"
        return parts._replace(path=f"{path}/{seat.door}").geturl()


def _get(holder: Mapping[str, Any], name: str, kind: type, where: str = "") -> Any:
    value = holder.get(name)
    if value is None:
        raise MissingField(f"{where}{name} is missing.", field=f"{where}{name}", expected=kind.__name__)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidFormat(
            f"{where}{name} has the wrong type.", field=f"{where}{name}", seen=value, expected=kind.__name__
        )
    return value


def read_brief(params: Mapping[str, Any], *, referee_id: str, referee_endpoint: str) -> Brief:
    """Read the params of a ``start_match``.

    Raises:
        MissingField, InvalidFormat: E003, E002, naming the field.
    """
    try:
        settings = LeagueSettings.model_validate(_get(params, "settings", dict))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InvalidFormat(f"settings.{name}: {first['msg']}", field=f"settings.{name}", seen=first["input"]) from None
    return Brief(
        league_id=_get(params, "league_id", str),
        round_id=_get(params, "round_id", int),
        match_id=_get(params, "match_id", str),
        attempt=_get(params, "attempt", int),
        game_type=_get(params, "game_type", str),
        conversation_id=_get(params, "conversation_id", str),
        seats=(_read_seat(params, "player_A", ROLES[0]), _read_seat(params, "player_B", ROLES[1])),
        settings=settings,
        referee_id=referee_id,
        referee_endpoint=referee_endpoint,
        seals=params.get("seals") is True,
        draw_seed=_read_seed(params),
        draw_commitment=params["draw_commitment"] if isinstance(params.get("draw_commitment"), str) else "",
        play=_get(params, "play", int) if params.get("play") is not None else 1,
        moves=_read_moves(params),
        excused=_get(params, "excused", int) if params.get("excused") is not None else 0,
        sealed=_read_sealed(params),
    )


def _read_seed(params: Mapping[str, Any]) -> bytes | None:
    if params.get("draw_seed") is None:
        return None
    text = _get(params, "draw_seed", str)
    try:
        return bytes.fromhex(text)
    except ValueError:
        # What was seen is a secret, be it a broken one.
        raise InvalidFormat("draw_seed is not hex.", field="draw_seed", expected="64 hex digits") from None


def _read_moves(params: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    found = []
    for one in params.get("moves") or []:
        if not isinstance(one, list) or len(one) != 2 or not isinstance(one[0], str):
            raise InvalidFormat("moves has something else.", field="moves", seen=one, expected="[player_id, move]")
        found.append((one[0], one[1]))
    return tuple(found)


def _read_sealed(params: Mapping[str, Any]) -> Sealed | None:
    if params.get("sealed") is None:
        return None
    sealed = _get(params, "sealed", dict)
    where = "sealed."
    return Sealed(
        _get(sealed, "attempt", int, where),
        _get(sealed, "conversation_id", str, where),
        {
            "status": _get(sealed, "status", str, where),
            "winner_player_id": sealed.get("winner_player_id"),
            "reason": _get(sealed, "reason", str, where),
            "details": _get(sealed, "details", dict, where),
            "faults": _get(sealed, "faults", list, where),
        },
    )


def _read_seat(params: Mapping[str, Any], name: str, role: str) -> Seat:
    seat = _get(params, name, dict)
    where = f"{name}."
    standings = {"wins": 0, "losses": 0, "draws": 0} | _get(seat, "your_standings", dict, where)
    digests = _get(seat, "auth_token_sha256", list, where)
    for digest in digests:
        _get({"auth_token_sha256": digest}, "auth_token_sha256", str, where)
    given = seat.get("unproven_sha256")
    unproven = given if isinstance(given, list) else []
    return Seat(
        player_id=_get(seat, "id", str, where),
        role=role,
        endpoint=_get(seat, "endpoint", str, where),
        dialect=_get(seat, "dialect", str, where),
        league_token=_get(seat, "league_token", str, where),
        token_digests=tuple(digests),
        standings={key: _get(standings, key, int, f"{where}your_standings.") for key in ("wins", "losses", "draws")},
        joined_before=seat.get("joined_before") is True,
        suspended=seat.get("suspended") is True,
        stays=seat.get("stays") is True,
        spoken=_read_spoken(seat.get("spoken")),
        unproven=tuple(digest for digest in digests if digest in unproven),
    )


def _read_spoken(value: Any) -> dict[str, str]:
    given = value if isinstance(value, Mapping) else {}
    return {str(kind): str(shape) for kind, shape in given.items()}
