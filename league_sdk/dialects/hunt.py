"""The hunt for an agent's dialect: try one way of speaking after the other until it understands. No I/O.

:class:`league_sdk.dialects.driver.Driver` sends what :meth:`Hunt.propose` returns and hands the reply to
:meth:`Hunt.consider`, until there is an answer, nothing left to try, or no time (ruling, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from league_sdk.dialects import objections, rates, shapes
from league_sdk.dialects.answers import (
    MOVE_CALLS,
    Answer,
    Understanding,
    accepted,
    is_of_another_kind,
    read_answer,
    understanding,
)
from league_sdk.dialects.memory import BURST, Memory
from league_sdk.dialects.tools import GUESSED, LIST_TOOLS, Tool, read_tools
from league_sdk.dialects.words import LEGACY_SHAPES
from league_sdk.protocol import rpc
from league_sdk.protocol.agents_time import AGENTS_TIME
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Code, Note, note

__all__ = ["MAX_TRIES", "Hunt", "Memory", "Proposal", "other_urls"]

MAX_TRIES = 30
"""Requests for one message."""
MAX_REFUSED_BYTES = 128 * 1024
"""After so many bytes without an answer a hunt ends: reading a few large refusals takes as long as a whole search."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
MAX_UNFILLED = 3
"""How many unfilled arguments of a tool are named in notes."""
GAME_START = "GAME_START"
PING = "ping"
ASIDE = (LIST_TOOLS, GAME_START, PING)
"""Methods of a hunt that do not carry its message."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One request to send: the name of its shape, the method in its body (may be empty), and where it goes."""

    shape: str
    method: str
    url: str
    body: dict[str, Any]
    rpc_id: int | str


