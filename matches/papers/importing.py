"""Imports a league from its export. The league is history on this site: it can be read, but not played on.

The file is untrusted. Every field is validated before anything is written (``matches.papers.reading``), and what was
written is tried out before anybody sees it (``matches.papers.checking``); an error names its place in the document.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import IO, Any, NamedTuple

from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from agents_registry.names import lookalikes
from league_sdk import collector
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import AgentState, LeagueState, MatchState, RoundState
from league_sdk.rules.registry import games
from matches.league import lifecycle, opening, removing
from matches.league.effects import changed
from matches.league.errors import ActionRefused
from matches.league.leagues import refuse_taken
from matches.models import Check, CheckState, Event, League, Message, Role, RoleName
from matches.papers.checking import chain_sentence, try_events, try_pages
from matches.papers.files import NotALeague
from matches.papers.reading import LeagueDocument, read
from matches.papers.sections import NAMED_BY, SECTIONS
from storage import clock

logger = logging.getLogger(__name__)
ROWS_PER_PIECE, PAUSE_S = 200, 0.02
"""Rows that one transaction writes, and how many seconds others may write after it."""
LEASE = timedelta(minutes=10)
"""How long after its last piece an import that was killed is hidden before its rows are deleted."""
Rows = dict[str, dict[Any, Any]]
"""Rows that were written already and to which others refer, as :meth:`Section.columns` takes them."""


class Imported(NamedTuple):
    """The result of an import, as which it is also handed from :func:`stage` to :func:`publish`.

    Attributes:
        league: the new league; before it is published as its row will be then.
        matches: how many matches it has.
        stopped: whether it was not over when it was exported, so that the import stopped it.
        ledger: a sentence that says whether the chain of its events holds.
    """

    league: League
    matches: int
    stopped: bool
    ledger: str


def import_league(*, file: IO[bytes], by: Any = None) -> Imported:
    """Create a league from its export, with everything in it: :func:`stage`, then :func:`publish`."""
    return publish(staged=stage(file=file), by=by)


@collector.paused()
def stage(*, file: IO[bytes]) -> Imported:
    """Write the rows of a league from its export, in pieces, while nobody sees it; not to be called in a transaction.

    Changes: a hidden league (``matches.league.removing``) with the id, roster, agents, rounds, matches, transcripts,
    events with the same numbers, corrections and notices of the document. Its agents are SHUTDOWN and have no token: an
    agent that registers later is a new one. An untouched league with the same id is deleted. Of a league that was not
    over nothing is open, as :func:`publish` stops it. If anything fails, the rows are deleted, and the untouched league
    is there again; if the process is killed, the conductor deletes them after :data:`LEASE`.

    Args:
        file: JSON, or a ZIP file with ``league.json`` in it; must be seekable.

    Raises:
        NotALeague: the file is not a valid export; the text names the place.
        ActionRefused: this site has a league with this id already, or does not have its game.
    """
    document = read(file)
    ledger, stopped = chain_sentence(document), _is_unfinished(document)
    _refuse(document)
    try_events(document)
    if stopped:
        _close(document)
    league = League(**document.league.model_dump())
    with transaction.atomic():
        untouched = _refuse(document)
        earlier = list(untouched.events.all()) if untouched is not None else []
        League.objects.filter(pk=league.pk).delete()
        # Until it is published it counts as stopped: nothing of it is played, and no agent of it is looked for.
        hidden = {"state": LeagueState.STOPPED, "remove_at": clock.now() + LEASE}
        League(**document.league.model_dump() | hidden).save(force_insert=True)
    try:
        _insert_rows(league, document)
        try_pages(league)
    except BaseException as error:
        _take_away(league)
        if untouched is not None:
            untouched.save(force_insert=True)
            Event.objects.bulk_create(earlier)
        if not isinstance(error, IntegrityError):
            raise
        logger.info("an import was refused, as it violates a constraint of the database: %s", error)
        raise ActionRefused(
            _("The league clashes with one that is here, or with itself; nothing was imported.")
        ) from None
    return Imported(league, len(document["matches"]), stopped, ledger)


def publish(*, staged: Imported, by: Any = None) -> Imported:
    """Show a league that was staged. Nothing is sent.

    Changes: the league is hidden no more. If it was not over it is stopped, which adds an event. Digests are kept,
    whether they hold or not.

    Args:
        by: the user who imports it and becomes its instructor; None, or a superuser, gets no role.
    """
    with transaction.atomic():
        _renew(staged.league.pk, remove_at=None, state=staged.league.state)
        league = League.objects.get(pk=staged.league.pk)
        if by is not None and not by.is_superuser:
            Role.objects.create(league=league, user=by, name=RoleName.INSTRUCTOR)
        if staged.stopped:
            league = lifecycle.stop(league_id=league.pk)
        changed(league.pk)
    return staged._replace(league=league)


def _renew(league_id: str, **columns: Any) -> None:
    """Keep a hidden league from being deleted, or show it.

    Raises:
        ActionRefused: it is being deleted already, as the import stood still.
    """
    kept = League.with_hidden.filter(pk=league_id, remove_at__gt=clock.now())
    if not kept.update(**({"remove_at": clock.now() + LEASE} | columns)):
        raise ActionRefused(_("The import stood still for too long, and is given up: import the file again."))


def _take_away(league: League) -> None:
    League.with_hidden.filter(pk=league.pk, remove_at__isnull=False).update(remove_at=clock.now())
    while not removing.remove_piece(league):
        continue


def _refuse(document: LeagueDocument) -> League | None:
    """Refuse a document that cannot be imported here; returns the untouched league whose place it takes, if any."""
    league = document.league
    if league.league_id == site.LEAGUE_DEMO_ID:
        raise NotALeague(
            "league.league_id", _("the id %(id)s is kept for the demo league") % {"id": isolated(league.league_id)}
        )
    existing = League.objects.filter(pk=league.league_id).first()
    if existing is not None and not _is_untouched(existing):
        raise ActionRefused(
            _("This site has a league %(id)s already: an import never changes a league. Use another site for it.")
            % {"id": isolated(league.league_id)}
        )
    if existing is None:
        refuse_taken(league.league_id)
    if league.game_type not in games():
        raise ActionRefused(
            _("This site does not have the game %(game)s: install its package first, then import again.")
            % {"game": isolated(league.game_type)}
        )
    if opening.check_settings(league.settings) != league.settings:
        raise NotALeague("league.settings", _("a value is not as it is stored here"))
    for number, person in enumerate(document["roster"]):
        try:
            validate_email(person.email)
        except ValidationError:
            raise NotALeague(f"roster[{number}].email", _("it is no e-mail address")) from None
    return existing


def _is_untouched(league: League) -> bool:
    """Whether nothing has happened in a league since it was created, as in the one that a new site opens by itself."""
    unchanged = league.state == LeagueState.REGISTRATION and not league.settings and league.starts_at is None
    return unchanged and not (
        league.agents.exists()
        or league.roster.exists()
        or league.roles.exists()
        or league.notices.exists()
        or league.events.exclude(kind=EventKind.LEAGUE_CREATED).exists()
    )


def _is_unfinished(document: LeagueDocument) -> bool:
    """Whether the league was exported before its end, so that the conductor would go on with it."""
    if document.league.state == LeagueState.STOPPED:
        return False
    over = document.league.state == LeagueState.COMPLETED
    done = all(match.state == MatchState.FINISHED for match in document["matches"])
    return not (over and done and all(one.state == RoundState.COMPLETED for one in document["rounds"]))


def _close(document: LeagueDocument) -> None:
    """Leave nothing open in a league that is stopped when it is published, as ``lifecycle.stop`` does."""
    for match in document["matches"]:
        match.state = match.state if match.state == MatchState.FINISHED else MatchState.PENDING
    for one in document["rounds"]:
        one.state = one.state if one.state == RoundState.COMPLETED else RoundState.PENDING


# Writing ----------------------------------------------------------------------------------------


def _insert_rows(league: League, document: LeagueDocument) -> None:
    in_league = {"league": league}
    rows: Rows = {name: {} for name in NAMED_BY}
    rows["person"] = {person.email: person for person in _insert("roster", document, rows, lambda _item: in_league)}
    agents = _insert(
        "agents",
        document,
        rows,
        # No address has this key, so an agent that registers from the same address is a new one.
        lambda item: {**in_league, "endpoint_key": _endpoint_key(league, item), "state": AgentState.SHUTDOWN},
    )
    for chunk in _pieces(league, agents):
        lookalikes.remember(chunk, new=True)
    for agent in agents:
        rows[agent.kind][agent.code] = agent
    rows["round"] = {row.number: row for row in _insert("rounds", document, rows, lambda _item: in_league)}
    for name in ("corrections", "notices", "events"):
        _insert(name, document, rows, lambda _item: in_league)
    _insert_checks(document, rows)
    matches = _insert("matches", document, rows, lambda _item: in_league)
    pairs = zip(matches, document["matches"], strict=True)
    messages = [Message(match=row, **message.model_dump()) for row, item in pairs for message in item.messages]
    for chunk in _pieces(league, messages):
        Message.objects.bulk_create(chunk)


def _pieces(league: League, rows: list[Any]) -> Iterator[list[Any]]:
    """The rows in pieces, each of which is written in a transaction of its own; between them others may write."""
    for start in range(0, len(rows), ROWS_PER_PIECE):
        if start:
            time.sleep(PAUSE_S)
        with transaction.atomic():
            _renew(league.pk)
            yield rows[start : start + ROWS_PER_PIECE]


def _insert(name: str, document: LeagueDocument, rows: Rows, more: Callable[[Any], dict[str, Any]]) -> list[Any]:
    """Insert the rows of one list of the document.

    Args:
        name: the name of the list.
        document: the whole document.
        rows: the rows to which these refer.
        more: returns, for an item, the columns of its row that are not in the document.
    """
    section = SECTIONS[name]
    made = [section.model(**section.columns(item, rows), **more(item)) for item in document[name]]
    league = League(league_id=document.league.league_id)
    return [row for chunk in _pieces(league, made) for row in section.model._default_manager.bulk_create(chunk)]


def _endpoint_key(league: League, item: Any) -> str:
    digest = hashlib.sha256((item.endpoint or item.code).encode()).hexdigest()[:32]
    return f"{league.pk}#{digest}"


def _insert_checks(document: LeagueDocument, rows: Rows) -> None:
    """Insert the checks of the agents; a check that this site has already is left as it is."""
    ids = [item.check_id for item in document["checks"]]
    known_ids = {
        str(check_id) for check_id in Check.checks_and_practices.filter(pk__in=ids).values_list("pk", flat=True)
    }
    document["checks"] = [item for item in document["checks"] if item.check_id not in known_ids]

    def more(item: Any) -> dict[str, Any]:
        key = rows[item.kind][item.agent].endpoint_key
        return {"endpoint_key": key, "address": key, "state": CheckState.DONE, "due_at": item.created_at}

    _insert("checks", document, rows, more)
