"""What a referee and the league manager say to each other: a match begins, goes on, has a result.

Only MATCH_RESULT_REPORT is the course's (004 4.6.2, 8.7.6); ``start_match`` and ``report_progress`` are ours, and so
are the answers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict

from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.schemas.game import Attempt, Standings
from league_sdk.protocol.schemas.parts import (
    Count,
    Digest,
    Endpoint,
    ErrorCode,
    FromManager,
    FromReferee,
    Id,
    Message,
    Number,
    OwnToken,
    Parity,
    Part,
    Token,
    When,
    told,
)

OURS = "our choice"
CauseName = Literal[
    "NAME_LOOKUP",
    "CONNECT",
    "HTTP_STATUS",
    "NOT_JSON",
    "WRONG_MESSAGE",
    "ILLEGAL_MOVE",
    "DEADLINE",
    "REFEREE",
    "LEAGUE",
]
"""Those of :class:`league_sdk.protocol.faults.Cause`."""
Progress = Literal["ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "HANDED_BACK"]


class ResultDetails(Part):
    """What happened in the game."""

    drawn_number: Annotated[int | None, told("The number drawn; null when it came to no draw.", "004 4.6.2")] = None
    number_parity: Annotated[Parity | None, told("Its parity, as in GAME_OVER.", OURS)] = None
    choices: Annotated[dict[str, Any] | None, told("What each player chose, by id.", "004 4.6.2")] = None


class Result(Part):
    """Who won."""

    winner: Annotated[Id | None, told("Who won; null or DRAW when nobody did.", "004 4.6.2")]
    score: Annotated[dict[str, int], told("The points of each player, by id.", "004 4.6.2")]
    details: Annotated[ResultDetails, told("What happened in the game.", "004 4.6.2")]


class Fault(Part):
    """What a player did wrong."""

    player_id: Annotated[Id, told("The player.", OURS)]
    error_code: Annotated[ErrorCode, told("What went wrong.", OURS)]
    message_type: Annotated[str | None, told("The message that was waited for.", OURS)] = None
    tries: Annotated[Count | None, told("How often it was asked.", OURS)] = None
    sentence: Annotated[str | None, told("For a person.", OURS)] = None
    cause: Annotated[CauseName | None, told("Whose fault it is.", OURS)] = None
    limit_s: Annotated[float | None, told("The seconds it had for one try.", OURS)] = None
    detail: Annotated[str | None, told("What was seen or understood instead.", OURS)] = None


class MatchResultReport(FromReferee):
    """A referee reports how a match ended."""

    clause = "004 4.6.2"
    sent_to = ("league_manager",)
    answer = "MATCH_RESULT_ACK"
    conditions = (
        When(
            "game_type",
            "even_odd",
            ("result.details.drawn_number", "result.details.choices"),
            "004 4.6.2",
            nullable=True,
        ),
    )
    message_type: Annotated[Literal["MATCH_RESULT_REPORT"], told("Which message this is.", "004 4.6.2")]
    auth_token: OwnToken
    league_id: Annotated[Id, told("The league.", "004 4.6.2")]
    round_id: Annotated[Number, told("The number of the round.", "004 4.6.2")]
    match_id: Annotated[Id, told("The match.", "004 4.6.2")]
    game_type: Annotated[Id, told("The game that was played.", "004 4.6.2")]
    result: Annotated[Result, told("Who won.", "004 4.6.2")]
    attempt: Attempt = None
    status: Annotated[
        Literal["WIN", "DRAW", "TECHNICAL_LOSS", "CANCELLED"] | None,
        told("How it ended, as in GAME_OVER; without it the score says so.", OURS),
    ] = None
    reason: Annotated[str | None, told("The result in a sentence.", OURS)] = None
    faults: Annotated[list[Fault] | None, told("What players did wrong.", OURS)] = None
    spoken: Annotated[
        dict[str, Any] | None, told("What each player was seen to understand, by id and message type.", OURS)
    ] = None
    found_at: Annotated[dict[str, str] | None, told("By player, the path at which its server was found.", OURS)] = None
    lifecycle: Annotated[list[Any] | None, told("The states of the match, each with its time.", OURS)] = None
    transcript: Annotated[list[Any] | None, told("The messages that were not reported before.", OURS)] = None


class MatchResultAck(FromManager):
    """What the league manager answers to a report; the course's text has no name for it."""

    clause = OURS
    sent_to = ("referee",)
    message_type: Annotated[Literal["MATCH_RESULT_ACK"], told("Which message this is.", OURS)]
    league_id: Annotated[Id, told("The league.", OURS)]
    match_id: Annotated[Id, told("The match.", OURS)]
    status: Annotated[
        Literal["ACCEPTED", "IGNORED"], told("Whether the report counts; IGNORED is one of a lost attempt.", OURS)
    ]
    reason: Annotated[str | None, told("Why it was ignored, or that the first report stands.", OURS)] = None
    duplicate: Annotated[bool | None, told("A result was on record already.", OURS)] = None


class Seat(Part):
    """A player of a match, for its referee."""

    id: Annotated[Id, told("The player.", OURS)]
    endpoint: Annotated[Endpoint, told("Where it listens.", OURS)]
    dialect: Annotated[str, told("How it speaks, as far as is known.", OURS)]
    league_token: Annotated[Token, told("What messages to it carry.", OURS)]
    auth_token_sha256: Annotated[list[Digest], told("What its callbacks are checked by.", OURS)]
    your_standings: Annotated[Standings, told("Its matches so far.", OURS)]
    joined_before: Annotated[bool | None, told("It accepted in an earlier attempt.", OURS)] = None
    suspended: Annotated[bool | None, told("It gets one invitation, without retries.", OURS)] = None
    spoken: Annotated[dict[str, Any] | None, told("By message type, the shape it was seen to understand.", OURS)] = None