class Hunt:
    """One message to one agent.

    Args:
        message: the message in canonical form.
        url: the agent's address.
        memory: what is known of the agent; what is found out is added.
        choice_field: the game's name for a move, for messages that ask for one.
        patient: try every shape; else only the first, for messages whose answer does not matter.
        first: a request of an earlier hunt for the same answer, which was refused for the moment: it is sent first, and
            others only if it is not understood.

    Attributes:
        count: the number of requests so far.
        max_requests: how many requests the hunt may send.
        rate_limited: the agent refused for the moment: the hunt is over.
    """

    def __init__(
        self,
        message: Mapping[str, Any],
        *,
        url: str,
        memory: Memory,
        choice_field: str = "",
        patient: bool = True,
        first: Proposal | None = None,
    ) -> None:
        self.message = message
        self._message_type = str(message["message_type"])
        self.url = url
        self.memory = memory
        self._choice_field = choice_field
        self._tried: set[tuple[object, ...]] = set()
        self._last_mark: tuple[object, ...] = ()
        self._notes: list[Note] = []
        self._under_way: Proposal | None = None
        self._acknowledged: Proposal | None = None
        self.count = 0
        self._refused_bytes = 0
        self._patient = patient
        # GAME_OVER asks for nothing, so only as many requests are spent on it as may be sent at once.
        is_game_over = self._message_type == MessageType.GAME_OVER
        self.max_requests = (BURST if is_game_over else MAX_TRIES) if patient else 1
        refused = {shapes.signature(name, self._message_type) for name in memory.refused.get(self._message_type, ())}
        names = shapes.order(memory.dialect, memory.spoken, self._message_type)
        # A shape that it did not understand comes last: the agent may have been corrected meanwhile.
        self._names = sorted(names, key=lambda name: patient and shapes.signature(name, self._message_type) in refused)
        self._url = memory.url or url
        self._other_urls: list[str] | None = None
        self._first = first
        self._start_refused = False
        self._pings_next = self._pinged = False
        self.rate_limited = False
        if first is not None:
            self._names = [first.shape, *(name for name in self._names if name != first.shape)]
            self._url = first.url

    @property
    def _trimmed(self) -> Mapping[str, Any]:
        """The message without the fields that this agent rejects."""
        unwanted = self.memory.unwanted
        return self.message if unwanted is None else objections.without(self.message, unwanted)

    @property
    def has_more(self) -> bool:
        """Whether there are shapes that have not been tried, and may be."""
        return not self.rate_limited and bool(self._names) and self.count < self.max_requests

    @property
    def notes(self) -> tuple[Note, ...]:
        """What did not go well, such as shapes that were not understood, for the transcript."""
        return tuple(self._notes)

    def propose(self, rpc_id: int) -> Proposal | None:
        """The next request, or None when every shape was tried."""
        if self.rate_limited or self.count >= self.max_requests:
            return None
        if self._pings_next and self._names:
            self._pings_next, self._pinged = False, True
            return self._proposal(self._names[0], PING, {"jsonrpc": "2.0", "method": PING, "id": rpc_id}, rpc_id)
        while self._names:
            shape = self._names[0]
            if shape in shapes.OF_TOOLS and self.memory.tools is None and self._patient and not self._knows_own:
                # Whatever the agent replies, its tools are known then: it is asked once, at one address.
                return self._proposal(shape, LIST_TOOLS, rpc.call(LIST_TOOLS, {}, rpc_id), rpc_id)
            for tool in self._tools_for(shape):
                named = tool.name if tool is not None else ""
                mark = (*shapes.signature(shape, self._message_type), named, self._url)
                if mark in self._tried:
                    continue
                if self._begins_game(shape):
                    return self._game_start(shape, rpc_id)
                self._tried.add(mark)
                self._last_mark = mark
                return self._request(shape, tool, rpc_id)
            self._names.pop(0)
        return None

    @property
    def _knows_own(self) -> bool:
        return self._message_type in self.memory.own

    def _tools_for(self, shape: str) -> Sequence[Tool | None]:
        """The tools to try in a shape; a None in the list is for a shape that names none."""
        if shape in shapes.OF_TOOLS:
            tool = self.memory.tool_for(self._message_type)
            return [] if tool is None else [tool]
        if shape in shapes.GUESSES:
            guessed = GUESSED.get(self._message_type, ()) if self._patient else ()
            first_name = "" if self._first is None else _named_in(self._first)
            return [Tool(name) for name in sorted(guessed, key=lambda name: name != first_name)]
        return [None]

    def _request(self, shape: str, tool: Tool | None, rpc_id: int) -> Proposal:
        if tool is None:
            known = shapes.SHAPES[shape]
            return self._proposal(shape, known.method(self._message_type), known.wrap(self._trimmed, rpc_id), rpc_id)
        body, unfilled = tool.call(shape, self._trimmed, rpc_id)
        self._notes += [note(Code.NOT_FILLED, name=name, tool=tool.name) for name in unfilled[:MAX_UNFILLED]]
        method = tool.name if body["method"] == tool.name else f"tools/call {tool.name}"
        return self._proposal(shape, method, body, rpc_id)

    def _begins_game(self, shape: str) -> bool:
        """Whether an agent that registered in 002's words is told GAME_START before it is asked for a move."""
        asks = self._message_type in MOVE_CALLS and shape in LEGACY_SHAPES and self.memory.dialect in LEGACY_SHAPES
        if shape in self.memory.refused.get(GAME_START, ()):
            return False
        return asks and self.memory.begun != self.message.get("conversation_id", "")

    def _game_start(self, shape: str, rpc_id: int) -> Proposal:
        self.memory.begun = self.message.get("conversation_id", "")
        body = shapes.SHAPES[shape].wrap({**self.message, "message_type": GAME_START}, rpc_id)
        return self._proposal(shape, GAME_START, body, rpc_id)

    def _proposal(self, shape: str, method: str, body: dict[str, Any], rpc_id: int) -> Proposal:
        self.count += 1
        if self.memory.text_ids and "id" in body:
            body = body | {"id": str(rpc_id)}
        self._under_way = Proposal(shape, method, self._url, body, body.get("id", rpc_id))
        return self._under_way

    @AGENTS_TIME
    def consider(
        self, proposal: Proposal, *, status: int, body: Any, problem: str = "", headers: Mapping[str, str] = NO_HEADERS
    ) -> tuple[Understanding, Answer]:
        """Judge the reply to a proposal and remember what it shows of the agent.

        Args:
            status, headers: of the HTTP reply; the names in lower case.
            body: the decoded JSON, None when there was none.
            problem: why the body could not be read.
        """
        self._under_way = None
        answer = read_answer(body, rpc_id=proposal.rpc_id)
        result = understanding(
            answer, status=status, readable=not problem, message_type=self._message_type, field=self._choice_field
        )
        refused = result in (Understanding.NOT_UNDERSTOOD, Understanding.VAGUE) or accepted(answer.message) is False
        if refused and rates.is_temporary(status, body, headers):
            # The agent has not read the request: nothing is learned, and more requests only make it worse.
            self.rate_limited = True
            if proposal.method == GAME_START:
                self.memory.begun = None
            self._notes.append(_note_of(Code.TOO_MANY, proposal, status, answer))
            return Understanding.NOT_UNDERSTOOD, answer
        if proposal.method in ASIDE:
            if proposal.method == GAME_START:
                self._start_refused = result is Understanding.NOT_UNDERSTOOD
            elif proposal.method == LIST_TOOLS:
                self.memory.tools = read_tools(body)
                if not self.memory.tools:
                    self._names.pop(0)
            return Understanding.NOT_UNDERSTOOD, answer
        if result is Understanding.RECEIPT and status == 204 and "id" not in proposal.body:
            # A correct JSON-RPC server takes a body without an id for a notification: it has understood nothing.
            result = Understanding.NOT_UNDERSTOOD
        if result is not Understanding.ANSWERED and self._is_move_of_another_kind(proposal, answer):
            return Understanding.ANSWERED, answer
        if result is Understanding.ANSWERED:
            self.learn(proposal)
        elif result is Understanding.NOT_UNDERSTOOD:
            self._notes.append(_note_of(Code.NOT_UNDERSTOOD, proposal, status, answer))
            self._go_on(proposal, status, body)
            if proposal.shape == "tools_call" and _is_about_a_tool(answer):
                # It has tools, by other names: its list and likely names come next.
                first = [name for name in ("tools_list", "tools_guess") if name in self._names]
                self._names = [*first, *(name for name in self._names if name not in first)]
        else:
            self._acknowledged = proposal
            self._notes.append(_note_of(Code.NO_ANSWER_TO, proposal, status, answer))
            self._names.pop(0)
        return result, answer

    def note_refused(self, size: int) -> None:
        """Count the bytes of a reply without an answer; after too many of them nothing else is tried."""
        self._refused_bytes += size
        if self._refused_bytes > MAX_REFUSED_BYTES:
            self.max_requests = self.count
            self._notes.append(note(Code.REFUSED_AT_LENGTH))

    def _is_move_of_another_kind(self, proposal: Proposal, answer: Answer) -> bool:
        """Whether a reply is a move of another kind from an agent that is known to understand this request.

        From any other agent it shows that it took the request for that of another game: the next shape is tried.
        """
        if not is_of_another_kind(answer.message, self._message_type, self._choice_field):
            return False
        return self.memory.spoken.get(self._message_type) == proposal.shape

    def _go_on(self, proposal: Proposal, status: int, body: Any) -> None:
        """Choose what comes after a request that was not understood."""
        if self._gives_in(body):
            # The agent knows the shape: send it once more, as it wants it.
            self._tried.discard(self._last_mark)
            return
        if self._other_addresses(proposal, status, body):
            return
        if proposal.shape in shapes.GUESSES and _named_in(proposal) != GUESSED[self._message_type][-1]:
            return
        if self._patient:
            # Only a patient hunt tries other addresses first; in any other the address may be to blame, not the shape.
            self.memory.refused.setdefault(self._message_type, set()).add(proposal.shape)
        self._names.pop(0)

    def take_back(self) -> None:
        """The last proposal did not arrive: propose it again."""
        self._under_way = None
        self._tried.discard(self._last_mark)
        self.count -= 1

    def give_up(self, proposal: Proposal) -> None:
        """The connection broke over this request: go on with the next shape, or after a ping with what follows it."""
        self._notes.append(note(Code.BROKE, request=proposal.method or proposal.shape))
        if proposal.method != PING:
            self._names.pop(0)

    def called_back(self) -> None:
        """The answer came by a POST: the request under way was understood, or the one acknowledged last."""
        understood = self._under_way or self._acknowledged
        if understood is not None and understood.method not in ASIDE:
            self.learn(understood)
            self.memory.calls_back.add(self._message_type)

    @property
    def awaits_callback(self) -> bool:
        """Whether the agent is known to answer by a POST: after a receipt no other shape is tried."""
        return self._message_type in self.memory.calls_back

    def learn(self, proposal: Proposal) -> None:
        """Remember that this shape was understood, at this address."""
        memory, name = self.memory, _named_in(proposal)
        memory.spoken[self._message_type] = shapes.GUESSES.get(proposal.shape, proposal.shape)
        if proposal.shape in shapes.GUESSES:
            memory.own[self._message_type] = Tool(name)
        elif proposal.shape in shapes.OF_TOOLS and (tool := memory.tool_for(self._message_type)) is not None:
            memory.own[self._message_type] = tool
        memory.refused.get(self._message_type, set()).discard(proposal.shape)
        memory.url = proposal.url if proposal.url != self.url else ""
        if self._start_refused:
            # The agent moves without GAME_START, so none is sent before its next games.
            memory.refused.setdefault(GAME_START, set()).add(proposal.shape)

    def _gives_in(self, body: Any) -> bool:
        """If the agent objects to something that we can leave out, change or do first, do so; whether it does."""
        memory = self.memory
        may_ping = self._patient and self._message_type != MessageType.GAME_OVER
        if may_ping and not self._pinged and objections.wants_ping(body):
            self._pings_next = True
            return True
        if not memory.text_ids and objections.wants_text_id(body):
            memory.text_ids = True
            return True
        rejected = objections.unwanted(body)
        if rejected is None or (memory.unwanted is not None and rejected <= memory.unwanted):
            return False
        if memory.unwanted is not None and len(memory.unwanted) >= objections.MAX_FIELDS:
            return False
        memory.unwanted = (memory.unwanted or frozenset()) | rejected
        return True

    def _other_addresses(self, proposal: Proposal, status: int, body: Any) -> bool:
        """Go on to the next address after a bare 404, 405 or redirect: the path may be wrong; False if none is left."""
        looks_like_rpc = isinstance(body, Mapping) and ("jsonrpc" in body or "message_type" in body)
        if status not in (301, 302, 303, 307, 308, 404, 405) or looks_like_rpc:
            return False
        if self.memory.behind_gateway or not self._patient:
            return False
        if self._other_urls is None:
            self._other_urls = [url for url in other_urls(self.url) if url != proposal.url]
            if proposal.url != self.url:
                self._other_urls.insert(0, self.url)
        if self._other_urls:
            self._url = self._other_urls.pop(0)
            return True
        # There is no server at any of these addresses: go on at the one that the agent gave.
        self._url = self.url
        return False


