"""What the document of a league looks like: ``leaguesite.league/1``. Every field, its type and its bounds; pure.

The names are those of the tables they come from. Agents are named by kind and id, never by a number of a database.
What belongs to a running site only is not in it: tokens and their hashes, leases, the outbox, who has which role.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
)

from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS, MAX_VERSION_CHARS
from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus, RoundState

FORMAT = "leaguesite.league/1"
FIRST_YEAR, LAST_YEAR = 2000, 2200
"""Moments outside of these are mistakes, and calendars stumble over them."""
MOST = 10**9
"""Of a number: one more can always be counted, in every column of every database."""


def _moment(value: Any) -> Any:
    """A moment as the export writes it: ISO 8601 with its zone."""
    found = datetime.fromisoformat(value) if isinstance(value, str) else None
    if found is None or found.tzinfo is None or not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ValueError(f"expected a moment with its zone, such as 2025-01-15T10:15:00+00:00, from {FIRST_YEAR} on")
    return found


def _words(values: type) -> Any:
    known = [str(value) for value in values]  # type: ignore[attr-defined]

    def check(value: Any) -> Any:
        if value not in known:
            raise ValueError(f"expected one of {', '.join(known)}")
        return str(value)

    return check


Moment = Annotated[datetime, BeforeValidator(_moment)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=MAX_ID_CHARS)]
LeagueId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=MAX_ID_CHARS)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS)]
Short = Annotated[str, StringConstraints(max_length=200)]
Reason = Annotated[str, StringConstraints(max_length=500)]
Address = Annotated[str, StringConstraints(max_length=MAX_ENDPOINT_CHARS)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Points = Annotated[int, Field(ge=-MOST, le=MOST)]
MaybeHash = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
Salt = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{32}){0,2}$")]
Object = dict[str, Any]


class Part(BaseModel):
    """Nothing is guessed: types are exact, and what is not known is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Fault(BaseModel):
    """A fault of a result, as ``matches.league.fault_reports`` reads it."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    player_id: Id
    error_code: Annotated[str, StringConstraints(max_length=8)]
    message_type: Annotated[str, StringConstraints(max_length=40)] = ""
    tries: Count = 1
    cause: Annotated[str, StringConstraints(max_length=40)] = ""
    limit_s: int | float | None = None
    detail: Annotated[str, StringConstraints(max_length=200)] = ""
    sentence: Annotated[str, StringConstraints(max_length=300)]


class _FrozenAgent(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")

    kind: Literal["player", "referee"]
    agent_id: Id
    ready: Literal["passed", "failed", "checking", "not_checked"]


class _Frozen(BaseModel):
    """What the public saw when a board was frozen."""

    model_config = ConfigDict(strict=True, extra="forbid")

    after: Count
    head: MaybeHash = ""
    names: dict[Id, str]
    states: dict[Id, Short]
    agents: list[_FrozenAgent]
    summary: Object
    settings: Object = {}

    @field_validator("settings")
    @classmethod
    def _settings(cls, value: Object) -> Object:
        return _fits(LeagueSettings)(value)  # type: ignore[no-any-return]


def _fits(shape: type[BaseModel]) -> Any:
    """The value is of a shape, and kept as it is."""

    def check(value: Any) -> Any:
        shape.model_validate(value)
        return value

    return check


Faults = list[Annotated[Object, AfterValidator(_fits(_Fault))]]


def _frozen(value: Object) -> Object:
    return _fits(_Frozen)(value) if value else value


class OutPart(Part):
    """Why a player is out of the league, and what became of its matches."""

    model_config = ConfigDict(extra="allow")

    word: Literal["withdrawn", "disqualified"]


class LeaguePart(Part):
    league_id: LeagueId
    display_name: Name
    game_type: Id
    state: Annotated[str, BeforeValidator(_words(LeagueState))]
    paused: bool
    settings: Object
    left_out: dict[Id, Short]
    out: dict[Id, OutPart]
    freeze_from: Count | None
    frozen_seq: Count | None
    frozen: Annotated[Object, AfterValidator(_frozen)]
    unveiled: Count
    event_seq: Count
    ledger_head: MaybeHash = ""
    created_at: Moment
    started_at: Moment | None
    completed_at: Moment | None


class PersonPart(Part):
    name: Name
    email: Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+$", max_length=254)]
    code: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{3,31}$")]


class AgentPart(Part):
    """A player, or a referee that judged here. ``owner`` (an e-mail) and addresses are there only with people."""

    kind: Literal["player", "referee"]
    code: Id
    name: Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS)]
    display_name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS + 8)]
    sender_name: Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS)]
    version: Annotated[str, StringConstraints(max_length=MAX_VERSION_CHARS)]
    game_types: Annotated[list[Id], Field(max_length=64)]
    dialect: Annotated[str, StringConstraints(max_length=32)]
    spoken: dict[str, Short]
    by_hand: bool
    max_concurrent: Annotated[int, Field(ge=0, le=32767)]
    sends_progress: bool
    notes: list[Any]
    registered_at: Moment
    endpoint: Address
    owner: str | None


class RoundPart(Part):
    number: Annotated[int, Field(ge=1, le=MOST)]
    state: Annotated[str, BeforeValidator(_words(RoundState))]
    bye: Id | None
    started_at: Moment | None
    completed_at: Moment | None


class EventPart(Part):
    seq: Annotated[int, Field(ge=1, le=MOST)]
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]+$", max_length=32)]
    data: Object
    at: Moment
    digest: MaybeHash = ""
    salt: Salt = ""


class OutcomePart(BaseModel):
    """A result as events tell it; there may be more in it."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    match_id: Id
    round_id: Annotated[int, Field(ge=1, le=MOST)]
    players: Annotated[list[Id], Field(min_length=2, max_length=2)]
    status: Annotated[str, BeforeValidator(_words(ResultStatus))]
    winner_id: Id | None
    reason: Reason
    details: Object
    faults: Faults
    attempt: Count
    referee_id: Id | None


