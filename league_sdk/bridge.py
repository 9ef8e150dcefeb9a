"""A bridge for an agent that nobody can call: it fetches the league's messages and hands them to the agent.

    python3 bridge.py --league http://192.168.1.20:8000/mcp --agent http://localhost:8101/mcp --name "My Agent"
    python3 bridge.py --league http://192.168.1.20:8000/mcp --listen 8000

The first registers for the agent. The second stands where the agent expects its league manager: it passes on whatever
the agent says, takes the address out of its registration, and relays from then on. The agent stays as it is.

The standard library of Python 3.9 or newer is enough: this file is also ``bridge.py`` of the starter kit. It speaks the
long poll of the league (docs/protocol.md, "Dialling out"; ruling, section 13).
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import getpass
import ipaddress
import json
import os
import queue
import random
import re
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, urljoin, urlsplit

MAX_ANSWER_BYTES = 60 * 1024
"""The league takes 64 KB at once; the rest is for what stands around an answer."""
MAX_BATCH = 60
"""Answers in one request; the league takes 64."""
MAX_NEWS_BYTES = 8 * 1024 * 1024
MAX_CALL_BYTES = 256 * 1024
"""The limit for a request of the agent to its league manager."""
POLL_S, CALL_S = 20.0, 20.0
"""How long a poll waits, and how long the league may take for any other answer."""
CONNECT_S = 4.0
"""How long a connection may take to open: if the network changes meanwhile, nothing else would end the attempt."""
BACKOFF_S, MAX_BACKOFF_S = 0.25, 15.0
OUT_CONNECTIONS, SLOW_S = 3, 1.5
"""How many connections deliver answers; an answer that takes longer than SLOW_S is sent on another one as well."""
SLEPT_S = 10.0
"""A clock that jumps this far belongs to a laptop that slept: its connections are dead, and may not report it."""
ORDER_S = 2.0
"""How long a message waits for the message before it to be sent to the agent, so that they arrive in order."""
MAX_KNOWN, MAX_AT_ONCE = 500, 64
"""Messages whose answers are kept, and those that are relayed at once: the league has no more for an agent."""
MCP_HEADER_PREFIX = "mcp-"
"""The prefix of MCP's headers, which are passed on in both directions."""
REPLY_HEADERS = ("content-type", "content-encoding", "retry-after", "allow")
"""The headers of the agent's replies that the league gets."""
PASSED_HEADERS = ("content-type", "accept", "authorization")
ANSWER_HEADERS = ("content-type", "retry-after", "www-authenticate")
"""The headers that are passed on when the agent calls its league manager: of its calls, and of the league's answers."""
TAKEN_OVER = (
    "Another program fetches this agent's messages now, with the same auth_token, so this one stops. If that was not "
    "you, register again with your personal code, or ask your instructor to revoke the token."
)
NOT_VALID = "The league does not know this agent's auth_token any more."
_SECRET = re.compile(
    r"""(tok_|bearer\s+|(?:token|secret|password|(?:registration|personal|access)_?code)[\\"']*\s*[:=]\s*[\\"']*)"""
    r"""[^\s"'\\,;&}]+""",
    re.IGNORECASE,
)
"""A token, or a value under the name of a secret. The group is what stands before the secret part, and is printed."""
_RANDOM = random.SystemRandom()
_SAYING = threading.Lock()
_AS_JSON = threading.Event()
"""Whether lines are printed as JSON."""


