"""The settings of a league by the names of the ruling's section 11, with their ranges.

``docs/protocol.md`` says what each of them is.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]
Points = Annotated[int, Field(ge=-100, le=100)]


_OF_REGISTRATION = {"registration_code", "require_check", "agents_per_person", "min_players", "max_players"}


class LeagueSettings(BaseModel):
    """The settings of a league. Times are in seconds; fractions are allowed.

    An unknown name or a value out of range raises ``pydantic.ValidationError``, which names the setting.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    join_timeout_s: Seconds = 5
    move_timeout_s: Seconds = 30
    game_over_timeout_s: Seconds = 5
    generic_timeout_s: Seconds = 10
    announce_wait_s: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = 2
    max_retries: Annotated[int, Field(ge=0, le=10)] = 3
    retry_base_s: Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)] = 1
    retry_factor: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)] = 2
    request_patience_s: Seconds = 130
    connect_grace_s: Seconds = 5
    breaker_threshold: Annotated[int, Field(ge=1, le=1000)] = 5
    breaker_reset_s: Seconds = 30
    win_points: Points = 3
    draw_points: Points = 1
    loss_points: Points = 0
    technical_loss_points: Points = 0
    min_players: Annotated[int, Field(ge=2, le=10000)] = 2
    max_players: Annotated[int, Field(ge=2, le=10000)] = 10000
    auto_advance: bool = False
    error_style: Literal["error", "result"] = "error"
    no_show: Literal["technical_loss", "cancel"] = "technical_loss"
    suspend_after: Annotated[int, Field(ge=1, le=1000)] = 2
    shutdown_after: Annotated[int, Field(ge=1, le=1000)] = 5
    registration_code: Annotated[str, Field(max_length=64)] | None = None
    agents_per_person: Annotated[int | None, Field(ge=1, le=1000)] = None
    require_check: bool = False
    pause_if_absent: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.5
    referee_lease_s: Annotated[float, Field(ge=1, le=600, allow_inf_nan=False)] = 8
    hold_s: Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)] | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _reject_booleans(cls, value: Any, info: ValidationInfo) -> Any:
        """Reject booleans where a setting is no boolean: pydantic would read true as 1. Texts such as "2" are fine."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError("must not be true or false")
        return value

    @field_validator("pause_if_absent", mode="before")
    @classmethod
    def _read_share(cls, value: Any) -> Any:
        """The share may be named, as in ``{"share": 0.5}``; none is 0."""
        share = value["share"] if isinstance(value, dict) and value.keys() == {"share"} else value
        return 0 if share is None else share

    @model_validator(mode="after")
    def _reject_contradictions(self) -> LeagueSettings:
        if self.max_players < self.min_players:
            raise ValueError("max_players is smaller than min_players")
        if self.shutdown_after < self.suspend_after:
            raise ValueError("shutdown_after is smaller than suspend_after")
        return self

    def longest_request_s(self, limit_s: float, max_retries: int) -> float:
        """The seconds that all tries of a request to a silent player take together (ruling, section 6).

        Args:
            limit_s: seconds for each try.
            max_retries: after the first try.
        """
        waits = sum(self.retry_base_s * self.retry_factor**n for n in range(max_retries))
        return min(self.request_patience_s, (max_retries + 1) * limit_s + waits)

    def longest_match_s(self) -> float:
        """The longest duration in seconds of a match in which each player joins and moves once (ruling, section 6).

        Every try times out in it. A game in turns may take longer.
        """
        join = self.longest_request_s(self.join_timeout_s, self.max_retries)
        move = self.longest_request_s(self.move_timeout_s, self.max_retries)
        return join + move + 2 * self.game_over_timeout_s + self.generic_timeout_s

    def fence_s(self) -> float:
        """After this many seconds without an accepted heartbeat a referee gives a match up (ruling, section 10)."""
        return self.referee_lease_s * 0.75

    def start_limit_s(self) -> float:
        """The timeout of ``start_match`` in seconds: the lease must outlast it and the fence, which begins after it."""
        return min(self.generic_timeout_s, self.referee_lease_s - self.fence_s())

    def for_referee(self) -> dict[str, Any]:
        """The settings in ``start_match``: all but those about who plays, and when the league pauses by itself."""
        return self.model_dump(exclude={*_OF_REGISTRATION, "pause_if_absent"})
