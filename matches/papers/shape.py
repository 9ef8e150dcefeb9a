"""The fields of the items in a league's document (``leaguesite.league/1``), with their types and bounds. Pure.

Fields have the names of the columns they come from, except for ``Section.renamed``. Agents are identified by kind and
id, never by a primary key. Not in the document is what belongs to a running site, such as tokens and their hashes,
leases, the outbox, and roles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from league_sdk.protocol.own_words import MAX_WORDS_CHARS
from league_sdk.protocol.states import LeagueState, MatchState, ResultStatus, RoundState
from matches.view.readiness import read_ready

FIRST_YEAR, LAST_YEAR = 2000, 2200
"""Times outside of these years are mistakes, and date functions may overflow near the first and last year."""
MAX_COUNT = 10**9
"""Small enough that adding to it overflows no integer column of any database."""


def _moment(value: Any) -> Any:
    """Parse a time as the export writes it: ISO 8601 with a zone."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    if moment is None or moment.tzinfo is None or not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"expected a moment with its zone, such as 2025-01-15T10:15:00+00:00, from {FIRST_YEAR} on")
    return moment


def _one_of(values: Iterable[object]) -> Callable[[Any], str]:
    known = [str(value) for value in values]

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
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Points = Annotated[int, Field(ge=-MAX_COUNT, le=MAX_COUNT)]
MaybeHash = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
Salt = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{32}){0,2}$")]
Object = dict[str, Any]


class Part(BaseModel):
    """Base of all items: types are not converted, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class OpenPart(Part):
    """Base of objects that may have more fields than are listed."""

    model_config = ConfigDict(extra="allow")


class _Fault(OpenPart):
    """A fault of a result, as ``matches.league.fault_reports`` reads it."""

    player_id: Id
    error_code: Annotated[str, StringConstraints(max_length=8)]
    message_type: Annotated[str, StringConstraints(max_length=40)] = ""
    tries: Count = 1
    cause: Annotated[str, StringConstraints(max_length=40)] = ""
    limit_s: int | float | None = None
    detail: Annotated[str, StringConstraints(max_length=200)] = ""
    sentence: Annotated[str, StringConstraints(max_length=300)]


class _FrozenAgent(OpenPart):
    kind: Literal["player", "referee"]
    agent_id: Id
    ready: Annotated[str, AfterValidator(read_ready)]


class _Frozen(Part):
    """What the public sees while the board is frozen."""

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
        return _fits(LeagueSettings)(value)


def _fits(shape: type[BaseModel]) -> Callable[[Object], Object]:
    """A validator that checks a value against a model and returns the value unchanged."""

    def check(value: Object) -> Object:
        shape.model_validate(value)
        return value

    return check


Faults = list[Annotated[Object, AfterValidator(_fits(_Fault))]]


def _frozen(value: Object) -> Object:
    return _fits(_Frozen)(value) if value else value


class OutPart(OpenPart):
    """Why a player is out of the league; the other fields say what became of its matches."""

    word: Literal["withdrawn", "disqualified"]


class LeaguePart(Part):
    league_id: LeagueId
    display_name: Name
    game_type: Id
    state: Annotated[str, BeforeValidator(_one_of(LeagueState))]
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
    """An agent of the league, or a site's referee that judged in it; ``owner`` is the e-mail address of a person."""

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
    number: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    state: Annotated[str, BeforeValidator(_one_of(RoundState))]
    bye: Id | None
    started_at: Moment | None
    completed_at: Moment | None


class EventPart(Part):
    seq: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]+$", max_length=32)]
    data: Object
    at: Moment
    digest: MaybeHash = ""
    salt: Salt = ""


class OutcomePart(OpenPart):
    """A result as events record it."""

    match_id: Id
    round_id: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    players: Annotated[list[Id], Field(min_length=2, max_length=2)]
    status: Annotated[str, BeforeValidator(_one_of(ResultStatus))]
    winner_id: Id | None
    reason: Reason
    details: Object
    faults: Faults
    attempt: Count
    referee_id: Id | None


class CorrectionPart(Part):
    number: Annotated[int, Field(ge=1, le=MAX_COUNT)]
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
    """The last check of an agent's address; never public, as its report shows the address."""

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
    round: Annotated[int, Field(ge=1, le=MAX_COUNT)]
    player_a: Id
    player_b: Id
    referee: Id | None
    state: Annotated[str, BeforeValidator(_one_of(MatchState))]
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
    said: dict[Id, Annotated[str, StringConstraints(max_length=MAX_WORDS_CHARS)]] = {}
    finished_at: Moment | None
    messages: Annotated[list[MessagePart], Field(exclude=True)]
    # Excluded from the columns of the match: messages are rows of another table.
