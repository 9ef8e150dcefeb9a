"""READS: what the pages of the audience show, and how they are rendered, whole and by fragment.

The same fragment serves the first load and the live push. Nothing here shows a choice before the draw.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from agents_registry.models import Agent, Kind
from league_sdk.protocol.states import LeagueState, MatchState, RoundState
from league_sdk.rules.registry import games
from matches import check_pages, queries, readiness, words
from matches.boards import read_board
from matches.models import League, Match, Round
from matches.standings import Row, table

RECENT = 12


class PageKey(NamedTuple):
    """A page someone can look at: a league's board, one match of it, a check; with none of these the list of all."""

    league_id: str | None = None
    match_id: str | None = None
    check_id: str | None = None

    @property
    def topic(self) -> str | None:
        """The league or check whose changes show on this page; None for every league's."""
        return f"check:{self.check_id}" if self.check_id else self.league_id


BOARD_FRAGMENTS = ("header", "standings", "current", "results", "feed")
MATCH_FRAGMENTS = ("match_header", "match_transcript")
INDEX_FRAGMENTS = ("leagues",)


def socket_path(key: PageKey) -> str:
    """Where a page's socket is, in the language it is shown in."""
    league = f"{key.league_id}/" if key.league_id else ""
    match = f"matches/{key.match_id}/" if key.match_id else ""
    path = f"checks/{key.check_id}/" if key.check_id else f"leagues/{league}{match}"
    return f"/ws/{path}?language={translation.get_language() or settings.LANGUAGE_CODE}"


def fragments(key: PageKey, language: str) -> dict[str, str] | None:
    """Every fragment of a page, rendered; None when there is no such page any more."""
    with translation.override(language):
        if key.check_id is not None:
            return check_pages.fragments(key.check_id, language)
        context = context_of(key)
        if context is None:
            return None
        names = MATCH_FRAGMENTS if key.match_id else BOARD_FRAGMENTS if key.league_id else INDEX_FRAGMENTS
        return {name: render_to_string(f"leagues/fragments/{name}.html", context) for name in names}


def context_of(key: PageKey) -> dict[str, Any] | None:
    """A page's context, or None when there is no such page."""
    if key.check_id is not None:
        return check_page(key.check_id)
    if key.league_id is None:
        return index()
    league = League.objects.filter(pk=key.league_id).first()
    if league is None:
        return None
    if key.match_id is None:
        return board(league)
    match = queries.matches_of(league).filter(match_id=key.match_id).first()
    return None if match is None else match_page(league, match)


def index() -> dict[str, Any]:
    """All leagues, those that are being played first."""
    order = list(LeagueState)
    leagues = sorted(
        League.objects.order_by("-created_at"),
        key=lambda league: (league.state != LeagueState.RUNNING, league.demo, order.index(LeagueState(league.state))),
    )
    rounds: dict[str, list[Round]] = defaultdict(list)
    for one in Round.objects.order_by("number"):
        rounds[one.league_id].append(one)
    tallies = queries.tally()
    return {
        "leagues": [league_dict(league, rounds[league.pk], tallies[league.pk]) for league in leagues],
        "socket_path": socket_path(PageKey()),
    }


def board(league: League) -> dict[str, Any]:
    """The board of a league."""
    rounds = rounds_of(league)
    current = _current(rounds)
    matches = queries.matches_of(league)
    names, states = _players(league)
    if league.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        # Every player is shut down when its league is over: that says nothing about it.
        states = dict.fromkeys(states, "")
    ready = _ready(league)
    rows = _rows(league, names, current)
    champion = rows[0][0] if rows and league.state == LeagueState.COMPLETED else None
    recent = matches.filter(state=MatchState.FINISHED).order_by("-finished_at", "-pk")[:RECENT]
    return {
        "league": league_dict(league, rounds, queries.tally(league)[league.pk], champion),
        "standings": [_row_dict(row, delta, states) | {"ready": ready.get(row.player_id)} for row, delta in rows],
        "left_out": [
            {"player_id": code, "ready": readiness.label(word)} for code, word in sorted(league.left_out.items())
        ],
        "matches": [match_dict(match) for match in matches.filter(round=current)] if current else [],
        "bye": _player_dict(current.bye) if current is not None and current.bye is not None else None,
        "results": [_result_line(match) for match in recent],
        "feed": _feed(league),
        "socket_path": socket_path(PageKey(league.pk)),
    }


