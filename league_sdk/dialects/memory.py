"""What is known of how one agent speaks: what a referee keeps of it, and the part that is shared. No I/O.

What is shared belongs to a registration. It decides how the agent is called, and nothing else: which way of speaking is
tried first, by which names of its tools, in which version of MCP, and whether a session is opened before the first
call. A caller that reports something wrong costs the agent some requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.dialects import shapes
from league_sdk.dialects.arguments import read_stored
from league_sdk.dialects.mirrored import mirrored
from league_sdk.dialects.session import HANDSHAKE_VERSIONS, STATELESS_VERSION, Session
from league_sdk.dialects.tools import MAX_TOOL_NAME_CHARS, Tool, choose_tool
from league_sdk.protocol import rpc
from league_sdk.protocol.messages import MessageType

BURST = 6
"""How many requests a search may send at once, and at most within ``BURST_S``."""
BURST_S = 1.0
HUNT_GAP_S = 0.16
"""Seconds between two requests after the first ``BURST``: a whole search fits into the 5 s of an invitation."""
MAX_SHARED_BYTES = 6144
_KINDS = frozenset(map(str, MessageType))


@dataclass(slots=True)
class Memory:
    """What is known of how one agent speaks; the caller keeps it.

    Attributes:
        dialect: the shape it registered in.
        spoken: by message type, the shape it understood.
        own: by message type, the tool or method of its own that it understood or lists for it.
        url: where its server really listens, if that is not the address it gave.
        tools: its MCP tools by name; None before it was asked for them.
        refused: by message type, the shapes that it did not understand.
        calls_back: message types that it answers by a POST of its own.
        text_ids: it takes JSON-RPC ids that are strings only.
        unwanted: fields that it rejected; None while it takes every field.
        session: the MCP session, if its server wants one, or the agreement to take calls without any;
            ``sessions`` counts how often in a row one was opened in vain.
        wants_session: its server is known to refuse calls without a session: one is opened before the first call.
        mcp: the MCP version in which it was found to take calls; empty if it is not an MCP server, None if it
            was not asked (:mod:`league_sdk.dialects.discovery`).
        behind_gateway: it is behind a gateway, where another path is another program: no other path is tried.
        searched_at: when the last request was sent that only searched for its dialect; monotonic seconds.
        hunted: message types whose answer does not matter, for which it was hunted once.
        begun: the conversation in which it was told GAME_START.
    """

    dialect: str = shapes.CANONICAL
    spoken: dict[str, str] = field(default_factory=dict)
    own: dict[str, Tool] = field(default_factory=dict)
    url: str = ""
    tools: dict[str, Tool] | None = None
    refused: dict[str, set[str]] = field(default_factory=dict)
    calls_back: set[str] = field(default_factory=set)
    text_ids: bool = False
    unwanted: frozenset[str] | None = None
    session: Session | None = None
    sessions: int = 0
    wants_session: bool = False
    mcp: str | None = None
    behind_gateway: bool = False
    searched_at: float | None = None
    hunted: set[str] = field(default_factory=set)
    begun: object = None
    _told: dict[str, object] = field(default_factory=dict)
    """What others told of the agent the last time, to see what has changed since."""
    _sent_at: deque[float] = field(default_factory=lambda: deque(maxlen=BURST))

    def tool_for(self, kind: str) -> Tool | None:
        """The agent's own tool or method for a message type; None if none is known."""
        if kind in self.own:
            return self.own[kind]
        listed = self.tools or {}
        name = choose_tool(listed, kind)
        return None if name is None else listed[name]

    def mirrored(self, name: str, values: Mapping[str, Any]) -> dict[str, str]:
        """The headers that repeat values of a call of one of its tools; none for a tool that is not known."""
        known = (*(self.tools or {}).values(), *self.own.values())
        tool = next((one for one in known if one.name == name), None)
        return {} if tool is None else mirrored(tool.arguments or (), values)

    def wait_s(self, now: float, searched: int) -> float:
        """Seconds until the next request of a search may be sent, so that the search is polite.

        Args:
            now: monotonic seconds.
            searched: requests of this search so far.
        """
        if not self._sent_at:
            return 0.0
        gap = self._sent_at[-1] + HUNT_GAP_S - now if searched >= BURST else 0.0
        burst = self._sent_at[0] + BURST_S - now if len(self._sent_at) == BURST else 0.0
        return max(0.0, gap, burst)

    def note_request(self, now: float) -> None:
        """Note that a request is sent; ``now`` in monotonic seconds."""
        self._sent_at.append(now)

    def assign_tools(self) -> None:
        """Note in ``own`` which of its listed tools is for which message, so that :meth:`shared` tells others."""
        for kind in _KINDS if self.tools else ():
            name = choose_tool(self.tools or {}, kind)
            if name is not None:
                self.own.setdefault(kind, (self.tools or {})[name])

    def shared(self) -> dict[str, Any]:
        """The part that others may use beside ``spoken``, as JSON: its own names of tools, its version of MCP, and
        whether it wants sessions.

        A report of a match has room for :data:`MAX_SHARED_BYTES`: tools with long lists of arguments may be left out.
        """
        own: dict[str, Any] = {}
        left = MAX_SHARED_BYTES
        for kind, tool in sorted(self.own.items()):
            facts = {"name": tool.name, "arguments": [one.to_json() for one in tool.arguments or ()]}
            size = len(rpc.dumps(facts))
            if size <= left:
                own[kind], left = facts, left - size
        needs = self.wants_session or (self.session is not None and not self.session.is_stateless)
        return {
            **({"own": own} if own else {}),
            **({"session": True} if needs else {}),
            **({"mcp": self.mcp} if self.mcp is not None else {}),
        }

    def learn_from(self, spoken: Mapping[str, str], learned: Mapping[str, Any]) -> None:
        """Add what others found out about the same registration.

        What they told before does not replace what is known, only what has changed since.
        """
        own = read_own(learned)
        self.spoken |= {kind: shape for kind, shape in spoken.items() if self._told.get(kind) != shape}
        self.own |= {kind: tool for kind, tool in own.items() if self._told.get(f"own {kind}") != tool}
        known = read_learned(learned)
        if self._told.get("mcp") != (told_of_mcp := (known.get("mcp"), known.get("session"))):
            self.mcp, self.wants_session = known.get("mcp", self.mcp), known.get("session") is True
            if self.mcp == STATELESS_VERSION and self.session is None:
                self.session = Session(version=STATELESS_VERSION)
        self._told = {**spoken, **{f"own {kind}": tool for kind, tool in own.items()}, "mcp": told_of_mcp}


