"""What the league manager's tools answer, as JSON Schemas, made from the models of messages and rows (our choice)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from league_sdk.mcp.answers import Alive, Tools, output_schema, schema_of
from league_sdk.protocol import schemas
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.schemas.parts import one_of, says
from league_sdk.protocol.states import LeagueState
from matches.checks.practices import PracticeRow
from matches.checks.report import CheckSoFar
from matches.league.corrections.queries import CorrectionRow
from matches.view.rows import FreezeRow, FrozenAfter, GameRegistry, LeagueRow, MatchRow, RoundRow, StandingsRow


class Envelope(TypedDict):
    """The envelope of an answer."""

    protocol: Annotated[Literal["league.v2"], says("The protocol's name.")]
    message_type: Annotated[str, says("Which message this is.")]
    sender: Annotated[str, says("league_manager and its id.")]
    timestamp: Annotated[str, says("When it was made, in UTC.")]
    conversation_id: Annotated[str, says("The one of your message, or a new one.")]


class OfLeague(Envelope):
    """An answer about a league."""

    league_id: Annotated[str, says("The league.")]
    frozen_after_round: NotRequired[FrozenAfter]


class Part(OfLeague):
    """A list that may come in parts."""

    total: NotRequired[Annotated[int, says("If the list comes in parts: how many rows there are in all.")]]
    next_cursor: NotRequired[
        Annotated[
            str | None, says("If the list comes in parts: send it as `cursor` for the next part; null at the end.")
        ]
    ]


class Standings(Part):
    """The table: the fields of LEAGUE_STANDINGS_UPDATE."""

    round_id: Annotated[int | None, says("The round that was started last; null before the first.")]
    ledger_head: Annotated[str | None, says("The digest of the league's last event; null before there is one.")]
    standings: Annotated[list[StandingsRow], says("The table, best first.")]


class Schedule(Part):
    """The schedule."""

    rounds: Annotated[list[RoundRow], says("The rounds with their matches.")]


class UpcomingMatch(TypedDict):
    """A match that is not finished."""

    match_id: Annotated[str, says("Its id, such as R1M1.")]
    round_id: Annotated[int, says("The number of its round.")]
    opponent_id: Annotated[str, says("The other player.")]
    referee_endpoint: Annotated[str | None, says("Where its referee listens; null before one is chosen.")]


class NextMatch(OfLeague):
    """A player's next match."""

    next_match: Annotated[UpcomingMatch | None, says("The match; null when there is none.")]


class PlayerStats(OfLeague):
    """A player's results. A player that is on no table has none."""

    player_id: NotRequired[Annotated[str, says("The player.")]]
    stats: NotRequired[Annotated[StandingsRow, says("Its line of the table.")]]
    matches: NotRequired[Annotated[list[MatchRow], says("Its matches that have a result.")]]


class Games(Envelope, GameRegistry):
    """The games that can be played."""

    league_id: NotRequired[Annotated[str | None, says("The caller's league, if there is one.")]]


class Leagues(Envelope):
    """The leagues of the site."""

    leagues: Annotated[list[LeagueRow], says("The newest first.")]


class ScheduleCreated(Envelope):
    """The schedule is made."""

    league_id: Annotated[str, says("The league.")]
    status: Annotated[str, one_of(LeagueState), says("The state of the league.")]
    total_rounds: Annotated[int, says("How many rounds there are.")]
    total_matches: Annotated[int, says("How many matches there are.")]
    rounds: Annotated[list[RoundRow], says("The rounds with their matches.")]


class ActionDone(Envelope):
    """What the instructor asked for is done."""

    action: Annotated[str, says("The action's name in the log of who did what, such as league.pause.")]
    done: Annotated[str, says("A sentence that confirms it; empty if `league` shows what was done.")]
    league: Annotated[LeagueRow, says("The league as it stands now.")]


class FreezeDone(ActionDone):
    """The freeze is planned."""

    freeze: Annotated[FreezeRow, says("What is hidden.")]


class ReplayDone(ActionDone):
    """The match is played again."""

    correction: Annotated[CorrectionRow, says("The correction by which the match is played again.")]


