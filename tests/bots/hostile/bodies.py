"""Hostile bodies: no JSON, too much JSON, and JSON that a parser may fail on."""

from __future__ import annotations

import json

from tests.bots.base import Call, Talk
from tests.bots.hostile.base import behaviour, message, result

MAX_ANSWER_BYTES = 64 * 1024
DEPTH = 10_000


def with_choice(call: Call, value: bytes) -> bytes:
    """A good answer with raw bytes as its choice."""
    marked = result(call, message(call, parity_choice="HERE"))
    return marked.replace(b'"HERE"', value)


def filled(call: Call, begin: bytes, piece: bytes, end: bytes) -> bytes:
    """A good answer with one more field, which makes it as large as an answer may be."""
    body = result(call, message(call) | {"more": "HERE"})
    room = MAX_ANSWER_BYTES - len(body) - len(begin) - len(end)
    return body.replace(b'"HERE"', begin + piece * (room // len(piece)) + end)


@behaviour()
async def html(talk: Talk, call: Call) -> None:
    """An HTML page instead of JSON."""
    await talk.say(b"<!doctype html><script>alert(1)</script><h1>Welcome</h1>", kind="text/html")


@behaviour()
async def page_of_a_failure(talk: Talk, call: Call) -> None:
    """An HTML page of a server error, with a token in it."""
    page = f"<h1>Internal Server Error</h1><pre>auth_token='tok_{'6' * 32}'</pre>".encode()
    await talk.say(page, kind="text/html", status="500 Internal Server Error")


@behaviour()
async def deep_json(talk: Talk, call: Call) -> None:
    """Ten thousand lists, one inside the other."""
    await talk.say(with_choice(call, b"[" * DEPTH + b"]" * DEPTH))


@behaviour()
async def deep_json_without_an_end(talk: Talk, call: Call) -> None:
    """Sixty thousand brackets, none of them closed."""
    await talk.say(b"[" * 60_000)


@behaviour()
async def deep_json_in_a_text(talk: Talk, call: Call) -> None:
    """A tool's result whose text is JSON of ten thousand lists."""
    text = '{"parity_choice": ' + "[" * DEPTH + "]" * DEPTH + "}"
    await talk.say(result(call, {"content": [{"type": "text", "text": text}]}))


@behaviour()
async def not_a_number(talk: Talk, call: Call) -> None:
    """NaN as the choice."""
    await talk.say(with_choice(call, b"NaN"))


@behaviour()
async def infinity(talk: Talk, call: Call) -> None:
    """A number too large for a float, as the choice."""
    await talk.say(with_choice(call, b"1e999999"))


@behaviour()
async def huge_integer(talk: Talk, call: Call) -> None:
    """An integer of sixty thousand digits."""
    await talk.say(with_choice(call, b"9" * 60_000))


@behaviour()
async def large_integer(talk: Talk, call: Call) -> None:
    """An integer of four thousand digits, which Python still parses."""
    await talk.say(with_choice(call, b"9" * 4000))


@behaviour()
async def fraction_of_sixty_thousand_digits(talk: Talk, call: Call) -> None:
    """A decimal fraction of sixty thousand digits."""
    await talk.say(with_choice(call, b"0." + b"3" * 60_000))


@behaviour()
async def duplicate_keys(talk: Talk, call: Call) -> None:
    """The key of the choice twice, with even and odd."""
    await talk.say(with_choice(call, b'"even", "parity_choice": "odd"'))


@behaviour()
async def invalid_utf8(talk: Talk, call: Call) -> None:
    """Bytes that are not UTF-8."""
    await talk.say(with_choice(call, b'"\xff\xfe\xc0\x80"'))


@behaviour()
async def half_a_surrogate(talk: Talk, call: Call) -> None:
    """A lone surrogate, which cannot be encoded."""
    await talk.say(with_choice(call, b'"\\ud800"'))


@behaviour()
async def nul_character(talk: Talk, call: Call) -> None:
    """A NUL in a string, which a database refuses."""
    await talk.say(with_choice(call, b'"even\\u0000"'))


@behaviour()
async def utf_16(talk: Talk, call: Call) -> None:
    """A good answer in UTF-16."""
    await talk.say(result(call, message(call)).decode().encode("utf-16"))


@behaviour()
async def unheard_of_charset(talk: Talk, call: Call) -> None:
    """A good answer whose content type names UTF-7."""
    await talk.say(result(call, message(call)), kind="application/json; charset=utf-7")


@behaviour()
async def brotli_that_is_none(talk: Talk, call: Call) -> None:
    """A good answer with ``Content-Encoding: br``, but not compressed."""
    await talk.say(result(call, message(call)), more="Content-Encoding: br\r\n")


@behaviour()
async def gzip_that_is_none(talk: Talk, call: Call) -> None:
    """A good answer with ``Content-Encoding: gzip``, but not compressed."""
    await talk.say(result(call, message(call)), more="Content-Encoding: gzip\r\n")


@behaviour()
async def thirty_thousand_numbers(talk: Talk, call: Call) -> None:
    """A good answer with one more field, a list of more than thirty thousand numbers."""
    await talk.say(filled(call, b"[0", b",0", b"]"))


@behaviour()
async def twenty_thousand_objects(talk: Talk, call: Call) -> None:
    """A good answer with one more field, a list of some twenty thousand empty objects."""
    await talk.say(filled(call, b"[{}", b",{}", b"]"))


@behaviour()
async def thousands_of_fields(talk: Talk, call: Call) -> None:
    """A good answer with as many further fields as there is room for."""
    fields = {f"aB{number}": 0 for number in range(5000)}
    await talk.say(result(call, message(call) | fields))


@behaviour()
async def sixteen_thousand_token_prefixes(talk: Talk, call: Call) -> None:
    """A good answer with one more field, a list of one long string of token prefixes."""
    await talk.say(filled(call, b'["', b"tok_", b'"]'))


@behaviour()
async def texts_in_texts(talk: Talk, call: Call) -> None:
    """A tool's result whose text is a tool's result, three deep; the innermost text is no JSON."""
    inner = json.dumps({"content": [{"type": "text", "text": "[" + "0," * 9000 + "]"}]})
    for _ in range(2):
        inner = json.dumps({"content": [{"type": "text", "text": inner}]})
    await talk.say(b'{"jsonrpc": "2.0", "id": 1, "result": ' + inner.encode() + b"}")


@behaviour()
async def nothing(talk: Talk, call: Call) -> None:
    """An empty body."""
    await talk.say(b"")


@behaviour()
async def a_list(talk: Talk, call: Call) -> None:
    """A JSON-RPC batch of two answers."""
    await talk.say(b"[" + result(call, message(call)) + b"," + result(call, message(call)) + b"]")