class SettingsAsSent(LeagueSettings):
    """A league's settings on the wire. An instructor may write "true" or "2"; here it is what the schema says."""

    model_config = ConfigDict(strict=True, title=LeagueSettings.__name__)


class StartMatch(FromManager):
    """The league manager gives a match to a referee."""

    clause = OURS
    sent_to = ("referee",)
    answer = "START_MATCH_ANSWER"
    message_type: Annotated[Literal["START_MATCH"], told("Which message this is.", OURS)]
    auth_token: Annotated[Token, told("The referee's own league_token: without it nothing is started.", OURS)]
    league_id: Annotated[Id, told("The league.", OURS)]
    round_id: Annotated[Number, told("The number of the round.", OURS)]
    match_id: Annotated[Id, told("The match.", OURS)]
    attempt: Annotated[Number, told("Which attempt this is; the report repeats it.", OURS)]
    game_type: Annotated[Id, told("The game that is played.", OURS)]
    player_A_id: Annotated[Id, told("Who plays as PLAYER_A.", OURS)]  # noqa: N815
    player_B_id: Annotated[Id, told("Who plays as PLAYER_B.", OURS)]  # noqa: N815
    player_A_endpoint: Annotated[Endpoint, told("Where PLAYER_A listens.", OURS)]  # noqa: N815
    player_B_endpoint: Annotated[Endpoint, told("Where PLAYER_B listens.", OURS)]  # noqa: N815
    player_A: Annotated[Seat | None, told("More about PLAYER_A, for referees of the site.", OURS)] = None  # noqa: N815
    player_B: Annotated[Seat | None, told("More about PLAYER_B, for referees of the site.", OURS)] = None  # noqa: N815
    settings: Annotated[SettingsAsSent | None, told("The league's times, retries and points.", OURS)] = None
    endpoint_policy: Annotated[dict[str, Any] | None, told("Addresses that may not be called.", OURS)] = None
    seals: Annotated[bool | None, told("Verdicts are sealed before they are told, moves recorded.", OURS)] = None
    play: Annotated[
        Count | None, told("Which play of the match this is: each replay by the instructor is one more.", OURS)
    ] = None
    draw_seed: Annotated[Digest | None, told("What the number is drawn from: a secret until the end.", OURS)] = None
    draw_commitment: Annotated[Digest | None, told("Its SHA-256, which the players are told.", OURS)] = None
    moves: Annotated[list[Any] | None, told("Player and move of earlier attempts, to go on from.", OURS)] = None
    excused: Annotated[Count | None, told("Tries of the match that did not count so far.", OURS)] = None
    sealed: Annotated[dict[str, Any] | None, told("A sealed verdict, which only has to be told.", OURS)] = None


class StartMatchAnswer(Message):
    """Whether a referee takes a match; asked twice it says the same."""

    clause = OURS
    sent_by = ("referee",)
    sent_to = ("league_manager",)
    accepted: Annotated[bool, told("Whether it takes the match.", OURS)]
    reason: Annotated[str | None, told("Why not.", OURS)] = None


class MatchProgress(Part):
    """How far a match has come."""

    league_id: Annotated[Id, told("The league.", OURS)]
    match_id: Annotated[Id, told("The match.", OURS)]
    attempt: Annotated[Count, told("The attempt of its start_match.", OURS)]
    state: Annotated[Progress, told("Its state; HANDED_BACK gives it back.", OURS)]
    joined: Annotated[list[Id] | None, told("Who has accepted.", OURS)] = None
    locked_in: Annotated[list[Id] | None, told("Who has chosen; never what.", OURS)] = None
    view: Annotated[dict[str, Any] | None, told("What the public may see of the game.", OURS)] = None
    transcript: Annotated[list[Any] | None, told("New messages, without hidden choices.", OURS)] = None
    cause: Annotated[
        Literal["REFEREE", "LEAGUE"] | None, told("Given back because a side failed: which; it counts as lost.", OURS)
    ] = None
    why: Annotated[str | None, told("How it failed.", OURS)] = None
    moves: Annotated[list[Any] | None, told("Player and move of a game without hidden choices.", OURS)] = None
    excused: Annotated[list[Any] | None, told("Tries that did not count, and the evidence.", OURS)] = None
    seal: Annotated[dict[str, Any] | None, told("The verdict, to be kept before it is told.", OURS)] = None
    end_told: Annotated[bool | None, told("The players have heard the end.", OURS)] = None


class ReportProgress(FromReferee):
    """How far all matches of a referee have come; its heartbeat."""

    clause = OURS
    sent_to = ("league_manager",)
    answer = "REPORT_PROGRESS_ANSWER"
    message_type: Annotated[Literal["report_progress"], told("Which message this is.", OURS)]
    auth_token: OwnToken
    matches: Annotated[list[MatchProgress], told("The matches in play.", OURS)]
    leaving: Annotated[bool | None, told("No new match is taken.", OURS)] = None


class ProgressAnswer(Part):
    """Whether a match is still the referee's."""

    league_id: Annotated[Id, told("The league.", OURS)]
    match_id: Annotated[Id, told("The match.", OURS)]
    attempt: Annotated[Count, told("The attempt.", OURS)]
    status: Annotated[
        Literal["ok", "lost", "sealed", "refused"],
        told("A lost match is given up at once; a verdict is told once it is sealed.", OURS),
    ]


class ReportProgressAnswer(Message):
    """What the league manager says to progress."""

    clause = OURS
    sent_by = ("league_manager",)
    sent_to = ("referee",)
    matches: Annotated[list[ProgressAnswer], told("One for each match reported.", OURS)]
