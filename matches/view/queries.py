"""READS: what protocol replies, the HTTP API and messages to agents show of a league."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import takewhile
from typing import Any, cast

from django.db.models import Q, QuerySet

from agents_registry.models import Agent, Kind, ReachedBy
from league_sdk.ledger.standings import Row, table
from league_sdk.protocol import notes
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.states import IN_PLAY, LeagueState, MatchState, RoundState
from league_sdk.rules.registry import describe, games
from matches.events.history import Outcome
from matches.models import League, Match, Message, Round
from matches.view import readiness
from matches.view.offered import offered_games
from matches.view.public_answers import for_public
from matches.view.rows import (
    AgentRow,
    MatchDetail,
    MatchResult,
    MatchRow,
    RoundHead,
    RoundRow,
    StandingsRow,
    Step,
    TranscriptEntry,
)
from matches.view.sight import View


def wire_row(row: Row) -> StandingsRow:
    """A table row as messages carry it (ruling, section 4)."""
    return {
        "rank": row.rank,
        "tied_rank": row.tied_rank,
        "player_id": row.player_id,
        "display_name": row.display_name,
        "played": row.played,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "technical_losses": row.technical_losses,
        "points": row.points,
    }


def standings_rows(view: View) -> list[StandingsRow]:
    """The table as messages and the API carry it."""
    return [wire_row(row) for row in view.standings]


def frozen_mark(view: View) -> dict[str, Any]:
    """The field of a message that says that a table is that of an earlier round; empty without a freeze."""
    return {} if view.frozen_after is None else {"frozen_after_round": view.frozen_after}


def out_mark(view: View) -> dict[str, Any]:
    """The field of a message that says who was taken out of the league, and how; empty if nobody was."""
    return {"out": dict(view.moment.out)} if view.moment.out else {}


def update_facts(view: View) -> dict[str, Any]:
    """What LEAGUE_STANDINGS_UPDATE says beside the table: after which round, and the head of the ledger."""
    current = view.moment.current
    return {"round_id": current.number if current is not None else None, "ledger_head": view.moment.head or None}


def own_standings(view: View, players: Collection[str]) -> dict[str, dict[str, int]]:
    """``your_standings`` of some players (ruling, section 4).

    Counts only their own matches: in a large league computing the whole table takes longer than starting a match.
    """
    own = set(players)
    played = [outcome.result for outcome in view.moment.outcomes.values() if not own.isdisjoint(outcome.players)]
    rows = table(dict.fromkeys(own, ""), played, view.scoring)
    return {row.player_id: {"wins": row.wins, "losses": row.losses, "draws": row.draws} for row in rows}


def round_summary(played: Round, *, hidden: bool) -> dict[str, Any]:
    """The counts of ROUND_COMPLETED under every name the documents give them (ruling, section 4).

    Args:
        hidden: whether the board is frozen, so that how the matches ended is left out.
    """
    results = list(played.matches.order_by("pk").values_list("match_id", "status"))
    statuses = [status for _, status in results]
    counted = {
        "matches_completed": len(results),
        "matches_played": len(results),
        "completed_matches": [match_id for match_id, _ in results],
    }
    if hidden:
        return counted
    return counted | {
        "summary": {
            "total_matches": len(results),
            "wins": statuses.count("WIN"),
            "draws": statuses.count("DRAW"),
            "technical_losses": statuses.count("TECHNICAL_LOSS"),
            "cancelled": statuses.count("CANCELLED"),
        },
    }


def round_head(played: Round, view: View, *, for_messages: bool) -> RoundHead:
    """One round in a list.

    Args:
        for_messages: whether times are text as in messages.
    """
    round_then = view.moment.rounds.get(played.number)
    times = (round_then.started_at, round_then.completed_at) if round_then is not None else (None, None)
    started, completed = (stamp(time) if for_messages and time is not None else time for time in times)
    return {
        "round_id": played.number,
        "state": round_then.state if round_then is not None else RoundState.PENDING,
        "bye": played.bye.code if played.bye else None,
        "started_at": started,
        "completed_at": completed,
    }


def schedule(view: View, *, for_messages: bool = False) -> list[RoundRow]:
    """Every round with its matches (ruling, section 3); ``for_messages`` as in :func:`round_head`."""
    return _with_matches(view, rounds_of(view.league), for_rows(matches_of(view.league)), for_messages)


def schedule_by_round(view: View) -> Iterator[RoundRow]:
    """The same for messages, a round at a time: the whole of a large league is too much for the memory."""
    for round_ in rounds_of(view.league):
        yield from _with_matches(view, [round_], for_rows(matches_in([round_])), for_messages=True)


def rounds_of(league: League) -> QuerySet[Round]:
    """A league's rounds in order; none while the schedule is being made."""
    rounds = league.rounds.select_related("bye").order_by("number")
    return rounds.none() if league.state == LeagueState.REGISTRATION else rounds