def say(text: str) -> None:
    """Print one line with the time; control characters of others are not printed, and no secrets."""
    plain = _SECRET.sub(r"\1…", "".join(c if c.isprintable() else " " for c in text))
    at = time.strftime("%H:%M:%S")
    line = json.dumps({"at": at, "text": plain}) if _AS_JSON.is_set() else f"{at} {plain}"
    encoding = sys.stdout.encoding or "utf-8"
    # Whatever becomes of the line, messages are relayed: some terminals have no Hebrew, and a pipe may be closed.
    with _SAYING, contextlib.suppress(OSError, ValueError):
        sys.stdout.write(f"{line}\n".encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()


def pause(failures: int, wake: threading.Event | None = None) -> None:
    """Wait longer after each failure, differently for each program, or until woken."""
    wake = wake or threading.Event()
    wake.wait(min(MAX_BACKOFF_S, BACKOFF_S * 2 ** min(failures, 10)) * _RANDOM.uniform(0.5, 1.0))
    wake.clear()


# -- HTTP -----------------------------------------------------------------------------------------------------


class Reply(NamedTuple):
    """What came back; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The decoded body; None if it is no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class NoReply(Exception):
    """No reply came: ``sent`` says whether the request may have arrived, ``late`` whether the time was over."""

    def __init__(self, problem: str, *, sent: bool, late: bool = False) -> None:
        super().__init__(problem)
        self.sent, self.late = sent, late


class Limits(NamedTuple):
    """Limits of one call: the seconds for all of it, the largest reply; ``sent`` is called once the request is out."""

    seconds: float
    max_bytes: int
    sent: Callable[[], None] = lambda: None


class Connection:
    """A connection that is kept between calls; one call at a time. No proxy is used and no redirect followed.

    Args:
        url: scheme, host and port of it are used.
        connect_s: the limit in seconds for opening it.
    """

    def __init__(self, url: SplitResult, *, connect_s: float = CONNECT_S) -> None:
        self._url, self._connect_s = url, connect_s
        self._lock = threading.Lock()
        self._open: HTTPConnection | None = None
        self._socket: socket.socket | None = None

    def call(self, verb: str, path: str, body: bytes | None, headers: Mapping[str, str], limits: Limits) -> Reply:
        """Send a request and read the reply.

        Raises:
            NoReply: no reply came; its text says why.
        """
        with self._lock:
            ends_at = time.monotonic() + limits.seconds
            while True:
                was_open = self._open is not None
                left = limits._replace(seconds=max(0.1, ends_at - time.monotonic()))
                try:
                    return self._call((verb, path, body), headers, left)
                except NoReply as error:
                    # Try again on a new connection if this one was kept open: the other side may have closed it while
                    # it was idle, which is seen only by using it.
                    if not was_open or error.late:
                        raise

    def _call(self, request: tuple[str, str, bytes | None], headers: Mapping[str, str], limits: Limits) -> Reply:
        ends_at, is_sent = time.monotonic() + limits.seconds, False
        connection, response = self._connection(limits.seconds), None
        # The timeout of a socket limits a single step: a peer that sends a byte now and then would never be late.
        alarm = threading.Timer(limits.seconds, self.drop)
        alarm.daemon = True
        alarm.start()
        try:
            if connection.sock is None:
                connection.connect()
            self._socket = sock = connection.sock
            if sock is None:
                raise ConnectionAbortedError("the connection was dropped")
            sock.settimeout(max(0.1, ends_at - time.monotonic()))
            connection.request(*request, {"Accept-Encoding": "identity", **headers})
            is_sent = True
            limits.sent()
            response = connection.getresponse()
            raw = _read(response, limits.max_bytes)
            reply_headers = {name.lower(): value for name, value in response.getheaders()}
            if time.monotonic() >= ends_at:
                raise TimeoutError
        except (OSError, HTTPException, ValueError) as error:
            self.drop()
            if response is not None:
                response.close()
            late = time.monotonic() >= ends_at or isinstance(error, TimeoutError)
            raise NoReply(_words(TimeoutError() if late else error), sent=is_sent, late=late) from None
        finally:
            alarm.cancel()
        if response.will_close or not response.isclosed():
            response.close()
            self.drop()
        return Reply(response.status, reply_headers, raw)

    def _connection(self, limit_s: float) -> HTTPConnection:
        if self._open is None:
            kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
            self._open = kind(self._url.hostname or "", self._url.port, timeout=min(limit_s, self._connect_s))
        return self._open

    def drop(self) -> None:
        """Close the connection; a call that is under way ends without a reply, unless it is still connecting."""
        connection, self._open = self._open, None
        sock, self._socket = self._socket, None
        with contextlib.suppress(OSError):
            if sock is not None:
                sock.shutdown(socket.SHUT_RDWR)
        if connection is not None:
            connection.close()


def _read(response: HTTPResponse, max_bytes: int) -> bytes:
    raw, events = bytearray(), str(response.getheader("Content-Type", "")).startswith("text/event-stream")
    while part := response.read1(65536):
        raw += part
        if len(raw) > max_bytes:
            raise ValueError(f"the reply is larger than {max_bytes} bytes")
        # Some servers leave their stream open after the answer.
        if events and raw.endswith((b"\n\n", b"\r\n\r\n")) and re.search(rb'"(result|error)"\s*:', raw):
            return bytes(raw)
    if response.length:
        raise ValueError("the reply broke off")
    return bytes(raw)


def _words(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(error, socket.gaierror):
        return "its name is not found"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__


# -- the agent ------------------------------------------------------------------------------------------------


class Server:
    """The agent's own server.

    Args:
        url: its address.
        hosts: where it is looked for; by default the host of the address.
    """

    def __init__(self, url: str, hosts: tuple[str, ...] = ()) -> None:
        parts = urlsplit(url)
        self.url, self.path, self.hosts = url, parts.path or "/mcp", hosts or (parts.hostname or "",)
        names = [f"[{host}]" if ":" in host else host for host in self.hosts]
        port = f":{parts.port}" if parts.port else ""
        self._urls = [parts._replace(netloc=f"{name}{port}") for name in names]

    def is_there(self) -> bool:
        """Whether somebody listens there."""
        for url in self._urls:
            with contextlib.suppress(OSError):
                port = url.port or (443 if url.scheme == "https" else 80)
                socket.create_connection((url.hostname or "", port), timeout=2).close()
                return True
        return False

    def ask(self, message: Mapping[str, Any], sent: Callable[[], None]) -> dict[str, Any] | None:
        """Hand a message of the inbox to the server; returns what to send back, None if it did not answer in time."""
        request, http = message["request"], _mapping(message.get("http"))
        number, call = request["id"], dict(request)
        del call["id"]
        if "id" in http:
            # The id as the sender of the message wrote it: by that it finds its answer in the agent's reply.
            call["id"] = http["id"]
        forwarded = _mapping(http.get("headers"))
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {name: str(value) for name, value in forwarded.items() if name.startswith(MCP_HEADER_PREFIX)}
        # The league may name another path of the agent, but cannot make a bridge call another host.
        path = str(http.get("path") or self.path)
        try:
            reply = self._call(path, json.dumps(call).encode(), headers, seconds_left(message), sent)
        except NoReply as error:
            if error.late and error.sent:
                return None
            return {"id": number, "http": {"problem": f"{self.url}: {error}", "sent": error.sent}}
        return {"id": number, "http": as_it_came(reply)}

    def _call(
        self, path: str, body: bytes, headers: Mapping[str, str], limit_s: float, sent: Callable[[], None]
    ) -> Reply:
        failure = NoReply("no address", sent=False)
        for url in self._urls:
            connection = Connection(url)
            try:
                return connection.call("POST", path, body, headers, Limits(limit_s, MAX_ANSWER_BYTES, sent))
            except NoReply as error:
                failure = error
                if error.sent:
                    break
            finally:
                connection.drop()
        raise failure


def hosts_of(address: str, caller: str) -> tuple[str, ...]:
    """The hosts at which to look for an agent that gave an address in a call from ``caller``; never a third machine."""
    if not is_own(caller):
        return (caller,)
    named = urlsplit(address).hostname or ""
    return tuple(dict.fromkeys([*([named] if is_own(named) else ()), caller, "127.0.0.1", "::1"]))


def is_own(host: str) -> bool:
    """Whether this is an IP address of this machine: only such a one can be bound."""
    with contextlib.suppress(OSError, ValueError):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((str(ipaddress.ip_address(host)), 0))
        return True
    return False


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def seconds_left(message: Mapping[str, Any]) -> float:
    """How long the league waits for the answer to a message."""
    left = message.get("seconds_left")
    return float(left) if isinstance(left, (int, float)) and 0 < left <= 600 else 30.0


def as_it_came(reply: Reply) -> dict[str, Any]:
    """A server's reply, for the league to read as if it had called the server itself."""
    headers = {
        name: value
        for name, value in reply.headers.items()
        if name in REPLY_HEADERS or name.startswith(MCP_HEADER_PREFIX)
    }
    fields: dict[str, Any] = {"status": reply.status, "headers": headers}
    try:
        return {**fields, "body": reply.body.decode()}
    except UnicodeDecodeError:
        return {**fields, "base64": base64.b64encode(reply.body).decode()}


def summary_of(raw: Any) -> str:
    """The beginning of an answer, without the fields that all answers have."""
    body = raw
    if isinstance(body, Mapping):
        body = body.get("result") or body.get("error") or body
    if isinstance(body, Mapping):
        envelope = {"protocol", "sender", "timestamp", "conversation_id", "auth_token", "player_id", "jsonrpc", "id"}
        body = {name: value for name, value in body.items() if name not in envelope}
    return (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False))[:160]


