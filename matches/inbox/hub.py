"""The inboxes of a process: messages that a caller waits for, and the lines on which agents fetch them.

An agent that dials out opens a line: a long poll or a socket. What a referee or the league manager has to say to it is
offered on that line, and its answer goes back to the caller (ruling, section 13). Nothing is stored: an inbox holds
only what a caller still waits for. All of it happens on the event loop of the process; :mod:`matches.inbox.other_hubs`
connects the hubs of several processes.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from league_sdk.protocol import rpc
from league_sdk.protocol.notes import Note
from matches.inbox.lines import Line, NotAnswered, NotConnected, Offer, OtherHubs, SiteStalled, Terms
from matches.observing import metrics

MAX_OFFERS_PER_AGENT = 64
"""Messages that may wait for one agent at once: all its matches, each tried again in several ways of speaking."""
MAX_OFFERS_PER_SEAT = 32
"""How many of them may be of one seat: its referee cannot fill the inbox against the player's other matches."""
MAX_STRAYS, STRAYS_INTERVAL_S = 16, 1.0
"""How many answers of one agent to messages that are unknown here are passed on to the other processes in this time."""
MAX_STRAY_BYTES = 4096
"""How large such an answer may be."""
CONFIRM_S = 0.5
"""How long the process that has an agent's line may take to say whether the agent got a message on it."""
TAKEOVER_INTERVAL_S, CONTESTED_TAKEOVERS = 60.0, 3
"""If a line is taken over CONTESTED_TAKEOVERS times within this time, the agent's owner and the desk are told."""
LINGER_S = 30.0
"""For this long after its last line an agent is expected to open the next one: between two polls it has none."""
_PROCESS_BITS = 6
_PROCESS = secrets.randbits(_PROCESS_BITS)


