"""READS: what protocol answers, the API and messages to agents show of a league."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import Count, Q

from agents_registry.models import Agent, Kind
from league_sdk.protocol.envelope import stamp
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from league_sdk.rules.registry import describe
from matches import readiness
from matches.models import Event, League, Match, Message, Round
from matches.standings import Result, Row, Scoring, table


def scoring(league: League) -> Scoring:
    """A league's points."""
    rules = league.rules
    return Scoring(rules.win_points, rules.draw_points, rules.loss_points, rules.technical_loss_points)


def player_names(league: League) -> dict[str, str]:
    """Display names of a league's players by id, without those that the schedule leaves out."""
    players = league.agents.filter(kind=Kind.PLAYER).order_by("pk").values_list("code", "display_name")
    return {code: name for code, name in players if code not in league.left_out}


def finished(league: League) -> list[Result]:
    """Every finished match of a league, in the order in which they finished."""
    rows = (
        Match.objects.filter(league=league, state=MatchState.FINISHED)
        .order_by("finished_at", "pk")
        .values_list("round__number", "player_a__code", "player_b__code", "status", "winner__code")
    )
    return [Result(*row) for row in rows]


def standings(league: League) -> list[Row]:
    """The table as it is now."""
    return table(player_names(league), finished(league), scoring(league))


def wire_row(row: Row) -> dict[str, Any]:
    """A row as messages carry it (004 4.7.1)."""
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


def standings_rows(league: League) -> list[dict[str, Any]]:
    """The table as messages and the API carry it."""
    return [wire_row(row) for row in standings(league)]


def own_standings(league: League) -> dict[str, dict[str, int]]:
    """``your_standings`` of every player (004 4.5.1)."""
    return {row.player_id: {"wins": row.wins, "losses": row.losses, "draws": row.draws} for row in standings(league)}


def round_summary(played: Round) -> dict[str, Any]:
    """The counts of ROUND_COMPLETED under every name the documents give them (004 4.8.1, ruling section 4)."""
    results = list(Match.objects.filter(round=played).order_by("pk").values_list("match_id", "status"))
    statuses = [status for _, status in results]
    return {
        "matches_completed": len(results),
        "matches_played": len(results),
        "completed_matches": [match_id for match_id, _ in results],
        "summary": {
            "total_matches": len(results),
            "wins": statuses.count("WIN"),
            "draws": statuses.count("DRAW"),
            "technical_losses": statuses.count("TECHNICAL_LOSS"),
            "cancelled": statuses.count("CANCELLED"),
        },
    }


def schedule(league: League) -> list[dict[str, Any]]:
    """Every round with its matches, as GET_SCHEDULE and the API show it (004 4.9.1)."""
    rounds: dict[int, dict[str, Any]] = {
        one.number: {
            "round_id": one.number,
            "state": one.state,
            "bye": one.bye.code if one.bye else None,
            "started_at": one.started_at,
            "completed_at": one.completed_at,
            "matches": [],
        }
        for one in league.rounds.select_related("bye").order_by("number")
    }
    for match in matches_of(league):
        rounds[match.round.number]["matches"].append(match_line(match))
    return list(rounds.values())


def wire_schedule(league: League) -> list[dict[str, Any]]:
    """The schedule for a message: times as text."""
    return [
        one | {name: one[name] and stamp(one[name]) for name in ("started_at", "completed_at")}
        for one in schedule(league)
    ]


def matches_of(league: League) -> Any:
    """A league's matches with everything a line shows, in playing order."""
    return (
        Match.objects.filter(league=league)
        .select_related("round", "player_a", "player_b", "referee", "winner")
        .order_by("round__number", "pk")
    )


def match_line(match: Match) -> dict[str, Any]:
    """One match in a list; no choice in it before the draw."""
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "player_A_id": match.player_a.code,
        "player_B_id": match.player_b.code,
        "referee_id": match.referee.code if match.referee else None,
        "state": match.state,
        "attempt": match.attempt,
        "status": match.status or None,
        "winner": match.winner.code if match.winner else None,
    }


def match_detail(match: Match) -> dict[str, Any]:
    """One match whole: lifecycle with times, transcript, result (004 9.4.3)."""
    done = match.state == MatchState.FINISHED
    return match_line(match) | {
        "league_id": match.league_id,
        "game_type": match.league.game_type,
        "joined": match.joined,
        "locked_in": match.locked_in,
        "view": match.view,
        "lifecycle": match.lifecycle,
        "transcript": transcript(match),
        "result": {
            **match.details,
            "status": match.status,
            "winner_player_id": match.winner.code if match.winner else None,
            "reason": match.reason,
            "faults": match.faults,
        }
        if done
        else None,
    }


