"""READS: players that share an address and port, the matches that wait for each other because of it, and gateways."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.addresses import programs
from agents_registry.addresses.shared import Shared, is_at
from agents_registry.isolating import isolated
from agents_registry.models import Agent
from league_sdk.protocol.states import IN_PLAY, LeagueState, MatchState, RoundState
from matches.desk.acting import GATEWAY, Button, Problem, button
from matches.desk.actions import ACTIONS
from matches.desk.facts import Facts
from matches.models import Match

MAX_NAMED = 8
ANCHOR = "desk-shared"


def problems(facts: Facts) -> list[Problem]:
    """Players that count as one program, so that their matches are not played at the same time; a mark may help."""
    problems: list[Problem] = []
    pairs, number = _unplayed_pairs(facts) if facts.shared else ([], None)
    for one in facts.shared:
        pks = {agent.pk for agent in one.agents}
        count = sum(1 for pair in pairs if not pks.isdisjoint(pair))
        if number is None:
            count = min(len(pks), len(facts.participants) // 2)
        remedy = _mark(facts, one.to_mark)
        problems.append(
            Problem(
                text=f"{_text(one)} {_in_a_row(count, number)}".strip(),
                remedies=[remedy] if remedy is not None else [],
                causes=[
                    f"{agent.code} {isolated(agent.display_name)}: {isolated(agent.endpoint)}" for agent in one.agents
                ],
                key="" if problems else ANCHOR,
            )
        )
    return problems


def _text(one: Shared) -> str:
    values = {"players": _players(one.agents), "host": isolated(one.host), "port": one.port}
    if one.to_mark:
        text = _(
            "%(players)s answer at %(host)s, port %(port)s, under different paths. Mark it as a gateway if they "
            "are different programs; else the site plays their matches one after the other."
        )
    else:
        text = _(
            "%(players)s answer at %(host)s, port %(port)s, under the same path: they are one program, and the site "
            "plays its matches one after the other. Each name has a seat of its own: once registration is closed, "
            "withdraw those that should not play."
        )
    return text % values


def _players(agents: tuple[Agent, ...]) -> str:
    named, more = ", ".join(agent.code for agent in agents[:MAX_NAMED]), len(agents) - MAX_NAMED
    if more < 1:
        return named
    text = ngettext("%(players)s and %(count)d more", "%(players)s and %(count)d more", more)
    return text % {"players": named, "count": more}


def _in_a_row(count: int, number: int | None) -> str:
    """A sentence that says how many matches are played one after the other; empty if fewer than two.

    Args:
        count: the number of these matches.
        number: the number of their round; None before there is a schedule, when ``count`` is an upper limit.
    """
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


def _unplayed_pairs(facts: Facts) -> tuple[list[tuple[int, int]], int | None]:
    """The pairs of players in the unfinished matches of this round, or of the next one, and the round's number.

    The number is None before there is a schedule, and 0 when all rounds are over.
    """
    if facts.league.state == LeagueState.REGISTRATION:
        return [], None
    round_ = facts.active or facts.coming
    if round_ is None:
        return [], 0
    unfinished = Match.objects.filter(round=round_).exclude(state=MatchState.FINISHED)
    return list(unfinished.values_list("player_a_id", "player_b_id")), int(round_.number)


def _mark(facts: Facts, hosts: tuple[str, ...]) -> Button | None:
    if not hosts:
        return None
    label = ngettext("Mark %(hosts)s as a gateway", "Mark %(hosts)s as gateways", len(hosts))
    shown = {"label": label % {"hosts": ", ".join(hosts)}, "field": "host", "value": ",".join(hosts)}
    return button(facts, ACTIONS[GATEWAY, "mark"], **shown)


def gateways(facts: Facts, *, every_gateway: bool) -> list[dict[str, Any]]:
    """The hosts that are marked as gateways, each with its players and the button that takes the mark back.

    Args:
        facts: the facts of the league.
        every_gateway: include hosts at which no player of this league answers.
    """
    gateways = []
    for host in sorted(facts.gateways):
        players = tuple(agent for agent in facts.players if is_at(agent, host))
        if players or every_gateway:
            back = button(
                facts, ACTIONS[GATEWAY, "take-back"], field="host", value=host, named={"host": isolated(host)}
            )
            gateways.append({"host": host, "players": _players(players), "back": back})
    return gateways


def waits(facts: Facts) -> dict[str, dict[str, Any]]:
    """Why matches wait for others in play with a player of the same program, by match id."""
    active = facts.active is not None and facts.active.state == RoundState.RUNNING
    ready = [match for match in facts.matches if match.state == MatchState.READY]
    if not (active and ready) or facts.league.paused:
        return {}
    in_play: dict[str, tuple[Match, Agent]] = {}
    for match in Match.objects.filter(state__in=IN_PLAY).select_related("player_a", "player_b"):
        for seat in (match.player_a, match.player_b):
            for key in programs.held(programs.known(seat, facts.gateways)):
                in_play[key] = (match, seat)
    with_remedy = {agent.pk for one in facts.shared if one.to_mark for agent in one.agents}
    waits = {}
    for match in ready:
        for seat in (match.player_a, match.player_b):
            needed = programs.free_for(programs.known(seat, facts.gateways))
            if match.match_id not in waits and (shared_keys := sorted(needed & in_play.keys())):
                by, other = in_play[shared_keys[0]]
                waits[match.match_id] = _wait(facts, seat, other, by, shared_keys[0], with_remedy)
    return waits


def _wait(facts: Facts, seat: Agent, other: Agent, by: Match, key: str, with_remedy: set[int]) -> dict[str, Any]:
    """The sentence about a match that waits, with the remedy, or a link to the problem that has it.

    Args:
        facts: the facts of the league.
        seat: the player of the match that waits.
        other: the player of the match in play that counts as the same program.
        by: the match in play.
        key: the key of the program that they share.
        with_remedy: primary keys of the players that a problem with a remedy names.
    """
    host, _bar, port = programs.place(key).partition("|")
    name = by.match_id if by.league_id == facts.league.pk else _("a match of another league")
    text = _("waits for %(match)s: both call %(host)s, port %(port)s") % {
        "match": name,
        "host": isolated(host),
        "port": port,
    }
    if seat.pk in with_remedy:
        return {"text": text, "more": f"#{ANCHOR}"}
    paths = {programs.host_and_path(one.endpoint)[1] for one in (seat, other)}
    return {"text": text, "button": _mark(facts, (host,)) if len(paths) > 1 else None}