class CheckStatus(Envelope, CheckSoFar):
    """How far a check is."""


class PracticeStatus(Envelope, PracticeRow):
    """How far a practice match is, and what was played so far."""


class Delivered(TypedDict):
    """A message of the inbox."""

    cursor: Annotated[str, says("Send it as `after` once you have this message and all before it.")]
    deadline: Annotated[str, says("When its sender stops waiting, in UTC.")]
    seconds_left: Annotated[float, says("The same in seconds from now.")]
    request: Annotated[dict[str, Any], says("The JSON-RPC request; your response has its id.")]
    http: Annotated[
        dict[str, Any], says("For a program that relays the message to a server: id, path and headers of the call.")
    ]


class Taken(TypedDict):
    """What became of responses."""

    accepted: Annotated[int, says("How many responses somebody waits for.")]
    not_awaited: Annotated[
        list[Any], says("The ids of the responses for which nobody waits: too late, sent twice, or another agent's.")
    ]


class Inbox(TypedDict):
    """What waits in the inbox."""

    messages: Annotated[list[Delivered], says("The oldest first; empty if none came in time.")]
    next: Annotated[str, says("The `after` of the next call.")]
    accepted: NotRequired[Annotated[int, says("If you sent responses: for how many of them somebody waits.")]]
    not_awaited: NotRequired[Annotated[list[Any], says("If you sent responses: the ids of the others.")]]


class PlayedStep(TypedDict):
    """A message of the league or of a referee to a person who plays, or what the person has done."""

    message_type: NotRequired[Annotated[str, says("The message.")]]
    match_id: NotRequired[Annotated[str, says("The match that it is about.")]]
    round_id: NotRequired[Annotated[int, says("The round that it is about.")]]
    game_result: NotRequired[Annotated[dict[str, Any], says("How the match ended.")]]
    standings: NotRequired[Annotated[list[Any], says("The table.")]]
    champion: NotRequired[Annotated[Any, says("Who has won the league.")]]
    says: NotRequired[Annotated[str, says("The same in a sentence.")]]


class PlayStatus(Envelope):
    """What happened while a person played."""

    events: Annotated[list[PlayedStep], says("What was said and done, in order.")]
    call_again: Annotated[bool, says("Whether there may be more to play.")]


_ROWS: dict[str, Any] = {
    "get_standings": Standings,
    "get_schedule": Schedule,
    "get_next_match": NextMatch,
    "get_player_stats": PlayerStats,
    "get_games": Games,
    "list_games": Games,
    "list_leagues": Leagues,
    "check_agent": CheckStatus,
    "practice_match": PracticeStatus,
    "next_message": Inbox,
    "submit_response": Taken,
    "play": PlayStatus,
    "create_schedule": ScheduleCreated,
    **dict.fromkeys(("create_league", "start_round", "pause", "resume"), ActionDone),
    "freeze": FreezeDone,
    "replay_match": ReplayDone,
    "ping": Alive,
    "list_tools": Tools,
}
_MESSAGES = {
    "register_player": MessageType.LEAGUE_REGISTER_RESPONSE,
    "register_referee": MessageType.REFEREE_REGISTER_RESPONSE,
    "report_match_result": "MATCH_RESULT_ACK",
    "report_progress": "REPORT_PROGRESS_ANSWER",
    "league_query": MessageType.LEAGUE_QUERY_RESPONSE,
}


def _of_message(name: str) -> dict[str, Any]:
    schema = schemas.json_schema(name)
    status = schema["properties"].get("status")
    if status is not None and "REJECTED" in status["enum"]:
        # An agent that registers with protocol_version "league.v2" is answered REGISTERED in place of ACCEPTED.
        status["enum"].append("REGISTERED")
    return schema


_REFUSAL = schemas.json_schema(MessageType.LEAGUE_ERROR)

SCHEMAS: dict[str, dict[str, Any]] = {
    **{name: output_schema(schema_of(kind), _REFUSAL) for name, kind in _ROWS.items()},
    **{name: output_schema(_of_message(message), _REFUSAL) for name, message in _MESSAGES.items()},
}
"""The schema of the ``structuredContent`` of each tool."""
