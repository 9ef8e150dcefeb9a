"""Delete a league: it is hidden at once, and its rows go in pieces, so that others can write between them (our choice).

The league of 2,000 players has two million matches: deleting them in one transaction would keep every heartbeat and
registration waiting for minutes on SQLite, which has one writer. So the instructor's click only sets
``League.remove_at``. ``League.objects`` leaves out a league that has it: no page, query, list or agent finds it any
more, and its id stays taken. The conductor deletes a bounded number of rows at each look, any conductor goes on after a
crash, and the league's own row goes last.

A league that is being imported is hidden in the same way, until some minutes from now
(``matches.papers.importing``): if the import is killed, its rows are deleted then.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Model
from django.utils.translation import gettext as _

from agents_registry.models import Agent, AgentToken, Kind, NameLook, NameRefused, RosterEntry
from agents_registry.registering import registration
from league_sdk.protocol.states import LeagueState
from matches.league import lifecycle, outbox
from matches.league.errors import ActionRefused
from matches.league.leagues import named
from matches.models import (
    Broadcast,
    Check,
    CheckAnswer,
    Correction,
    Delivery,
    Event,
    League,
    Match,
    Message,
    Notice,
    Role,
    Round,
)
from matches.view import sight
from storage import clock
from storage.inside import delete_rows
from storage.prepared import Prepared

ROWS_PER_PIECE = 1000
"""How many rows one statement deletes; it takes some 30 ms."""
LARGE_ROWS_PER_PIECE = 100
"""The same where a row is large, or leads to rows of other tables."""

_DUE = Prepared(lambda: League.with_hidden.filter(remove_at__isnull=False).order_by("pk"))
_ROWS: tuple[tuple[type[Model], str, int], ...] = (
    (Delivery, "broadcast__league", ROWS_PER_PIECE),
    (Broadcast, "league", LARGE_ROWS_PER_PIECE),
    (Round, "league", ROWS_PER_PIECE),
    (Event, "league", ROWS_PER_PIECE),
    (Correction, "league", LARGE_ROWS_PER_PIECE),
    (Notice, "league", ROWS_PER_PIECE),
    (NameRefused, "league", ROWS_PER_PIECE),
    (NameLook, "agent__league", ROWS_PER_PIECE),
    (CheckAnswer, "agent__league", LARGE_ROWS_PER_PIECE),
    (Agent, "league", LARGE_ROWS_PER_PIECE),
    (RosterEntry, "league", ROWS_PER_PIECE),
)
"""The tables with rows of a league, besides its matches with their messages: what refers to other rows comes first."""


def hide(league: League) -> None:
    """From now on nobody sees a league, its agents are refused, and nothing of it is played. Call in a transaction.

    Changes: the league's row, its open matches and rounds, its agents, their tokens, messages that wait, its roles. The
    number of rows does not depend on how many matches it has. The conductor deletes the rest.

    Raises:
        ActionRefused: it has just been started, or deleted.
    """
    lifecycle.give_up_matches(league, even_sealed=True)
    # Stopped, as the agents of a league that is over have no claim to their addresses.
    gone: dict[str, Any] = {"state": LeagueState.STOPPED, "frozen_seq": None, "series": None, "starts_at": None}
    idle = League.objects.filter(pk=league.pk).exclude(state=LeagueState.RUNNING)
    if not idle.update(**gone, remove_at=clock.now()):
        raise ActionRefused(_("%(league)s has just changed: look again.") % named(league))
    registration.retire(agent_ids=league.agents.filter(kind=Kind.PLAYER).values_list("pk", flat=True))
    league.agents.update(ping_wanted=False, trusted=False, moving={})
    AgentToken.objects.filter(agent__league=league).delete()
    Role.objects.filter(league=league).delete()
    outbox.drop_all(league.pk)


def remove_pieces() -> bool:
    """Delete the next piece of each hidden league that is due. The conductor calls this at its looks.

    Returns whether there was such a league.
    """
    now = clock.now()
    due = [league for league in _DUE.all() if league.remove_at is not None and league.remove_at <= now]
    for league in due:
        remove_piece(league)
    return bool(due)


def remove_piece(league: League) -> bool:
    """Delete the next rows of a hidden league; after the last of them its own row. Any two callers do no harm.

    Each statement is a transaction of its own, and what it deletes was read before: the lock is held for the deletion
    alone.

    Returns whether the league's own row was deleted.
    """
    matches = list(Match.objects.filter(league_id=league.pk).values_list("pk", flat=True)[:ROWS_PER_PIECE])
    messages = _first(Message, ROWS_PER_PIECE, match__in=matches) if matches else []
    if messages or matches:
        # A match whose messages are more than a piece stays until they have gone.
        delete_rows(Message, messages)
        delete_rows(Match, matches if len(messages) < ROWS_PER_PIECE else [])
        return False
    # A check survives its agent, and its report is large.
    checks = _first(Check, LARGE_ROWS_PER_PIECE, agent__league_id=league.pk)
    if checks:
        Check.checks_and_practices.filter(pk__in=checks).update(agent=None)
        return False
    for model, path, rows in _ROWS:
        if found := _first(model, rows, **{path: league.pk}):
            model._base_manager.filter(pk__in=found).delete()
            return False
    with transaction.atomic():
        League.with_hidden.filter(pk=league.pk, remove_at__isnull=False).delete()
    sight.forget(league)
    return True


def _first(model: type[Model], rows: int, **where: Any) -> list[Any]:
    return list(model._base_manager.filter(**where).values_list("pk", flat=True)[:rows])
