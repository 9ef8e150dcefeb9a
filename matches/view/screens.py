"""How the instructor steers the screens of a league. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Steering(NamedTuple):
    """How the screens of a league are steered.

    Attributes:
        turned: by how many scenes the screens were turned forward so far, less those backwards; a screen turns by the
            difference from what it read before.
        held: whether the scenes stand still.
        featured: the id of the match that is shown large; empty: the most interesting one is.
    """

    turned: int = 0
    held: bool = False
    featured: str = ""


def steering(stored: Mapping[str, Any]) -> Steering:
    """Read the column ``League.screen``; what is missing or malformed in it has its default."""
    turned, held, featured = stored.get("turned"), stored.get("held"), stored.get("featured")
    return Steering(
        turned if isinstance(turned, int) else 0,
        held is True,
        featured if isinstance(featured, str) else "",
    )
