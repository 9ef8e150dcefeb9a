"""What the instructor does about names that look like another's (decision 16)."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry import lookalikes
from agents_registry.looks import looks
from agents_registry.models import Agent, NameRefused
from matches.league import opening
from matches.league.effects import changed
from matches.league.errors import NotFound
from matches.league.find import get_league
from matches.models import League


def find_refused(*, league_id: str, number: int) -> NameRefused:
    """READ: a name that this league, or the site, has refused and nobody has let in.

    Raises:
        NotFound: there is none of this number any more.
    """
    rows = lookalikes.refused(league_id=league_id, everywhere=True)
    found = next((one for one in rows if one.pk == number), None)
    if found is None:
        raise NotFound(_("This name is not waiting any more: it has come in, or somebody else has decided."))
    return found


def let_in(*, league_id: str, number: int) -> bool:
    """Let a name in that looks like another's; one that waits in the lobby comes in at once.

    Changes: the row of its refusal, and where it waits in the lobby, the agent.

    Args:
        league_id: the league on whose desk it stands.
        number: of the row.

    Returns:
        Whether it is in; otherwise its next registration is taken.

    Raises:
        NotFound: it is not waiting any more.
    """
    with transaction.atomic():
        found = find_refused(league_id=get_league(league_id).pk, number=number)
        lookalikes.let_in(refused_id=found.pk)
        changed(league_id)
        waits = Agent.objects.filter(
            league__isnull=True, kind=found.kind, name=found.name, endpoint_key=found.endpoint_key
        )
        agent = waits.first() if found.league_id is not None else None
        if agent is None:
            return False
        opening.take_in(league_id=league_id, only=agent.pk)
        return Agent.objects.filter(pk=agent.pk, league_id=league_id).exists()


def put_aside(*, league_id: str, number: int) -> None:
    """Keep a name out; it is shown again when it comes again.

    Changes: the row of its refusal.

    Raises:
        NotFound: it is not waiting any more.
    """
    with transaction.atomic():
        lookalikes.put_aside(refused_id=find_refused(league_id=league_id, number=number).pk)
        changed(league_id)


def leagues_like(league_id: str, display_name: str) -> list[str]:
    """READ: the ids and names of other leagues that people take this one for, by its name or by its id."""
    seen = looks(display_name) | looks(league_id)
    others = League.objects.exclude(pk=league_id).order_by("pk").values_list("pk", "display_name")
    return [f"{name} ({pk})" if name != pk else pk for pk, name in others if (looks(pk) | looks(name)) & seen]