def match_page(league: League, match: Match) -> dict[str, Any]:
    """The page of one match."""
    match.league = league
    entries = queries.transcript(match)
    begun = datetime.fromisoformat(entries[0]["at"]) if entries else None
    return {
        "league": league_dict(league, rounds_of(league), queries.tally(league)[league.pk]),
        "match": match_dict(match)
        | {
            "round_number": match.round.number,
            "game_type": league.game_type,
            "lifecycle": [
                {"label": words.match_state(step["state"]), "at": datetime.fromisoformat(step["at"])}
                for step in match.lifecycle
            ],
        },
        "transcript": [_entry_dict(entry, begun) for entry in entries],
        "attempts": match.attempt,
        "socket_path": socket_path(PageKey(league.pk, match.match_id)),
    }


def check_page(check_id: str) -> dict[str, Any] | None:
    """The report of a check, or None when there is none. One that has ended changes no more: no socket."""
    found = check_pages.report_page(check_id)
    if found is None or not found["check"]["running"]:
        return found
    return found | {"socket_path": socket_path(PageKey(check_id=check_id))}


def rounds_of(league: League) -> list[Round]:
    """A league's rounds in their order."""
    return list(league.rounds.select_related("bye").order_by("number"))


def _current(rounds: list[Round]) -> Round | None:
    """The round that is on, else the last one that was."""
    started = [one for one in rounds if one.state != RoundState.PENDING]
    return started[-1] if started else None


def _players(league: League) -> tuple[dict[str, str], dict[str, str]]:
    players = list(league.agents.filter(kind=Kind.PLAYER).order_by("pk").values_list("code", "display_name", "state"))
    players = [player for player in players if player[0] not in league.left_out]
    return {code: name for code, name, _ in players}, {code: state for code, _, state in players}


def _ready(league: League) -> dict[str, dict[str, str]]:
    """Before the schedule is made: who has passed the check. "Not checked" is news only where a check is demanded."""
    if league.state != LeagueState.REGISTRATION:
        return {}
    players = list(league.agents.filter(kind=Kind.PLAYER))
    known = readiness.readiness(players)
    return {
        player.code: {"word": known[player.pk].word.value, "label": known[player.pk].label}
        for player in players
        if league.rules.require_check or known[player.pk].word != readiness.Ready.NOT_CHECKED
    }


def _rows(league: League, names: dict[str, str], current: Round | None) -> list[tuple[Row, int]]:
    """The table, each row with the places gained since the round before the current one."""
    results = queries.finished(league)
    scoring = queries.scoring(league)
    rows = table(names, results, scoring)
    number = current.number if current else 0
    if number < 2:
        return [(row, 0) for row in rows]
    earlier = {
        row.player_id: row.rank
        for row in table(names, [result for result in results if result.round_number < number], scoring)
    }
    return [(row, earlier[row.player_id] - row.rank) for row in rows]


def league_dict(
    league: League, rounds: list[Round], counts: queries.Tally, champion: Row | None = None
) -> dict[str, Any]:
    """A league as the templates know it."""
    current = _current(rounds)
    by_state: Counter[str] = Counter()
    in_round: Counter[str] = Counter()
    for (round_id, state), count in counts.matches.items():
        by_state[state] += count
        if current is not None and round_id == current.pk:
            in_round[state] += count
    found: dict[str, Any] = {
        "league_id": league.pk,
        "display_name": league.display_name,
        "game_type": league.game_type,
        "game_name": _game_name(league.game_type),
        "state": league.state,
        "state_label": words.league_state(league.state),
        "paused": league.paused,
        "round_number": current.number if current else None,
        "rounds_total": len(rounds),
        "round_done": in_round[MatchState.FINISHED],
        "round_total": in_round.total(),
        "round_waiting": in_round[MatchState.READY],
        "matches_done": by_state[MatchState.FINISHED],
        "matches_total": by_state.total(),
        "round_started_at": current.started_at if current and current.state != RoundState.COMPLETED else None,
        "completed_at": league.completed_at,
        "champion": None
        if champion is None
        else {
            "player_id": champion.player_id,
            "display_name": champion.display_name,
            "points": champion.points,
        },
        "players_count": counts.players - len(league.left_out),
        "url": reverse("board", args=[league.pk]),
    }
    headline = words.headline(found, current, by_state[MatchState.HELD], league.rules.auto_advance)
    return found | {"headline": headline}