# -- the connections to the league ----------------------------------------------------------------------------


class Outbox:
    """Answers of one agent on their way to the league.

    On a bad network a request may take seconds, and no answer should wait behind it: each request takes along the other
    answers that wait, and an answer that takes long is sent on another connection, too. The league counts it once.

    Args:
        name: the name of the agent, for the lines that are printed.
        league: the league's address.
        path: the path of the inbox.
        headers: the headers of every request.
        stopped: set when nothing is to be delivered any more.
    """

    def __init__(
        self, name: str, league: SplitResult, path: str, headers: Mapping[str, str], stopped: threading.Event
    ) -> None:
        self._name, self._path, self._stopped = name, path, stopped
        self._headers = {**headers, "Content-Type": "application/json"}
        self._connections = [Connection(league) for _ in range(OUT_CONNECTIONS)]
        # The connection that was used last is used next: the others are needed only when it is slow.
        self._free: queue.LifoQueue[Connection] = queue.LifoQueue()
        for connection in self._connections:
            self._free.put(connection)
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[float, bytes]] = {}

    def deliver(self, answer: dict[str, Any], seconds: float) -> None:
        """Deliver an answer; returns when the league has it or does not want it, or when the time is over."""
        number, raw = answer["id"], json.dumps(answer).encode()
        if len(raw) > MAX_ANSWER_BYTES:
            problem = f"its answer is larger than {MAX_ANSWER_BYTES} bytes"
            raw = json.dumps({"id": number, "http": {"problem": problem, "sent": True}}).encode()
        with self._lock:
            self._waiting[number] = (time.monotonic() + seconds, raw)
        slow = threading.Timer(SLOW_S, self._carry_again, (number,))
        slow.daemon = True
        slow.start()
        failures = 0
        while self._seconds_left(number) and not self._carry(number):
            failures += 1
            pause(failures)
        slow.cancel()

    def reset(self) -> None:
        """Open new connections."""
        for connection in self._connections:
            connection.drop()

    def _seconds_left(self, number: int) -> float:
        """Seconds that an answer still has; 0 if it is on its way no more."""
        with self._lock:
            left = self._waiting.get(number, (0.0, b""))[0] - time.monotonic()
            if left <= 0 or self._stopped.is_set():
                self._waiting.pop(number, None)
                return 0.0
            return left

    def _carry_again(self, number: int) -> None:
        if self._seconds_left(number):
            self._carry(number)

    def _carry(self, number: int) -> bool:
        """Carry an answer to the league, and as many others as fit; returns whether that is settled.

        It is not if the league did not answer, or answered with HTTP 429 or 5xx: then it is tried again.
        """
        try:
            connection = self._free.get(timeout=self._seconds_left(number))
        except queue.Empty:
            return False
        try:
            batch = self._batch(number)
            if not batch:
                return False
            body = b'{"responses": [' + b", ".join(batch.values()) + b"]}"
            reply = connection.call("POST", self._path, body, self._headers, Limits(CALL_S, MAX_CALL_BYTES))
        except NoReply:
            return False
        finally:
            self._free.put(connection)
        if reply.status == 429 or not 200 <= reply.status < 500:
            return False
        with self._lock:
            delivered = [taken for taken in batch if self._waiting.pop(taken, None)]
        if reply.status != 200:
            say(f"{self._name}: the league did not take the answer: {reason(reply)}")
        late = _mapping(reply.json()).get("not_awaited") or []
        for _number in set(delivered).intersection(late if isinstance(late, list) else []):
            say(f"{self._name}: that answer came too late")
        return True

    def _batch(self, number: int) -> dict[int, bytes]:
        """The answers that go together, by the numbers of their messages; this one first."""
        now, size = time.monotonic(), 0
        batch: dict[int, bytes] = {}
        with self._lock:
            for waiting_number in (number, *self._waiting):
                ends_at, raw = self._waiting.get(waiting_number, (0.0, b""))
                room = len(batch) < MAX_BATCH and size + len(raw) <= MAX_ANSWER_BYTES
                if ends_at > now and waiting_number not in batch and room:
                    batch[waiting_number], size = raw, size + len(raw)
        return batch


