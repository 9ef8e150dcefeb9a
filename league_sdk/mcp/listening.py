"""The clients that are told of changes: streams of the stateless era, and sessions of the handshake era."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from league_sdk.mcp.errors import Busy, InvalidParams
from league_sdk.mcp.registry import Registry

MAX_LISTENERS = 2_000
"""Above this limit the caller with the most listeners loses its oldest one."""
MAX_LISTENERS_PER_CALLER = 100
MAX_URIS = 50
"""The most resources of one listener."""

Kind = Literal["tools", "prompts", "resources"]
Tell = Callable[[str, dict[str, Any]], None]
"""Sends a notification: its method and params."""
_FIELDS: dict[Kind, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}


@dataclass(slots=True)
class Filter:
    """The changes that a listener wants to be told of.

    Attributes:
        lists: the lists whose changes it wants to know.
        uris: the resources whose changes it wants to know.
    """

    lists: set[Kind] = field(default_factory=set)
    uris: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, params: Any, registry: Registry) -> Filter:
        """Read ``notifications`` of ``subscriptions/listen``; what this server does not offer is left out.

        Raises:
            InvalidParams: it is not a filter.
        """
        if not isinstance(params, dict):
            raise InvalidParams("notifications must be an object.")
        lists = {kind for kind, name in _FIELDS.items() if params.get(name) is True and registry.changes}
        uris = params.get("resourceSubscriptions") or []
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris) or len(uris) > MAX_URIS:
            raise InvalidParams(f"resourceSubscriptions must be at most {MAX_URIS} addresses.")
        return cls(lists, {uri for uri in uris if registry.may_subscribe(uri)})

    def as_json(self) -> dict[str, Any]:
        """What the listener will be told, in the words of ``subscriptions/listen``."""
        fields: dict[str, Any] = {_FIELDS[kind]: True for kind in _FIELDS if kind in self.lists}
        return fields | ({"resourceSubscriptions": sorted(self.uris)} if self.uris else {})


@dataclass(eq=False, slots=True)
class Listener:
    """A client that is told of changes.

    Attributes:
        wanted: the changes that it wants to be told of.
        caller: the key of its caller, for the limit of listeners per caller.
        tell: sends it a notification.
        close: ends its stream in good order.
    """

    wanted: Filter
    caller: str
    tell: Tell
    close: Callable[[], None]

    def updated(self, changed: set[str]) -> None:
        """Tell the listener that resources have changed, if it wants to know."""
        for uri in sorted(self.wanted.uris & changed):
            self.tell("notifications/resources/updated", {"uri": uri})


class Listeners:
    """All listeners of this process.

    Args:
        max_listeners: at the same time.
    """

    def __init__(self, *, max_listeners: int = MAX_LISTENERS) -> None:
        self._max = max_listeners
        self._all: dict[Listener, None] = {}
        self._by_caller: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._all)

    def add(self, wanted: Filter, caller: str, tell: Tell, close: Callable[[], None]) -> Listener:
        """Add a listener, which is told of changes from now on.

        Raises:
            Busy: this caller has too many listeners already.
        """
        if self._by_caller[caller] >= MAX_LISTENERS_PER_CALLER:
            raise Busy("Too many streams are open: close some of them.")
        if len(self._all) >= self._max:
            self._make_room()
        listener = Listener(wanted, caller, tell, close)
        self._all[listener] = None
        self._by_caller[caller] += 1
        return listener

    def remove(self, listener: Listener) -> None:
        """Remove a listener."""
        if self._all.pop(listener, self) is not self:
            self._by_caller -= Counter([listener.caller])

    def _make_room(self) -> None:
        busiest_caller = self._by_caller.most_common(1)[0][0]
        oldest = next(one for one in self._all if one.caller == busiest_caller)
        self.remove(oldest)
        oldest.close()

    def uris(self) -> set[str]:
        """The resources that have listeners."""
        return {uri for listener in self._all for uri in listener.wanted.uris}

    def updated(self, uris: Iterable[str]) -> None:
        """Tell the listeners of these resources that they have changed."""
        changed = set(uris)
        for listener in list(self._all):
            listener.updated(changed)

    async def updated_in_turn(self, uris: Iterable[str]) -> None:
        """Like :meth:`updated`, but the event loop does other work between listeners, as many of them take long."""
        changed = set(uris)
        for listener in list(self._all):
            listener.updated(changed)
            await asyncio.sleep(0)

    def list_changed(self, kind: Kind) -> None:
        """Tell the listeners of a list (tools, prompts or resources) that it has changed."""
        for listener in list(self._all):
            if kind in listener.wanted.lists:
                listener.tell(f"notifications/{kind}/list_changed", {})

    def close(self) -> None:
        """End all streams: the server stops."""
        for listener in list(self._all):
            listener.close()
