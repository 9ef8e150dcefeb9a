"""A league comes in from its export (``matches.papers``) and is history here: to be read, not played on.

The file is a stranger's: every field is checked before anything is written (``matches.papers.reading``), what is
written is tried out before it is committed, and a mistake is named by its place in the document.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, NamedTuple

from django.conf import settings as site
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from agents_registry import lookalikes
from agents_registry.models import Agent, Kind, RosterEntry
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import AgentState, LeagueState, MatchState, RoundState
from league_sdk.rules.registry import games
from matches.league import lifecycle, opening
from matches.league.effects import changed
from matches.league.errors import ActionRefused
from matches.models import (
    Check,
    CheckState,
    Correction,
    Event,
    League,
    Match,
    Message,
    Notice,
    Role,
    RoleName,
    Round,
)
from matches.papers import ledger
from matches.papers.files import NotALeague
from matches.papers.reading import Read, read
from matches.papers.trying_out import try_out

logger = logging.getLogger(__name__)
AT_ONCE = 200
"""Matches that are written in one go, with their transcripts."""


class Imported(NamedTuple):
    """What came in.

    Attributes:
        stopped: whether it was still being played when it was exported, and is stopped here.
        ledger: a sentence on whether the chain of its events holds.
    """

    league: League
    matches: int
    stopped: bool
    ledger: str


def import_league(*, file: BinaryIO, by: Any = None) -> Imported:
    """Take in a league from its export, with everything that was in it.

    Changes: a league with the same id, roster, agents, rounds, matches, transcripts, events under the same numbers,
    corrections and notices; all or nothing. Its agents are SHUTDOWN, have no token and are nobody's here: one that
    registers is another agent. A league with this id in which nothing has happened yet gives way. One that was not
    over is stopped, which is one event more. Digests are kept, whether they hold or not. Nothing is sent.

    Args:
        file: JSON, or an archive with ``league.json`` in it; can be read again from its beginning.
        by: the user who does it and is its instructor from now on; None, or a superuser, needs no role.

    Raises:
        NotALeague: the file is not one, or something in it is wrong: says where.
        ActionRefused: this site has a league with this id, or lacks its game.
    """
    found = read(file)
    chained = ledger.sentence(found)
    if not ledger.is_chained(found):
        ledger.chain_anew(found)
    try:
        with transaction.atomic():
            _refuse(found)
            League.objects.filter(pk=found.league.league_id).delete()
            league = _write(found)
            if by is not None and not by.is_superuser:
                Role.objects.create(league=league, user=by, name=RoleName.INSTRUCTOR)
            try_out(league)
            stopped = _is_on(found)
            if stopped:
                league = lifecycle.stop(league_id=league.pk)
            changed(league.pk)
    except IntegrityError as error:
        # The one thing that can still clash with what is here.
        logger.info("an import was refused: %s", error)
        raise ActionRefused(
            _("The league clashes with one that is here, or with itself; nothing was imported.")
        ) from None
    return Imported(league, len(found["matches"]), stopped, chained)


def _refuse(found: Read) -> None:
    league = found.league
    if league.league_id == site.LEAGUE_DEMO_ID:
        raise NotALeague("league.league_id", _("the id %(id)s is kept for the demo league") % {"id": league.league_id})
    here = League.objects.filter(pk=league.league_id).first()
    if here is not None and not _untouched(here):
        raise ActionRefused(
            _("This site has a league %(id)s already: an import never changes a league. Use another site for it.")
            % {"id": league.league_id}
        )
    if league.game_type not in games():
        raise ActionRefused(
            _("This site does not have the game %(game)s: install its package first, then import again.")
            % {"game": league.game_type}
        )
    if opening.check_settings(league.settings) != league.settings:
        raise NotALeague("league.settings", _("a value is not as it is stored here"))
    for number, person in enumerate(found["roster"]):
        try:
            validate_email(person.email)
        except ValidationError:
            raise NotALeague(f"roster[{number}].email", _("it is no e-mail address")) from None


def _untouched(league: League) -> bool:
    """Whether nothing has happened in a league since it was made, as with the one that a fresh site opens by itself."""
    nothing = league.state == LeagueState.REGISTRATION and not league.settings and league.starts_at is None
    return nothing and not (
        league.agents.exists()
        or league.roster.exists()
        or league.roles.exists()
        or league.notices.exists()
        or league.events.exclude(kind=EventKind.LEAGUE_CREATED).exists()
    )


def _is_on(found: Read) -> bool:
    """Whether the conductor would go on with it."""
    if found.league.state == LeagueState.STOPPED:
        return False
    over = found.league.state == LeagueState.COMPLETED
    done = all(match.state == MatchState.FINISHED for match in found["matches"])
    return not (over and done and all(one.state == RoundState.COMPLETED for one in found["rounds"]))


# Writing ----------------------------------------------------------------------------------------


def _write(found: Read) -> League:
    league = League.objects.create(**found.league.model_dump())
    people = _saved(RosterEntry, (RosterEntry(league=league, **one.model_dump()) for one in found["roster"]))
    owners = {person.email: person for person in people}
    saved = _saved(Agent, (_agent(league, one, owners) for one in found["agents"]))
    lookalikes.remember(saved, new=True)
    agents = {(agent.kind, agent.code): agent for agent in saved}
    players = {code: agent for (kind, code), agent in agents.items() if kind == Kind.PLAYER}
    rounds = {
        one.number: one
        for one in _saved(
            Round,
            (
                Round(league=league, bye=players.get(one.bye), **one.model_dump(exclude={"bye"}))
                for one in found["rounds"]
            ),
        )
    }
    for name, model, field in (("corrections", Correction, "player"), ("notices", Notice, "agent")):
        _saved(
            model,
            (
                model(league=league, **{field: players.get(one.player)}, **one.model_dump(exclude={"player"}))
                for one in found[name]
            ),
        )
    _saved(Event, (Event(league=league, **one.model_dump()) for one in found["events"]))
    _write_checks(found, agents)
    for start in range(0, len(found["matches"]), AT_ONCE):
        _write_matches(league, found["matches"][start : start + AT_ONCE], agents, rounds)
    return league


def _saved(model: Any, rows: Iterable[Any]) -> list[Any]:
    return list(model.objects.bulk_create(list(rows), batch_size=AT_ONCE))


def _agent(league: League, one: Any, owners: dict[str, RosterEntry]) -> Agent:
    return Agent(
        league=league,
        owner=owners.get(one.owner),
        # Under a key that no address has: who registers from the same address is somebody else.
        endpoint_key=_key(league, one),
        state=AgentState.SHUTDOWN,
        **one.model_dump(exclude={"owner"}),
    )


def _key(league: League, one: Any) -> str:
    where = hashlib.sha256((one.endpoint or one.code).encode()).hexdigest()[:32]
    return f"{league.pk}#{where}"


def _write_checks(found: Read, agents: dict[tuple[str, str], Agent]) -> None:
    """The last verdict on each agent; a report that is here already is left as it is."""
    ids = [one.check_id for one in found["checks"]]
    here = {str(known) for known in Check.objects.filter(pk__in=ids).values_list("pk", flat=True)}
    rows = []
    for one in found["checks"]:
        if one.check_id in here:
            continue
        agent = agents[one.kind, one.agent]
        row = Check(
            role=one.kind,
            agent=agent,
            endpoint_key=agent.endpoint_key,
            address=agent.endpoint_key,
            state=CheckState.DONE,
            due_at=one.created_at,
            **one.model_dump(exclude={"kind", "agent"}),
        )
        rows.append(row)
    _saved(Check, rows)


def _write_matches(
    league: League, matches: Sequence[Any], agents: dict[tuple[str, str], Agent], rounds: dict[int, Round]
) -> None:
    apart = {"round", "player_a", "player_b", "referee", "winner", "messages"}
    rows = [
        Match(
            league=league,
            round=rounds[one.round],
            player_a=agents[Kind.PLAYER, one.player_a],
            player_b=agents[Kind.PLAYER, one.player_b],
            referee=agents.get((Kind.REFEREE, one.referee)),
            winner=agents.get((Kind.PLAYER, one.winner)),
            **one.model_dump(exclude=apart),
        )
        for one in matches
    ]
    saved = _saved(Match, rows)
    _saved(
        Message,
        (
            Message(match=row, attempt=message.attempt, n=message.n, entry=message.entry)
            for row, one in zip(saved, matches, strict=True)
            for message in one.messages
        ),
    )