class Relay:
    """Fetches the messages of one agent and delivers its answers, until it is stopped or taken over, or
    until the league does not know its token any more.

    Args:
        name: the name of the agent, for the lines that are printed.
        league: the league's address; the inbox is at the same host.
        inbox: path of the inbox.
        token: the agent's auth_token.
        server: the agent's own, which answers the messages.
    """

    def __init__(self, name: str, league: SplitResult, inbox: str, token: str, server: Server) -> None:
        self.name, self.server, self.token = name, server, token
        self._stopped = threading.Event()
        self._inbox, self._headers = inbox, {"Authorization": f"Bearer {token}"}
        self._polling, self._out = Connection(league), Outbox(name, league, inbox, self._headers, self._stopped)
        self._wake, self._lock, self._last_sent = threading.Event(), threading.Lock(), threading.Event()
        self._last_sent.set()
        self._answers: OrderedDict[int, dict[str, Any] | None] = OrderedDict()
        self._room = threading.BoundedSemaphore(MAX_AT_ONCE)

    def run(self) -> str:
        """Poll until the line ends for good; returns why, in a sentence, or nothing if it was stopped."""
        try:
            return self._poll()
        finally:
            self._polling.drop()

    def _poll(self) -> str:
        after, failures = "", 0
        while not self._stopped.is_set():
            try:
                path = f"{self._inbox}?wait={POLL_S:g}&after={quote(after, safe='')}"
                reply = self._polling.call("GET", path, None, self._headers, Limits(POLL_S + 10, MAX_NEWS_BYTES))
                problem = f"it answered with HTTP {reply.status}"
            except NoReply as error:
                reply, problem = Reply(0, {}, b""), str(error)
            news = reply.json() if reply.status == 200 else None
            if isinstance(news, dict) and isinstance(news.get("messages"), list):
                if failures > 1:
                    say(f"{self.name}: the league is there again.")
                failures, after = 0, str(news.get("next", ""))
                for message in news["messages"]:
                    self.take(message)
            elif self._stopped.is_set():
                break
            elif reply.status in (401, 409):
                return NOT_VALID if reply.status == 401 else TAKEN_OVER
            else:
                failures += 1
                if failures == 2:
                    say(f"{self.name}: the league cannot be reached ({problem}); trying again until it can.")
                pause(failures, self._wake)
        return ""

    def take(self, message: Any) -> None:
        """Relay a message, unless it is known: the league may offer one twice."""
        request = _mapping(_mapping(message).get("request"))
        number = request.get("id")
        if not isinstance(number, int):
            say(f"{self.name}: what came from the league cannot be read: {message!r:.100}")
            return
        with self._lock:
            known = number in self._answers
            answer = self._answers.setdefault(number, None)
            previous_sent, sent = self._last_sent, threading.Event()
            if not known:
                self._last_sent = sent
            while len(self._answers) > MAX_KNOWN:
                self._answers.popitem(last=False)
        if not known:
            self._in_thread(self._relay, message, previous_sent, sent)
        elif answer is not None:
            # It was offered again because the answer was lost.
            self._in_thread(self._out.deliver, answer, seconds_left(message))

    def _in_thread(self, work: Callable[..., None], *arguments: Any) -> None:
        def run() -> None:
            try:
                work(*arguments)
            finally:
                self._room.release()

        self._room.acquire()
        threading.Thread(target=run, daemon=True).start()

    def _relay(self, message: Mapping[str, Any], previous_sent: threading.Event, sent: threading.Event) -> None:
        request, begun = message["request"], time.monotonic()
        fields = _mapping(request.get("params")) or request
        what = f"{fields.get('message_type') or request.get('method')} {fields.get('match_id') or ''}".strip()
        previous_sent.wait(ORDER_S)
        try:
            answer = self.server.ask(message, sent.set)
        finally:
            sent.set()
        took = f"{(time.monotonic() - begun) * 1000:.0f} ms"
        if answer is None:
            say(f"{self.name}: {what} -> your agent took it and did not answer in time ({took})")
            return
        http = answer["http"]
        if "problem" in http:
            say(f"{self.name}: {what} -> your agent did not answer: {http['problem']}")
        else:
            body = http.get("body", "(no text)")
            with contextlib.suppress(ValueError, RecursionError):
                body = json.loads(body)
            say(f"{self.name}: {what} -> HTTP {http['status']} {summary_of(body)} ({took})")
        with self._lock:
            self._answers[request["id"]] = answer
        self._out.deliver(answer, seconds_left(message))

    def reset(self) -> None:
        """The network has changed, or the machine slept: open new connections at once."""
        self._polling.drop()
        self._out.reset()
        self._wake.set()

    def stop(self) -> None:
        """End :meth:`run`."""
        self._stopped.set()
        self.reset()


