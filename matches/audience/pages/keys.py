"""The key of a page: which page somebody looks at."""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings
from django.utils import translation


class PageKey(NamedTuple):
    """Which page is looked at, and by which audience.

    Attributes:
        kind: a name of ``matches.audience.pages.KINDS``, or ``index``, ``check`` or ``practice``.
        item: the id of the match, player, check or practice match that the page shows; of the replay the number of an
            event.
        staff: whether the page shows what a frozen board hides.
    """

    kind: str = "index"
    league_id: str | None = None
    item: str | None = None
    staff: bool = False

    @property
    def topic(self) -> str | None:
        """The league, check or practice match whose changes affect this page; None: changes of any league."""
        return f"check:{self.item}" if self.kind in ("check", "practice") else self.league_id


_PATHS = {
    "index": "leagues/",
    "board": "leagues/{league}/",
    "match": "leagues/{league}/matches/{item}/",
    "player": "leagues/{league}/players/{item}/",
    "check": "checks/{item}/",
    "practice": "practice/{item}/",
}


def socket_path(key: PageKey) -> str:
    """The path of a page's WebSocket, for the active language."""
    path = _PATHS.get(key.kind, f"leagues/{{league}}/{key.kind}/").format(league=key.league_id, item=key.item)
    staff = "&as=staff" if key.staff else ""
    return f"/ws/{path}?language={translation.get_language() or settings.LANGUAGE_CODE}{staff}"
