"""Writes a league as one JSON document (:mod:`matches.papers.sections`), item by item.

The same league always gives the same bytes: the time of the export is not in the document. No table that is read here
holds tokens or their hashes; transcripts were cleaned of them when they were stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import IO, Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from agents_registry.models import Agent, Kind, RosterEntry
from league_sdk.ledger import chain
from league_sdk.ledger.documents import LEAGUE_FORMAT
from league_sdk.protocol import SDK_VERSION
from league_sdk.protocol.masking import without_addresses
from matches.events.registry import PUBLIC
from matches.models import Check, Event, League, Match, Message
from matches.papers.sections import LEAGUE, SECTIONS
from matches.view import readiness
from matches.view.queries import matches_in, matches_of, matches_of_player, public_entry, rounds_of

_WITH_ADDRESSES = ("why", "moved_from", "moved_to")
"""The fields of public events that hold or may quote the address of an agent."""
MATCHES_PER_CHUNK = 100
"""Matches whose transcripts are in memory at the same time."""
MAX_IDLE_S = 120
"""After so long between two statements the server ends a transaction that only reads, in place of after 6 s."""


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Read from one snapshot of the database; nothing may be written within the context.

    A transaction of Django's would hold SQLite's only write lock during a long export, and the league would stop.
    """
    if connection.in_atomic_block:
        # The caller, or a test, has opened a transaction already.
        yield
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                # A large league is worked on for seconds between two statements; what only reads keeps nobody waiting.
                cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{MAX_IDLE_S}s'")
            yield


def write(league: League, out: IO[bytes], *, people: bool) -> None:
    """Write a league's document.

    Args:
        league: its rows; call this within :func:`read_snapshot` while the league is played.
        out: the file.
        people: include what only the instructor may see: roster, owners, addresses, codes, notices to single students,
            checks, the HTTP requests sent to agents. Without it the document holds what spectators see without a
            freeze.
    """
    hidden = () if people else ("registration_code",)
    settings = {name: value for name, value in league.settings.items() if name not in hidden}
    head = {
        "format": LEAGUE_FORMAT,
        "written_by": f"leaguesite {SDK_VERSION}",
        "people": people,
        "league": LEAGUE.item(league, people, settings=settings),
    }
    out.write(b"{")
    for name, value in head.items():
        out.write(b"\n" + _json(name) + b":" + _json(value) + b",")
    end = b""
    for name, items in _lists(league, people).items():
        out.write(end + b"\n" + _json(name) + b":[")
        between = b"\n"
        for item in items:
            out.write(between + _json(item))
            between = b",\n"
        end = b"\n],"
    out.write(b"\n]\n}\n")


def _lists(league: League, people: bool) -> dict[str, Iterable[dict[str, Any]]]:
    """The items of every list, read lazily."""
    known = agents(league)
    notices = league.notices.select_related("agent").order_by("made_at", "pk")
    rows: dict[str, Iterable[Any]] = {
        "roster": RosterEntry.objects.filter(league=league).order_by("pk") if people else (),
        "agents": known,
        "rounds": rounds_of(league),
        "events": events(league, people=people, whole_chain=True),
        "corrections": league.corrections.select_related("player").order_by("number"),
        "notices": notices if people else notices.filter(agent__isnull=True, withdrawn_at__isnull=True),
    }
    lists: dict[str, Iterable[dict[str, Any]]] = {name: _items(name, rows[name], people) for name in rows}
    return lists | {"checks": _checks(known) if people else (), "matches": _matches(league, people)}


def _items(name: str, rows: Iterable[Any], people: bool) -> Iterator[dict[str, Any]]:
    return (SECTIONS[name].item(row, people) for row in rows)


def _checks(agents: list[Agent]) -> Iterator[dict[str, Any]]:
    verdicts = readiness.readiness(agents)
    ids = {verdict.judged_id for verdict in verdicts.values() if verdict.judged_id is not None}
    checks = Check.objects.in_bulk(ids)
    for agent in agents:
        # Several agents may have one address: its check is written once.
        check = checks.pop(verdicts[agent.pk].judged_id, None)
        if check is not None:
            yield SECTIONS["checks"].item(check, True, kind=agent.kind, agent=agent.code, check_id=str(check.pk))


