"""Leagues, matches, players and results as the templates know them; shared by all pages."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from agents_registry.models import Agent
from league_sdk.protocol.states import MatchState
from league_sdk.rules.registry import games
from matches.events.history import Outcome
from matches.events.registry import LISTED
from matches.models import League, Match
from matches.view import queries, summaries
from matches.view.boards import read_board
from matches.view.sight import View
from matches.words import states
from matches.words.events import happened


def league_dict(league: League, known: summaries.Summary, frozen_after: int | None = None) -> dict[str, Any]:
    """A league."""
    return {
        "league_id": league.pk,
        "display_name": league.display_name,
        "game_type": league.game_type,
        "game_name": _game_name(league.game_type),
        "state": known.state,
        "state_label": states.league_state(known.state),
        "paused": known.paused,
        "round_number": known.round_number,
        "rounds_total": known.rounds,
        "round_done": known.round_done,
        "round_total": known.round_total,
        "matches_done": known.matches_done,
        "matches_total": known.matches,
        "round_started_at": known.round_started_at,
        "completed_at": known.completed_at,
        "champion": known.champion,
        "players_count": known.players,
        "frozen_after": frozen_after,
        "url": reverse("board", args=[league.pk]),
        "headline": states.headline(known, frozen_after),
    }


def league_of(view: View) -> dict[str, Any]:
    """A league as one audience sees it."""
    found = league_dict(view.league, summaries.summary(view), view.frozen_after)
    return found | {
        "starts_at": view.league.starts_at if view.now else None,
        # The staff looks behind a curtain that hangs in front of everybody else.
        "behind_curtain": bool(as_staff(view)),
        "as_staff": as_staff(view),
        "url": found["url"] + as_staff(view),
    }


def as_staff(view: View) -> str:
    """What the addresses on a page end with, so that the staff that looks behind a curtain stays there."""
    return "?as=staff" if view.now and view.league.frozen_seq is not None else ""


def _game_name(game_type: str) -> str:
    """A game's name for people; its type when the package that brought it is gone."""
    game = games().get(game_type)
    return game.display_name if game is not None else game_type


def player_dict(agent: Agent, view: View, match: Match | None = None) -> dict[str, Any]:
    """A player; in a match also how far it has come."""
    found: dict[str, Any] = {
        "player_id": agent.code,
        "display_name": view.names.get(agent.code, agent.display_name),
    }
    if match is not None:
        # Who had come when is not kept; but nobody is asked for a choice before both are there.
        then = None if view.now else queries.state_of(match, view)
        found |= {
            "locked_in": agent.code in match.locked_in if view.now else then == MatchState.DRAWING_NUMBER,
            "joined": agent.code in match.joined
            if view.now
            else then in (MatchState.COLLECTING_CHOICES, MatchState.DRAWING_NUMBER),
        }
    return found


def board_of(match: Match, view: View) -> dict[str, Any] | None:
    """The board of a match that is played in turns, as it stands or as it ended; None when there is none to show."""
    players = (match.player_a.code, match.player_b.code)
    outcome = view.outcome(match.match_id)
    if outcome is not None:
        board = read_board(dict(outcome.details), players)
        # A match that ended before its first move has nothing to show.
        return board if board is not None and board["moves"] else None
    return read_board(match.view, players) if view.now and match.state == MatchState.COLLECTING_CHOICES else None


def match_dict(match: Match, view: View) -> dict[str, Any]:
    """A match."""
    board = board_of(match, view)
    outcome = view.outcome(match.match_id)
    line = queries.match_line(match, view)
    return {
        "match_id": match.match_id,
        "url": reverse("match", args=[match.league_id, match.match_id]) + as_staff(view),
        "a": player_dict(match.player_a, view, match),
        "b": player_dict(match.player_b, view, match),
        "state": line["state"],
        "state_label": states.match_state(line["state"], board),
        "board": board,
        "attempt": line["attempt"],
        "referee_id": line["referee_id"],
        "result": result_dict(outcome) if outcome is not None else None,
    }


def result_dict(outcome: Outcome) -> dict[str, Any]:
    """How a match ended."""
    details = outcome.details
    return {
        "status": outcome.status,
        "winner_id": outcome.winner,
        "summary": states.result_summary(outcome.status, outcome.winner, details),
        "reason": outcome.reason,
        "drawn_number": details.get("drawn_number"),
        "number_parity": states.drawn_parity(details),
        "choices": _choices(details.get("choices")),
        "correction": outcome.correction,
        "faults": list(outcome.faults),
    }


def _choices(choices: object) -> dict[str, Any]:
    """What each player chose; a list of moves is shown on the board, not in a word."""
    if not isinstance(choices, dict):
        return {}
    return {player: choice for player, choice in choices.items() if not isinstance(choice, (dict, list))}


def result_line(outcome: Outcome, view: View) -> dict[str, Any]:
    """How a match ended, in a list."""
    first, second = ({"player_id": code, "display_name": view.names.get(code, code)} for code in outcome.players)
    return {
        "match_id": outcome.match_id,
        "url": reverse("match", args=[view.league.pk, outcome.match_id]) + as_staff(view),
        "a": first,
        "b": second,
        "status": outcome.status,
        "winner_id": outcome.winner,
        "summary": states.result_summary(outcome.status, outcome.winner, outcome.details),
        "correction": outcome.correction,
        "seq": outcome.seq,
        "at": outcome.at,
    }


def feed(view: View, most: int) -> list[dict[str, Any]]:
    """The last events that the pages list, the newest first: ``seq``, ``at`` and ``text`` of each."""
    events = view.league.events.filter(kind__in=LISTED, seq__lte=view.moment.seq).order_by("-seq")[:most]
    return [{"seq": one.seq, "at": one.at, "text": happened(one.kind, one.data)} for one in events]
