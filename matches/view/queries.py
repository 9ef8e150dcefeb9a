"""READS: what protocol answers, the API and messages to agents show of a league."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from itertools import takewhile
from typing import Any

from django.db.models import Q

from agents_registry.models import Agent, Kind
from league_sdk.ledger.standings import Row, table
from league_sdk.protocol import notes
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.states import PROGRESS_ORDER, LeagueState, MatchState, RoundState
from league_sdk.rules.registry import describe, games
from matches.models import League, Match, Message, Round
from matches.view import readiness
from matches.view.public_answers import for_public
from matches.view.sight import View


def wire_row(row: Row) -> dict[str, Any]:
    """A row as messages carry it (ruling, section 4)."""
    return {
        "rank": row.rank,
        "player_id": row.player_id,
        "display_name": row.display_name,
        "played": row.played,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "technical_losses": row.technical_losses,
        "points": row.points,
    }


def standings_rows(view: View) -> list[dict[str, Any]]:
    """The table as messages and the API carry it."""
    return [wire_row(row) for row in view.standings]


def frozen_mark(view: View) -> dict[str, int]:
    """What says in a message that its table is that of an earlier round; nothing when it is not."""
    return {} if view.frozen_after is None else {"frozen_after_round": view.frozen_after}


def own_standings(view: View, players: Collection[str]) -> dict[str, dict[str, int]]:
    """``your_standings`` of some players (ruling, section 4).

    Only their own matches are counted: in a large league the whole table takes longer than starting a match.
    """
    wanted = set(players)
    played = [one.result for one in view.moment.outcomes.values() if not wanted.isdisjoint(one.players)]
    rows = table(dict.fromkeys(wanted, ""), played, view.scoring)
    return {row.player_id: {"wins": row.wins, "losses": row.losses, "draws": row.draws} for row in rows}


def round_summary(played: Round, *, hidden: bool) -> dict[str, Any]:
    """The counts of ROUND_COMPLETED under every name the documents give them (ruling, section 4).

    Args:
        hidden: the board is frozen: how the matches ended is left out.
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


def round_line(played: Round, view: View, *, wire: bool) -> dict[str, Any]:
    """One round in a list.

    Args:
        wire: times as messages carry them, in text.
    """
    then = view.moment.rounds.get(played.number)
    times = (then.started_at, then.completed_at) if then is not None else (None, None)
    started, completed = (stamp(time) if wire and time is not None else time for time in times)
    return {
        "round_id": played.number,
        "state": then.state if then is not None else RoundState.PENDING,
        "bye": played.bye.code if played.bye else None,
        "started_at": started,
        "completed_at": completed,
    }


def schedule(view: View, *, wire: bool = False) -> list[dict[str, Any]]:
    """Every round with its matches, as GET_SCHEDULE and the API show it (ruling, section 3); ``wire`` as in a line."""
    rounds: dict[int, dict[str, Any]] = {}
    if view.league.state == LeagueState.REGISTRATION:
        # There is none, or it is being made: nobody sees half of one.
        return []
    for one in view.league.rounds.select_related("bye").order_by("number"):
        rounds[one.number] = round_line(one, view, wire=wire) | {"matches": []}
    for match in matches_of(view.league):
        rounds[match.round.number]["matches"].append(match_line(match, view))
    return list(rounds.values())


def matches_of(league: League) -> Any:
    """A league's matches with everything a line shows, in playing order; none while its schedule is being made."""
    found = Match.objects.filter(league=league)
    return _in_playing_order(found.none() if league.state == LeagueState.REGISTRATION else found)


def matches_in(rounds: Collection[Round]) -> Any:
    """The matches of these rounds as ``matches_of`` has them; nothing is read of the league's other matches."""
    return _in_playing_order(Match.objects.filter(round__in=rounds))


def _in_playing_order(matches: Any) -> Any:
    return matches.select_related("round", "player_a", "player_b", "referee", "winner").order_by("round__number", "pk")


def match_line(match: Match, view: View) -> dict[str, Any]:
    """One match in a list; no choice in it before the draw."""
    outcome = view.outcome(match.match_id)
    referee_id = match.referee.code if match.referee else None
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "player_A_id": match.player_a.code,
        "player_B_id": match.player_b.code,
        "referee_id": outcome.referee_id if outcome else referee_id if view.now else None,
        "state": state_of(match, view),
        "attempt": outcome.attempt if outcome else match.attempt if view.now else _attempts_then(match, view),
        "status": outcome.status if outcome else None,
        "winner": outcome.winner if outcome else None,
    }


def state_of(match: Match, view: View) -> str:
    """A match's state in a view: only its history says that it is finished, and only its row how it was going."""
    if view.outcome(match.match_id) is not None:
        return MatchState.FINISHED
    if not view.now:
        return _state_then(match, view)
    # The row is older than the history by a moment: the result was taken back in between.
    return MatchState.READY if match.state == MatchState.FINISHED else match.state


