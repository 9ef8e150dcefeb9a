"""Hostile HTTP: silence, floods, wrong lengths, broken connections."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib

from tests.bots.base import Call, Talk, head
from tests.bots.hostile.base import JOIN, behaviour, message, result

KIB = 1024
DRIP_S = 0.01
BOMB = gzip.compress(b" " * 10 * KIB * KIB)
FLOOD = b"[" + b"0," * (512 * KIB - 1) + b"\n"


def good(call: Call) -> bytes:
    """The body of a good answer."""
    return result(call, message(call))


# -- time -------------------------------------------------------------------------------------------------


@behaviour(at=JOIN)
async def silent_when_invited(talk: Talk, call: Call) -> None:
    """Receives the invitation and never answers."""
    await talk.stay_silent()


@behaviour()
async def silent(talk: Talk, call: Call) -> None:
    """Receives the call for its choice and never answers."""
    await talk.stay_silent()


@behaviour()
async def header_byte_by_byte(talk: Talk, call: Call) -> None:
    """Sends a header that never ends, a byte at a time."""
    await talk.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await talk.send(b"x")
        await asyncio.sleep(DRIP_S)


@behaviour()
async def body_byte_by_byte(talk: Talk, call: Call) -> None:
    """Sends white space without end, a byte at a time, instead of a body."""
    await talk.send(head(32 * KIB))
    while True:
        await talk.send(b" ")
        await asyncio.sleep(DRIP_S)


@behaviour()
async def receipt_and_nothing_more(talk: Talk, call: Call) -> None:
    """Replies 202 as if it answered by a callback, and never does."""
    await talk.say(result(call, {"status": "RECEIVED"}), status="202 Accepted")


@behaviour()
async def stream_that_stays_open(talk: Talk, call: Call) -> None:
    """Keeps an event stream open with comments and never answers."""
    await talk.send(head(None, kind="text/event-stream"))
    while True:
        await talk.send(b": still thinking\n\n")
        await asyncio.sleep(DRIP_S)


@behaviour()
async def goes_on_with_100_continue(talk: Talk, call: Call) -> None:
    """Sends 100 Continue again and again and never answers."""
    while True:
        await talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await asyncio.sleep(DRIP_S)


@behaviour()
async def length_too_long(talk: Talk, call: Call) -> None:
    """A good answer with a Content-Length that is one too large, on a connection that stays open."""
    body = good(call)
    await talk.send(head(len(body) + 1) + body)
    await talk.stay_silent()


# -- size -------------------------------------------------------------------------------------------------


@behaviour()
async def endless_body(talk: Talk, call: Call) -> None:
    """A body without a Content-Length and without an end."""
    await talk.send(head(None))
    while True:
        await talk.send(b" " * 64 * KIB)


@behaviour()
async def hundred_megabytes(talk: Talk, call: Call) -> None:
    """A body of 100 MB."""
    await talk.send(head(100 * KIB * KIB))
    for _ in range(100):
        await talk.send(FLOOD)


@behaviour()
async def gzip_bomb(talk: Talk, call: Call) -> None:
    """Ten kilobytes that unpack to ten megabytes."""
    await talk.say(BOMB, more="Content-Encoding: gzip\r\n")


@behaviour()
async def gzip_of_nothing(talk: Talk, call: Call) -> None:
    """A gzip body without end that unpacks to no byte at all."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    nothing = packer.compress(b"") + b"".join(packer.flush(zlib.Z_SYNC_FLUSH) for _ in range(2))
    empty_block = b"\x00\x00\x00\xff\xff"
    await talk.send(head(None, more="Content-Encoding: gzip\r\n") + nothing)
    while True:
        await talk.send(empty_block * 4 * KIB)


@behaviour()
async def endless_header(talk: Talk, call: Call) -> None:
    """A header line without end, sent fast."""
    await talk.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        await talk.send(b"x" * 64 * KIB)


@behaviour()
async def ten_thousand_headers(talk: Talk, call: Call) -> None:
    """A good answer with ten thousand header lines."""
    await talk.say(good(call), more="".join(f"X-{number}: x\r\n" for number in range(10_000)))


@behaviour()
async def flood_of_100_continue(talk: Talk, call: Call) -> None:
    """Sends 100 Continue as fast as the connection carries it."""
    while True:
        await talk.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)


@behaviour()
async def chunks_of_one_byte(talk: Talk, call: Call) -> None:
    """A body of 64 KiB of white space, each byte in a chunk of its own, sent at once."""
    await talk.send(head(None, more="Transfer-Encoding: chunked\r\n") + b"1\r\n \r\n" * 64 * KIB + b"0\r\n\r\n")


@behaviour()
async def chunk_with_endless_extension(talk: Talk, call: Call) -> None:
    """The size of a chunk, followed by a chunk extension without end."""
    await talk.send(head(None, more="Transfer-Encoding: chunked\r\n") + b"5;x=")
    while True:
        await talk.send(b"x" * 64 * KIB)