def _named_in(proposal: Proposal) -> str:
    """The tool or method that a request names."""
    return proposal.method.removeprefix("tools/call ")


def _is_about_a_tool(answer: Answer) -> bool:
    """Whether a refusal of ``tools/call`` shows that there are tools, but not this one."""
    error = answer.refused
    text = error.get("message") if isinstance(error, Mapping) else error
    return answer.message.get("isError") is True or (isinstance(text, str) and "unknown tool" in text[:300].lower())


def other_urls(url: str) -> list[str]:
    """Addresses that may have been meant: a slash more or less, ``/mcp`` more or less, a path in the other case."""
    parts = urlsplit(url)
    path = parts.path
    slash_toggled = path.rstrip("/") if path.endswith("/") else path + "/"
    others = dict.fromkeys([slash_toggled or "/", path.lower(), "/mcp", "/mcp/", "/", "/MCP"])
    return [urlunsplit(parts._replace(path=other, fragment="")) for other in others if other != path]


def _note_of(about: Code, proposal: Proposal, status: int, answer: Answer) -> Note:
    request = proposal.method or proposal.shape
    error = answer.refused.get("code") if isinstance(answer.refused, Mapping) else None
    if isinstance(error, int):
        return note(about, request=request, error=error)
    return note(about, request=request, **({"status": status} if status != 200 else {}))