def _game_name(game_type: str) -> str:
    """A game's name for people; its type when the package that brought it is gone."""
    game = games().get(game_type)
    return game.display_name if game is not None else game_type


def _row_dict(row: Row, delta: int, states: dict[str, str]) -> dict[str, Any]:
    return queries.wire_row(row) | {"delta": delta, "agent_state": states[row.player_id], "form": row.form}


def _player_dict(agent: Agent, match: Match | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"player_id": agent.code, "display_name": agent.display_name}
    if match is not None:
        found |= {"locked_in": agent.code in match.locked_in, "joined": agent.code in match.joined}
    return found


def _board_of(match: Match) -> dict[str, Any] | None:
    """The board of a match that is played in turns, as it stands or as it ended; None when there is none to show."""
    players = (match.player_a.code, match.player_b.code)
    if match.state == MatchState.FINISHED:
        board = read_board(match.details, players)
        # A match that ended before its first move has nothing to show.
        return board if board is not None and board["moves"] else None
    return read_board(match.view, players) if match.state == MatchState.COLLECTING_CHOICES else None


def match_dict(match: Match) -> dict[str, Any]:
    """A match as the templates know it."""
    board = _board_of(match)
    return {
        "match_id": match.match_id,
        "url": reverse("match", args=[match.league_id, match.match_id]),
        "a": _player_dict(match.player_a, match),
        "b": _player_dict(match.player_b, match),
        "state": match.state,
        "state_label": words.match_state(match.state, board),
        "board": board,
        "attempt": match.attempt,
        "referee_id": match.referee.code if match.referee else None,
        "result": _result_dict(match) if match.state == MatchState.FINISHED else None,
    }


def _result_dict(match: Match) -> dict[str, Any]:
    winner = match.winner.code if match.winner else None
    return {
        "status": match.status,
        "winner_id": winner,
        "summary": words.result_summary(match.status, winner, match.details),
        "reason": match.reason,
        "drawn_number": match.details.get("drawn_number"),
        "number_parity": words.drawn_parity(match.details),
        "choices": _choices(match.details.get("choices")),
    }


def _choices(choices: object) -> dict[str, Any]:
    """What each player chose; a list of moves is shown on the board, not in a word."""
    if not isinstance(choices, dict):
        return {}
    return {player: choice for player, choice in choices.items() if not isinstance(choice, (dict, list))}


def _result_line(match: Match) -> dict[str, Any]:
    winner = match.winner.code if match.winner else None
    return {
        "match_id": match.match_id,
        "url": reverse("match", args=[match.league_id, match.match_id]),
        "a": _player_dict(match.player_a),
        "b": _player_dict(match.player_b),
        "status": match.status,
        "winner_id": winner,
        "summary": words.result_summary(match.status, winner, match.details),
        "at": match.finished_at,
    }


def _feed(league: League) -> list[dict[str, Any]]:
    events = league.events.exclude(kind__in=words.SILENT_EVENTS).order_by("-seq")[:RECENT]
    return [{"seq": event.seq, "at": event.at, "text": words.event(event.kind, event.data)} for event in events]


def _entry_dict(entry: dict[str, Any], begun: datetime | None) -> dict[str, Any]:
    at = datetime.fromisoformat(entry["at"])
    to_player = bool(entry.get("method"))
    return {
        "n": entry["n"],
        "at": at,
        "offset_ms": round((at - begun).total_seconds() * 1000) if begun else 0,
        "direction": "sent" if to_player else "received",
        "sender": entry.get("sender", ""),
        "recipient": entry.get("recipient", ""),
        "message_type": entry.get("message_type", ""),
        "method": entry.get("method", ""),
        "elapsed_ms": entry.get("elapsed_ms"),
        "limit_ms": entry.get("limit_ms"),
        "http_status": entry.get("http_status"),
        "problem": entry.get("problem", ""),
        "notes": entry.get("notes", []),
        "body": json.dumps(entry.get("body"), indent=2, ensure_ascii=False),
        "attempt": entry["attempt"],
    }