def outward_address() -> str:
    """This machine's address in its network; empty if it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return ""


def moved(readings: Iterator[tuple[float, str]]) -> Iterator[bool]:
    """For each reading of clock and address after the first: whether the machine slept or its network changed."""
    before, old_address = next(readings)
    for now, address in readings:
        yield now - before > SLEPT_S or address != old_address
        before, old_address = now, address


# -- registering ----------------------------------------------------------------------------------------------

_KINDS = dict.fromkeys(
    [
        *("contactendpoint", "endpoint", "endpointurl", "callbackurl", "contacturl", "url", "address", "agenturl"),
        *("playerendpoint", "agentendpoint", "playerurl", "callbackendpoint", "callback", "mcpendpoint", "mcpurl"),
        *("serverurl", "baseurl", "webhookurl", "uri"),
    ],
    "address",
)
_KINDS |= dict.fromkeys(("host", "hostname", "ip", "ipaddress"), "host")
_KINDS |= dict.fromkeys(("port", "listenport", "serverport"), "port")
"""The part of an address that a field holds, by the plain name of the field."""
_NAMES = (
    *("displayname", "name", "playername", "agentname", "teamname", "nickname", "username", "sender"),
    *("agentid", "playerid"),
)
"""Plain names of the fields that may hold an agent's name, the likeliest first."""
_REGISTERS = re.compile("regist|sign.?up|enrol|join.?league", re.IGNORECASE)
"""In names of methods, messages and paths: what registers a player."""
_MAX_DEPTH = 8


class Passed(NamedTuple):
    """A registration without the agent's address: what is passed on, the address, and the agent's name."""

    body: Any
    address: str
    name: str


def _plain(name: Any) -> str:
    """The name of a field without hyphens and underscores, in lower case."""
    return str(name).replace("_", "").replace("-", "").lower()


def _unpacked(value: Any) -> Any:
    """JSON that stands in a string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every object in a value, the outer ones first, also in strings that hold JSON."""
    value = _unpacked(value)
    if depth > _MAX_DEPTH or not isinstance(value, (dict, list)):
        return
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _objects(inner, depth + 1)


def found(value: Any, *names: str) -> str:
    """The first text under one of these names, wherever it stands."""
    for name in names:
        for fields in _objects(value):
            for key, text in fields.items():
                if _plain(key) == name and isinstance(text, str) and text:
                    return text
    return ""


def registers(path: str, body: Any) -> bool:
    """Whether a call registers a player, in whatever shape."""
    names = [str(fields.get(name)) for fields in _objects(body) for name in ("method", "message_type", "type", "name")]
    return any(_REGISTERS.search(text) and "referee" not in text.lower() for text in (path.rsplit("/", 1)[-1], *names))


def without_address(body: Any, token: str = "") -> Passed | None:
    """A registration as it is passed on: without an address, fetching its messages, with the token if it has none.

    Returns None if it holds no address.
    """
    parts: dict[str, str] = {}
    changed = _take_out_address(body, parts, token)
    if not parts:
        return None
    address = parts.get("address") or parts.get("host", "localhost")
    if ":" not in address and "port" in parts:
        path = found(body, "path")
        address += f":{parts['port']}" + (path and f"/{path.lstrip('/')}")
    if "://" not in address:
        address = f"http://{address}"
    return Passed(changed, address, parts["name"] or found(body, *_NAMES) or address)


