"""What a referee and the league manager say to each other: a match begins, goes on, has a result.

Only MATCH_RESULT_REPORT is the course's (004 4.6.2, 8.7.6); ``start_match``, ``start_matches`` and ``report_progress``
are ours, and so are the answers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict

from league_sdk.protocol.faults import Cause
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import REPORT_PROGRESS, START_MATCH, START_MATCHES
from league_sdk.protocol.schemas.game import Attempt, Standings
from league_sdk.protocol.schemas.parts import (
    OURS,
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
    Status,
    Token,
    When,
    field,
    one_of,
    optional,
)
from league_sdk.protocol.states import HANDED_BACK, IN_PLAY

CauseName = Annotated[str, one_of(Cause)]
Progress = Annotated[str, one_of((*IN_PLAY, HANDED_BACK))]


class ResultDetails(Part, clause="004 4.6.2"):
    """What happened in the game."""

    drawn_number: int | None = optional("The number drawn; null when none was drawn.")
    number_parity: Parity | None = optional("Its parity, as in GAME_OVER.", OURS)
    choices: dict[str, Any] | None = optional("What each player chose, by id.")


class Result(Part, clause="004 4.6.2"):
    """The winner of a match, and how it won."""

    winner: Id | None = field("Who won; null or DRAW when nobody did.")
    score: dict[str, int] = field("The points of each player, by id.")
    details: ResultDetails = field("What happened in the game.")


class Fault(Part, clause=OURS):
    """What a player did wrong."""

    player_id: Id = field("The player.")
    error_code: ErrorCode = field("What went wrong.")
    message_type: str | None = optional("The message that was waited for.")
    tries: Count | None = optional("How often it was asked.")
    sentence: str | None = optional("For a person.")
    cause: CauseName | None = optional("Why it happened: one of a fixed list of causes.")
    limit_s: float | None = optional("The seconds it had for one try.")
    detail: str | None = optional("What was seen or understood instead.")
    said: str | None = optional("The player's own words in place of an answer; its owner and the staff read them.")


class MatchResultReport(FromReferee, clause="004 4.6.2", sent_to=("league_manager",), answer="MATCH_RESULT_ACK"):
    """A referee reports how a match ended."""

    conditions = (
        When(
            "game_type",
            "even_odd",
            ("result.details.drawn_number", "result.details.choices"),
            "004 4.6.2",
            nullable=True,
        ),
    )
    auth_token: OwnToken
    league_id: Id = field("The league.")
    round_id: Number = field("The number of the round.")
    match_id: Id = field("The match.")
    game_type: Id = field("The game that was played.")
    result: Result = field("Who won.")
    attempt: Attempt = None
    status: Status | None = optional("How it ended, as in GAME_OVER; without it the score says so.", OURS)
    reason: str | None = optional("The result in a sentence.", OURS)
    faults: list[Fault] | None = optional("What players did wrong.", OURS)
    spoken: dict[str, Any] | None = optional("What each player was seen to understand, by id and message type.", OURS)
    learned: dict[str, Any] | None = optional("What else was found out of how players speak, by id.", OURS)
    registrations: dict[str, str] | None = optional(
        "For each player, the registration that this was found out of.", OURS
    )
    found_at: dict[str, str] | None = optional("For each player, the path at which its server was found.", OURS)
    proofs: dict[str, Digest] | None = optional(
        "For each player, the SHA-256 of an auth_token with which its own address answered.", OURS
    )
    lifecycle: list[Any] | None = optional("The states of the match, each with its time.", OURS)
    transcript: list[Any] | None = optional("The messages that were not reported before.", OURS)


class MatchResultAck(FromManager, clause=OURS, sent_to=("referee",)):
    """What the league manager answers to a report; the course's text has no name for it."""

    league_id: Id = field("The league.")
    match_id: Id = field("The match.")
    status: Literal["ACCEPTED", "IGNORED"] = field("Whether the report counts; IGNORED is one of a lost attempt.")
    reason: str | None = optional("Why it was ignored, or that the first report stands.")
    duplicate: bool | None = optional("A result was on record already.")


class Seat(Part, clause=OURS):
    """A player of a match, for its referee."""

    id: Id = field("The player.")
    endpoint: Endpoint = field("Where it listens.")
    dialect: str = field("How it speaks, as far as is known.")
    league_token: Token = field("What messages to it carry.")
    auth_token_sha256: list[Digest] = field("What its callbacks are checked by.")
    unproven_sha256: list[Digest] | None = optional(
        "Those of them that count only once an answer from its own address has the token."
    )
    your_standings: Standings = field("Its matches so far.")
    joined_before: bool | None = optional("It accepted in an earlier attempt.")
    suspended: bool | None = optional("It gets one invitation, without retries.")
    spoken: dict[str, Any] | None = optional("By message type, the shape it was seen to understand.")
    learned: dict[str, Any] | None = optional("What else was found out of how it speaks.")
    registration: str | None = optional("Names its registration.")
    stays: bool | None = optional("It is behind a gateway, where another path is another program.")
    inbox_key: str | None = optional("With it the league manager takes messages for the player's inbox.")
    dials_out: bool | None = optional("It had a line open when the match was given out.")
    connect_grace_s: float | None = optional("Seconds within which a player that dials out must take a message.")
    excused: Count | None = optional("Tries at it that the referees' own failure spoilt so far in this match.")


