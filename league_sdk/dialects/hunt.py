"""Finding the words an agent understands: which spelling next, and what its reply says. No I/O.

:class:`league_sdk.dialects.driver.Driver` sends what :meth:`Hunt.propose` gives and hands the reply to
:meth:`Hunt.consider`, until there is an answer, nothing more to try, or no time (ruling, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from league_sdk.dialects import objections, rates, shapes
from league_sdk.dialects.answers import Answer, Understanding, accepted, read_answer, understanding
from league_sdk.dialects.session import Session
from league_sdk.dialects.tools import LIST_TOOLS, Tool, choose_tool, read_tools
from league_sdk.protocol import rpc
from league_sdk.protocol.notes import Code, Note, note

MOST_TRIES = 24
"""Requests for one message, whatever the agent answers."""


@dataclass(slots=True)
class Memory:
    """What is known of one agent's ways; kept by the caller for as long as it likes.

    Attributes:
        dialect: the shape it registered in.
        spoken: by message type, the shape it understood.
        url: where its server really listens, when that is not the address it gave.
        tools: its tools by name, once it was asked.
        refused: by message type, shapes that it said it does not know.
        calls_back: message types that it answers by a POST of its own.
        text_ids: it takes JSON-RPC ids that are texts only.
        unwanted: fields that it called too many; None while it takes every field.
        session: of a server that wants one; ``sessions`` counts how often one was opened.
        stays: it is behind a gateway, where another path is another program: it is looked for nowhere else.
        searched_at: when a request was last sent to it that only looked for its words; monotonic seconds of the caller.
    """

    dialect: str = shapes.CANONICAL
    spoken: dict[str, str] = field(default_factory=dict)
    url: str = ""
    tools: dict[str, Tool] | None = None
    refused: dict[str, set[str]] = field(default_factory=dict)
    calls_back: set[str] = field(default_factory=set)
    text_ids: bool = False
    unwanted: frozenset[str] | None = None
    session: Session | None = None
    sessions: int = 0
    stays: bool = False
    searched_at: float | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """One request to send.

    Attributes:
        shape: the name of the way of speaking.
        method: as it stands in the body; empty when there is none.
        url: where to.
        body: what.
        rpc_id: the id in it.
    """

    shape: str
    method: str
    url: str
    body: dict[str, Any]
    rpc_id: int | str


class Hunt:
    """One message to one agent.

    Args:
        message: canonical.
        url: the agent's address.
        memory: what is known of it; what is found out is added.
        choice_field: the game's name for a move, for messages that ask for one.
        patient: try every spelling; else only the first, for messages whose answer does not matter.
        only: of an earlier hunt for the same answer: this spelling at this address is sent, and no other.
    """

    def __init__(
        self,
        message: Mapping[str, Any],
        *,
        url: str,
        memory: Memory,
        choice_field: str = "",
        patient: bool = True,
        only: Proposal | None = None,
    ) -> None:
        self.message = message
        self._kind = str(message["message_type"])
        self.url = url
        self.memory = memory
        self._field = choice_field
        self._tried: set[tuple[object, ...]] = set()
        self._last_mark: tuple[object, ...] = ()
        self._told: list[Note] = []
        self._under_way: Proposal | None = None
        self._acknowledged: Proposal | None = None
        self._count = 0
        self._patient = patient
        refused = {shapes.signature(name, self._kind) for name in memory.refused.get(self._kind, ())}
        names = shapes.order(memory.dialect, memory.spoken, self._kind)
        # What it has said not to know comes last: it may have been mended meanwhile.
        self._names = sorted(names, key=lambda name: patient and shapes.signature(name, self._kind) in refused)
        self._at = memory.url or url
        self._elsewhere: list[str] | None = None
        self._only = only
        self._spelt = 0
        self.limited = False
        """Whether the agent has refused for a rate: it is not asked any more."""
        if only is not None:
            self._names, self._at = [only.shape], only.url

    @property
    def _trimmed(self) -> Mapping[str, Any]:
        """The message as this agent takes it."""
        unwanted = self.memory.unwanted
        return self.message if unwanted is None else objections.without(self.message, unwanted)

    @property
    def has_begun(self) -> bool:
        """Whether a request has been proposed already."""
        return self._count > 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """Which spellings were not understood, for the transcript."""
        return tuple(self._told)

    def propose(self, rpc_id: int) -> Proposal | None:
        """The next request, or None when every spelling was tried."""
        if self._count >= (MOST_TRIES if self._patient else 1) or (self._only is not None and self._spelt):
            return None
        while self._names:
            shape = self._names[0]
            own = shape in shapes.OF_TOOLS
            if own and self.memory.tools is None and self._patient:
                # Asked at one address only: whatever it answers, it is known then.
                return self._proposal(shape, LIST_TOOLS, rpc.call(LIST_TOOLS, {}, rpc_id), rpc_id)
            tool = choose_tool(self.memory.tools or {}, self._kind) if own else ""
            mark = (*shapes.signature(shape, self._kind), tool, self._at)
            if mark in self._tried or tool is None:
                self._names.pop(0)
                continue
            self._tried.add(mark)
            self._last_mark = mark
            if tool:
                facts = (self.memory.tools or {})[tool]
                body = shapes.with_tools(shape, self._trimmed, rpc_id, tool, facts.takes, facts.texts)
                method = tool if shape == "tools_methods" else f"tools/call {tool}"
                return self._proposal(shape, method, body, rpc_id)
            known = shapes.SHAPES[shape]
            return self._proposal(shape, known.method(self._kind), known.wrap(self._trimmed, rpc_id), rpc_id)
        return None

    def _proposal(self, shape: str, method: str, body: dict[str, Any], rpc_id: int) -> Proposal:
        self._count += 1
        self._spelt += method != LIST_TOOLS
        if self.memory.text_ids and "id" in body:
            body = body | {"id": str(rpc_id)}
        self._under_way = Proposal(shape, method, self._at, body, body.get("id", rpc_id))
        return self._under_way

    def consider(
        self, proposal: Proposal, *, status: int, body: Any, problem: str = ""
    ) -> tuple[Understanding, Answer]:
        """Take the reply to a proposal and remember what it teaches.

        Args:
            proposal: what was sent.
            status: of the HTTP answer.
            body: the decoded JSON, None when there was none.
            problem: why the body could not be read.

        Returns whether this was it, and the message read.
        """
        self._under_way = None
        answer = read_answer(body, rpc_id=proposal.rpc_id)
        found = understanding(answer, status=status, readable=not problem, message_type=self._kind, field=self._field)
        refused = found is Understanding.NOT_UNDERSTOOD or accepted(answer.message) is False
        if refused and rates.is_about_a_rate(status, body):
            # It has not looked at the words: nothing is learned of them, and more requests only make it worse.
            self.limited = True
            self._names.clear()
            self._told.append(_said(Code.TOO_MANY, proposal, status, answer))
            return Understanding.NOT_UNDERSTOOD, answer
        if proposal.method == LIST_TOOLS:
            self.memory.tools = read_tools(body)
            if not self.memory.tools:
                self._names.pop(0)
            return Understanding.NOT_UNDERSTOOD, answer
        if found is Understanding.RECEIPT and status == 204 and "id" not in proposal.body:
            # A correct JSON-RPC server takes a body without an id for a notification: it has understood nothing.
            found = Understanding.NOT_UNDERSTOOD
        if found is Understanding.ANSWERED:
            self.learn(proposal)
        elif found is Understanding.NOT_UNDERSTOOD:
            self._told.append(_said(Code.NOT_UNDERSTOOD, proposal, status, answer))
            if self._objects(body):
                # The words are known: the same once more, as it wants it.
                self._tried.discard(self._last_mark)
                return found, answer
            if self._other_addresses(proposal, status, body):
                return found, answer
            if self._patient:
                # Else nobody looked for another address, and the shape may not be to blame.
                self.memory.refused.setdefault(self._kind, set()).add(proposal.shape)
            self._names.pop(0)
        else:
            self._acknowledged = proposal
            self._told.append(_said(Code.NO_ANSWER_TO, proposal, status, answer))
            self._names.pop(0)
        return found, answer

    def take_back(self) -> None:
        """The last proposal has not arrived: it is the next one again."""
        self._under_way = None
        self._tried.discard(self._last_mark)
        self._count -= 1
        self._spelt -= 1

    def give_up(self, proposal: Proposal) -> None:
        """The connection broke over this spelling: go on with the next."""
        self._told.append(note(Code.BROKE, request=proposal.method or proposal.shape))
        self._names.pop(0)

    def called_back(self) -> None:
        """The answer came by a POST: what is under way was understood, or what was acknowledged last."""
        understood = self._under_way or self._acknowledged
        if understood is not None and understood.method != LIST_TOOLS:
            self.learn(understood)
            self.memory.calls_back.add(self._kind)

    @property
    def awaits_callback(self) -> bool:
        """Whether the answer is known to come by a POST: then a receipt is waited out, and no other words tried."""
        return self._kind in self.memory.calls_back

    def learn(self, proposal: Proposal) -> None:
        """This spelling was understood, at this address."""
        memory = self.memory
        memory.spoken[self._kind] = proposal.shape
        memory.refused.get(self._kind, set()).discard(proposal.shape)
        memory.url = proposal.url if proposal.url != self.url else ""

    def _objects(self, body: Any) -> bool:
        """Whether the refusal is about something that we can leave out or change."""
        memory = self.memory
        if not memory.text_ids and objections.wants_text_id(body):
            memory.text_ids = True
            return True
        named = objections.unwanted(body)
        if named is None or (memory.unwanted is not None and named <= memory.unwanted):
            return False
        if memory.unwanted is not None and len(memory.unwanted) >= objections.MOST_FIELDS:
            return False
        memory.unwanted = (memory.unwanted or frozenset()) | named
        return True

    def _other_addresses(self, proposal: Proposal, status: int, body: Any) -> bool:
        """On a bare 404 or a redirect the path may be wrong: a slash more or less, with or without ``/mcp``."""
        looks_like_rpc = isinstance(body, Mapping) and ("jsonrpc" in body or "message_type" in body)
        if status not in (301, 302, 303, 307, 308, 404, 405) or looks_like_rpc:
            return False
        if self.memory.stays or not self._patient:
            return False
        if self._elsewhere is None:
            self._elsewhere = [url for url in other_urls(self.url) if url != proposal.url]
            if proposal.url != self.url:
                self._elsewhere.insert(0, self.url)
        if self._elsewhere:
            self._at = self._elsewhere.pop(0)
            return True
        # Nothing is anywhere: the address it gave stands.
        self._at = self.url
        return False


def other_urls(url: str) -> list[str]:
    """Addresses that may have been meant: a slash more or less, ``/mcp`` more or less."""
    parts = urlsplit(url)
    path = parts.path
    turned = path.rstrip("/") if path.endswith("/") else path + "/"
    found = [turned or "/", "/mcp", "/mcp/", "/"]
    return [
        urlunsplit((parts.scheme, parts.netloc, one, parts.query, ""))
        for one in dict.fromkeys(found)
        if one != path and one
    ]


def _said(about: Code, proposal: Proposal, status: int, answer: Answer) -> Note:
    request = proposal.method or proposal.shape
    error = answer.refused.get("code") if isinstance(answer.refused, Mapping) else None
    if isinstance(error, int):
        return note(about, request=request, error=error)
    return note(about, request=request, **({"status": status} if status != 200 else {}))