def _matches(league: League, people: bool) -> Iterator[dict[str, Any]]:
    for chunk in matches_in_chunks(league):
        messages = transcripts(chunk, people=people)
        for match in chunk:
            yield SECTIONS["matches"].item(match, people, messages=messages[match.pk])


def _json(value: Any) -> bytes:
    # Sorted: databases return the members of a JSON object in different orders.
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True, default=datetime.isoformat
    )
    return text.encode()


# Queries that the tables, the ZIP file and SHARED use, too -------------------------------------------


def agents(league: League) -> list[Agent]:
    """The agents of a league, and the site's referees that judged in it; one for each kind and id."""
    judged = league.matches.filter(referee__isnull=False).values("referee")
    rows = Agent.objects.filter(Q(league=league) | Q(pk__in=judged)).select_related("owner")
    # If a referee of the site has the id of a league's own referee, the league's own is taken.
    first: dict[tuple[str, str], Agent] = {}
    for agent in rows.order_by("kind", F("league").asc(nulls_last=True), "pk"):
        first.setdefault((agent.kind, agent.code), agent)
    return list(first.values())


def transcripts(matches: list[Match], *, people: bool) -> dict[int, list[dict[str, Any]]]:
    """The messages of matches in order, by the match's primary key; without ``people``, as the public sees them."""
    messages: dict[int, list[dict[str, Any]]] = {match.pk: [] for match in matches}
    rows = Message.objects.filter(match__in=list(messages)).order_by("match_id", "attempt", "n")
    by_pk = {match.pk: match for match in matches}
    for match in matches:
        # They are all of one league: read it once.
        match.league = matches[0].league
    for match_id, attempt, n, entry in rows.values_list("match_id", "attempt", "n", "entry"):
        shown = entry if people else without_addresses(public_entry(entry, by_pk[match_id]))
        messages[match_id].append({"attempt": attempt, "n": n, "entry": shown})
    return messages


def messages_of(league: League, agent: str, *, people: bool) -> Iterator[tuple[Match, list[dict[str, Any]]]]:
    """The matches of an agent, such as ``player:P01``, with their messages, as :func:`transcripts` gives them."""
    kind, _, code = agent.partition(":")
    if kind == Kind.PLAYER:
        # A match that no referee was given has no messages.
        rows = matches_of_player(league, code).filter(attempt__gt=0)
    else:
        # Transcripts of our referees have ids without the kind.
        named = Q(entry__sender__in=[agent, code]) | Q(entry__recipient__in=[agent, code])
        rows = matches_of(league).filter(pk__in=Message.objects.filter(named, match__league=league).values("match"))
    for chunk in in_chunks(rows):
        messages = transcripts(chunk, people=people)
        for match in chunk:
            yield match, messages[match.pk]


def events(league: League, *, people: bool, whole_chain: bool = False) -> Iterator[Event]:
    """The events of a league in order.

    Args:
        league: whose.
        people: without it only the public ones, and what may quote an address is empty in them.
        whole_chain: also those that are not public; without ``people`` they say nothing, but their digests are there.
    """
    rows = league.events.order_by("seq")
    for event in (rows if people or whole_chain else rows.filter(kind__in=PUBLIC)).iterator():
        hidden = {name: "" for name in _WITH_ADDRESSES if name in event.data}
        if not people and (event.kind not in PUBLIC or hidden):
            # The hash of the private part replaces the salt, so that the digest can still be verified.
            with suppress(ValueError):
                event.salt = chain.hash_private(event.salt, event.kind, event.data)
            event.data = {**event.data, **hidden} if event.kind in PUBLIC else {}
        yield event


def matches_in_chunks(league: League) -> Iterator[list[Match]]:
    """A league's matches in playing order, in chunks; round by round, so that two million keys are not in memory."""
    for one in rounds_of(league):
        yield from in_chunks(matches_in([one]))


def in_chunks(rows: QuerySet[Match]) -> Iterator[list[Match]]:
    """Matches in playing order, in chunks."""
    keys = list(rows.values_list("pk", flat=True))
    for start in range(0, len(keys), MATCHES_PER_CHUNK):
        yield list(rows.filter(pk__in=keys[start : start + MATCHES_PER_CHUNK]))
