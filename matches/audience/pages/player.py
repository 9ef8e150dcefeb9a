"""The page of one player: its record, every match, what it chose, how fast it answers, what it lost points for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from league_sdk.protocol.states import LeagueState
from matches.audience.pages import player_figures as figures
from matches.audience.pages.keys import PageKey, socket_path
from matches.audience.pages.parts import as_staff, league_of
from matches.events.history import Outcome
from matches.models import Match
from matches.view import queries, readiness
from matches.view.sight import View
from matches.words import states
from matches.words.corrections import corrections_of

FRAGMENTS = (
    "player_head",
    "player_matches",
    "player_rivals",
    "player_choices",
    "player_times",
    "player_faults",
)


def context(view: View, key: PageKey) -> dict[str, Any] | None:
    """One player as one audience sees it, or None when the league has none of this id.

    A choice is shown only with its match's result; from rows of the present come only how a match in play stands and
    what is known of the agent, and neither behind a curtain.
    """
    league, player_id = view.league, str(key.item)
    agent = league.agents.filter(kind=Kind.PLAYER, code=player_id).first()
    if agent is None or player_id not in {*view.names, *league.left_out}:
        return None
    row = next((row for row in view.standings if row.player_id == player_id), None)
    ranks = {row.player_id: row.rank for row in view.standings}
    matches = _matches(view, agent, ranks)
    return {
        "league": league_of(view),
        "player": {
            "player_id": player_id,
            # Behind a curtain a new name is news, too.
            "display_name": view.names.get(player_id) or (agent.display_name if view.now else player_id),
            "record": row and queries.wire_row(row) | {"form": row.form, "given": row.given, "out": row.out},
            "players": len(ranks),
            "left_out": player_id in league.left_out,
            "state": _state(view, agent),
            "check": _check(view, agent, staff=key.staff),
        },
        "matches": matches,
        "next": _next(view, matches),
        "rivals": _rivals(matches, ranks, player_id),
        "choices": figures.choices(matches),
        "times": figures.times(view, agent),
        "faults": _faults(view, player_id),
        "corrections": corrections_of(view, player_id=player_id),
        "socket_path": socket_path(key) if view.now or view.frozen_after is not None else None,
    }


# The head ---------------------------------------------------------------------------------------


def _state(view: View, agent: Agent) -> str:
    """The agent's state where it says something: not when the league is over and every agent is shut down."""
    if view.frozen_after is not None:
        return str(view.league.frozen["states"].get(agent.code, ""))
    over = view.moment.state in (LeagueState.COMPLETED, LeagueState.STOPPED)
    return agent.state if view.now and not over else ""


def _check(view: View, agent: Agent, *, staff: bool) -> dict[str, Any] | None:
    """The verdict of its check. The report shows the agent's address: only the staff is led to it."""
    if view.frozen_after is not None:
        known = view.league.frozen["agents"]
        lines = (one for one in known if (one["kind"], one["agent_id"]) == (agent.kind, agent.code))
        ready = next((one["ready"] for one in lines), None)
        return {"word": ready, "label": readiness.label(ready)} if ready else None
    if not view.now:
        return None
    known = readiness.readiness([agent])[agent.pk]
    found: dict[str, Any] = {"word": known.word.value, "label": known.label}
    if staff and known.check_id is not None:
        found |= {"url": reverse("check_report", args=[known.check_id]), "why": known.why}
    return found


# The matches ------------------------------------------------------------------------------------


def _matches(view: View, agent: Agent, ranks: Mapping[str, int]) -> list[dict[str, Any]]:
    """Every match of a player in playing order, those to come included."""
    mine = queries.matches_of(view.league).filter(Q(player_a=agent) | Q(player_b=agent))
    return [_match(match, view, agent.code, ranks) for match in mine]


def _match(match: Match, view: View, player_id: str, ranks: Mapping[str, int]) -> dict[str, Any]:
    outcome = view.outcome(match.match_id)
    opponent = match.player_b if match.player_a.code == player_id else match.player_a
    state = queries.state_of(match, view)
    found: dict[str, Any] = {
        "match_id": match.match_id,
        "url": reverse("match", args=[match.league_id, match.match_id]) + as_staff(view),
        "round": match.round.number,
        "opponent": {
            "player_id": opponent.code,
            "display_name": view.names.get(opponent.code, opponent.code),
            "url": reverse("player", args=[match.league_id, opponent.code]) + as_staff(view),
            "rank": ranks.get(opponent.code),
        },
        "state": state,
        "state_label": states.match_state(state),
        "hidden": view.frozen_after is not None and match.round.number > view.frozen_after,
        "letter": "",
    }
    if outcome is None:
        return found
    return found | {
        "letter": letter(outcome, player_id),
        "choice": _choice(outcome, player_id),
        "summary": states.result_summary(outcome.status, outcome.winner, outcome.details),
        "correction": outcome.correction,
        "at": outcome.at,
    }


def letter(outcome: Outcome, player_id: str) -> str:
    """How a match ended for a player: W, D, L, T, or C when it was cancelled."""
    if outcome.status == "DRAW":
        return "D"
    if outcome.status == "WIN":
        return "W" if outcome.winner == player_id else "L"
    if outcome.status == "TECHNICAL_LOSS":
        return "W" if outcome.winner == player_id else "T"
    return "C"


def _choice(outcome: Outcome, player_id: str) -> str:
    """What the player chose, in a word; moves on a board are none."""
    choices = outcome.details.get("choices")
    choice = choices.get(player_id) if isinstance(choices, Mapping) else None
    plain = isinstance(choice, (str, int)) and not isinstance(choice, bool)
    return str(choice)[:40] if plain else ""


def _next(view: View, matches: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first match without a result; none when the league is over, and none behind a curtain."""
    if not view.now or view.moment.state in (LeagueState.COMPLETED, LeagueState.STOPPED):
        return None
    return next((match for match in matches if not match["letter"]), None)


def _rivals(matches: list[dict[str, Any]], ranks: Mapping[str, int], player_id: str) -> dict[str, Any] | None:
    """Against whom it does well: opponents by result, the strongest first, and what it took from those above it."""
    played = [match for match in matches if match["letter"] in "WDLT" and match["letter"]]
    if not played:
        return None
    played.sort(key=lambda match: match["opponent"]["rank"] or len(ranks) + 1)
    own = ranks.get(player_id, 0)
    above = [match for match in played if (match["opponent"]["rank"] or own) < own]
    groups = ((_("Won against"), "W"), (_("Drew with"), "D"), (_("Lost to"), "LT"))
    return {
        "groups": [
            {"label": label, "letters": letters, "opponents": chosen}
            for label, letters in groups
            if (chosen := [match["opponent"] for match in played if match["letter"] in letters])
        ],
        "above": len(above),
        "beaten": sum(match["letter"] == "W" for match in above),
    }


# Faults ---------------------------------------------------------------------------------------------


def _faults(view: View, player_id: str) -> list[dict[str, Any]]:
    """What it lost points for, the latest first: the cause from the closed list, and the sentence."""
    return [
        {
            "match_id": outcome.match_id,
            "url": reverse("match", args=[view.league.pk, outcome.match_id]) + as_staff(view),
            "cause": states.fault_cause(fault.get("cause", "")),
            "sentence": states.fault_sentence(fault),
            "at": outcome.at,
        }
        for outcome in reversed(view.moment.outcomes.values())
        for fault in outcome.faults
        if fault.get("player_id") == player_id
    ]
