"""The page of one player: its record, matches, choices, answer times and faults."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from league_sdk.ledger.standings import Row
from matches.audience.pages import luck, parts, times
from matches.audience.pages.keys import PageKey, socket_path
from matches.events.history import Outcome
from matches.models import Match
from matches.view import queries, readiness
from matches.view.readiness import Ready, read_ready
from matches.view.sight import View
from matches.words import states
from matches.words.corrections import corrections_of, fault_cause
from matches.words.match import letter, why

FRAGMENTS = (
    "player_head",
    "player_matches",
    "player_rivals",
    "player_choices",
    "player_times",
    "player_faults",
)
MAX_CHOICES = 8
"""How many different choices have a bar of their own; all others share one bar."""


def context(view: View, key: PageKey) -> dict[str, Any] | None:
    """One player as one audience sees it; None if the league has no such player.

    A choice is shown only with the result of its match. An audience behind a freeze sees neither the present state of
    running matches nor that of the agent.
    """
    league, player_id = view.league, str(key.item)
    agent = league.agents.filter(kind=Kind.PLAYER, code=player_id).first()
    if agent is None or player_id not in {*view.names, *league.left_out}:
        return None
    rows = {row.player_id: row for row in view.standings}
    matches = _matches(view, agent, rows)
    return {
        "league": parts.league_of(view),
        "player": PlayerHeading(
            player_id,
            # An audience behind a freeze must not see a new name either.
            view.names.get(player_id) or (agent.display_name if view.is_present else player_id),
            rows.get(player_id),
            len(rows),
            player_id in league.left_out,
            _state(view, agent),
            _check(view, agent, staff=key.staff),
        ),
        "luck": luck.of_player(view, player_id),
        "matches": matches,
        "next": _next(view, matches),
        "rivals": _rivals(matches, rows[player_id].tied_rank if player_id in rows else 0),
        "choices": choices((match.choice, match.letter == "W") for match in matches),
        "times": times.of_player(view, agent),
        "faults": _faults(view, player_id),
        "corrections": corrections_of(view, player_id=player_id),
        "socket_path": socket_path(key) if view.live else None,
    }


# The head ---------------------------------------------------------------------------------------


class CheckVerdict(NamedTuple):
    """The verdict of an agent's check; ``url`` of the report and ``why`` are for the staff only."""

    word: Ready
    url: str = ""
    why: str = ""


class PlayerHeading(NamedTuple):
    """The heading of the page: the player, its row of the table, and the number of players."""

    player_id: str
    display_name: str
    record: Row | None
    players: int
    left_out: bool
    state: str
    check: CheckVerdict | None


def _state(view: View, agent: Agent) -> str:
    """The agent's state, behind a freeze as it was at the freeze; empty for a moment of the past and after the end.

    At the end every agent is shut down, which says nothing about the player.
    """
    if view.frozen_after is not None:
        return str(view.league.frozen["states"].get(agent.code, ""))
    return agent.state if view.is_present and not view.over else ""


def _check(view: View, agent: Agent, *, staff: bool) -> CheckVerdict | None:
    """The verdict; only the staff gets the link to the report, which shows the agent's address."""
    if view.frozen_after is not None:
        lines = view.league.frozen["agents"]
        own_lines = (line for line in lines if (line["kind"], line["agent_id"]) == (agent.kind, agent.code))
        ready = next((line["ready"] for line in own_lines), None)
        return CheckVerdict(read_ready(ready)) if ready else None
    if not view.is_present:
        return None
    known = readiness.readiness([agent])[agent.pk]
    if not staff or known.check_id is None:
        return CheckVerdict(known.word)
    return CheckVerdict(known.word, reverse("check_report", args=[known.check_id]), known.why)


# The matches ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlayerMatch:
    """A match seen from one of its players.

    Attributes:
        outcome: how it ended; None while it has no result in this view.
        hidden: whether a frozen board hides its round.
        own_words: what the player said itself in place of an answer, in sentences; for its owner only.
    """

    match_id: str
    url: str
    round: int
    player_id: str
    opponent: parts.Player
    state: str
    outcome: Outcome | None
    hidden: bool = False
    own_words: Sequence[str] = ()

    @property
    def why(self) -> str:
        """Why it ended as it did, in a sentence; empty without a result."""
        return why(self.outcome) if self.outcome is not None else ""

    @property
    def state_label(self) -> str:
        return states.match_state(self.state)

    @property
    def letter(self) -> str:
        """How it ended for the player (``words.match.letter``); empty without a result."""
        return letter(self.outcome, self.player_id) if self.outcome is not None else ""

    @property
    def choice(self) -> str:
        """The player's choice; empty without one, and for games whose moves the board shows."""
        choices = self.outcome.details.get("choices") if self.outcome is not None else None
        choice = choices.get(self.player_id) if isinstance(choices, Mapping) else None
        plain = isinstance(choice, (str, int)) and not isinstance(choice, bool)
        return str(choice)[:40] if plain else ""

    @property
    def summary(self) -> str:
        outcome = self.outcome
        if outcome is None:
            return ""
        return states.result_summary(outcome.status, outcome.winner, outcome.details, outcome.faults)

    @property
    def faults(self) -> list[str]:
        """The player's faults in this match, in sentences."""
        faults = self.outcome.faults if self.outcome is not None else ()
        return [states.fault_sentence(fault) for fault in faults if fault.get("player_id") == self.player_id]