@dataclass(slots=True, eq=False)
class _Call:
    """A caller in this process that waits for an agent's answer.

    Attributes:
        begun_at: since when, in monotonic seconds.
        taken: set when the message was handed over to the agent.
        named: whether the agent has said that it has the message.
        answer: the agent's answer.
    """

    begun_at: float = field(default_factory=time.monotonic)
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    named: bool = False
    answer: asyncio.Future[dict[str, Any]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(slots=True)
class _Elsewhere:
    """A message of a caller at another process, kept until that waits no longer.

    Attributes:
        agent: the agent's primary key.
        ends_at: when its caller stops waiting, in monotonic seconds.
        taken: it was handed over here.
        answer: what the agent answered through this process. The caller may not have heard of either.
    """

    agent: int
    ends_at: float
    taken: bool = False
    answer: dict[str, Any] | None = None


class Hub:
    """The inboxes of this process.

    Attributes:
        other_hubs: the hubs of the other processes; None for the only process of a site.
        on_change: called with an agent, and its line or None, when a line was opened or the last one was closed.
        on_contest: called with an agent when its line was taken over again and again.
        closing: the process is about to stop; polls end, and agents come back to another process or the next one.
    """

    def __init__(self) -> None:
        self.other_hubs: OtherHubs | None = None
        self.closing = False
        self.on_change: Callable[[int, Line | None], None] = lambda agent, line: None
        self.on_contest: Callable[[int], None] = lambda agent: None
        self._offers: dict[int, dict[int, Offer]] = {}
        self._calls: dict[int, _Call] = {}
        self._lines: dict[int, Line] = {}
        self._seen: dict[int, tuple[float, str]] = {}
        self._takeovers: dict[int, deque[float]] = {}
        self._strays: dict[int, deque[float]] = {}
        self._elsewhere: dict[int, _Elsewhere] = {}
        self._valid_at: dict[str, float] = {}
        self._last_id = 0

    # Callers ---------------------------------------------------------------------------------

    async def ask(self, agent: int, request: dict[str, Any], terms: Terms) -> dict[str, Any]:
        """Offer a JSON-RPC request to an agent and wait for its answer.

        Args:
            agent: its primary key.
            request: as it would have been POSTed; its id may be anything.

        Returns the agent's JSON-RPC response with the id of ``request``.

        Raises:
            NotConnected: nobody took it within the grace, or too many messages wait for this agent or seat.
            NotAnswered: it was taken, and no answer came in time.
            SiteStalled: either of the two, but a process of the site stood still meanwhile. Never without a grace, as
                such a caller waits for no line; nor for a message that was taken if the caller wants it confirmed.
        """
        offers = self._offers.setdefault(agent, {})
        of_seat = sum(one.seat == terms.seat for one in offers.values()) if terms.seat else 0
        if len(offers) >= MAX_OFFERS_PER_AGENT or of_seat >= MAX_OFFERS_PER_SEAT:
            raise NotConnected
        number, begun = self._next_id(), time.monotonic()
        http = {**terms.http, **({"id": request["id"]} if "id" in request else {})}
        offer = Offer(number, agent, request | {"id": number}, begun + terms.limit_s, http, terms.seat)
        call = self._calls[number] = _Call()
        offers[number] = offer
        try:
            self._wake_line(agent)
            if self.other_hubs is not None:
                self.other_hubs.offered(offer)
            if not await _within(min(terms.grace_s, terms.limit_s), call.taken.wait()):
                what = self.stalled(begun) if terms.grace_s > 0 else ""
                raise SiteStalled(what, taken=False) if what else NotConnected
            if not await _within(offer.left_s, asyncio.wait([call.answer])):
                has_it = not terms.confirm or await self._has_it(offer, call)
                if not call.answer.done():
                    if not terms.confirm and terms.grace_s > 0 and (what := self.stalled(begun)):
                        raise SiteStalled(what, taken=True)
                    raise NotAnswered(lost=not has_it)
            return call.answer.result() | {"id": request.get("id")}
        finally:
            self._drop(number, agent)
            del self._calls[number]
            if self.other_hubs is not None:
                self.other_hubs.withdrawn(number, agent)

    def dials_out(self, agent: int) -> bool:
        """Whether the agent has a line, here or at another process, or had one a moment ago."""
        return bool(self.way(agent))

    def way(self, agent: int) -> str:
        """The way of the line that :meth:`dials_out` tells of, ``poll`` or ``websocket``; empty if there is none."""
        if (line := self._lines.get(agent)) is not None:
            return line.way
        seen_at, way = self._seen.get(agent, (0.0, ""))
        lately = time.monotonic() - LINGER_S
        # While Redis or a process stands still, nobody is heard to say which lines are open.
        return way if seen_at > lately or (way and self.stalled(lately)) else ""

    def stalled(self, since: float = math.inf) -> Note | str:
        """What of the site has stood still since a time, so that it is not known who has a line; empty for nothing.

        Args:
            since: in monotonic seconds; infinite: what stands still now.
        """
        return "" if self.other_hubs is None else self.other_hubs.stalled(since)

    def unanswered(self, older_than_s: float) -> list[Offer]:
        """The messages for which callers here have waited for longer than this many seconds, and wait on."""
        oldest = time.monotonic() - older_than_s
        offers = (offer for waiting in self._offers.values() for offer in waiting.values() if offer.left_s)
        return [one for one in offers if (call := self._calls.get(one.id)) is not None and call.begun_at <= oldest]

    def lines(self) -> list[Line]:
        """The lines that are open at this process."""
        return list(self._lines.values())

    # Lines -----------------------------------------------------------------------------------

    @contextmanager
    def line(self, agent: int, way: str, *, token: str, known: Collection[int] = ()) -> Iterator[Line]:
        """Open a line of an agent for as long as the context lasts; an older line of it is taken over.

        Args:
            agent: its primary key.
            way: ``poll`` or ``websocket``.
            token: the SHA-256 of the auth_token that opens it.
            known: the messages that the agent says it has.
        """
        line = Line(agent, way, token, frozenset(known), set(known))
        for call in (self._calls[number] for number in line.named if number in self._calls):
            call.named = True
        self._take_over(agent)
        self._lines[agent] = line
        line.news.set()
        if self.other_hubs is not None:
            self.other_hubs.opened(line)
        self.on_change(agent, line)
        try:
            yield line
        finally:
            if self._lines.get(agent) is line:
                del self._lines[agent]
                self._seen[agent] = (time.monotonic(), way)
                self.on_change(agent, None)

    def revoke(self, tokens: Collection[str], valid: Collection[str], at: float) -> None:
        """End the lines whose token is not valid any more.

        Args:
            tokens: the SHA-256 of the tokens that were looked up; a line that was opened meanwhile has another.
            valid: those of them that are valid.
            at: when they were looked up, in monotonic seconds.
        """
        self._valid_at = dict.fromkeys(valid, at)
        for line in self._lines.values():
            if line.token in tokens and line.token not in valid:
                line.revoked = True
                line.news.set()

    def let_go(self) -> None:
        """End every line: this process is cut off from the others, so nobody else's messages reach an agent here."""
        for line in self._lines.values():
            line.let_go = True
            line.news.set()

    def valid_at(self, token: str) -> float:
        """The time at which a token with an open line was last found valid; minus infinity if never."""
        return self._valid_at.get(token, -math.inf)

    def close(self) -> None:
        """End the polls, and let none wait any more."""
        self.closing = True
        for line in self._lines.values():
            line.news.set()

    def due(self, line: Line) -> list[Offer]:
        """Hand over what waits for a line and was not handed over on it yet, the oldest first."""
        line.news.clear()
        offers = [one for one in self._open_offers(line.agent) if one.id not in line.known]
        for offer in offers:
            line.known.add(offer.id)
            self._took(offer)
        return offers

    def waiting(self, agent: int) -> list[int]:
        """The ids of the messages that wait for an agent, handed over or not."""
        return [offer.id for offer in self._open_offers(agent)]

    def answer(self, agent: int, response: dict[str, Any]) -> bool:
        """Take an agent's JSON-RPC response to a message of its inbox.

        Returns whether somebody waits for it here, or the other processes were asked, one of which may wait. Anything
        else, such as a second answer or one to another agent's message, changes nothing.
        """
        number = response.get("id")
        if not isinstance(number, int) or isinstance(number, bool):
            return False
        offer = self._offers.get(agent, {}).get(number)
        if offer is None:
            # The caller may be at another process, which knows whose message it was.
            if self.other_hubs is None or not self._passes_on(agent, response):
                return False
            self.other_hubs.answered(number, agent, response)
            return True
        self._drop(number, agent)
        if number in self._calls:
            self._settle(number, response)
        elif self.other_hubs is not None:
            if (known := self._elsewhere.get(number)) is not None:
                known.answer = response
            self.other_hubs.answered(number, agent, response)
        return True

    # What other processes say ----------------------------------------------------------------

    def hear_offer(self, offer: Offer, *, again: bool = False) -> None:
        """A caller elsewhere offers a message, or asks whether it was taken; kept only if the agent has a line here.

        Args:
            offer: the message.
            again: the caller looks again. It hears once more what became of the message at this process.
        """
        known = self._elsewhere.setdefault(offer.id, _Elsewhere(offer.agent, offer.ends_at))
        known.ends_at = offer.ends_at
        if known.answer is not None:
            if self.other_hubs is not None:
                self.other_hubs.answered(offer.id, offer.agent, known.answer)
            return
        if again and known.taken:
            self._took(offer)
        if (line := self._lines.get(offer.agent)) is not None:
            if offer.id in line.known:
                self._took(offer, named=offer.id in line.named)
            self._offers.setdefault(offer.agent, {}).setdefault(offer.id, offer)
            self._wake_line(offer.agent)

    def hear_withdrawn(self, offer_id: int, agent: int) -> None:
        """A caller elsewhere waits no longer."""
        self._elsewhere.pop(offer_id, None)
        if offer_id not in self._calls:
            self._drop(offer_id, agent)

    def hear_taken(self, offer_id: int, *, named: bool) -> None:
        """A message of a caller here was handed over elsewhere, or its agent has named it there as one that it has."""
        if (call := self._calls.get(offer_id)) is not None:
            call.named |= named
            call.taken.set()

    def hear_answer(self, offer_id: int, agent: int, response: dict[str, Any]) -> None:
        """An agent answered elsewhere."""
        if offer_id in self._offers.get(agent, {}) and offer_id in self._calls:
            self._drop(offer_id, agent)
            self._settle(offer_id, response)

    def hear_opened(self, agent: int, way: str, at: float | None = None) -> list[Offer]:
        """An agent opened a line elsewhere: an older line of it here ends. Returns what callers here have for it.

        Args:
            agent: its primary key.
            way: ``poll`` or ``websocket``.
            at: when, in seconds; None from a process of an earlier version. Word of a line that was opened before the
                one here may come late: its agent has left that line since.
        """
        line = self._lines.get(agent)
        if line is not None and at is not None and at < line.opened_at:
            return []
        self._take_over(agent)
        if line is not None:
            self.on_change(agent, None)
        self._seen[agent] = (time.monotonic(), way)
        return [offer for offer in self._open_offers(agent) if offer.id in self._calls]

    def hear_open(self, ways: Mapping[int, str]) -> None:
        """Note the agents that have lines at other processes, and the ways of these lines."""
        self._seen.update({agent: (time.monotonic(), way) for agent, way in ways.items()})

    # Messages and lines ----------------------------------------------------------------------

    async def _has_it(self, offer: Offer, call: _Call) -> bool:
        """Whether the line on which a message was handed over is still there, or the agent has named the message."""
        if call.named:
            return True
        if (line := self._lines.get(offer.agent)) is not None:
            return offer.id in line.known
        if self.other_hubs is None:
            return False
        call.taken.clear()
        self.other_hubs.offered(replace(offer, ends_at=time.monotonic() + CONFIRM_S))
        return await _within(CONFIRM_S, call.taken.wait())

    def _next_id(self) -> int:
        """An id that no other message has: the time in microseconds; its lowest bits are random for each process."""
        now = time.time_ns() // 1000 >> _PROCESS_BITS
        self._last_id = max(self._last_id + 1, now)
        return self._last_id << _PROCESS_BITS | _PROCESS

    def _passes_on(self, agent: int, response: dict[str, Any]) -> bool:
        """Whether an answer is passed on to the other processes: an agent may send any number of made-up ones.

        The first answer to a message of theirs is passed on. Of others only a few small ones are: this process may have
        started after a message was offered, or an answer may have been lost on its way.
        """
        known = self._elsewhere.get(response["id"])
        if known is not None and known.agent == agent and known.answer is None:
            known.answer = response
            return True
        if len(rpc.dumps(response)) > MAX_STRAY_BYTES:
            return False
        now, times = time.monotonic(), self._strays.setdefault(agent, deque(maxlen=MAX_STRAYS))
        if len(times) == MAX_STRAYS and now - times[0] < STRAYS_INTERVAL_S:
            return False
        times.append(now)
        return True

    def _open_offers(self, agent: int) -> list[Offer]:
        """The messages that wait for an agent; those of callers elsewhere whose time is over are dropped."""
        offers, now = self._offers.get(agent, {}), time.monotonic()
        for over in [one.id for one in offers.values() if one.ends_at <= now and one.id not in self._calls]:
            self._drop(over, agent)
        return sorted(self._offers.get(agent, {}).values(), key=lambda one: one.id)

    def _drop(self, offer_id: int, agent: int) -> None:
        offers = self._offers.get(agent)
        if offers is not None:
            offers.pop(offer_id, None)
            if not offers:
                del self._offers[agent]

    def _wake_line(self, agent: int) -> None:
        if (line := self._lines.get(agent)) is not None:
            line.news.set()

    def _took(self, offer: Offer, *, named: bool = False) -> None:
        if (call := self._calls.get(offer.id)) is not None:
            call.taken.set()
        elif self.other_hubs is not None:
            if (known := self._elsewhere.get(offer.id)) is not None:
                known.taken = True
            self.other_hubs.taken(offer.id, named=named)

    def _settle(self, offer_id: int, response: dict[str, Any]) -> None:
        call = self._calls[offer_id]
        call.taken.set()
        if not call.answer.done():
            call.answer.set_result(response)

    def forget_old(self, after_s: float = max(LINGER_S, TAKEOVER_INTERVAL_S)) -> None:
        """Forget agents whose last line was closed so many seconds ago, and messages that are over.

        To be called now and then.
        """
        oldest = time.monotonic() - after_s
        if not self.stalled(oldest):
            self._seen = {agent: seen for agent, seen in self._seen.items() if seen[0] > oldest}
        self._takeovers = {agent: times for agent, times in self._takeovers.items() if times[-1] > oldest}
        self._strays = {agent: times for agent, times in self._strays.items() if times[-1] > oldest}
        now = time.monotonic()
        self._elsewhere = {number: one for number, one in self._elsewhere.items() if one.ends_at > now}

    def _take_over(self, agent: int) -> None:
        older = self._lines.pop(agent, None)
        if older is None:
            return
        older.taken_over = True
        older.news.set()
        metrics.INBOX_TAKEOVERS.inc()
        if self.stalled(older.begun_at):
            # The agent may have left this line for a newer one while the site could not hear of it: one program.
            return
        now, times = time.monotonic(), self._takeovers.setdefault(agent, deque(maxlen=CONTESTED_TAKEOVERS))
        times.append(now)
        if len(times) == CONTESTED_TAKEOVERS and now - times[0] <= TAKEOVER_INTERVAL_S:
            self.on_contest(agent)


async def _within(limit_s: float, work: Any) -> bool:
    """Whether some work was done within this many seconds."""
    try:
        async with asyncio.timeout(limit_s):
            await work
    except TimeoutError:
        return False
    return True


hub = Hub()
"""The hub of this process."""
