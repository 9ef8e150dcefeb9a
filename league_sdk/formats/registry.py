"""The formats by name, and stages as they stand in a league's settings. Pure."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from inspect import signature
from typing import Any

from league_sdk.formats.format import Format
from league_sdk.formats.groups import Groups
from league_sdk.formats.knockout import Knockout
from league_sdk.formats.round_robin import RoundRobin

logger = logging.getLogger("league_sdk.formats")

ENTRY_POINT_GROUP = "league_sdk.formats"
OURS: tuple[type[Format], ...] = (RoundRobin, Groups, Knockout)
MAX_STAGES = 5


class UnusableStages(ValueError):
    """Stages that no league can have; the text says which one, what was seen and what was expected."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a league.

    Attributes:
        format: how it is played.
        top: how many of the stage before enter it, the best first; None for all, and in the first stage.
    """

    format: Format
    top: int | None = None


@cache
def formats() -> dict[str, type[Format]]:
    """Every format by its name; computed once per process.

    A package adds one by an entry point in the group ``league_sdk.formats`` that names a subclass of
    :class:`~league_sdk.formats.format.Format`. One that cannot be loaded, or has a name that exists, is left out and
    logged, so that the others can still be played.
    """
    loaded = {one.name: one for one in OURS}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            found = point.load()
            name = found.name if issubclass(found, Format) else ""
        except Exception:
            logger.exception("the format %s cannot be loaded and is left out", point.name)
            continue
        if not name or name in loaded:
            logger.error("the format %s is left out: it is no format, or there is one of its name already", point.name)
        else:
            loaded[name] = found
    return loaded


def stages_of(configured: Sequence[Mapping[str, Any]]) -> list[Stage]:
    """The stages of a league.

    Args:
        configured: for each stage ``format``, perhaps ``top``, and the arguments of the format.

    Raises:
        UnusableStages: they cannot be read.
    """
    if not 1 <= len(configured) <= MAX_STAGES:
        raise UnusableStages(f"a league has 1 to {MAX_STAGES} stages, not {len(configured)}")
    return [_stage(number, dict(one)) for number, one in enumerate(configured, start=1)]


def _stage(number: int, options: dict[str, Any]) -> Stage:
    name, top = options.pop("format", None), options.pop("top", None)
    where = f"stage {number}"
    if not isinstance(name, str) or name not in formats():
        raise UnusableStages(f"{where} has the format {name!r:.40}; there are {', '.join(formats())}")
    if top is not None and (number == 1 or not _is_whole(top) or top < 2):
        raise UnusableStages(f"{where}: top is {top!r:.40}; it is a whole number from 2 on, in a later stage only")
    kind = formats()[name]
    taken = {one.name: one.default for one in signature(kind).parameters.values()}
    for option, value in options.items():
        if option not in taken:
            raise UnusableStages(f"{where}: {name} has no {option[:40]!r}; it has {', '.join(taken) or 'no settings'}")
        if type(value) is not type(taken[option]) or (_is_whole(value) and not 1 <= value <= 100):
            expected = "true or false" if isinstance(taken[option], bool) else "a whole number from 1 to 100"
            raise UnusableStages(f"{where}: {option} is {value!r:.40}; it is {expected}")
    return Stage(kind(**options), top)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
