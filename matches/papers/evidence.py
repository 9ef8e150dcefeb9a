"""Evidence for grading a student: the agent, when it registered, its check, every match with its result and reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.urls import reverse

from agents_registry.models import Agent, Kind, RosterEntry
from league_sdk.ledger.standings import Row, decided, natural
from matches.models import CorrectionKind, League
from matches.view import queries, readiness, sight
from matches.view.sight import View
from matches.words import states
from matches.words.corrections import fault_cause
from matches.words.match import letter, own_words


@dataclass(frozen=True, slots=True)
class Played:
    """One finished match of a player.

    Attributes:
        letter: ``W``, ``D``, ``L``, ``T`` (technical loss) or ``C`` (cancelled).
        why: the player's own words in place of an answer, and its faults, as sentences.
        correction: the number of the correction that set the result, if one did.
        siblings: whether the opponent belongs to the same person.
    """

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
    siblings: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """A correction that concerns a player; ``points`` are those it awarded or took."""

    number: int
    label: str
    match_id: str
    points: int | None
    reason: str
    at: datetime | None
    undone: bool
    undone_reason: str


@dataclass(slots=True)
class Sheet:
    """The evidence about one agent and its owner; an agent may have no owner, and a student no agent.

    Attributes:
        ready: the result of the check as a word; ``ready_label`` is the same in the reader's language.
        row: the player's row of the table; ``players`` is the number of rows.
        decided: whether its place was earned: whether any match of the table was won or drawn.
        causes: how often the player lost points for each cause, the most frequent first.
    """

    owner: RosterEntry | None
    agent: Agent | None = None
    ready: str = ""
    ready_label: str = ""
    checked_at: datetime | None = None
    left_out: bool = False
    row: Row | None = None
    players: int = 0
    decided: bool = False
    matches: list[Played] = field(default_factory=list)
    still_to_play: int = 0
    causes: dict[str, int] = field(default_factory=dict)
    corrections: list[Decision] = field(default_factory=list)


COLUMNS = (
    *("student", "email", "player_id", "display_name", "version", "registered_at", "check", "checked_at", "rank"),
    *("players", "points", "played", "wins", "draws", "losses", "technical_losses", "points_by_correction", "out"),
    *("left_out", "still_to_play", "faults", "corrections", "against_own_agents"),
)


ROWS_AT_ONCE = 500
"""How many matches are in memory at once."""


def line(sheet: Sheet) -> tuple[object, ...]:
    """A sheet as a row of the CSV table, in the order of :data:`COLUMNS`."""
    row, owner, agent = sheet.row, sheet.owner, sheet.agent
    counts = (row.played, row.wins, row.draws, row.losses, row.technical_losses) if row is not None else (None,) * 5
    place = row.tied_rank if row is not None and sheet.decided else None
    return (
        *((owner.name, owner.email) if owner is not None else ("", "")),
        *((agent.code, agent.display_name, agent.version, agent.registered_at) if agent is not None else ("",) * 4),
        *(sheet.ready, sheet.checked_at, place, sheet.players or None, row and row.points, *counts),
        *(row and row.corrected, row and row.out, "yes" if sheet.left_out else "no", sheet.still_to_play),
        ", ".join(f"{cause} {count}" for cause, count in sheet.causes.items()),
        "; ".join(f"#{one.number} {one.reason}" for one in sheet.corrections),
        ", ".join(match.match_id for match in sheet.matches if match.siblings),
    )


def sheets(league: League, player_id: str = "") -> list[Sheet]:
    """The sheets of a league, ordered by the names of the students; agents without an owner come last.

    The number of queries does not depend on the number of players.

    Args:
        league: the league.
        player_id: the id of one player, whose sheet alone is wanted; empty for all players and students.
    """
    view = sight.everything(league)
    players = list(Agent.objects.filter(league=league, kind=Kind.PLAYER).select_related("owner").order_by("pk"))
    chosen = [agent for agent in players if player_id in ("", agent.code)]
    ready = _ready(chosen)
    rows, is_decided = {row.player_id: row for row in view.standings}, decided(view.standings)
    matches, coming = _matches(view)
    collected = []
    for agent in chosen:
        label, word, at = ready[agent.pk]
        collected.append(
            Sheet(
                owner=agent.owner,
                agent=agent,
                ready=word,
                ready_label=label,
                checked_at=at,
                left_out=agent.code in league.left_out,
                row=rows.get(agent.code),
                players=len(rows),
                decided=is_decided,
                matches=matches.get(agent.code, []),
                still_to_play=coming[agent.code],
                causes=_causes(view, agent.code),
                corrections=_corrections(view, agent.code, {one.match_id for one in matches.get(agent.code, [])}),
            )
        )
    if not player_id:
        owners = {agent.owner_id for agent in players if agent.owner_id is not None}
        without_agent = RosterEntry.objects.filter(league=league).exclude(pk__in=owners)
        collected += [Sheet(person) for person in without_agent]
    return sorted(collected, key=_by_student)


def _by_student(sheet: Sheet) -> tuple[Any, ...]:
    owner, code = sheet.owner, natural(sheet.agent.code if sheet.agent is not None else "")
    return (False, owner.name.casefold(), owner.email, code) if owner is not None else (True, "", "", code)


def choice(details: Mapping[str, Any], player_id: str) -> str:
    """What a player chose, if the game has choices and they are words or numbers; else an empty string."""
    choices = details.get("choices")
    chosen = choices.get(player_id) if isinstance(choices, Mapping) else None
    return str(chosen) if isinstance(chosen, (str, int)) else ""


def _ready(agents: list[Agent]) -> dict[int, tuple[str, str, datetime | None]]:
    """The result of each agent's last check: its label, its word, and when the check finished."""
    history, known = readiness.history(agents), readiness.readiness(agents)
    ready = {}
    for agent in agents:
        ended = [one for one in readiness.by_its_way(agent, history) if one.passed is not None]
        one = known[agent.pk]
        ready[agent.pk] = (one.label, str(one.word), ended[-1].finished_at if ended else None)
    return ready