class SettingsAsSent(LeagueSettings):
    """A league's settings on the wire. An instructor may write "true" or "2"; here it is what the schema says."""

    model_config = ConfigDict(strict=True, title=LeagueSettings.__name__)


class StartMatch(FromManager, clause=OURS, sent_to=("referee",), method=START_MATCH, answer="START_MATCH_ANSWER"):
    """The league manager gives a match to a referee."""

    auth_token: Token = field("The referee's own league_token: without it nothing is started.")
    league_id: Id = field("The league.")
    round_id: Number = field("The number of the round.")
    match_id: Id = field("The match.")
    attempt: Number = field("Which attempt this is; the report repeats it.")
    game_type: Id = field("The game that is played.")
    player_A_id: Id = field("Who plays as PLAYER_A.")  # noqa: N815
    player_B_id: Id = field("Who plays as PLAYER_B.")  # noqa: N815
    player_A_endpoint: Endpoint = field("Where PLAYER_A listens.")  # noqa: N815
    player_B_endpoint: Endpoint = field("Where PLAYER_B listens.")  # noqa: N815
    player_A: Seat | None = optional("More about PLAYER_A, for referees of the site.")  # noqa: N815
    player_B: Seat | None = optional("More about PLAYER_B, for referees of the site.")  # noqa: N815
    settings: SettingsAsSent | None = optional("The league's times, retries and points.")
    endpoint_policy: dict[str, Any] | None = optional("Which addresses may be called.")
    seals: bool | None = optional("Verdicts are sealed before they are told, moves recorded.")
    play: Count | None = optional("Which play of the match this is: each replay by the instructor is one more.")
    draw_seed: Digest | None = optional("What the number is drawn from: a secret until the end.")
    draw_commitment: Digest | None = optional("Its SHA-256, which the players are told.")
    moves: list[Any] | None = optional("Player and move of earlier attempts, to go on from.")
    sealed: dict[str, Any] | None = optional("A sealed verdict, which only has to be told.")


class StartMatchAnswer(Message, clause=OURS, sent_by=("referee",), sent_to=("league_manager",)):
    """Whether a referee takes a match; asked twice it says the same."""

    accepted: bool = field("Whether it takes the match.")
    reason: str | None = optional("Why not.")


class StartMatches(FromManager, clause=OURS, sent_to=("referee",), method=START_MATCHES, answer="START_MATCHES_ANSWER"):
    """The league manager gives several matches to a referee of the site in one call."""

    auth_token: Token = field("The referee's own league_token, as in each of them.")
    matches: list[StartMatch] = field("What start_match would have said of each match.")


class TakenMatch(Part, clause=OURS):
    """Whether a referee takes one of several matches."""

    accepted: bool = field("Whether it takes the match.")
    reason: str | None = optional("Why not.")
    error_code: ErrorCode | None = optional("The error with which start_match would have been answered.")


class StartMatchesAnswer(Message, clause=OURS, sent_by=("referee",), sent_to=("league_manager",)):
    """Which matches a referee takes."""

    matches: list[TakenMatch] = field("One for each match given, in their order.")


class MatchProgress(Part, clause=OURS):
    """How far a match has come."""

    league_id: Id = field("The league.")
    match_id: Id = field("The match.")
    attempt: Count = field("The attempt of its start_match.")
    state: Progress = field("Its state; HANDED_BACK returns it.")
    joined: list[Id] | None = optional("Who has accepted.")
    locked_in: list[Id] | None = optional("Who has chosen; never what.")
    view: dict[str, Any] | None = optional("What the public may see of the game.")
    transcript: list[Any] | None = optional("New messages, without hidden choices.")
    cause: Literal["REFEREE", "LEAGUE"] | None = optional("Which side failed, if one did; the attempt counts as lost.")
    why: str | None = optional("How it failed.")
    moves: list[Any] | None = optional("Player and move of a game without hidden choices.")
    excused: list[Any] | None = optional("Tries that its own failure spoilt, whether each counted, and the evidence.")
    seal: dict[str, Any] | None = optional("The verdict, to be kept before it is told.")
    end_told: bool | None = optional("The players have heard the end.")


class ReportProgress(
    FromReferee, clause=OURS, sent_to=("league_manager",), method=REPORT_PROGRESS, answer="REPORT_PROGRESS_ANSWER"
):
    """How far all matches of a referee have come; its heartbeat."""

    message_type: Literal["report_progress"] = field("Which message this is.")
    auth_token: OwnToken
    matches: list[MatchProgress] = field("The matches in play.")
    leaving: bool | None = optional("No new match is taken.")


class ProgressAnswer(Part, clause=OURS):
    """Whether a match is still the referee's."""

    league_id: Id = field("The league.")
    match_id: Id = field("The match.")
    attempt: Count = field("The attempt.")
    status: Literal["ok", "lost", "sealed", "refused"] = field(
        "A lost match is given up at once; a verdict is told once it is sealed."
    )


class ReportProgressAnswer(Message, clause=OURS, sent_by=("league_manager",), sent_to=("referee",)):
    """What the league manager says to progress."""

    matches: list[ProgressAnswer] = field("One for each match reported.")
