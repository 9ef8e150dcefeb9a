"""A league as one JSON document that holds all of it (``shape``), written piece by piece.

The same league gives the same bytes: no moment of the export is in it. Tokens and their hashes are in none of the
tables read here; transcripts were cleaned of them when they were stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from django.db.models import F, Model, Q, QuerySet

from agents_registry.models import Agent, RosterEntry
from league_sdk.ledger import chain
from league_sdk.protocol.states import LeagueState
from matches.events.registry import PUBLIC
from matches.models import Check, Event, League, Match, Message
from matches.papers.shape import (
    FORMAT,
    AgentPart,
    CheckPart,
    CorrectionPart,
    EventPart,
    LeaguePart,
    MatchPart,
    NoticePart,
    RoundPart,
)
from matches.view import readiness
from matches.view.queries import matches_of

AT_ONCE = 100
"""Matches whose transcripts are in memory at the same time."""


def write(league: League, out: BinaryIO, *, people: bool) -> None:
    """Write a league's document.

    Args:
        out: takes the bytes; read within ``snapshot.one_moment`` when the league is being played.
        people: with what is for the instructor alone: roster, owners, addresses, codes, messages to single students,
            checks, how agents were called. Without it the document holds what spectators see, but for a freeze.
    """
    out.write(b"{\n")
    _put(out, "format", FORMAT)
    _put(out, "people", people)
    _put(out, "league", _league(league, people))
    known = agents(league)
    _put_list(out, "roster", _roster(league) if people else ())
    _put_list(out, "agents", (_agent(agent, people) for agent in known))
    _put_list(out, "rounds", (_row(RoundPart, one, bye=_code(one.bye)) for one in _rounds(league)))
    _put_list(out, "events", (_row(EventPart, event) for event in events(league, people=people)))
    _put_list(out, "corrections", _corrections(league, people))
    _put_list(out, "notices", _notices(league, people))
    _put_list(out, "checks", _checks(known) if people else ())
    _put_list(out, "matches", _matches(league, people), last=True)
    out.write(b"}\n")


def agents(league: League) -> list[Agent]:
    """Players of a league and the referees that it has or had: one of the site becomes one of the league here."""
    judged = league.matches.filter(referee__isnull=False).values("referee")
    found = Agent.objects.filter(Q(league=league) | Q(pk__in=judged)).select_related("owner")
    # A league's own referee goes before one of the site that has the same id.
    ordered = found.order_by("kind", F("league").asc(nulls_last=True), "pk")
    seen: dict[tuple[str, str], Agent] = {}
    for agent in ordered:
        seen.setdefault((agent.kind, agent.code), agent)
    return list(seen.values())


def transcripts(matches: list[Match], *, people: bool) -> dict[int, list[dict[str, Any]]]:
    """Every message of some matches, by the match's primary key, in order."""
    found: dict[int, list[dict[str, Any]]] = {match.pk: [] for match in matches}
    rows = Message.objects.filter(match__in=list(found)).order_by("match_id", "attempt", "n")
    for match_id, attempt, n, entry in rows.values_list("match_id", "attempt", "n", "entry"):
        kept = entry if people else {name: value for name, value in entry.items() if name != "wire"}
        found[match_id].append({"attempt": attempt, "n": n, "entry": kept})
    return found


def events(league: League, *, people: bool) -> Iterator[Event]:
    """Every event in order; without people those that anyone may know of, and none quotes an address."""
    rows = league.events.order_by("seq")
    for event in (rows if people else rows.filter(kind__in=PUBLIC)).iterator():
        if not people and "why" in event.data:
            # The hash takes the place of the salt, so that the digest still follows from what is left.
            with suppress(ValueError):
                event.salt = chain.hash_private(event.salt, event.kind, event.data)
            event.data["why"] = ""
        yield event


def in_chunks(rows: QuerySet[Match]) -> Iterator[list[Match]]:
    """Matches in playing order, some at a time."""
    keys = list(rows.values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        yield list(rows.filter(pk__in=keys[start : start + AT_ONCE]))


# Pieces -----------------------------------------------------------------------------------------


def _row(shape: Any, row: Model, **instead: Any) -> dict[str, Any]:
    """A row's columns by the names of its shape."""
    names = [name for name in shape.model_fields if name not in instead]
    return {name: getattr(row, name) for name in names} | instead


def _league(league: League, people: bool) -> dict[str, Any]:
    hidden = () if people else ("registration_code",)
    return _row(LeaguePart, league, settings={k: v for k, v in league.settings.items() if k not in hidden})


def _roster(league: League) -> Iterator[dict[str, Any]]:
    for entry in RosterEntry.objects.filter(league=league).order_by("pk"):
        yield {"name": entry.name, "email": entry.email, "code": entry.code}


def _agent(agent: Agent, people: bool) -> dict[str, Any]:
    owner = agent.owner.email if people and agent.owner is not None else None
    found = _row(AgentPart, agent, owner=owner)
    # What was odd at registration quotes the agent, its address too.
    return found if people else found | {"endpoint": "", "notes": [], "sender_name": ""}


def _rounds(league: League) -> QuerySet[Any]:
    found = league.rounds.select_related("bye").order_by("number")
    return found.none() if league.state == LeagueState.REGISTRATION else found


def _corrections(league: League, people: bool) -> Iterator[dict[str, Any]]:
    for one in league.corrections.select_related("player").order_by("number"):
        unsaid = {} if people else {"made_by": "", "undone_by": ""}
        yield _row(CorrectionPart, one, player=_code(one.player), **unsaid)


def _notices(league: League, people: bool) -> Iterator[dict[str, Any]]:
    rows = league.notices.select_related("agent").order_by("made_at", "pk")
    for one in rows if people else rows.filter(agent__isnull=True, withdrawn_at__isnull=True):
        yield _row(NoticePart, one, player=_code(one.agent), **({} if people else {"made_by": ""}))


def _checks(known: list[Agent]) -> Iterator[dict[str, Any]]:
    judged = readiness.readiness(known)
    ids = {one.judged_id for one in judged.values() if one.judged_id is not None}
    checks = Check.objects.in_bulk(ids)
    told = set()
    for agent in known:
        check = checks.get(judged[agent.pk].judged_id)
        # Several agents may live at one address: its check is told once.
        if check is not None and check.pk not in told:
            told.add(check.pk)
            yield _row(CheckPart, check, kind=agent.kind, agent=agent.code, check_id=str(check.pk))


def _matches(league: League, people: bool) -> Iterator[dict[str, Any]]:
    for chunk in in_chunks(matches_of(league)):
        said = transcripts(chunk, people=people)
        for match in chunk:
            yield _row(
                MatchPart,
                match,
                round=match.round.number,
                player_a=match.player_a.code,
                player_b=match.player_b.code,
                referee=_code(match.referee),
                winner=_code(match.winner),
                messages=said[match.pk],
            )


def _code(agent: Agent | None) -> str | None:
    return agent.code if agent is not None else None


# Bytes ------------------------------------------------------------------------------------------


def _json(value: Any) -> bytes:
    # Sorted, as databases give the members of an object back in an order of their own.
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True, default=_moment
    )
    return text.encode()


def _moment(value: Any) -> str:
    return str(value.isoformat())


def _put(out: BinaryIO, name: str, value: Any) -> None:
    out.write(_json(name) + b":" + _json(value) + b",\n")


def _put_list(out: BinaryIO, name: str, items: Any, *, last: bool = False) -> None:
    out.write(_json(name) + b":[")
    between = b"\n"
    for item in items:
        out.write(between + _json(item))
        between = b",\n"
    out.write(b"\n]\n" if last else b"\n],\n")