def _take_out_address(value: Any, parts: dict[str, str], token: str, depth: int = 0) -> Any:
    """The value without the parts of an address, which are put into ``parts``; the first object that had one gets
    ``delivery`` and the token."""
    inner = _unpacked(value)
    if depth > _MAX_DEPTH:
        return value
    if isinstance(inner, list):
        return [_take_out_address(item, parts, token, depth + 1) for item in inner]
    if not isinstance(inner, dict):
        return value
    fields, first = {}, not parts
    for key, item in inner.items():
        kind = _KINDS.get(_plain(key), "")
        if not kind or isinstance(item, (dict, list)):
            fields[key] = item
        elif isinstance(item, (str, int)) and str(item):
            parts.setdefault(kind, str(item))
    if first and parts:
        fields["delivery"] = "poll"
        parts["name"] = next((str(item) for name in _NAMES for key, item in fields.items() if _plain(key) == name), "")
        if token and not fields.get("auth_token"):
            fields["auth_token"] = token
    changed = {key: _take_out_address(item, parts, token, depth + 1) for key, item in fields.items()}
    return json.dumps(changed) if isinstance(value, str) else changed


def reason(reply: Reply) -> str:
    """Why the league refused, in its own words."""
    body = reply.json()
    return found(body, "reason") or found(body, "message", "detail", "error") or f"HTTP {reply.status}"


class Tokens:
    """The auth_tokens in a small file that only its owner reads.

    Args:
        file: where; made when the first token is kept.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def of(self, league: str, name: str) -> dict[str, str]:
        """What is kept of an agent of a league: token, agent and inbox; empty if nothing is."""
        return self.all(league).get(name, {})

    def all(self, league: str) -> dict[str, dict[str, str]]:
        """What is kept of each agent of a league, by name."""
        stored = self._read().get(league)
        return {
            name: facts for name, facts in _mapping(stored).items() if isinstance(facts, dict) and facts.get("token")
        }

    def keep(self, league: str, name: str, **facts: str) -> None:
        """Keep what came with a registration."""
        with self._lock:
            stored = self._read()
            stored[league] = {**_mapping(stored.get(league)), name: facts}
            new = self._file.with_name(f"{self._file.name}.new")
            with contextlib.suppress(FileNotFoundError):
                new.unlink()
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
                json.dump(stored, out, indent=2)
            new.replace(self._file)

    def _read(self) -> dict[str, Any]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}


# -- the bridge -----------------------------------------------------------------------------------------------


def read_address(text: str) -> SplitResult:
    """Read an address of the command line, ``http://`` may be left out.

    Raises:
        ValueError: it is none.
    """
    is_usable = False
    with contextlib.suppress(ValueError):
        # A port that is none raises ValueError when it is read.
        parts = urlsplit(text if "://" in text else f"http://{text}")
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    if not is_usable or not text.isprintable() or " " in text:
        raise ValueError(f"{text!r:.100} is not an address such as http://127.0.0.1:8000/mcp")
    return parts


class Bridge:
    """The relays of one program, and how its agents come into the league.

    Args:
        league: the address of the league's MCP endpoint.
        tokens: where auth_tokens are kept.
    """

    def __init__(self, league: str, tokens: Tokens) -> None:
        parts = read_address(league)
        self.league = parts if parts.path.strip("/") else parts._replace(path="/mcp")
        self.tokens = tokens
        self.server: Server | None = None
        """The server of every agent, if the command line has its address."""
        self._relays: dict[str, Relay] = {}
        self._lock = threading.Lock()

    def passed_path(self, target: str) -> str:
        """The path at the league for a request that the agent sends to a path of its league manager."""
        path, mark, query = target.partition("?")
        last = path.rstrip("/").rsplit("/", 1)[-1]
        if path.startswith("/leagues/"):
            return target
        if last in ("", "mcp"):
            return self.league._replace(scheme="", netloc="", query=query or self.league.query).geturl()
        relative = "register" if "regist" in last else path.lstrip("/")
        return urlsplit(urljoin(self.league.geturl(), relative)).path + mark + query

    def call(self, verb: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        """Call the league once."""
        connection = Connection(self.league)
        try:
            return connection.call(verb, target, body, headers, Limits(CALL_S, MAX_NEWS_BYTES))
        finally:
            connection.drop()

    def admitted(self, name: str, reply: Reply, server: Server) -> Relay | None:
        """The relay of an agent whose registration was answered; None if it was not accepted."""
        body = reply.json()
        token = found(body, "authtoken")
        if reply.status >= 400 or not token:
            say(f"{name}: the league did not accept the registration: {reason(reply)}")
            return None
        poll_path = re.match(r"https?://[^/]*(/[\w./~-]*)", found(body, "pollurl"), re.ASCII)
        inbox = poll_path[1] if poll_path else "/inbox"
        try:
            hosts = " ".join(server.hosts)
            self.tokens.keep(self.key, name, token=token, inbox=inbox, agent=server.url, hosts=hosts)
        except OSError as error:
            say(f"{name}: its auth_token cannot be kept ({error}). Give another file with --tokens.")
        say(f"{name}: registered as {found(body, 'playerid') or 'a player'}; its messages are relayed to {server.url}.")
        if not server.is_there():
            say(f"{name}: nobody listens at {server.url} yet: start your agent.")
        return self.relay(name, inbox, token, server)

    def relay(self, name: str, inbox: str, token: str, server: Server) -> Relay:
        """A relay for an agent, in place of an earlier one."""
        relay = Relay(name, self.league, inbox, token, server)
        with self._lock:
            earlier, self._relays[name] = self._relays.get(name), relay
        if earlier is not None:
            earlier.stop()
        return relay

    def resume(self) -> None:
        """Relay again for agents that registered through an earlier run and are still there."""
        for name, stored in self.tokens.all(self.key).items():
            server = self.server or Server(stored.get("agent", ""), tuple(stored.get("hosts", "").split()))
            if server.is_there():
                say(f"{name}: relayed again to {server.url}.")
                self.begin(self.relay(name, stored.get("inbox", "/inbox"), stored["token"], server))

    def begin(self, relay: Relay) -> None:
        """Run a relay beside others."""

        def run() -> None:
            if why := relay.run():
                say(f"{relay.name}: {why}{' Start your agent again to register it.' if why == NOT_VALID else ''}")

        threading.Thread(target=run, daemon=True).start()

    def reset(self) -> None:
        """The network has changed, or the machine slept."""
        with self._lock:
            relays = list(self._relays.values())
        for relay in relays:
            relay.reset()

    @property
    def key(self) -> str:
        """The league's name among the tokens."""
        return self.league._replace(query="").geturl()

    def register(self, name: str, games: list[str], code: str) -> Relay | None:
        """Register an agent that is relayed to :attr:`server`; None if the league refused."""
        assert self.server is not None  # noqa: S101
        meta: dict[str, Any] = {"display_name": name, "version": "1.0.0", "game_types": games, "delivery": "poll"}
        params: dict[str, Any] = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{name}",
            "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: UP017 - Python 3.9, too
            "conversation_id": "conv-registration",
            "player_meta": {**meta, **({"registration_code": code} if code else {})},
        }
        if token := self.tokens.of(self.key, name).get("token"):
            params["auth_token"] = token
        body = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}).encode()
        failures = 0
        while True:
            try:
                reply = self.call("POST", self.passed_path("/mcp"), body, {"Content-Type": "application/json"})
                problem = f"it answered with HTTP {reply.status}" if reply.status in (429, 502, 503, 504) else ""
            except NoReply as error:
                reply, problem = Reply(0, {}, b""), str(error)
            if not problem:
                return self.admitted(name, reply, self.server)
            failures += 1
            if failures == 1:
                say(f"The league at {self.key} cannot be reached ({problem}); trying again until it can.")
            pause(failures)


