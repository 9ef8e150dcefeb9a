"""Let names in that look like another's, or keep them out (decision 16)."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.models import Agent, NameRefused
from agents_registry.names import lookalikes
from agents_registry.names.skeletons import skeletons
from matches.league import opening
from matches.league.effects import changed
from matches.league.errors import NotFound
from matches.league.leagues import get_league
from matches.models import League


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
        lookalikes.let_in(refused_id=name.pk)
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
        lookalikes.put_aside(refused_id=find_refused(league_id=league_id, number=number).pk)
        changed(league_id)


def leagues_like(league_id: str, display_name: str) -> list[str]:
    """READ: other leagues whose name or id looks like the name or id of this one."""
    own = skeletons(display_name) | skeletons(league_id)
    others = League.objects.exclude(pk=league_id).order_by("pk").values_list("pk", "display_name")
    alike = [(pk, name) for pk, name in others if (skeletons(pk) | skeletons(name)) & own]
    return [f"{name} ({pk})" if name != pk else pk for pk, name in alike]