class CorrectionPart(Part):
    number: Annotated[int, Field(ge=1, le=MOST)]
    kind: Literal["void", "replay", "set_result", "withdraw", "disqualify", "points"]
    match_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]*$", max_length=MAX_ID_CHARS)]
    player: Id | None
    points: Points
    matches_become: Annotated[str, StringConstraints(max_length=8)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    before: Object
    after: Object
    made_by: Annotated[str, StringConstraints(max_length=150)]
    made_at: Moment
    undone_by: Annotated[str, StringConstraints(max_length=150)]
    undone_at: Moment | None
    undone_reason: Annotated[str, StringConstraints(max_length=300)]


class NoticePart(Part):
    player: Id | None
    text: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    made_by: Annotated[str, StringConstraints(max_length=150)]
    made_at: Moment
    withdrawn_at: Moment | None


class CheckPart(Part):
    """The last verdict on an agent's address; only with people, as the report shows the address."""

    kind: Literal["player", "referee"]
    agent: Id
    endpoint: Address
    check_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    game_types: list[Id]
    notes: list[Any]
    report: Object
    passed: bool
    problem: Short
    runs: Annotated[int, Field(ge=0, le=32767)]
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment
    withheld: bool = False


class MessagePart(Part):
    attempt: Count
    n: Count
    entry: Object


class MatchPart(Part):
    match_id: Id
    round: Annotated[int, Field(ge=1, le=MOST)]
    player_a: Id
    player_b: Id
    referee: Id | None
    state: Annotated[str, BeforeValidator(_words(MatchState))]
    attempt: Count
    lost_attempts: Count
    conversation_id: Annotated[str, StringConstraints(max_length=80)]
    joined: list[Id]
    locked_in: list[Id]
    view: Object
    lifecycle: list[Object]
    status: Literal["", "WIN", "DRAW", "TECHNICAL_LOSS", "CANCELLED"]
    winner: Id | None
    reason: Reason
    details: Object
    faults: Faults
    finished_at: Moment | None
    messages: list[MessagePart]


class Document(Part):
    """The head of the document; each of its lists is checked item by item, so that a mistake can be named."""

    format: Literal["leaguesite.league/1"]
    people: bool
    league: Object
    roster: list[Object]
    agents: list[Object]
    rounds: list[Object]
    events: list[Object]
    corrections: list[Object]
    notices: list[Object]
    checks: list[Object]
    matches: list[Object]


PARTS: dict[str, type[BaseModel]] = {
    "roster": PersonPart,
    "agents": AgentPart,
    "rounds": RoundPart,
    "events": EventPart,
    "corrections": CorrectionPart,
    "notices": NoticePart,
    "checks": CheckPart,
    "matches": MatchPart,
}
"""What the items of each list look like."""
