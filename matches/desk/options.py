"""Request bodies of the API's endpoints for the desk's actions, and arguments of its tools."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from agents_registry.rosters.files import MAX_CSV_CHARS
from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS
from matches.desk.targets import MAX_BIGINT, MAX_TICKED
from matches.models.desk import MAX_NOTICE_CHARS, MAX_USER_CHARS

SETTINGS = "By name; `GET /api/protocol/` lists them with their defaults and ranges."


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewLeague(_Options):
    """A league to open for registration."""

    league_id: str = Field(description="Its id, as in addresses: letters, digits, - and _.")
    display_name: str = Field("", description="Its name; empty: its id.")
    game_type: str = Field("even_odd", description="The game, as `GET /api/games` names it.")
    settings: dict[str, Any] = Field({}, description=SETTINGS)


class Clone(_Options):
    """A new league like another one."""

    wanted_id: str = Field(description="The id of the new league: letters, digits, - and _.")
    display_name: str = Field("", description="Its name; empty: its id.")
    with_settings: bool = Field(True, description="Whether it has the same settings.")
    with_roster: bool = Field(True, description="Whether the same people are on its roster.")
    with_series: bool = Field(False, description="Whether it goes on with the same series.")
    with_codes: bool = Field(False, description="Whether class code and personal codes stay; else they are new.")


class InSeries(_Options):
    """The series that a league is put into."""

    series_id: str = Field(max_length=MAX_ID_CHARS, description="Its id, as in URLs; made if there is none of this id.")
    series_name: str = Field(
        "", max_length=MAX_NAME_CHARS, description="Its name; empty: as it is; of a new one, its id."
    )


class Deletion(_Options):
    """A league to delete."""

    typed: str = Field(max_length=MAX_ID_CHARS, description="Its id once more.")


class Start(_Options):
    """How to start: with ``auto_advance`` the rounds of this league follow each other to the end."""

    auto_advance: bool | None = Field(None, description="Whether the rounds follow each other now; null leaves it.")


class Trust(_Options):
    """Whether a referee may judge; with ``league_id`` only one that registered under that league's own address."""

    trusted: bool = Field(True, description="Whether it is given matches.")
    league_id: str | None = Field(None, description="The league that it must have registered in; null: any or none.")


class GatewayMark(_Options):
    """A host, and whether it is a gateway: then the path of an address counts, else its IP address and port alone."""

    host: str = Field(description="A name or an IP address, without a port.")
    gateway: bool = Field(True, description="Whether it is a gateway.")


class Crowd(_Options):
    """An address from which more players may register."""

    address: str = Field(max_length=45, description="As the desk names it; empty: all whose address nobody knows.")


class Words(_Options):
    """A notice, and who reads it: the owner of a player, or the room."""

    text: str = Field(max_length=4 * MAX_NOTICE_CHARS, description=f"1 to {MAX_NOTICE_CHARS} characters.")
    player_id: str = Field("", max_length=MAX_ID_CHARS, description="Whose owner it is for; empty: the room.")


class Settings(_Options):
    """What a league is called, and its settings; what is null stays as it is."""

    display_name: str | None = Field(None, max_length=MAX_NAME_CHARS, description="Its name.")
    settings: dict[str, Any] | None = Field(
        None, description=f"All that differ from the defaults: one that is left out gets its default. {SETTINGS}"
    )


class NewPlayer(_Options):
    """A player that never registers by itself."""

    name: str = Field(max_length=MAX_NAME_CHARS, description="Its name.")
    endpoint: str = Field(
        max_length=MAX_ENDPOINT_CHARS, description="Its address as the site reaches it, such as http://host:8101/mcp."
    )
    wanted_id: str = Field(
        "", max_length=MAX_ID_CHARS, description="The id that the player calls itself by; empty: the next free id."
    )


class AgentEdit(_Options):
    """What of an agent is changed; what is null stays as it is."""

    display_name: str | None = Field(None, description="Its name on pages and in tables.")
    owner: int | None = Field(
        None,
        ge=0,
        le=MAX_BIGINT,
        description="Whose it is: the number of a person on the league's roster; 0: nobody's.",
    )
    trusted: bool | None = Field(None, description="Whether a referee is given matches.")
    readmit: bool | None = Field(None, description="Whether its next registration needs no proof, once.")


class Plan(_Options):
    """The time of a planned start, which closes registration if it is still open."""

    when: AwareDatetime = Field(description="The time, ISO 8601 with its zone; at most a year ahead.")
    all_rounds: bool = Field(False, description="Whether every later round follows by itself.")


class Freeze(_Options):
    """From when on the public sees no results."""

    from_round: int = Field(ge=1, le=10_000, description="The first round whose results are hidden.")


class Replay(_Options):
    """A match to be played again."""

    match_id: str = Field(max_length=MAX_ID_CHARS, description="The match, such as R1M1.")
    reason: str = Field(description="3 to 300 characters; everybody reads it.")


class NewRole(_Options):
    """A role for a user who can log in at the desk."""

    username: str = Field(max_length=MAX_USER_CHARS, description="The user name.")
    name: str = Field(max_length=40, description="instructor or assistant.")


class RosterFile(_Options):
    """A roster as CSV: the first line names the columns `name`, `email` and perhaps `code`."""

    text: str = Field(max_length=MAX_CSV_CHARS, description="The file.")


class People(_Options):
    """People on a roster."""

    people: list[Annotated[int, Field(ge=1, le=MAX_BIGINT)]] = Field(
        max_length=MAX_TICKED, description="Their numbers; one that is not on the roster is passed over."
    )
