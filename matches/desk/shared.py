"""READS: for the desk, players behind one address and port, the matches that wait because of it, and the gateways."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry import programs
from agents_registry.models import Agent
from agents_registry.shared import Shared, is_at
from league_sdk.protocol.states import IN_PLAY, LeagueState, MatchState, RoundState
from matches.desk.acting import GATEWAY, Button, button
from matches.desk.actions import ACTIONS
from matches.desk.facts import Facts
from matches.models import Match

MOST_NAMED = 8
ANCHOR = "desk-shared"


def problems(facts: Facts) -> list[dict[str, Any]]:
    """Players that count as one program: that their matches take turns, how many, and a button where a mark helps."""
    found = []
    seats, number = _coming(facts) if facts.shared else ([], None)
    for one in facts.shared:
        pks = {agent.pk for agent in one.agents}
        count = sum(1 for pair in seats if not pks.isdisjoint(pair))
        if number is None:
            count = min(len(pks), len(facts.called) // 2)
        found.append(
            {
                "id": "" if found else ANCHOR,
                "text": f"{_text(one)} {_in_a_row(count, number)}".strip(),
                "causes": [f"{agent.code} {agent.display_name}: {agent.endpoint}" for agent in one.agents],
                "remedies": [remedy] if (remedy := _mark(facts, one.to_mark)) else [],
            }
        )
    return found


def _text(one: Shared) -> str:
    given = {"players": _players(one.agents), "host": one.host, "port": one.port}
    if one.to_mark:
        return (
            _(
                "%(players)s answer at %(host)s, port %(port)s, under different paths. Mark it as a gateway if they "
                "are different programs; else the site plays their matches one after the other."
            )
            % given
        )
    return (
        _(
            "%(players)s answer at %(host)s, port %(port)s, under the same path: they are one program, and the site "
            "plays its matches one after the other."
        )
        % given
    )


def _players(agents: tuple[Agent, ...]) -> str:
    named, more = ", ".join(agent.code for agent in agents[:MOST_NAMED]), len(agents) - MOST_NAMED
    if more < 1:
        return named
    return ngettext("%(players)s and %(count)d more", "%(players)s and %(count)d more", more) % {
        "players": named,
        "count": more,
    }


def _in_a_row(count: int, number: int | None) -> str:
    """How slow that makes a round; nothing where no two matches of it are concerned."""
    if count < 2:
        return ""
    if number is None:
        text = ngettext(
            "That is up to %(count)d match of each round in a row, which makes the evening slow.",
            "That is up to %(count)d matches of each round in a row, which makes the evening slow.",
            count,
        )
        return text % {"count": count}
    text = ngettext(
        "That is %(count)d match of round %(number)d in a row, which makes the evening slow.",
        "That is %(count)d matches of round %(number)d in a row, which makes the evening slow.",
        count,
    )
    return text % {"count": count, "number": number}


def _coming(facts: Facts) -> tuple[list[tuple[int, int]], int | None]:
    """Who meets whom in the matches that are left of this round, or in those of the next one; and its number."""
    at = facts.active or facts.coming
    if at is None or facts.league.state == LeagueState.REGISTRATION:
        return [], None
    left = Match.objects.filter(round=at).exclude(state=MatchState.FINISHED)
    return list(left.values_list("player_a_id", "player_b_id")), int(at.number)


def _mark(facts: Facts, hosts: tuple[str, ...]) -> Button | None:
    if not hosts:
        return None
    label = ngettext("Mark %(hosts)s as a gateway", "Mark %(hosts)s as gateways", len(hosts))
    shown = {"label": label % {"hosts": ", ".join(hosts)}, "field": "host", "value": ",".join(hosts)}
    return button(facts, ACTIONS[GATEWAY, "mark"], **shown)


def gateways(facts: Facts, *, everywhere: bool) -> list[dict[str, Any]]:
    """The hosts that are marked as gateways, each with a button that takes its mark back.

    Args:
        facts: of the league.
        everywhere: also those at which no player of this league answers.
    """
    found = []
    for host in sorted(facts.gateways):
        there = tuple(agent for agent in facts.players if is_at(agent, host))
        if there or everywhere:
            back = button(facts, ACTIONS[GATEWAY, "take-back"], field="host", value=host, named={"host": host})
            found.append({"host": host, "players": _players(there), "back": back})
    return found


def with_waits(facts: Facts, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to the lines of matches, as ``waits``, for which match in play one waits, as one program has players in both.

    It has ``text``; ``more`` leads to the problem that has the button, where there is one, else there is a ``button``.

    Args:
        facts: of the league.
        lines: of its open matches.
    """
    found = _waits(facts)
    return [line | {"waits": found.get(line["match_id"])} for line in lines]


def _waits(facts: Facts) -> dict[str, dict[str, Any]]:
    active = facts.active is not None and facts.active.state == RoundState.RUNNING
    ready = [match for match in facts.matches if match.state == MatchState.READY]
    if not (active and ready) or facts.league.paused:
        return {}
    in_play: dict[str, tuple[Match, Agent]] = {}
    for match in Match.objects.filter(state__in=IN_PLAY).select_related("player_a", "player_b"):
        for seat in (match.player_a, match.player_b):
            for key in programs.held(programs.known(seat, facts.gateways)):
                in_play[key] = (match, seat)
    listed = {agent.pk for one in facts.shared if one.to_mark for agent in one.agents}
    found = {}
    for match in ready:
        for seat in (match.player_a, match.player_b):
            needed = programs.free_for(programs.known(seat, facts.gateways))
            if match.match_id not in found and (taken := sorted(needed & in_play.keys())):
                by, other = in_play[taken[0]]
                found[match.match_id] = _wait(facts, seat, other, by, taken[0], listed)
    return found


def _wait(facts: Facts, seat: Agent, other: Agent, by: Match, key: str, listed: set[int]) -> dict[str, Any]:
    host, _bar, port = programs.place(key).partition("|")
    text = _("waits for %(match)s: both call %(host)s, port %(port)s")
    name = by.match_id if by.league_id == facts.league.pk else _("a match of another league")
    paths = {programs.named(one.endpoint)[1] for one in (seat, other)}
    shown: dict[str, Any] = {"text": text % {"match": name, "host": host, "port": port}}
    if seat.pk in listed:
        shown["more"] = f"#{ANCHOR}"
    elif len(paths) > 1:
        shown["button"] = _mark(facts, (host,))
    return shown
