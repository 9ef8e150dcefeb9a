"""A site of several processes, one of which stands still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from league_sdk.protocol.notes import Code, Note, note
from matches.inbox.hub import hub
from matches.inbox.other_hubs import Others


class StalledSite(Others):
    """The other processes, one of which stands still as long as ``stalls`` is true."""

    stalls = True

    def stalled(self, since: float) -> Note | str:
        return note(Code.REDIS_AWAY) if self.stalls else ""


@contextmanager
def stalled_site() -> Iterator[StalledSite]:
    """While this context lasts, this process is one of several, and one of them stands still."""
    hub.other_hubs = others = StalledSite(hub, has_lines=True)
    try:
        yield others
    finally:
        hub.other_hubs = None
