"""The board of a league: its table, the round that is on, what has just happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.conf import settings as site
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from agents_registry.models import Kind
from league_sdk.ledger.standings import Row
from league_sdk.protocol.states import LeagueState, MatchState
from matches.audience.pages import charts, notices
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import as_staff, feed, league_of, match_dict, player_dict, result_line
from matches.models import Delivery, DeliveryState, League, Match, Round
from matches.view import queries, readiness, sight
from matches.view.courses import Courses, courses
from matches.view.sight import View
from matches.words import board as words_board

FRAGMENTS = ("header", "notices", "standings", "current", "results", "feed", "ranks", "cross")
RECENT = 12


def context(view: View, key: PageKey) -> dict[str, Any]:
    """The board as one audience sees it."""
    league = view.league
    current = _current(view)
    found = courses(view)
    shown = league_of(view)
    said = _Said(_states(view), _ready(view), _behind(view), _decisions(view), _sparks(found))
    recent = list(view.moment.outcomes.values())[: -RECENT - 1 : -1]
    matches = queries.matches_of(league).filter(round=current) if current is not None else []
    return {
        "league": shown,
        "standings": [_row_dict(row, delta, view, said) for row, delta in _rows(view)],
        "spark_box": _spark_box(found, shown["rounds_total"]),
        "decisions": said.decisions,
        "left_out": [
            {"player_id": code, "ready": readiness.label(word)} for code, word in sorted(league.left_out.items())
        ],
        "matches": [_match(match, view) for match in matches],
        "bye": player_dict(current.bye, view) if current is not None and current.bye is not None else None,
        "results": [
            result_line(outcome, view) | {"corrected": _reason(view, outcome.correction)} for outcome in recent
        ],
        "feed": feed(view, RECENT),
        "ledger": _ledger(view),
        "seq": view.moment.seq,
        **notices.of_view(view),
        # The replay shows the board without its charts.
        "ranks": SimpleLazyObject(lambda: charts.ranks(view, found)),
        "cross": SimpleLazyObject(lambda: charts.cross(view)),
        "socket_path": socket_path(key) if view.now or view.frozen_after is not None else None,
    }


def _current(view: View) -> Round | None:
    """The round that is on, else the last one that was."""
    then = view.moment.current
    if then is None:
        return None
    return view.league.rounds.select_related("bye").filter(number=then.number).first()


def _states(view: View) -> dict[str, str]:
    """The state of every player's agent, where it says something about the table."""
    if view.frozen_after is not None:
        return dict(view.league.frozen["states"])
    if not view.now or view.moment.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        # Every player is shut down when its league is over: that says nothing about it.
        return {}
    return dict(view.league.agents.filter(kind=Kind.PLAYER).values_list("code", "state"))


def _ready(view: View) -> dict[str, readiness.Readiness]:
    """Before the schedule is made: who has passed the check. "Not checked" is news only where a check is demanded."""
    league: League = view.league
    if not view.now or league.state != LeagueState.REGISTRATION:
        return {}
    players = list(league.agents.filter(kind=Kind.PLAYER))
    known = readiness.readiness(players)
    return {
        player.code: known[player.pk]
        for player in players
        if league.rules.require_check or known[player.pk].word != readiness.Ready.NOT_CHECKED
    }


def _rows(view: View) -> list[tuple[Row, int]]:
    """The table, each row with the places gained since the round before the current one."""
    rows = view.standings
    current = view.moment.current
    # Places that are unveiled already push the others together: what they gained is not known yet.
    if current is None or current.number < 2 or view.unveiled:
        return [(row, 0) for row in rows]
    earlier = {row.player_id: row.rank for row in view.table(before_round=current.number)}
    return [(row, earlier[row.player_id] - row.rank) for row in rows]


class _Said(NamedTuple):
    """What is said of players beside their results, by id."""

    states: Mapping[str, str]
    ready: Mapping[str, readiness.Readiness]
    behind: set[str]
    decisions: list[dict[str, Any]]
    sparks: Mapping[str, str]


def _row_dict(row: Row, delta: int, view: View, said: _Said) -> dict[str, Any]:
    return queries.wire_row(row) | {
        "url": reverse("player", args=[view.league.pk, row.player_id]) + as_staff(view),
        "delta": delta,
        "agent_state": said.states.get(row.player_id, ""),
        "ready": said.ready.get(row.player_id),
        "behind": row.player_id in said.behind,
        "form": row.form,
        "given": _signed(row.given),
        "out": row.out,
        "why": "; ".join(one["reason"] for one in said.decisions if one["player_id"] == row.player_id),
        "unveiled": row.player_id in view.unveiled,
        # A final place does not come from the rounds that are shown.
        "spark": said.sparks.get(row.player_id, "") if row.player_id not in view.unveiled else "",
    }