def _with_matches(view: View, rounds: Iterable[Round], matches: Iterable[Match], for_messages: bool) -> list[RoundRow]:
    rows: dict[int, RoundRow] = {
        one.number: {**round_head(one, view, for_messages=for_messages), "matches": []} for one in rounds
    }
    for match in matches:
        rows[match.round.number]["matches"].append(match_row(match, view))
    return list(rows.values())


def matches_of(league: League) -> QuerySet[Match]:
    """A league's matches in playing order, with all rows that a line needs; none while the schedule is being made."""
    matches = Match.objects.filter(league=league)
    return _in_playing_order(matches.none() if league.state == LeagueState.REGISTRATION else matches)


def matches_of_player(league: League, player_id: str) -> QuerySet[Match]:
    """A player's matches in playing order, as :func:`matches_of` gives them.

    By the player's row alone: with its id and the league, the database would look at every match of the league.
    """
    # No id contains NUL, and PostgreSQL refuses a parameter that does.
    player = Agent.objects.filter(league=league, kind=Kind.PLAYER, code=player_id.replace("\x00", "\ufffd")).first()
    matches = Match.objects.filter(Q(player_a=player) | Q(player_b=player))
    made = player is not None and league.state != LeagueState.REGISTRATION
    return _in_playing_order(matches if made else matches.none())


def matches_in(rounds: Collection[Round]) -> QuerySet[Match]:
    """The matches of these rounds in playing order; does not read the league's other matches."""
    return _in_playing_order(Match.objects.filter(round__in=rounds))


def _in_playing_order(matches: QuerySet[Match]) -> QuerySet[Match]:
    return matches.select_related("round", "player_a", "player_b", "referee", "winner").order_by("round__number", "pk")


def for_rows(matches: QuerySet[Match]) -> QuerySet[Match]:
    """The matches with only the columns that :func:`match_row` and :func:`lifecycle` read.

    Reading all columns of the agents would take longer than reading the matches.
    """
    narrow = matches.select_related(None).select_related("round", "player_a", "player_b", "referee")
    return narrow.only(
        *("league_id", "match_id", "state", "attempt", "lifecycle", "round__number"),
        *("player_a__code", "player_b__code", "referee__code"),
    )


def match_row(match: Match, view: View) -> MatchRow:
    """One match in a list; it has no choices, as these are secret before the draw."""
    outcome = view.outcome(match.match_id)
    referee_id = match.referee.code if match.referee else None
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "player_A_id": match.player_a.code,
        "player_B_id": match.player_b.code,
        "referee_id": outcome.referee_id if outcome else referee_id if view.is_present else None,
        "state": state_of(match, view),
        "attempt": outcome.attempt if outcome else match.attempt if view.is_present else _past_attempts(match, view),
        "status": outcome.status if outcome else None,
        "winner": outcome.winner if outcome else None,
    }


def state_of(match: Match, view: View) -> str:
    """A match's state in a view: the history says whether it is finished, the row how far a running one is."""
    if view.outcome(match.match_id) is not None:
        return MatchState.FINISHED
    if not view.is_present:
        return _past_state(match, view)
    # The match was finished when its row was read, but a correction has revoked the result since.
    return MatchState.READY if match.state == MatchState.FINISHED else match.state


def match_detail(match: Match, view: View, *, staff: bool) -> MatchDetail:
    """One match with lifecycle, transcript and result (004 9.4.3); ``staff`` as in :func:`transcript`."""
    outcome = view.outcome(match.match_id)
    return {
        **match_row(match, view),
        "league_id": match.league_id,
        "game_type": match.league.game_type,
        "joined": match.joined if view.is_present else [],
        "locked_in": match.locked_in if view.is_present else [],
        "view": match.view if view.is_present else {},
        "lifecycle": lifecycle(match, view),
        "transcript": [
            cast(TranscriptEntry, notes.entry_in_words(line)) for line in transcript(match, view, staff=staff)
        ],
        "result": _result(outcome, match, staff=staff) if outcome is not None else None,
    }


def _result(outcome: Outcome, match: Match, *, staff: bool) -> MatchResult:
    result = {
        **outcome.details,
        "status": outcome.status,
        "winner_player_id": outcome.winner,
        "reason": outcome.reason,
        "faults": list(outcome.faults),
        # The players' own words in place of an answer, by id.
        **({"said": match.said} if staff else {}),
        # Whether the verdict was deposited with the league manager before anybody was told (ruling, section 12).
        "sealed": outcome.sealed,
        "draw_seed": outcome.draw_seed or None,
        "play": outcome.play,
    }
    return cast(MatchResult, result)


def _past_state(match: Match, view: View) -> str:
    """The state of a match without a result at a past moment: that of its last step by then."""
    if match.round.number not in view.moment.rounds:
        return MatchState.PENDING
    steps = lifecycle(match, view)
    # A match begins as READY, which is not recorded as a step. FINISHED without a result: it was to be replayed.
    last = steps[-1]["state"] if steps else MatchState.READY
    return MatchState.READY if last == MatchState.FINISHED else last


