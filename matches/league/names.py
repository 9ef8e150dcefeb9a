"""Rename a player; let names in that look like another's, or keep them out (decision 16)."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind, NameRefused
from agents_registry.names import lookalikes
from agents_registry.names.skeletons import skeletons
from agents_registry.registering import registration
from league_sdk.ledger.kinds import EventKind
from matches.league import opening
from matches.league.effects import changed, record, shown
from matches.league.errors import NotFound
from matches.league.leagues import get_league
from matches.models import League


def edit_agent(*, agent: Agent, changed: Collection[str] = registration.EDITED) -> None:
    """Write what the instructor edited of an agent; a new name of a player is a public event of its league.

    Changes: the agent's row; an event, if the player of a league has another name than before (ruling, section 12).

    Args:
        agent: the agent with its new name, owner, trust and readmission.
        changed: the names of those that were edited; the others stay as they are.

    Raises:
        NotFound: somebody has deleted the agent.
    """
    with transaction.atomic():
        # Locked, so that the events of two renamings stand in the order in which the names were written.
        stored = Agent.objects.select_for_update(no_key=True).filter(pk=agent.pk).first()
        if stored is None:
            raise NotFound(_("This agent is gone already: look again."))
        before = stored.display_name
        registration.save_from_admin(agent, changed)
        is_renamed = "display_name" in changed and agent.display_name != before
        if is_renamed and agent.kind == Kind.PLAYER and agent.league_id is not None:
            record(agent.league_id, EventKind.PLAYER_RENAMED, player_id=agent.code, name=agent.display_name)
            shown(agent.league_id)


def find_refused(*, league_id: str, number: int) -> NameRefused:
    """READ: a name that this league or the site has refused, and that has not been let in.

    Raises:
        NotFound: there is no such name any more.
    """
    rows = lookalikes.refused(league_id=league_id)
    name = next((row for row in rows if row.pk == number), None)
    if name is None:
        raise NotFound(_("This name is not waiting any more: it has come in, or somebody else has decided."))
    return name


def let_in(*, league_id: str, number: int) -> bool:
    """Let a name in that looks like another's; an agent that waits in the lobby enters the league at once.

    Changes: the row of the refusal, and the agent, if it is in the lobby.

    Args:
        league_id: the league on whose desk the name is shown.
        number: the primary key of the refusal.

    Returns:
        Whether the agent is in the league; if not, its next registration will be accepted.

    Raises:
        NotFound: the name is not waiting any more.
    """
    with transaction.atomic():
        name = find_refused(league_id=get_league(league_id).pk, number=number)
        NameRefused.objects.filter(pk=name.pk).update(let_in=True)
        changed(league_id)
        waits = Agent.objects.filter(
            league__isnull=True, kind=name.kind, name=name.name, endpoint_key=name.endpoint_key
        )
        agent = waits.first() if name.league_id is not None else None
        if agent is None:
            return False
        opening.take_in(league_id=league_id, only=agent.pk)
        return Agent.objects.filter(pk=agent.pk, league_id=league_id).exists()


def put_aside(*, league_id: str, number: int) -> None:
    """Keep a name out; the desk shows it again if the agent registers again.

    Changes: the row of the refusal.

    Raises:
        NotFound: the name is not waiting any more.
    """
    with transaction.atomic():
        find_refused(league_id=league_id, number=number).delete()
        changed(league_id)


def leagues_like(league_id: str, display_name: str) -> list[str]:
    """READ: other leagues whose name or id looks like the name or id of this one."""
    own = skeletons(display_name) | skeletons(league_id)
    others = League.objects.exclude(pk=league_id).order_by("pk").values_list("pk", "display_name")
    alike = [(pk, name) for pk, name in others if (skeletons(pk) | skeletons(name)) & own]
    return [f"{name} ({pk})" if name != pk else pk for pk, name in alike]
