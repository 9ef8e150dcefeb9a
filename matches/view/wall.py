"""READS: the readiness wall on the projector, one tile per student."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents_registry.models import Kind, RosterEntry
from league_sdk.ledger.standings import natural
from matches.models import League
from matches.view.readiness import Ready, readiness


class NotRegistered(models.TextChoices):
    """The state of a student without an agent; the state of any other student is the verdict on the agent."""

    NOT_REGISTERED = "not_registered", gettext_lazy("not registered")


TileState = NotRegistered | Ready
STATES: list[TileState] = [NotRegistered.NOT_REGISTERED, *Ready]
"""How far a student is; those who need help most come first."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One student on the roster, or one agent that belongs to nobody on it.

    Attributes:
        step: what to do next, in our words; it quotes neither the agent nor its address.
        player_id, display_name: of the student's agent that needs help most; empty while there is none.
        able: whether the agent could play now, as far as is known.
        line: how the agent fetches its messages, poll or websocket; empty if it does not fetch them.
        more: how many further agents the student has.
        owner: the name on the roster, for the staff only; empty for an agent without an owner.
    """

    state: TileState
    step: str = ""
    player_id: str = ""
    display_name: str = ""
    able: bool = False
    line: str = ""
    more: int = 0
    owner: str = ""


def wall(league: League, *, now: datetime | None = None) -> list[Tile]:
    """The readiness wall of a league: first students with an agent, by its id, then the others by name.

    Makes the same few queries for any number of students. It shows the present, so it is not for a frozen board.
    """
    entries = list(RosterEntry.objects.filter(league=league).order_by("name", "pk"))
    players = list(league.agents.filter(kind=Kind.PLAYER))
    known = readiness(players, now=now)
    by_owner: dict[int, list[Tile]] = {}
    tiles = []
    for player in players:
        verdict = known[player.pk]
        tile = Tile(verdict.word, verdict.step, player.code, player.display_name, verdict.able, player.dials_out_now)
        if player.owner_id is None:
            tiles.append(tile)
        else:
            by_owner.setdefault(player.owner_id, []).append(tile)
    missing = []
    for entry in entries:
        own_tiles = sorted(by_owner.get(entry.pk, []), key=lambda tile: STATES.index(tile.state))
        if own_tiles:
            tiles.append(replace(own_tiles[0], more=len(own_tiles) - 1, owner=entry.name))
        else:
            step = _("Register your agent at the address above.")
            missing.append(Tile(NotRegistered.NOT_REGISTERED, step, owner=entry.name))
    return [*sorted(tiles, key=lambda tile: natural(tile.player_id)), *missing]
