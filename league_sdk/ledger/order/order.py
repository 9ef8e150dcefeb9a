"""An order: criteria one after the other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from league_sdk.ledger.order.criteria import CRITERIA, Criterion
from league_sdk.ledger.past import Past

DEFAULT = ("points", "wins", "draws")
"""The order of 004 and of every league that says nothing else."""


class UnknownCriterion(ValueError):
    """An order names a criterion that does not exist, or one twice."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What puts one player before another.

    Attributes:
        criterion: its name; empty if only the ids tell them apart.
        figures: what each of the two has.
    """

    criterion: str
    figures: tuple[int, int] = (0, 0)


class Order:
    """The order of a table.

    Args:
        names: criteria, the first one first.

    Raises:
        UnknownCriterion: a name is unknown, or stands twice.
    """

    def __init__(self, names: Iterable[str] = DEFAULT) -> None:
        self.names = tuple(names)
        unknown = [name for name in self.names if name not in CRITERIA]
        if unknown or len(set(self.names)) < len(self.names):
            raise UnknownCriterion(
                f"the order {', '.join(self.names)} has a criterion that is unknown, or one twice; "
                f"there are {', '.join(CRITERIA)}"
            )
        self._criteria: tuple[Criterion, ...] = tuple(CRITERIA[name] for name in self.names)

    def groups(self, past: Past, players: Sequence[str] | None = None) -> list[list[str]]:
        """The players, the best first; those whom no criterion tells apart are one group. Who is disqualified is last.

        Args:
            players: those to be ordered; None: all entrants.
        """
        wanted = past.ids if players is None else tuple(players)
        staying = [player_id for player_id in wanted if player_id not in past.disqualified]
        leaving = [player_id for player_id in wanted if player_id in past.disqualified]
        found = [group for group in (staying, leaving) if group]
        for criterion in self._criteria:
            found = [part for group in found for part in _split(criterion, group, past)]
        return found

    def flat(self, past: Past, players: Sequence[str] | None = None) -> list[str]:
        """The same in one list; those who are equal stand in the order of their ids."""
        return [player_id for group in self.groups(past, players) for player_id in group]

    def reason(self, one: str, other: str, past: Past) -> Reason:
        """What puts one player before another, or behind it."""
        found = [list(past.ids)]
        for criterion in self._criteria:
            together = next(group for group in found if one in group)
            if other not in together:
                break
            figures = criterion.figures(together, past)
            if figures[one] != figures[other]:
                return Reason(criterion.name, (figures[one], figures[other]))
            found = _split(criterion, together, past)
        return Reason("")


def _split(criterion: Criterion, group: list[str], past: Past) -> list[list[str]]:
    return criterion.split(group, past) if len(group) > 1 else [group]
