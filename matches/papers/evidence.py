"""What a student is graded by: who brought which agent, when, what the check said, and every match with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.urls import reverse

from agents_registry.models import Agent, Kind, RosterEntry
from league_sdk.ledger.standings import Row, natural
from matches.audience.pages.player import letter
from matches.models import CorrectionKind, League
from matches.view import queries, readiness, sight
from matches.view.readiness import Ready
from matches.view.sight import View
from matches.words import states


@dataclass(frozen=True, slots=True)
class Played:
    """One match of a player that has a result."""

    match_id: str
    round_number: int
    url: str
    opponent_id: str
    opponent_name: str
    letter: str
    summary: str
    why: list[str]
    correction: int | None
    at: datetime


@dataclass(slots=True)
class Sheet:
    """One agent of a student, or a student without one (``player_id`` is empty then)."""

    player_id: str = ""
    student: str = ""
    email: str = ""
    display_name: str = ""
    version: str = ""
    registered_at: datetime | None = None
    by_hand: bool = False
    ready: str = ""
    ready_label: str = ""
    checked_at: datetime | None = None
    left_out: bool = False
    row: Row | None = None
    players: int = 0
    matches: list[Played] = field(default_factory=list)
    still_to_play: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    corrections: list[dict[str, Any]] = field(default_factory=list)


COLUMNS = (
    *("student", "email", "player_id", "display_name", "version", "registered_at", "check", "checked_at", "rank"),
    *("players", "points", "played", "wins", "draws", "losses", "technical_losses", "points_by_correction", "out"),
    *("left_out", "still_to_play", "faults", "corrections"),
)


def line(sheet: Sheet) -> tuple[object, ...]:
    """A sheet as one row of a table, in the order of :data:`COLUMNS`."""
    row = sheet.row
    counts = (row.played, row.wins, row.draws, row.losses, row.technical_losses) if row is not None else (None,) * 5
    return (
        *(sheet.student, sheet.email, sheet.player_id, sheet.display_name, sheet.version, sheet.registered_at),
        *(sheet.ready, sheet.checked_at, row and row.rank, sheet.players or None, row and row.points, *counts),
        *(row and row.given, row and row.out, "yes" if sheet.left_out else "no", sheet.still_to_play),
        ", ".join(f"{cause} {count}" for cause, count in sheet.causes.items()),
        "; ".join(f"#{one['number']} {one['reason']}" for one in sheet.corrections),
    )


def sheets(league: League, player_id: str = "") -> list[Sheet]:
    """The sheets of a league: by name of the student, those without an agent too, agents without an owner last.

    Costs the same number of queries for every number of players.

    Args:
        player_id: only this player's.
    """
    view = sight.everything(league)
    players = list(Agent.objects.filter(league=league, kind=Kind.PLAYER).select_related("owner").order_by("pk"))
    wanted = [agent for agent in players if player_id in ("", agent.code)]
    ready = _ready(wanted)
    rows = {row.player_id: row for row in view.standings}
    matches, coming = _matches(view)
    found = []
    for agent in wanted:
        label, word, at = ready[agent.pk]
        found.append(
            Sheet(
                player_id=agent.code,
                student=agent.owner.name if agent.owner is not None else "",
                email=agent.owner.email if agent.owner is not None else "",
                display_name=agent.display_name,
                version=agent.version,
                registered_at=agent.registered_at,
                by_hand=agent.by_hand,
                ready=word,
                ready_label=label,
                checked_at=at,
                left_out=agent.code in league.left_out,
                row=rows.get(agent.code),
                players=len(rows),
                matches=matches.get(agent.code, []),
                still_to_play=coming[agent.code],
                causes=_causes(view, agent.code),
                corrections=_corrections(view, agent.code, {one.match_id for one in matches.get(agent.code, [])}),
            )
        )
    if not player_id:
        here = {agent.owner_id for agent in players}
        absent = RosterEntry.objects.filter(league=league).exclude(pk__in=here - {None})
        found += [Sheet(student=one.name, email=one.email) for one in absent]
    return sorted(found, key=lambda one: (not one.email, one.student.casefold(), one.email, natural(one.player_id)))


def choice(details: Mapping[str, Any], player_id: str) -> str:
    """What a player chose, where it is one word."""
    choices = details.get("choices")
    found = choices.get(player_id) if isinstance(choices, Mapping) else None
    return str(found) if isinstance(found, (str, int)) else ""


def _ready(agents: list[Agent]) -> dict[int, tuple[str, str, datetime | None]]:
    """The verdict of each agent's check, in words and as a word, and when it was reached."""
    known = readiness.history(agents)
    found = {}
    for agent in agents:
        ended = [one for one in known.get((agent.endpoint_key, agent.kind), []) if one.passed is not None]
        word = Ready.NOT_CHECKED if not ended else Ready.PASSED if ended[-1].passed else Ready.FAILED
        found[agent.pk] = (readiness.label(word), str(word), ended[-1].finished_at if ended else None)
    return found


def _matches(view: View) -> tuple[dict[str, list[Played]], Counter[str]]:
    """Every match with a result by player, in playing order; and how many each has still to play."""
    found: dict[str, list[Played]] = {}
    coming: Counter[str] = Counter()
    for match in queries.matches_of(view.league):
        codes = (match.player_a.code, match.player_b.code)
        outcome = view.outcome(match.match_id)
        if outcome is None:
            coming.update(codes)
            continue
        for player_id, opponent in (codes, codes[::-1]):
            found.setdefault(player_id, []).append(
                Played(
                    match_id=match.match_id,
                    round_number=match.round.number,
                    url=reverse("match", args=[match.league_id, match.match_id]),
                    opponent_id=opponent,
                    opponent_name=view.names.get(opponent, opponent),
                    letter=letter(outcome, player_id),
                    summary=states.result_summary(outcome.status, outcome.winner, outcome.details),
                    why=[states.fault_sentence(one) for one in outcome.faults if one.get("player_id") == player_id],
                    correction=outcome.correction,
                    at=outcome.at,
                )
            )
    return found, coming


def _causes(view: View, player_id: str) -> dict[str, int]:
    """Its lost points by cause, the most frequent first."""
    counted = Counter(
        states.fault_cause(fault.get("cause", "")) or str(fault.get("error_code", ""))
        for outcome in view.moment.outcomes.values()
        for fault in outcome.faults
        if fault.get("player_id") == player_id
    )
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def _corrections(view: View, player_id: str, match_ids: set[str]) -> list[dict[str, Any]]:
    """The decisions that touched it: its matches, its points, its place in the league."""
    labels = dict(CorrectionKind.choices)
    return [
        {
            "number": number,
            "label": labels.get(one.get("kind", ""), ""),
            "match_id": one.get("match_id", ""),
            "points": one.get("points", {}).get(player_id),
            "reason": one.get("reason", ""),
            "at": one.get("at"),
            "undone": one["undone"],
            "undone_reason": one.get("undone_reason", ""),
        }
        for number, one in sorted(view.moment.corrections.items())
        if player_id in one.get("points", {})
        or player_id in one.get("out", {})
        or one.get("player_id") == player_id
        or match_ids.intersection([*one.get("results", {}), one.get("match_id")])
    ]