def transcript(match: Match) -> list[dict[str, Any]]:
    """Every message of every attempt, in order."""
    rows = Message.objects.filter(match=match).order_by("attempt", "n").values_list("attempt", "entry")
    return [entry | {"attempt": attempt} for attempt, entry in rows]


def next_match(league: League, player_id: str) -> dict[str, Any] | None:
    """A player's next match that is not finished (004 4.9.2)."""
    match = (
        matches_of(league)
        .filter(Q(player_a__code=player_id) | Q(player_b__code=player_id))
        .exclude(state=MatchState.FINISHED)
        .first()
    )
    if match is None:
        return None
    opponent = match.player_b if match.player_a.code == player_id else match.player_a
    return {
        "match_id": match.match_id,
        "round_id": match.round.number,
        "opponent_id": opponent.code,
        "referee_endpoint": match.referee.endpoint if match.referee else None,
    }


def player_stats(league: League, player_id: str) -> dict[str, Any] | None:
    """A player's line of the table and its matches so far (GET_PLAYER_STATS), or None if unknown."""
    row = next((row for row in standings(league) if row.player_id == player_id), None)
    if row is None:
        return None
    played = matches_of(league).filter(
        Q(player_a__code=player_id) | Q(player_b__code=player_id), state=MatchState.FINISHED
    )
    return {
        "player_id": player_id,
        "stats": wire_row(row),
        "matches": [match_line(match) for match in played],
    }


class Tally(NamedTuple):
    """How many players a league has, and how many matches by round and state."""

    players: int
    matches: Counter[tuple[int, str]]


def tally(league: League | None = None) -> dict[str, Tally]:
    """The counts of one league, or of all."""
    agents = Agent.objects.filter(kind=Kind.PLAYER, league__isnull=False)
    matches = Match.objects.all()
    if league is not None:
        agents, matches = agents.filter(league=league), matches.filter(league=league)
    players = dict(agents.order_by().values_list("league_id").annotate(Count("pk")))
    found: dict[str, Tally] = defaultdict(lambda: Tally(0, Counter()))
    for league_id, count in players.items():
        found[league_id] = Tally(count, Counter())
    for league_id, round_id, state, count in (
        matches.order_by().values_list("league_id", "round_id", "state").annotate(Count("pk"))
    ):
        found[league_id].matches[round_id, state] = count
    return found


def league_lines(leagues: Iterable[League]) -> list[dict[str, Any]]:
    """Leagues as the API shows them, for as many queries as one takes."""
    rounds: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for league_id, number, state in Round.objects.order_by("number").values_list("league_id", "number", "state"):
        rounds[league_id].append((number, state))
    champions = dict(
        Event.objects.filter(kind="league_completed").order_by("seq").values_list("league_id", "data__champion")
    )
    tallies = tally()
    return [_line(league, rounds[league.pk], tallies[league.pk], champions.get(league.pk)) for league in leagues]


def league_line(league: League) -> dict[str, Any]:
    """A league as the API shows it: status, round, rounds, matches done, champion."""
    rounds = list(league.rounds.order_by("number").values_list("number", "state"))
    ended = league.events.filter(kind="league_completed").order_by("-seq").values_list("data__champion", flat=True)
    return _line(league, rounds, tally(league)[league.pk], next(iter(ended[:1]), None))


def _line(
    league: League, rounds: list[tuple[int, str]], counts: Tally, champion: dict[str, Any] | None
) -> dict[str, Any]:
    by_state: Counter[str] = Counter()
    for (_, state), count in counts.matches.items():
        by_state[state] += count
    started = [number for number, state in rounds if state != RoundState.PENDING]
    return {
        "league_id": league.pk,
        "display_name": league.display_name,
        "game_type": league.game_type,
        "status": league.state,
        "paused": league.paused,
        "auto_advance": league.rules.auto_advance,
        "players": counts.players - len(league.left_out),
        "round": max(started, default=None),
        "rounds": len(rounds),
        "matches": by_state.total(),
        "matches_done": by_state[MatchState.FINISHED],
        "champion": champion if league.state == LeagueState.COMPLETED else None,
        "created_at": league.created_at,
        "started_at": league.started_at,
        "completed_at": league.completed_at,
    }


def agents_of(league: League) -> list[dict[str, Any]]:
    """Players and referees of a league: no token, no address."""
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
            "registered_at": agent.registered_at,
            "last_heard": agent.heard_at,
            "ready": known[agent.pk].word.value,
        }
        for agent in own
    ]


def game_registry() -> dict[str, Any]:
    """The games registry (004 3.8.3)."""
    return {"game_registry": describe()}