def _past_attempts(match: Match, view: View) -> int:
    return sum(step["state"] == MatchState.ASSIGNED for step in lifecycle(match, view))


def lifecycle(match: Match, view: View) -> list[Step]:
    """The steps of a match up to the moment of the view.

    The list is cut at the first step that is too late: times within an attempt come from the referee, and with a slow
    clock a later attempt could otherwise get into the view.
    """
    if view.is_present:
        return list(match.lifecycle)
    outcome = view.outcome(match.match_id)
    end = outcome.at if outcome is not None else view.moment.at
    if end is None:
        return []
    steps = list(takewhile(lambda step: datetime.fromisoformat(step["at"]) <= end, match.lifecycle))
    if outcome is None and view.league.frozen_seq is not None:
        # The result report replaces the steps of the last attempt that its referee had timed. So behind a freeze only
        # the steps that we time ourselves are sure to stay as they are shown.
        return [step for step in steps if step["state"] not in IN_PLAY[1:]]
    return steps


def transcript(match: Match, view: View, *, staff: bool) -> list[dict[str, Any]]:
    """Every message of every attempt, in order, up to the moment of the view.

    Args:
        staff: whether answers that are not league messages are shown, too (``public_answers``).
    """
    rows = Message.objects.filter(match=match)
    if not view.is_present:
        outcome = view.outcome(match.match_id)
        rows = rows.filter(attempt__lte=outcome.attempt if outcome is not None else 0)
    lines = [
        # Only the agent's owner may see where and how it is called (``matches.audience.pages.mine``).
        {name: value for name, value in entry.items() if name != "wire"} | {"attempt": attempt}
        for attempt, entry in rows.order_by("attempt", "n").values_list("attempt", "entry")
    ]
    return lines if staff else [public_entry(line, match) for line in lines]


def public_entry(entry: Mapping[str, Any], match: Match) -> dict[str, Any]:
    """An entry of a match's transcript as the public may read it, except for addresses, which its callers mask."""
    return for_public(entry, match.player_ids, choice_field(match.league.game_type))


def choice_field(game_type: str) -> str:
    """The name of the field with a move in messages of a game; empty if the game is not installed any more."""
    game = games().get(game_type)
    return game.choice_field if game is not None else ""


def next_match(view: View, player_id: str) -> dict[str, Any] | None:
    """A player's next match that is not finished (ruling, section 3)."""
    of_player = matches_of_player(view.league, player_id)
    if view.is_present:
        match = of_player.exclude(state=MatchState.FINISHED).first()
    else:
        match = next((match for match in of_player if view.outcome(match.match_id) is None), None)
    if match is None:
        return None
    opponent = match.player_b if match.player_a.code == player_id else match.player_a
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "opponent_id": opponent.code,
        "referee_endpoint": match.referee.told_endpoint if match.referee and view.is_present else None,
    }


def player_stats(view: View, player_id: str) -> dict[str, Any] | None:
    """A player's line of the table and its matches so far (GET_PLAYER_STATS), or None if unknown."""
    row = next((row for row in view.standings if row.player_id == player_id), None)
    if row is None:
        return None
    played = matches_of_player(view.league, player_id)
    return {
        "player_id": player_id,
        "stats": wire_row(row),
        "matches": [match_row(match, view) for match in played if view.outcome(match.match_id) is not None],
    }


def agents_of(view: View) -> list[AgentRow]:
    """Players and referees of a league, without tokens and addresses."""
    if view.frozen_after is not None:
        # A board that was frozen by an earlier version has no reached_by.
        defaults = {"reached_by": ReachedBy.ADDRESS.value}
        frozen = [defaults | line for line in view.league.frozen["agents"]]
        return [line | {"ready": readiness.read_ready(line["ready"]).value} for line in frozen]
    league = view.league
    of_league_or_site = Q(league=league) | Q(league__isnull=True, kind=Kind.REFEREE)
    agents = list(Agent.objects.filter(of_league_or_site).order_by("kind", "pk"))
    known = readiness.readiness(agents)
    return [_agent_row(agent, known[agent.pk]) for agent in agents]


def agent_row(agent: Agent) -> AgentRow:
    """One agent, without tokens and addresses."""
    return _agent_row(agent, readiness.readiness([agent])[agent.pk])


def _agent_row(agent: Agent, known: readiness.Readiness) -> AgentRow:
    return {
        "agent_id": agent.code,
        "kind": agent.kind,
        "display_name": agent.display_name,
        "version": agent.version,
        "game_types": agent.game_types,
        "state": agent.state,
        "may_judge": agent.trusted if agent.kind == Kind.REFEREE else None,
        "registered_at": stamp(agent.registered_at),
        "last_heard": stamp(agent.heard_at) if agent.heard_at is not None else None,
        "reached_by": agent.reached_by.value,
        "ready": known.word.value,
    }


def game_registry() -> dict[str, Any]:
    """The games registry (ruling, section 7)."""
    offered = offered_games()
    return {"game_registry": {name: game for name, game in describe().items() if name in offered}}
