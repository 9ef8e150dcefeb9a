"""Which page someone looks at."""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings
from django.utils import translation


class PageKey(NamedTuple):
    """A page: its kind, the league and the thing in it that it shows, and for whom.

    Attributes:
        kind: a name of ``matches.audience.pages.KINDS``.
        item: a match id, a player id or a check id, as the kind has it.
        staff: whether what a frozen board hides is shown.
    """

    kind: str = "index"
    league_id: str | None = None
    item: str | None = None
    staff: bool = False

    @property
    def topic(self) -> str | None:
        """The league or check whose changes show on this page; None for every league's."""
        return f"check:{self.item}" if self.kind == "check" else self.league_id


_PATHS = {
    "index": "leagues/",
    "board": "leagues/{league}/",
    "match": "leagues/{league}/matches/{item}/",
    "player": "leagues/{league}/players/{item}/",
    "check": "checks/{item}/",
}


def socket_path(key: PageKey) -> str:
    """Where a page's socket is, in the language it is shown in."""
    path = _PATHS.get(key.kind, f"leagues/{{league}}/{key.kind}/").format(league=key.league_id, item=key.item)
    staff = "&as=staff" if key.staff else ""
    return f"/ws/{path}?language={translation.get_language() or settings.LANGUAGE_CODE}{staff}"
