"""Rows that the HTTP API answers with, field by field.

Each row is described once. mypy checks the functions against these types, and the OpenAPI document of
``leaguesite.api`` is made from them; at run time they are plain dicts.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, WithJsonSchema, with_config

# pydantic reads no ``typing.TypedDict`` before Python 3.12.
from typing_extensions import TypedDict

from agents_registry.models import Kind, ReachedBy
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.schemas.parts import one_of, says
from league_sdk.protocol.states import AgentState, LeagueState, MatchState, ResultStatus, RoundState
from matches.view.readiness import Ready

WITH_MORE = ConfigDict(extra="allow")
"""For an object to which a game, or a student's referee, may add fields of its own."""


def time_in(description: str) -> Any:
    """Metadata of a field that is a time as text, in ISO 8601."""
    return Field(description=description, json_schema_extra={"format": "date-time"})


FrozenAfter = Annotated[
    int,
    says("Only while the board is frozen: the last round whose results are shown, 0 for none."),
]


class Champion(TypedDict):
    """The winner of a league."""

    player_id: Annotated[str, says("Its id, such as P01.")]
    display_name: Annotated[str, says("Its name.")]
    points: Annotated[int, says("Its points at the end.")]


class Champions(TypedDict):
    """The winners of a league."""

    champion: Annotated[Champion | None, says("The winner, with rank 1; null before the end, and if nobody won.")]
    champions: Annotated[list[Champion], says("Everyone who shares the first place; empty without a winner.")]


class LeagueRow(Champions):
    """A league with its progress in numbers."""

    league_id: Annotated[str, says("Its id, as in addresses.")]
    display_name: Annotated[str, says("Its name.")]
    game_type: Annotated[str, says("The game, as `GET /api/games` names it.")]
    demo: Annotated[bool, says("Whether it is the demo, which plays itself until a real league starts.")]
    status: Annotated[str, one_of(LeagueState), says("How far it is.")]
    paused: Annotated[bool, says("Whether no round and no match starts.")]
    auto_advance: Annotated[bool, says("Whether the next round starts by itself.")]
    players: Annotated[int, says("How many players it has.")]
    round: Annotated[int | None, says("The number of the latest round that has started; null before the first.")]
    rounds: Annotated[int, says("How many rounds are planned; 0 before the schedule is made.")]
    matches: Annotated[int, says("How many matches are planned; 0 before the schedule is made.")]
    matches_done: Annotated[int, says("How many of them have ended.")]
    created_at: Annotated[datetime, says("When it was opened, in UTC.")]
    started_at: Annotated[datetime | None, says("When its first round started, in UTC; null before.")]
    completed_at: Annotated[datetime | None, says("When it was completed or stopped, in UTC; null before.")]
    frozen_after_round: NotRequired[FrozenAfter]


class FreezeRow(TypedDict):
    """The freeze of a league's board."""

    league_id: Annotated[str, says("The league.")]
    from_round: Annotated[int | None, says("The first round whose results are hidden; null: no freeze is planned.")]
    frozen_after_round: Annotated[int | None, says("The last round whose results are shown; null: it is not frozen.")]
    places_unveiled: Annotated[int, says("How many places of the final table are shown, from the last one up.")]


class ScreenRow(TypedDict):
    """How the screens of a league are steered."""

    league_id: Annotated[str, says("The league.")]
    held: Annotated[bool, says("Whether the scenes stand still.")]
    featured: Annotated[str, says("The match that is shown large; empty: the most interesting one is.")]


class StandingsRow(TypedDict):
    """A row of the table."""

    rank: Annotated[int, says("Its position, from 1 on, which no two share.")]
    tied_rank: Annotated[int, says("Its place; players that differ only in their player_id share a place.")]
    player_id: Annotated[str, says("The player's id, such as P01.")]
    display_name: Annotated[str, says("The player's name.")]
    played: Annotated[int, says("Matches that count.")]
    wins: Annotated[int, says("Matches won.")]
    draws: Annotated[int, says("Matches that ended in a draw.")]
    losses: Annotated[int, says("Matches lost, technical losses included.")]
    technical_losses: Annotated[int, says("Matches lost because no valid answer came.")]
    points: Annotated[int, says("Points by the league's scoring, with those given or taken by corrections.")]


class PlayerLuckRow(TypedDict):
    """How much of a player's place is luck."""

    player_id: Annotated[str, says("The player's id, such as P01.")]
    place: Annotated[int, says("Its place after `after_round`, shared places included.")]
    points: Annotated[int, says("Its points then.")]
    low: Annotated[int, says("The first of the places between which it would be in nine of ten leagues played again.")]
    high: Annotated[int, says("The last of these places.")]
    first_again: Annotated[float, says("The share of leagues played again in which it would be first.")]
    best: Annotated[float | None, says("How likely it is the best of all; null if no match of it was played out.")]
    better: Annotated[float | None, says("How likely it is better than the average; null in a game of chance.")]
    coin: Annotated[bool, says("Whether its results could be those of an average player.")]
    expected_points: Annotated[float | None, says("In a game of chance, what its matches were worth on average.")]
    expected_spread: Annotated[float | None, says("The standard deviation of these points.")]


