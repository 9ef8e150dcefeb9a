"""Ids of agents: the one that was asked for if it is free, else the next free one (ruling, section 8)."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count

from django.db.models import Q

from agents_registry.models import Agent, Kind
from league_sdk.protocol.states import LeagueState

PREFIX = {Kind.PLAYER: "P", Kind.REFEREE: "REF"}


def key(code: str) -> str:
    """A key that is equal for all ids that look alike in a table: ``p7``, ``P7`` and ``P07``."""
    head = code.rstrip("0123456789")
    number = code[len(head) :]
    return head.casefold() + (number.lstrip("0") or "0" if number else "")


def taken(kind: Kind, league_id: str | None, *, lobby: bool = True) -> set[str]:
    """The keys of the ids that cannot be given in a league (None: in the lobby, or at the site).

    Those of referees are unique on the site, in whatever league they judge.

    Args:
        lobby: also those of players in the lobby, who keep their ids when they move. (The lobby gives no id that a
            player of an open league has.)
    """
    home = Q() if kind == Kind.REFEREE else Q(league_id=league_id)
    if lobby and kind == Kind.PLAYER:
        home |= Q(league__isnull=True)
    if league_id is None and kind == Kind.PLAYER:
        home |= Q(league__state=LeagueState.REGISTRATION, league__demo=False)
    return {key(code) for code in Agent.objects.filter(home, kind=kind).values_list("code", flat=True)}


def is_free(code: str, used: Collection[str]) -> bool:
    """Whether no id with one of these keys looks like this one."""
    return key(code) not in used


def choose(kind: Kind, league_id: str | None, wanted_id: str) -> str:
    """The id that was asked for if it is free, else the first free number."""
    used = taken(kind, league_id)
    if wanted_id and is_free(wanted_id, used):
        return wanted_id
    return next(code for number in count(1) if is_free(code := f"{PREFIX[kind]}{number:02d}", used))
