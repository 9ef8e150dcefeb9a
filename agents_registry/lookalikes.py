"""Names that look like another's (decision 16): refused to a stranger, and let in by the instructor's click.

A name is looked at when an agent comes into a league for the first time, or a referee to the site. Who is known there
is known by its name and address (ruling, section 8), and is not asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db.models import Q, QuerySet
from django.utils import timezone

from agents_registry.attempts import network_of
from agents_registry.looks import looks
from agents_registry.models import Agent, AgentToken, Kind, NameLook, NameRefused
from agents_registry.requests import Request
from league_sdk.protocol import tokens

MOST_REFUSED, REFUSED_OF_ONE = 100, 20
"""So many refused names of a league are kept for the instructor, and of one address: the latest."""


def resembled(*, request: Request, league_id: str | None, is_known: bool) -> Agent | None:
    """Whose name that of a newcomer looks like, where that keeps it out: nobody knows who it is (L003).

    It is let in when it has shown the personal code or the key of ``is_known``, or the token of the first who has such
    a name (a copy of that is anybody's), or when the instructor has let this name and address in.

    Copies of a name that is there are let pass: they are shown with a number (ruling, section 8). So is the lobby: each
    league looks at those that it takes in (:class:`Present`).

    Changes: what was on record of its refusals is gone once it is let in, also the instructor's click.

    Args:
        request: of an agent that is not known there.
        league_id: where it comes to; None for the lobby, and for a referee of the site.
        is_known: it brought the personal code of somebody on the roster, or the site's own key.
    """
    if league_id is None and request.kind == Kind.PLAYER:
        return None
    peers = Agent.objects.filter(kind=request.kind, league_id=league_id)
    first = peers.filter(looks__look__in=looks(request.name)).exclude(name=request.name).order_by("pk").first()
    if first is None or peers.filter(name=request.name).exists():
        return None
    noted = _rows(league_id, request.kind, request.name, request.address.key)
    if not (is_known or _has_token_of(first, request.token) or noted.filter(let_in=True).exists()):
        return first
    noted.delete()
    return None


def _has_token_of(agent: Agent, token: str) -> bool:
    return bool(token) and AgentToken.objects.filter(agent=agent, sha256=tokens.digest(token)).exists()


def _rows(league_id: str | None, kind: str, name: str, endpoint_key: str) -> QuerySet[NameRefused]:
    return NameRefused.objects.filter(league_id=league_id, kind=kind, name=name, endpoint_key=endpoint_key)


class Present:
    """The names of a league's players while others are taken into it from the lobby: read once, for all of them.

    Args:
        league_id: the league.
    """

    def __init__(self, league_id: str) -> None:
        self._league_id = league_id
        self._by_look: dict[str, dict[str, Agent]] = {}
        rows = NameLook.objects.filter(agent__league_id=league_id, agent__kind=Kind.PLAYER).select_related("agent")
        for row in rows.order_by("agent_id", "pk"):
            self._by_look.setdefault(row.look, {}).setdefault(row.agent.name, row.agent)
        let_in_ones = NameRefused.objects.filter(league_id=league_id, kind=Kind.PLAYER, let_in=True)
        self._let_in = set(let_in_ones.values_list("name", "endpoint_key"))

    def refuses(self, agent: Agent) -> Agent | None:
        """Whose name a player of the lobby has the look of; None where that keeps it out of nothing."""
        if (agent.name, agent.endpoint_key) in self._let_in:
            return None
        there = [self._by_look.get(one, {}) for one in sorted(looks(agent.name))]
        if any(agent.name in by_name for by_name in there):
            return None
        return next((other for by_name in there for other in by_name.values()), None)

    def came(self, agent: Agent) -> None:
        """It is in the league now; nothing is left of its refusal."""
        for one in looks(agent.name) | looks(agent.display_name):
            self._by_look.setdefault(one, {}).setdefault(agent.name, agent)
        if (agent.name, agent.endpoint_key) in self._let_in:
            _rows(self._league_id, agent.kind, agent.name, agent.endpoint_key).delete()


def remember(agents: Iterable[Agent], *, new: bool = False) -> None:
    """What the names of these agents look like is on record as they are now; who comes is compared with it.

    Changes: their rows of looks.

    Args:
        agents: saved ones.
        new: they have no such rows yet.
    """
    given = list(agents)
    if not new:
        NameLook.objects.filter(agent__in=given).delete()
    rows = (
        NameLook(agent=agent, look=one)
        for agent in given
        for one in sorted(looks(agent.name) | looks(agent.display_name))
    )
    NameLook.objects.bulk_create(rows, batch_size=500)


def note_refused(*, league_id: str | None, agent: Agent | Request, endpoint: str, key: str, resembled: Agent) -> None:
    """Keep for the instructor that a name was refused: the latest of each league, few of one address.

    Changes: a row, which the same name and address finds again.

    Args:
        league_id: the league; None for referees of the site.
        agent: who was refused: a registration, or a player that waits in the lobby.
        endpoint, key: its address, and the same in one spelling.
        resembled: whose name it looks like.
    """
    caller = network_of(agent.caller) if isinstance(agent, Request) else agent.registered_from
    facts = {"resembles": resembled, "caller": caller, "endpoint": endpoint, "at": timezone.now()}
    NameRefused.objects.update_or_create(
        league_id=league_id, kind=agent.kind, name=agent.name, endpoint_key=key, defaults=facts
    )
    kept = NameRefused.objects.filter(league_id=league_id, let_in=False).order_by("-at", "-pk")
    for rows, most in ((kept.filter(caller=caller), REFUSED_OF_ONE), (kept, MOST_REFUSED)):
        NameRefused.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[most:])).delete()


def let_in(*, refused_id: int) -> None:
    """The next registration of this name from this address is taken, though the name looks like another's."""
    NameRefused.objects.filter(pk=refused_id).update(let_in=True)


def put_aside(*, refused_id: int) -> None:
    """The instructor has seen it: it stays refused, and is shown again when it comes again."""
    NameRefused.objects.filter(pk=refused_id).delete()


def refused(*, league_id: str, everywhere: bool) -> list[NameRefused]:
    """READ: the names that a league refused and nobody has let in: the latest of each address, then the one before.

    Whoever has names of its own refused again and again puts those of others out of nobody's sight.

    Args:
        league_id: the league.
        everywhere: those of referees of the site as well.
    """
    where = Q(league_id=league_id) | Q(league__isnull=True, kind=Kind.REFEREE) if everywhere else Q(league_id=league_id)
    rows = NameRefused.objects.filter(where, let_in=False).select_related("resembles")
    turn: Counter[str] = Counter()
    found = []
    for row in rows.order_by("-at", "-pk"):
        found.append((turn[row.caller], row))
        turn[row.caller] += 1
    return [row for _turn, row in sorted(found, key=lambda one: one[0])]


def sentence(name: str, resembled: Agent) -> str:
    """Why a name is refused, and what to do, for the agent's owner."""
    return (
        f'The name "{name}" looks like "{resembled.display_name}" ({resembled.code}), who has registered already. '
        f"Choose a name that nobody takes for that one. If both are yours, send the auth_token of {resembled.code}, or "
        "your personal code where the league has a roster. Otherwise ask the instructor: one click on the desk lets "
        "this name in."
    )