class LuckRow(TypedDict):
    """How much of a table is luck."""

    league_id: Annotated[str, says("The league.")]
    after_round: Annotated[int | None, says("The last round that the figures are about; null while there are none.")]
    current: Annotated[
        bool, says("Whether the figures are up to date; if not, newer ones follow, unless computing them failed.")
    ]
    game_of_chance: Annotated[bool | None, says("Whether nobody can be better than another in this game.")]
    coin: Annotated[bool | None, says("Whether chance alone could have made the table.")]
    matches: Annotated[int, says("How many matches were played again.")]
    kept: Annotated[int, says("How many results were kept as they are, because they were decided without play.")]
    replays: Annotated[int, says("How often these matches were played again.")]
    players: Annotated[list[PlayerLuckRow], says("The players, in the order of their places.")]


class MatchRow(TypedDict):
    """A match; choices are not in it, as they are secret before the draw."""

    match_id: Annotated[str, says("Its id in the league, such as R1M1.")]
    round_id: Annotated[int, says("The number of its round, from 1 on.")]
    player_A_id: Annotated[str, says("The player in the seat PLAYER_A.")]
    player_B_id: Annotated[str, says("The player in the seat PLAYER_B.")]
    referee_id: Annotated[str | None, says("The referee that judges or judged it; null before one is chosen.")]
    state: Annotated[str, one_of(MatchState), says("How far it is.")]
    attempt: Annotated[int, says("How often it was given to a referee; 0 before the first time.")]
    status: Annotated[str | None, says("How it ended: WIN, DRAW, TECHNICAL_LOSS or CANCELLED; null before.")]
    winner: Annotated[str | None, says("The id of the winner; null without one.")]


RoundTime = Annotated[
    datetime | str | None,
    # A text in messages; the API writes a datetime in the same form.
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}),
]


class RoundHead(TypedDict):
    """A round without its matches."""

    round_id: Annotated[int, says("Its number, from 1 on.")]
    state: Annotated[str, one_of(RoundState), says("How far it is.")]
    bye: Annotated[str | None, says("The id of the player that rests; null when the number of players is even.")]
    started_at: Annotated[RoundTime, says("When it was announced, in UTC; null before.")]
    completed_at: Annotated[RoundTime, says("When its last match had ended, in UTC; null before.")]


class RoundRow(RoundHead):
    """A round with its matches."""

    matches: Annotated[list[MatchRow], says("Its matches in playing order.")]


class Step(TypedDict):
    """A step in the life of a match."""

    state: Annotated[str, says("The state that began: a state of a match, or HANDED_BACK by a referee.")]
    at: Annotated[str, time_in("When, in UTC; while the match is played, by the referee's clock.")]


@with_config(WITH_MORE)
class TranscriptEntry(TypedDict):
    """A message of a match. A student's referee words its entries itself: of those only `n`, `at` and `attempt` are
    sure, and there may be other fields."""

    n: Annotated[int, says("Its number within the attempt, from 0 on.")]
    at: Annotated[str, time_in("When it was sent or arrived, with a time zone.")]
    sender: NotRequired[Annotated[str, says("Who sent it, such as player:P01 or referee:REF01.")]]
    recipient: NotRequired[Annotated[str, says("Whom it was for, in the same form.")]]
    message_type: NotRequired[Annotated[str, says("Its type, such as GAME_INVITATION.")]]
    method: NotRequired[Annotated[str, says("The method that carried it; empty for an answer.")]]
    elapsed_ms: NotRequired[Annotated[int | None, says("Milliseconds from the request to this answer; else null.")]]
    limit_ms: NotRequired[Annotated[int | None, says("Milliseconds in which an answer counts; else null.")]]
    http_status: NotRequired[Annotated[int | None, says("The HTTP status of this answer; null without one.")]]
    problem: NotRequired[Annotated[str, says("What was wrong with it, in a sentence; empty when nothing was.")]]
    notes: NotRequired[Annotated[list[str], says("What was unusual about it, in sentences.")]]
    said: NotRequired[Annotated[str, says("For the staff: the agent's own words in place of an answer.")]]
    body: NotRequired[Annotated[Any, says("The message without secrets, cut at 4 KiB; any JSON.")]]
    attempt: Annotated[int, says("The attempt at the match, from 1 on.")]