def _matches(view: View) -> tuple[dict[str, list[Played]], Counter[str]]:
    """The finished matches of each player, in playing order, and how many matches each has still to play."""
    played: dict[str, list[Played]] = {}
    coming: Counter[str] = Counter()
    for match in queries.matches_of(view.league).iterator(chunk_size=ROWS_AT_ONCE):
        codes = (match.player_a.code, match.player_b.code)
        outcome = view.outcome(match.match_id)
        if outcome is None:
            coming.update(codes)
            continue
        for player_id, opponent in (codes, codes[::-1]):
            played.setdefault(player_id, []).append(
                Played(
                    match_id=match.match_id,
                    round_number=match.round.number,
                    url=reverse("match", args=[match.league_id, match.match_id]),
                    opponent_id=opponent,
                    opponent_name=view.names.get(opponent, opponent),
                    letter=letter(outcome, player_id),
                    summary=states.result_summary(outcome.status, outcome.winner, outcome.details, outcome.faults),
                    why=[
                        *own_words(outcome, {player_id: str(match.said.get(player_id, ""))}),
                        *(states.fault_sentence(one) for one in outcome.faults if one.get("player_id") == player_id),
                    ],
                    correction=outcome.correction,
                    at=outcome.at,
                    siblings=match.between_siblings,
                )
            )
    return played, coming


def _causes(view: View, player_id: str) -> dict[str, int]:
    """How often a player lost points for each cause, the most frequent first."""
    counted = Counter(
        fault_cause(fault.get("cause", "")) or str(fault.get("error_code", ""))
        for outcome in view.moment.outcomes.values()
        for fault in outcome.faults
        if fault.get("player_id") == player_id
    )
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def _corrections(view: View, player_id: str, match_ids: set[str]) -> list[Decision]:
    """The corrections that concern a player's matches or points, or whether it is in the league."""
    labels = dict(CorrectionKind.choices)
    return [
        Decision(
            number=number,
            label=str(labels.get(one.get("kind", ""), "")),
            match_id=one.get("match_id", ""),
            points=one.get("points", {}).get(player_id),
            reason=one.get("reason", ""),
            at=one.get("at"),
            undone=one["undone"],
            undone_reason=one.get("undone_reason", ""),
        )
        for number, one in sorted(view.moment.corrections.items())
        if player_id in one.get("points", {})
        or player_id in one.get("out", {})
        or one.get("player_id") == player_id
        or match_ids.intersection([*one.get("results", {}), one.get("match_id")])
    ]