def read_own(learned: Mapping[str, Any]) -> dict[str, Tool]:
    """The agent's own names in what :meth:`Memory.shared` gave; what cannot be one is left out."""
    own = learned.get("own")
    return {
        str(kind): tool
        for kind, facts in (list(own.items())[: len(_KINDS)] if isinstance(own, Mapping) else [])
        if kind in _KINDS and (tool := _read_tool(facts)) is not None
    }


def read_learned(value: object) -> dict[str, Any]:
    """What a referee reports of an agent, cleaned to what :meth:`Memory.shared` can give."""
    if not isinstance(value, Mapping):
        return {}
    memory = Memory(own=read_own(value), wants_session=value.get("session") is True)
    version = value.get("mcp")
    if version in ("", STATELESS_VERSION, *HANDSHAKE_VERSIONS):
        memory.mcp = version
    return memory.shared()


def _read_tool(facts: object) -> Tool | None:
    name = facts.get("name") if isinstance(facts, Mapping) else None
    if not isinstance(facts, Mapping) or not isinstance(name, str) or "arguments" not in facts:
        # What earlier versions kept of the arguments is not enough: such a tool is examined again.
        return None
    if not name.isprintable() or not 0 < len(name) <= MAX_TOOL_NAME_CHARS:
        return None
    return Tool(name, "", read_stored(facts["arguments"]))