class Note(TypedDict):
    """A code of the list of notes, and what it quotes."""

    code: Annotated[str, says("The code.")]
    args: Annotated[dict[str, Any], says("What the sentence quotes, by name; texts and numbers.")]


class Fault(TypedDict):
    """What a player did wrong in a match."""

    player_id: Annotated[str, says("The player.")]
    error_code: Annotated[str, says("What went wrong, such as E001; empty if not reported.")]
    message_type: Annotated[str, says("The message that was waited for; empty if not reported.")]
    tries: Annotated[int, says("How often it was asked; 0: it was not called at all.")]
    cause: Annotated[str, one_of(Cause), says("Why the point was lost.")]
    limit_s: Annotated[float | None, says("The seconds that it had for one try; null if not reported.")]
    detail: Annotated[str, says("What was seen instead of an answer, in English; empty if not reported.")]
    note: NotRequired[Annotated[Note, says("The same as a code with what it quotes.")]]
    sentence: Annotated[str, says("The referee's sentence for a person; may be empty.")]


@with_config(WITH_MORE)
class MatchResult(TypedDict):
    """How a match ended. A game may add fields; `drawn_number` to `choices` are those of even_odd."""

    drawn_number: NotRequired[Annotated[int | None, says("The number drawn, 1 to 10; null when none was drawn.")]]
    number_parity: NotRequired[Annotated[str | None, says("Its parity, even or odd; null when none was drawn.")]]
    choices: NotRequired[Annotated[dict[str, Any], says("The choice of each player by id; null where none came.")]]
    status: Annotated[str, one_of(ResultStatus), says("How it ended.")]
    winner_player_id: Annotated[str | None, says("The id of the winner; null without one.")]
    reason: Annotated[str, says("The result in a sentence.")]
    faults: Annotated[list[Fault], says("What players did wrong.")]
    said: NotRequired[Annotated[dict[str, str], says("For the staff: by player, its own words in place of an answer.")]]
    sealed: Annotated[bool, says("Whether the league manager had the verdict before anybody was told.")]
    draw_seed: Annotated[str | None, says("The seed that the number was drawn from, in hex; null without one.")]
    play: Annotated[int, says("1 for the first play, and one more for each replay that was ordered.")]


class MatchDetail(MatchRow):
    """A match with its lifecycle, its transcript and its result."""

    league_id: Annotated[str, says("Its league.")]
    game_type: Annotated[str, says("The game, as `GET /api/games` names it.")]
    joined: Annotated[list[str], says("The ids of the players that have accepted the invitation.")]
    locked_in: Annotated[list[str], says("The ids of the players whose choice is in.")]
    view: Annotated[dict[str, Any], says("What may be seen of a game in play, by names of the game; else empty.")]
    lifecycle: Annotated[list[Step], says("Its steps, in order.")]
    transcript: Annotated[list[TranscriptEntry], says("Every message of every attempt, in order.")]
    result: Annotated[MatchResult | None, says("How it ended; null before.")]


class AgentRow(TypedDict):
    """A player or a referee; no token, no address."""

    agent_id: Annotated[str, says("Its id, such as P01 or REF01.")]
    kind: Annotated[str, one_of(Kind), says("What it is.")]
    display_name: Annotated[str, says("Its name.")]
    version: Annotated[str, says("The version that it gave when it registered.")]
    game_types: Annotated[list[str], says("The games it plays or judges; empty: every game.")]
    state: Annotated[str, one_of(AgentState), says("How it stands with the league manager.")]
    may_judge: Annotated[bool | None, says("Whether a referee is given matches; null for a player.")]
    registered_at: Annotated[str, time_in("When it registered, in UTC.")]
    last_heard: Annotated[str | None, time_in("When it last called or answered, in UTC; null for never.")]
    reached_by: Annotated[str, one_of(ReachedBy.values), says("How it is reached now; nothing: not at all.")]
    ready: Annotated[str, one_of(Ready.values), says("The verdict on it, by its last check and its last answer.")]


class Game(TypedDict):
    """A game of the registry."""

    game_type: Annotated[str, says("Its name in messages.")]
    display_name: Annotated[str, says("Its name for people.")]
    move_types: Annotated[list[str], says("The kinds of moves.")]
    valid_choices: Annotated[dict[str, list[str]], says("By kind of move, the moves that are allowed.")]
    min_players: Annotated[int, says("How many players a match has at least.")]
    max_players: Annotated[int, says("How many players a match has at most.")]
    rules_module: Annotated[str, says("The Python module with its rules.")]
    max_round_time_sec: Annotated[float, says("How long a match may take, in seconds.")]


class GameRegistry(TypedDict):
    """The games that can be played here."""

    game_registry: Annotated[dict[str, Game], says("The games by name.")]