class Manager(ThreadingHTTPServer):
    """Stands where agents expect their league manager.

    Args:
        address: host and port to listen at.
        bridge: passes on what agents say.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], bridge: Bridge) -> None:
        self.bridge = bridge
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Call)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: an agent hung up, which is its own affair."""


class _Call(BaseHTTPRequestHandler):
    """One call of an agent to its league manager."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    server: Manager

    def _pass_on(self) -> None:
        raw = self._body()
        if raw is None:
            self.close_connection = True
            self._send(Reply(413, {}, b'{"error": "The bridge takes calls of up to 256 KB."}'))
            return
        if self.headers.get("Origin"):
            # A page in a browser of this machine is not an agent.
            self._send(Reply(403, {}, b'{"error": "The bridge serves agents, not pages."}'))
            return
        bridge, relay = self.server.bridge, None
        named = {name.lower(): value for name, value in self.headers.items()}
        headers = {
            name: value for name, value in named.items() if name in PASSED_HEADERS or name.startswith(MCP_HEADER_PREFIX)
        }
        try:
            passed = self._registration(raw)
            body = raw if passed is None else json.dumps(passed[0].body).encode()
            reply = bridge.call(self.command, bridge.passed_path(self.path), body or None, headers)
            if passed is not None:
                relay = bridge.admitted(passed[0].name, reply, passed[1])
        except NoReply as error:
            say(f"What your agent said could not be passed on: the league at {bridge.league.netloc}: {error}")
            reply = Reply(502, {}, json.dumps({"error": f"The league cannot be reached: {error}"}).encode())
        self._send(reply)
        if relay is not None:
            # Only now that the agent has the answer: else it could be asked before it knows its id.
            bridge.begin(relay)

    do_GET = do_POST = _pass_on  # noqa: N815 - so the library calls them

    def _body(self) -> bytes | None:
        """The body, with its length given or in chunks; None if it is too large, or neither."""
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            length = self.headers.get("Content-Length", "0")
            return self.rfile.read(int(length)) if length.isdecimal() and int(length) <= MAX_CALL_BYTES else None
        raw = b""
        while digits := re.match(rb"[0-9a-fA-F]{1,6}(?=[;\s])", self.rfile.readline(1000)):
            size = int(digits[0], 16)
            if not size:
                while self.rfile.readline(1000).strip():
                    pass
                return raw
            if len(raw) + size > MAX_CALL_BYTES:
                return None
            raw += self.rfile.read(size)
            self.rfile.readline(10)
        return None

    def _registration(self, raw: bytes) -> tuple[Passed, Server] | None:
        """What is passed on of a registration, and where the agent is; None of any other call."""
        body = Reply(200, {}, raw).json()
        passed = without_address(body) if registers(self.path.partition("?")[0], body) else None
        if passed is None:
            return None
        try:
            hosts = hosts_of(passed.address, str(self.client_address[0]))
            server = self.server.bridge.server or Server(passed.address, hosts)
        except ValueError:
            # The league says what is wrong with such an address.
            return None
        return without_address(body, self._token(passed.name, server)) or passed, server

    def _token(self, name: str, server: Server) -> str:
        """The token of the agent that comes back under this name; empty if the caller may be somebody else."""
        stored = self.server.bridge.tokens.of(self.server.bridge.key, name)
        if not stored or not is_own(str(self.client_address[0])):
            return ""
        # An agent may have another port after a restart, but not while something still listens at its first one.
        elsewhere = stored.get("agent") != server.url and Server(stored.get("agent", ""), server.hosts).is_there()
        return "" if elsewhere else stored["token"]

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            if name in ANSWER_HEADERS or name.startswith(MCP_HEADER_PREFIX):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *args: Any) -> None:
        """Print nothing: what matters is said in sentences."""


# -- the command line -----------------------------------------------------------------------------------------

ABOUT = """\
Relays for an agent that the league cannot call: behind a router, a firewall or a guest network. The agent stays as it
is. With --agent alone the bridge registers for it; with --listen it stands where the agent expects its league manager
and passes the agent's own registration on. Leave it running while the league is played."""
EXAMPLES = """\
examples:
  %(prog)s --league http://192.168.1.20:8000/mcp --agent http://localhost:8101/mcp --name "My Agent"
  %(prog)s --league http://192.168.1.20:8000/mcp --listen 8000

The auth_token is kept in --tokens, so that the same agent comes back when the bridge is started again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the bridge."""
    parser.add_argument("--league", required=True, metavar="URL", help="the league's address, from its join page")
    parser.add_argument("--agent", metavar="URL", help="where your agent listens, such as http://localhost:8101/mcp")
    parser.add_argument("--name", default="", help="register under this name (default: your user's agent)")
    parser.add_argument("--code", default="", help="your code, if the league asks for one")
    parser.add_argument("--game", action="append", help="a game it plays; may be given again (default: even_odd)")
    parser.add_argument(
        "--listen",
        metavar="PORT",
        action="append",
        default=[],
        help="stand in for the agent's league manager at this port, such as 8000; may be given again, for more ports",
    )
    parser.add_argument(
        "--tokens", type=Path, default=Path("league_bridge.json"), metavar="FILE", help="default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print each line as JSON")