@behaviour()
async def stream_of_seven_thousand_events(talk: Talk, call: Call) -> None:
    """An event stream as large as it may be, of which no event is an answer."""
    await talk.send(head(None, kind="text/event-stream"))
    for _ in range(30):
        await talk.send(b"data: 1\n\n" * 240)
        await asyncio.sleep(0)
    talk.close()


# -- wrong lengths, broken connections ---------------------------------------------------------------------------


@behaviour()
async def length_too_short(talk: Talk, call: Call) -> None:
    """A good answer with a Content-Length that is too small."""
    body = good(call)
    await talk.send(head(len(body) - 5) + body)


@behaviour()
async def length_below_nothing(talk: Talk, call: Call) -> None:
    """A negative Content-Length."""
    await talk.send(head(-5) + good(call))


@behaviour()
async def two_lengths(talk: Talk, call: Call) -> None:
    """Two Content-Lengths that contradict each other."""
    await talk.say(good(call), more="Content-Length: 3\r\n")


@behaviour()
async def length_and_chunks(talk: Talk, call: Call) -> None:
    """Content-Length and chunks together, as in response smuggling."""
    body = good(call)
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    await talk.send(head(3, more="Transfer-Encoding: chunked\r\n") + chunks)


@behaviour(at=JOIN)
async def closes_when_called(talk: Talk, call: Call) -> None:
    """Closes the connection instead of answering the invitation."""
    talk.close()


@behaviour()
async def closes_early(talk: Talk, call: Call) -> None:
    """Closes in the middle of its answer."""
    body = good(call)
    await talk.send(head(len(body)) + body[:20])
    talk.close()


@behaviour()
async def resets(talk: Talk, call: Call) -> None:
    """Ends the connection with a reset."""
    talk.reset()


@behaviour()
async def resets_in_its_answer(talk: Talk, call: Call) -> None:
    """Begins its answer, then resets the connection."""
    await talk.send(head(500) + b"{")
    talk.reset()


@behaviour()
async def http_1_0(talk: Talk, call: Call) -> None:
    """A good answer in HTTP/1.0: no length, the body ends with the connection."""
    await talk.send(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + good(call))
    talk.close()


@behaviour()
async def http_0_9(talk: Talk, call: Call) -> None:
    """A good body without status line and headers."""
    await talk.send(good(call) + b"\r\n\r\n")
    talk.close()


@behaviour()
async def speaks_tls(talk: Talk, call: Call) -> None:
    """A TLS alert instead of HTTP."""
    await talk.send(b"\x15\x03\x01\x00\x02\x02\x46" * 3)
    talk.close()


@behaviour()
async def switches_protocols(talk: Talk, call: Call) -> None:
    """101 Switching Protocols, then bytes without end."""
    await talk.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: rubbish\r\nConnection: Upgrade\r\n\r\n")
    while True:
        await talk.send(b"x" * 64 * KIB)


@behaviour()
async def status_of_two_digits(talk: Talk, call: Call) -> None:
    """A good answer with the HTTP status 42."""
    await talk.say(good(call), status="42 What")


@behaviour()
async def answers_twice(talk: Talk, call: Call) -> None:
    """Two different answers to one call."""
    other = result(call, message(call, parity_choice="odd"))
    body = good(call)
    await talk.send(head(len(body)) + body + head(len(other)) + other)


@behaviour(at=JOIN)
async def answers_ahead(talk: Talk, call: Call) -> None:
    """Joins, and sends an answer in advance to the next call on the same connection."""
    ahead = json.dumps({"jsonrpc": "2.0", "id": 1003, "result": {"parity_choice": "odd"}}).encode()
    body = good(call)
    await talk.send(head(len(body)) + body + head(len(ahead)) + ahead)


@behaviour(at=JOIN)
async def floods_behind_its_answer(talk: Talk, call: Call) -> None:
    """Joins, then floods the connection with further responses."""
    body, more = good(call), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    await talk.send(head(len(body)) + body + more)
    while True:
        await talk.send(more * 1000)


@behaviour()
async def redirects_inside(talk: Talk, call: Call) -> None:
    """Redirects the referee to a URL that only its machine can reach."""
    await talk.say(b"", status="307 Temporary Redirect", more=f"Location: {talk.agent.inner}\r\n")


@behaviour()
async def redirects_to_itself(talk: Talk, call: Call) -> None:
    """Redirects the referee to the same URL again."""
    await talk.say(b"", status="302 Found", more=f"Location: {talk.agent.url}\r\n")


@behaviour()
async def breaks_a_header_line(talk: Talk, call: Call) -> None:
    """A good answer whose headers have a stray carriage return, a NUL and a line without a name."""
    await talk.say(good(call), more="X-Odd: a\rb\x00c\r\n: nothing\r\n")
