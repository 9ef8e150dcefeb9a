"""Names that look like another's (decision 16): a stranger is refused, the instructor may let it in.

A name is compared when a player first registers for a league, or a referee first registers. An agent that is known
there by its name and address (ruling, section 8) is not compared again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import zip_longest

from django.db.models import Q, QuerySet

from agents_registry.models import Agent, Kind, NameLook, NameRefused
from agents_registry.names.skeletons import skeletons, skeletons_of
from agents_registry.requests.reading import Request
from storage import clock

MAX_REFUSED_PER_LEAGUE, MAX_REFUSED_PER_ADDRESS = 100, 20
"""How many refused names are kept for the instructor: the latest."""


def resembled(new: Agent | Request, *, league_id: str | None, has_secret: bool = False) -> Agent | None:
    """The agent whose name a new agent's name looks like, if the new one is kept out for that (L003); else None.

    It is not kept out if it ``has_secret``, or if the instructor has let this name and address in. A player that has
    the token of another is no new agent, but that one (ruling, section 8).

    Exact copies of a name are not kept out: they are shown with a number (ruling, section 8). Nor is anybody kept out
    of the lobby: its players are compared when a league takes them.

    Changes: once it is let in, its refusals are deleted, and with them the instructor's permission.

    Args:
        new: the request, or a player of the lobby that is about to enter the league.
        league_id: the league; None for the lobby, and for a referee of all leagues.
        has_secret: the request has the personal code of somebody on the roster, or the site's own key.
    """
    if league_id is None and new.kind == Kind.PLAYER:
        return None
    peers = Agent.objects.filter(kind=new.kind, league_id=league_id)
    first = peers.filter(looks__look__in=skeletons(new.name)).exclude(name=new.name).order_by("pk").first()
    if first is None or peers.filter(name=new.name).exists():
        return None
    refusals = _refusals_of(new, league_id)
    if not (has_secret or refusals.filter(let_in=True).exists()):
        return first
    refusals.delete()
    return None


def _refusals_of(agent: Agent | Request, league_id: str | None) -> QuerySet[NameRefused]:
    return NameRefused.objects.filter(
        league_id=league_id, kind=agent.kind, name=agent.name, endpoint_key=agent.endpoint_key
    )


def remember(agents: Iterable[Agent], *, new: bool = False) -> None:
    """Store the skeletons of the names of these agents (saved rows), for comparing later names with them.

    Args:
        new: the agents have no rows of skeletons yet.
    """
    agents = list(agents)
    if not new:
        NameLook.objects.filter(agent__in=agents).delete()
    rows = (
        NameLook(agent=agent, look=skeleton)
        for agent in agents
        for skeleton in skeletons_of(agent.name, agent.display_name)
    )
    NameLook.objects.bulk_create(rows, batch_size=500)


def note_refused(*, league_id: str | None, agent: Agent | Request, resembled: Agent) -> None:
    """Note for the instructor that a name was refused; only the latest are kept.

    Changes: a row per league (None: the site), name and address; old rows are deleted.
    """
    caller = agent.registered_from
    facts = {"resembles": resembled, "caller": caller, "endpoint": agent.endpoint, "at": clock.now()}
    NameRefused.objects.update_or_create(
        league_id=league_id, kind=agent.kind, name=agent.name, endpoint_key=agent.endpoint_key, defaults=facts
    )
    waiting = NameRefused.objects.filter(league_id=league_id, let_in=False).order_by("-at", "-pk")
    for rows, limit in ((waiting.filter(caller=caller), MAX_REFUSED_PER_ADDRESS), (waiting, MAX_REFUSED_PER_LEAGUE)):
        NameRefused.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[limit:])).delete()


def refused(*, league_id: str) -> list[NameRefused]:
    """READ: the refused names of a league, and of referees of all leagues, that are not let in.

    The latest of each address come first, then the second of each, and so on: nobody can push the names of others down
    by being refused repeatedly.
    """
    where = Q(league_id=league_id) | Q(league__isnull=True, kind=Kind.REFEREE)
    rows = NameRefused.objects.filter(where, let_in=False).select_related("resembles")
    by_caller: dict[str, list[NameRefused]] = defaultdict(list)
    for row in rows.order_by("-at", "-pk"):
        by_caller[row.caller].append(row)
    return [row for turn in zip_longest(*by_caller.values()) for row in turn if row is not None]


def sentence(name: str, resembled: Agent) -> str:
    """Why a name is refused and what to do, in words for the agent's owner."""
    return (
        f'The name "{name}" looks like "{resembled.display_name}" ({resembled.code}), who has registered already. '
        f"Choose a name that nobody takes for that one. If this is {resembled.code} itself, send its auth_token. "
        "If both are yours, send your personal code where the league has a roster. Otherwise ask the instructor: one "
        "click on the desk lets this name in."
    )