def run(options: argparse.Namespace) -> int:
    """Relay until it is over.

    Returns the exit code: 1 if the league refused the agent or another program fetches its messages now, 2 if the
    command line cannot be used.
    """
    if options.json:
        _AS_JSON.set()
    if not (options.agent or options.listen):
        say("Give --agent, such as http://localhost:8101/mcp, or --listen, such as 8000.")
        return 2
    try:
        bridge = Bridge(options.league, Tokens(options.tokens))
        if options.agent:
            bridge.server = Server(read_address(options.agent).geturl())
        for place in options.listen:
            listen(bridge, place)
    except (OSError, ValueError) as error:
        say(f"The command line cannot be used: {error}. Is the port free, and the address complete?")
        return 2
    threading.Thread(target=watch, args=(bridge, _readings()), daemon=True).start()
    if options.listen:
        bridge.resume()
        while True:
            time.sleep(3600)
    name = options.name or f"{getpass.getuser()}'s agent"
    about = (bridge, name, options.game or ["even_odd"], options.code)
    working = threading.Thread(target=_relay_one, args=about, daemon=True)
    working.start()
    while working.is_alive():
        # Short waits: on Windows Ctrl-C ends no other one.
        working.join(0.5)
    return 1


def _relay_one(bridge: Bridge, name: str, games: list[str], code: str) -> None:
    while (relay := bridge.register(name, games, code)) is not None:
        why = relay.run()
        say(f"{name}: {why}")
        if why != NOT_VALID:
            return


def listen(bridge: Bridge, place: str) -> list[Manager]:
    """Stand in for the league manager at a port of this machine, ``8000`` or ``HOST:8000``; returns the servers.

    Raises:
        OSError, ValueError: the port cannot be used.
    """
    host, _colon, port = place.rpartition(":")
    number = int(port)
    if not 0 <= number <= 65535:
        raise ValueError(f"{number} is not a port, which is a number up to 65535")
    servers = [Manager((host or "127.0.0.1", number), bridge)]
    if not host:
        # For some programs localhost is ::1.
        with contextlib.suppress(OSError):
            servers.append(Manager(("::1", servers[0].server_port), bridge))
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    say(f"Standing in for the league manager at http://localhost:{servers[0].server_port}: start your agent with it.")
    return servers


def watch(bridge: Bridge, readings: Iterator[tuple[float, str]]) -> None:
    """Connect again whenever readings of clock and address show that the machine slept or its network has changed."""
    for has_moved in moved(readings):
        if has_moved:
            say("This machine slept, or its network has changed: connecting again.")
            bridge.reset()


def _readings() -> Iterator[tuple[float, str]]:
    """Clock and address of this machine, once a second."""
    while True:
        yield time.time(), outward_address()
        time.sleep(1.0)


def main() -> int:
    """Read the command line and relay; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="bridge.py", description=ABOUT, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    try:
        return run(parser.parse_args())
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