def _matches(view: View, agent: Agent, rows: Mapping[str, Row]) -> list[PlayerMatch]:
    """Every match of a player in playing order, including future ones."""
    of_agent = queries.matches_of_player(view.league, agent.code)
    return [_match(match, view, agent.code, rows) for match in of_agent]


def _match(match: Match, view: View, player_id: str, rows: Mapping[str, Row]) -> PlayerMatch:
    opponent = match.player_b.code if match.player_a.code == player_id else match.player_a.code
    return PlayerMatch(
        match.match_id,
        parts.match_url(view, match.match_id),
        match.round.number,
        player_id,
        replace(parts.player_of(view, opponent), row=rows.get(opponent)),
        queries.state_of(match, view),
        view.outcome(match.match_id),
        view.frozen_after is not None and match.round.number > view.frozen_after,
    )


def _next(view: View, matches: list[PlayerMatch]) -> PlayerMatch | None:
    """The first match without a result; None when the league is over, and behind a freeze."""
    if not view.is_present or view.over:
        return None
    return next((match for match in matches if match.outcome is None), None)


class RivalGroup(NamedTuple):
    """The opponents against whom matches ended in the same way, the strongest first."""

    label: str
    letters: str
    opponents: list[parts.Player]


class Rivals(NamedTuple):
    """Opponents by result; how many of them have a better rank (``above``), and how many of these were beaten."""

    groups: list[RivalGroup]
    above: int
    beaten: int


def _rivals(matches: list[PlayerMatch], own_rank: int) -> Rivals | None:
    played = [match for match in matches if match.letter and match.letter in "WDLT"]
    if not played:
        return None
    # Opponents without a rank come last.
    played.sort(key=lambda match: match.opponent.row.rank if match.opponent.row is not None else math.inf)
    above = [match for match in played if match.opponent.row is not None and match.opponent.row.tied_rank < own_rank]
    groups = [
        RivalGroup(label, letters, [match.opponent for match in played if match.letter in letters])
        for label, letters in ((_("Won against"), "W"), (_("Drew with"), "D"), (_("Lost to"), "LT"))
    ]
    beaten = sum(match.letter == "W" for match in above)
    return Rivals([group for group in groups if group.opponents], len(above), beaten)


class Bar(NamedTuple):
    """How often a choice was made, how often it won, and the largest number in ``times`` of all bars (``longest``)."""

    choice: str
    times: int
    won: int
    longest: int


def choices(made: Iterable[tuple[str, bool]]) -> list[Bar]:
    """Count a player's choices and wins; the rarest choices share one bar.

    Args:
        made: for each match the choice, empty for none, and whether the player won.
    """
    count: Counter[str] = Counter()
    won: Counter[str] = Counter()
    for choice, has_won in made:
        if choice:
            count[choice] += 1
            won[choice] += has_won
    parity = bool(count) and count.keys() <= {"even", "odd"}
    order = ["even", "odd"] if parity else [choice for choice, _n in count.most_common(MAX_CHOICES)]
    bars = [(choice, count[choice], won[choice]) for choice in order]
    rest = count.keys() - order
    if rest:
        bars.append((_("others"), sum(count[choice] for choice in rest), sum(won[choice] for choice in rest)))
    longest = max((times for _choice, times, _won in bars), default=0)
    return [Bar(*bar, longest) for bar in bars]


# Faults ---------------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """Why a player lost a point: the cause in a word or two, and in a sentence."""

    match_id: str
    url: str
    cause: str
    sentence: str


def _faults(view: View, player_id: str) -> list[Fault]:
    return [
        Fault(
            outcome.match_id,
            parts.match_url(view, outcome.match_id),
            fault_cause(fault.get("cause", "")),
            states.fault_sentence(fault),
        )
        for outcome in reversed(view.moment.outcomes.values())
        for fault in outcome.faults
        if fault.get("player_id") == player_id
    ]
