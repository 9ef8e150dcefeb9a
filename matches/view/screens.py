"""READS: how the instructor steers the screens of a league. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Steering(NamedTuple):
    """What every screen of a league follows.

    Attributes:
        turned: by how many scenes it was turned so far, backwards negative; a screen follows the difference.
        held: whether the scenes stand still.
        featured: the id of the match that is drawn large; empty: the most interesting one is.
    """

    turned: int = 0
    held: bool = False
    featured: str = ""


def steering(stored: Mapping[str, Any]) -> Steering:
    """Read the column; what it does not say, or says wrongly, is automatic."""
    turned, held, featured = stored.get("turned"), stored.get("held"), stored.get("featured")
    return Steering(
        turned if isinstance(turned, int) else 0,
        held is True,
        featured if isinstance(featured, str) else "",
    )