def match_detail(match: Match, view: View, *, staff: bool) -> dict[str, Any]:
    """One match whole: lifecycle with times, transcript, result (004 9.4.3); answers that are none for the staff."""
    outcome = view.outcome(match.match_id)
    return match_line(match, view) | {
        "league_id": match.league_id,
        "game_type": match.league.game_type,
        "joined": match.joined if view.now else [],
        "locked_in": match.locked_in if view.now else [],
        "view": match.view if view.now else {},
        "lifecycle": lifecycle(match, view),
        "transcript": [notes.told(line) for line in transcript(match, view, staff=staff)],
        "result": None
        if outcome is None
        else {
            **outcome.details,
            "status": outcome.status,
            "winner_player_id": outcome.winner,
            "reason": outcome.reason,
            "faults": list(outcome.faults),
            # Whether the verdict was in safe keeping before anybody was told (ruling, section 12).
            "sealed": outcome.sealed,
            "draw_seed": outcome.draw_seed or None,
            "play": outcome.play,
        },
    }


def _state_then(match: Match, view: View) -> str:
    """How a match without a result stood at a moment of the past: its last step by then."""
    if match.round.number not in view.moment.rounds:
        return MatchState.PENDING
    steps = lifecycle(match, view)
    # Waiting for a referee is where a round begins; that is no step yet. A row that is finished was played again.
    last = steps[-1]["state"] if steps else MatchState.READY
    return MatchState.READY if last == MatchState.FINISHED else last


def _attempts_then(match: Match, view: View) -> int:
    return sum(step["state"] == MatchState.ASSIGNED for step in lifecycle(match, view))


def lifecycle(match: Match, view: View) -> list[dict[str, str]]:
    """The steps of a match, as far as the view goes.

    They end with the first that is too late: within an attempt the times are its referee's, and a clock that is slow
    must not bring an attempt that began later into the view.
    """
    if view.now:
        return list(match.lifecycle)
    outcome = view.outcome(match.match_id)
    end = outcome.at if outcome is not None else view.moment.at
    if end is None:
        return []
    steps = list(takewhile(lambda step: datetime.fromisoformat(step["at"]) <= end, match.lifecycle))
    if outcome is None and view.league.frozen_seq is not None:
        # The report at a match's end replaces the times of its last attempt: what is sure is what we timed ourselves.
        return [step for step in steps if step["state"] not in PROGRESS_ORDER[1:]]
    return steps


def transcript(match: Match, view: View, *, staff: bool) -> list[dict[str, Any]]:
    """Every message of every attempt, in order, as far as the view goes.

    Args:
        staff: whether answers are shown that are none (``public_answers``).
    """
    rows = Message.objects.filter(match=match)
    if not view.now:
        outcome = view.outcome(match.match_id)
        rows = rows.filter(attempt__lte=outcome.attempt if outcome is not None else 0)
    lines = [
        # Where and how an agent is called is shown to its owner only (``pages.mine``).
        {name: value for name, value in entry.items() if name != "wire"} | {"attempt": attempt}
        for attempt, entry in rows.order_by("attempt", "n").values_list("attempt", "entry")
    ]
    if staff:
        return lines
    game = games().get(match.league.game_type)
    players = (match.player_a.code, match.player_b.code)
    return [for_public(line, players, game.choice_field if game is not None else "") for line in lines]


def next_match(view: View, player_id: str) -> dict[str, Any] | None:
    """A player's next match that is not finished (ruling, section 3)."""
    theirs = matches_of(view.league).filter(Q(player_a__code=player_id) | Q(player_b__code=player_id))
    if view.now:
        match = theirs.exclude(state=MatchState.FINISHED).first()
    else:
        match = next((one for one in theirs if view.outcome(one.match_id) is None), None)
    if match is None:
        return None
    opponent = match.player_b if match.player_a.code == player_id else match.player_a
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "opponent_id": opponent.code,
        "referee_endpoint": match.referee.endpoint if match.referee and view.now else None,
    }


def player_stats(view: View, player_id: str) -> dict[str, Any] | None:
    """A player's line of the table and its matches so far (GET_PLAYER_STATS), or None if unknown."""
    row = next((row for row in view.standings if row.player_id == player_id), None)
    if row is None:
        return None
    played = matches_of(view.league).filter(Q(player_a__code=player_id) | Q(player_b__code=player_id))
    return {
        "player_id": player_id,
        "stats": wire_row(row),
        "matches": [match_line(match, view) for match in played if view.outcome(match.match_id) is not None],
    }


def agents_of(view: View) -> list[dict[str, Any]]:
    """Players and referees of a league: no token, no address."""
    if view.frozen_after is not None:
        return list(view.league.frozen["agents"])
    league = view.league
    seen = Q(league=league) | Q(league__isnull=True, kind=Kind.REFEREE)
    own = list(Agent.objects.filter(seen).order_by("kind", "pk"))
    known = readiness.readiness(own)
    return [
        {
            "agent_id": agent.code,
            "kind": agent.kind,
            "display_name": agent.display_name,
            "version": agent.version,
            "game_types": agent.game_types,
            "state": agent.state,
            "may_judge": agent.trusted if agent.kind == Kind.REFEREE else None,
            "registered_at": stamp(agent.registered_at),
            "last_heard": agent.heard_at and stamp(agent.heard_at),
            "ready": known[agent.pk].word.value,
        }
        for agent in own
    ]


def game_registry() -> dict[str, Any]:
    """The games registry (ruling, section 7)."""
    return {"game_registry": describe()}