def _behind(view: View) -> set[str]:
    """Players whose agents have not been told yet what others have been told after it."""
    if not view.now or view.moment.state != LeagueState.RUNNING:
        return set()
    rows = Delivery.objects.filter(broadcast__league=view.league, agent__kind=Kind.PLAYER)
    told = rows.filter(state=DeliveryState.SETTLED).order_by("-broadcast_id").values_list("broadcast_id", flat=True)
    newest = told.first()
    waiting = rows.filter(state=DeliveryState.PENDING).values_list("agent__code", "broadcast_id")
    return {code for code, broadcast in waiting if newest is not None and broadcast < newest}


def _decisions(view: View) -> list[dict[str, Any]]:
    """The corrections that hold and are about a player, not a match: points, and who is out of the league."""
    return [
        {
            "number": number,
            "player_id": player_id,
            "points": _signed(points),
            "out": correction.get("out", {}).get(player_id),
            "reason": correction["reason"],
        }
        for number, correction in sorted(view.moment.corrections.items())
        for player_id, points in _touched(correction).items()
        if not correction["undone"]
    ]


def _touched(correction: Mapping[str, Any]) -> dict[str, int]:
    return {**dict.fromkeys(correction.get("out", {}), 0), **correction.get("points", {})}


def _signed(points: int) -> str:
    """Points given or taken, with a sign; empty for none."""
    return f"{points:+d}".replace("-", "\N{MINUS SIGN}") if points else ""


def _reason(view: View, number: int | None) -> str:
    """Why a result was corrected; empty when it was not."""
    return "" if number is None else str(view.moment.corrections.get(number, {}).get("reason", ""))


def _sparks(found: Courses) -> dict[str, str]:
    """Points by round as the corners of a line, by player."""
    rounds = [0, *found.rounds]
    return {
        player_id: " ".join(f"{x},{-y}" for x, y in zip(rounds, [0, *course], strict=True))
        for player_id, course in found.points.items()
    }


def _spark_box(found: Courses, planned: int) -> str:
    """The frame of these lines, the same for all: so many rounds wide as are planned. Empty while there are none."""
    if not found.rounds:
        return ""
    values = [points for course in found.points.values() for points in course]
    low, high = min(0, *values), max(1, *values)
    return f"0 {-high} {max(planned, found.rounds[-1])} {high - low}"


def _match(match: Match, view: View) -> dict[str, Any]:
    """A match of the round that is on, how far it has come in words, and when its players have to be done."""
    found = match_dict(match, view)
    if found["result"] is not None:
        return found | {"corrected": _reason(view, found["result"]["correction"])}
    return found | {"going": words_board.going(found), "deadline": _deadline(match, view, found["board"])}


def _deadline(match: Match, view: View, board: object) -> dict[str, Any] | None:
    """Since when a match in play has waited for its players, and how long it waits at most, in whole seconds.

    None where that is not known: nobody tells us when a move of a game that is played in turns was asked for.
    """
    rules = view.league.rules
    asked = {
        MatchState.WAITING_FOR_PLAYERS: rules.join_timeout_s,
        MatchState.COLLECTING_CHOICES: rules.move_timeout_s,
    }.get(MatchState(match.state))
    if not view.now or asked is None or board is not None or not match.lifecycle:
        return None
    waits = sum(rules.retry_base_s * rules.retry_factor**n for n in range(rules.max_retries))
    longest = min(rules.request_patience_s, (rules.max_retries + 1) * asked + waits)
    tries = rules.max_retries + 1
    return {"since": match.lifecycle[-1]["at"], "first": f"{asked:g}", "limit": f"{longest:g}", "tries": tries}


def _ledger(view: View) -> dict[str, str] | None:
    """The head of the chain of events, and how to check it; a page of the past has that of its moment.

    Behind a freeze staff, too, gets the head that the public ledger ends with: no other can be checked there.
    """
    head = sight.public(view.league).head if view.now else view.head
    if not head:
        return None
    league_id = view.league.pk
    address = f"{site.LEAGUE_PUBLIC_URL.rstrip('/')}{reverse('board', args=[league_id])}"
    return {
        "head": head,
        "url": f"/api/leagues/{league_id}/ledger",
        "command": f"python -m league_sdk verify {address} --head {head}",
    }
