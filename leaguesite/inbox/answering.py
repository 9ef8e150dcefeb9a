"""What comes to an inbox over HTTP, answered on the event loop once it is known who asks (ruling, section 13).

Nothing here knows how the request came: through Django (``views``), or past it where the caller was known a moment ago
(``quick``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from league_sdk.protocol import rpc
from league_sdk.protocol.errors import InvalidFormat, LeagueError, TokenInvalid, TooOften
from league_sdk.protocol.inbox import GRACE_HEADER, LIMIT_HEADER, OUTCOME_HEADER, PATH_HEADER, Outcome, as_called
from league_sdk.protocol.limits import MAX_ANSWER_BYTES, MAX_JSON_DEPTH
from leaguesite.inbox import cursors
from leaguesite.inbox.admission import OPEN_LINES
from leaguesite.serving.refusals import refusal
from matches.inbox import calling
from matches.inbox.hub import hub
from matches.inbox.lines import Offer, SiteStalled, Terms

MAX_WAIT_S = 25.0
"""The longest wait of one poll: shorter than routers and proxies keep a silent connection."""
MAX_FIELDS = 10
"""How many fields the query of a poll may have."""
MAX_RESPONSES = 64
"""How many responses one POST may contain."""
MAX_DEPTH = MAX_JSON_DEPTH - 3
"""How deep a message may be nested: the answer to a poll has three levels around it."""
MAX_LIMIT_S = 120.0
"""The longest that a referee may have the league manager wait for one answer."""
_STALLED = rpc.dumps({"error": "A process of the site stands still; the agent may wait for its messages there."})


class TakenOver(InvalidFormat):
    """A newer line of the agent took this one over; it has to stop."""

    def __init__(self) -> None:
        super().__init__(
            "A newer poll or socket of this agent took over.",
            field="inbox",
            seen="two programs, or two polls at once, with this agent's auth_token",
            expected="one line for each agent: stop this one",
        )


@dataclass(frozen=True, slots=True)
class InboxRequest:
    """A request at an inbox.

    Attributes:
        method: GET or POST.
        query: the query string.
        headers: names in lower case.
    """

    method: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class InboxCaller:
    """The caller of an inbox, and the agent that the inbox belongs to.

    Attributes:
        agent: the primary key of the agent whose inbox it is.
        address: the IP address of the caller.
        token: the SHA-256 of the auth_token that opened the inbox; empty for a referee that delivers a message.
        seat: the seat of the match for which that referee calls.
    """

    agent: int
    address: str = ""
    token: str = ""
    seat: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of JSON."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> dict[str, str]:
        """All of its headers."""
        own = {"Content-Type": "application/json", "Content-Length": str(len(self.body)), "Cache-Control": "no-store"}
        return own | self.headers


def refused(error: LeagueError, status: int | None = None) -> Answer:
    """An error in the form that every error of the league manager has, under a status of HTTP."""
    if status is None:
        statuses = {TooOften: 429, TokenInvalid: 401, TakenOver: 409}
        status = next((status for kind, status in statuses.items() if isinstance(error, kind)), 400)
    headers = {"Retry-After": str(error.context.get("retry_after_s", 1))} if isinstance(error, TooOften) else {}
    return Answer(status, refusal(error), headers)


async def answer(caller: InboxCaller, request: InboxRequest) -> Answer:
    """Answer an agent at its inbox, or a referee that delivers a message for it."""
    try:
        rpc.check_http("", len(request.body), request.headers.get("content-encoding", ""))
        if not caller.token:
            return await _deliver(caller, request)
        if request.method != "GET":
            return Answer(200, rpc.dumps(take(caller.agent, rpc.loads(request.body))))
        query = _query(request.query)
        found = await poll(caller, wait=query.get("wait", ""), after=query.get("after", ""))
        return Answer(200, rpc.dumps(found))
    except LeagueError as error:
        return refused(error)


def seconds_of(value: Any, *, name: str, longest: float) -> float:
    """A number of seconds, or a text with one; the longest for an empty text or None."""
    try:
        seconds = -1.0 if isinstance(value, bool) else float(longest if value in ("", None) else value)
    except (ValueError, TypeError, OverflowError):
        seconds = -1.0
    if not seconds >= 0:
        expected = f"seconds from 0 to {longest:g}"
        raise InvalidFormat(f"{name} cannot be read.", field=name, seen=value, expected=expected)
    return min(seconds, longest)


def _query(text: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(text, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise InvalidFormat(
            "The query cannot be read.",
            field="query",
            seen=text,
            expected=f"wait and after; at most {MAX_FIELDS} fields",
        ) from None


async def poll(
    caller: InboxCaller, *, wait: Any, after: Any, name: str = "wait", responses: Any = None
) -> dict[str, Any]:
    """Open a line of an agent, and wait on it for messages.

    Args:
        caller: the agent.
        wait: for how many seconds at most, as it was sent; empty or None for the longest.
        after: the cursor, as it was sent; empty or None for an agent that has nothing.
        name: the name under which ``wait`` was sent, for the error.
        responses: the agent's responses, which :func:`take` takes before the line opens; None if it sent none.

    Returns ``messages`` and ``next``, and what :func:`take` says of the responses if there were any.

    Raises:
        InvalidFormat: something cannot be read; then no response was taken, and no older line taken over.
        TooOften: too many lines are open; the same.
        TakenOver: a newer line was opened meanwhile.
    """
    wait_s = seconds_of(wait, name=name, longest=MAX_WAIT_S)
    if not isinstance(after, str | None):
        raise InvalidFormat("after cannot be read.", field="after", seen=after, expected="next of the answer before")
    known = cursors.read(after or "")
    with OPEN_LINES.taken(caller.address):
        acknowledged = {} if responses is None else take(caller.agent, responses)
        with hub.line(caller.agent, "poll", token=caller.token, known=known) as line:
            offers = hub.due(line)
            try:
                async with asyncio.timeout(wait_s):
                    while not (offers or line.over or hub.closing):
                        await line.news.wait()
                        offers = hub.due(line)
            except TimeoutError:
                pass  # Nothing came: the answer is an empty list.
            if line.taken_over:
                raise TakenOver
            return _messages(offers, known, hub.waiting(caller.agent)) | acknowledged


def _messages(offers: Sequence[Offer], known: set[int], waiting: Sequence[int]) -> dict[str, Any]:
    """The answer to a poll; each cursor says that the agent has this message and those before it."""
    has = known.intersection(waiting)
    messages = []
    for offer in offers:
        has = has | {offer.id}
        one = {"cursor": cursors.write(has), **calling.deadline(offer), "request": offer.request}
        messages.append(one | {"http": offer.http})
    return {"messages": messages, "next": cursors.write(has)}


def take(agent: int, message: Any) -> dict[str, Any]:
    """Take responses of an agent: {"responses": [...]}, a list of them, or one alone.

    Returns how many were ``accepted``, and the ids of those for which nobody waits (``not_awaited``).

    Raises:
        InvalidFormat: they cannot be read; none was taken.
    """
    responses = message.get("responses", message) if isinstance(message, dict) else message
    responses = responses if isinstance(responses, list) else [responses]
    wrong = not responses or len(responses) > MAX_RESPONSES
    if wrong or not all(isinstance(one, dict) and "id" in one for one in responses):
        raise InvalidFormat(
            "The responses cannot be read.",
            field="responses",
            seen=message,
            expected=f'{{"responses": [...]}} with 1 to {MAX_RESPONSES} JSON-RPC responses, each with its id',
        )
    ids = [one["id"] for one in responses if not hub.answer(agent, one)]
    # Not an error: an answer may come too late, or twice.
    return {"accepted": len(responses) - len(ids), "not_awaited": ids}


async def _deliver(caller: InboxCaller, request: InboxRequest) -> Answer:
    message = rpc.loads(request.body)
    limit_s = seconds_of(request.headers.get(LIMIT_HEADER.lower(), ""), name=LIMIT_HEADER, longest=MAX_LIMIT_S)
    grace_s = seconds_of(request.headers.get(GRACE_HEADER.lower(), ""), name=GRACE_HEADER, longest=limit_s / 2)
    if not isinstance(message, dict):
        raise InvalidFormat("A message must be an object.", field="body", seen=message, expected="a JSON object")
    if not rpc.depth_ok(message, MAX_DEPTH):
        # With the levels around it, the agent could not read the answer to its poll, nor the other messages in it.
        expected = f"at most {MAX_DEPTH} levels"
        raise InvalidFormat("A message is nested too deep.", field="body", seen="more", expected=expected)
    http = as_called(path=request.headers.get(PATH_HEADER.lower(), ""), headers=request.headers)
    try:
        outcome, response = await calling.hand_over(caller.agent, message, Terms(limit_s, grace_s, http, caller.seat))
    except SiteStalled:
        # Without an outcome, a referee tries again, and at its limit blames the league and not the player.
        return Answer(503, _STALLED, {"Retry-After": "1"})
    body = rpc.dumps(response)
    if len(body) > MAX_ANSWER_BYTES:
        # An answer may be longer when it is encoded again: the number 1e15 is. The referee would not read it, and would
        # take that for our failure.
        outcome, body = Outcome.TOO_LARGE, b"{}"
    status = 200 if outcome is Outcome.ANSWERED else 504
    return Answer(status, body, {OUTCOME_HEADER: outcome.value})
