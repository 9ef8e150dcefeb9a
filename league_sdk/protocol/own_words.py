"""What an agent said itself when it gave no answer: its exception, error, tool error or page, cleaned and cut. Pure.

These words are the agent's private text, which may quote prompts or insult somebody: only its owner and the staff read
them, never its opponents or the public (our choice).
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from league_sdk.protocol.masking import without_addresses
from league_sdk.protocol.redaction import redact_text

MAX_WORDS_CHARS = 200
MAX_RAW_CHARS = 4000
"""How much of a text is cleaned; the rest is never read."""
MAX_ITEMS = 4
"""How many entries of a list of errors are read."""
_MAX_DEPTH = 5
_FIELDS = (
    *("exception", "error", "errors", "detail", "details", "message", "msg", "reason"),
    *("error_description", "description", "title", "data", "result", "structuredContent", "content", "text"),
)
"""Fields of a reply that may hold an agent's words, the most telling first."""
_NO_METHOD = -32601
_METHOD_UNKNOWN = re.compile(
    r"(?:method|tool|route|path|page|url|message.?type|resource)\b.{0,60}(?:not (?:found|allowed|supported)|unknown)"
    r"|(?:unknown|unsupported|unhandled|unexpected|no such) (?:method|tool|route|message|type|request)"
    r"|^\W*(?:not found|method not allowed|404|405)\b|cannot post ",
    re.IGNORECASE,
)

_ANSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")
# Repetitions are bounded: an agent may send the worst text for them.
_HIDDEN_PARTS = re.compile(
    r"<(script|style|head)\b[^<>]{0,300}>.*?(?:</\1\s{0,9}>|\Z)|<!--.*?(?:-->|\Z)|<!doctype[^<>]{0,300}>",
    re.IGNORECASE | re.DOTALL,
)
_TITLE = re.compile(r"<title[^<>]{0,300}>([^<]{1,300})", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|abbr|article|audio|b|base|blink|body|br|button|canvas|center|code|dd|details|div|dl|dt|em|embed|font|footer"
    r"|form|h[1-6]|head|header|hr|html|i|iframe|img|input|label|li|link|main|marquee|math|meta|nav|object|ol|option|p"
    r"|pre|script|section|select|small|span|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th"
    r"|thead|title|tr|u|ul|video)(?:[\s/][^<>]{0,300})?>",
    re.IGNORECASE,
)
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»״", '"'))
_E_MAIL = re.compile(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.)+[\w-]{2,63}")
_TRACEBACK = "Traceback (most recent call last)"
_STACK_FRAME = re.compile(r"\n[ \t]{1,8}at ")


def words_of(body: Any, text: str = "") -> str:
    """What an agent said in a reply that is not an answer, cleaned.

    Args:
        body: the decoded JSON; None if the reply was not JSON.
        text: the beginning of a reply that was not JSON.

    Returns at most MAX_WORDS_CHARS characters in one line; empty if it said nothing in words.
    """
    for raw in _texts(body, 0) if body is not None else (text,):
        if words := clean_words(raw):
            return words
    return ""


def says_only_unknown(body: Any, words: str) -> bool:
    """Whether an agent seems to say that it has no such method or path, as most do while a hunt tries dialects.

    The code of its error decides, or a few typical words anywhere in what it said.

    Args:
        body: the decoded JSON of the reply.
        words: from :func:`words_of`.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    return code == _NO_METHOD or _METHOD_UNKNOWN.search(words) is not None


def clean_words(raw: str) -> str:
    """Make one line of an agent's text that is safe to show to its owner and the staff.

    Escape sequences, control and invisible characters (also those that turn the direction of text), markup, tokens,
    credentials, network and e-mail addresses are removed or masked; of a stack trace only the exception is left.
    """
    text = _plain(_ANSI.sub("", raw[:MAX_RAW_CHARS]))
    # Entities that are written out now may be characters that would hide a token from what follows.
    text = _plain(_exception(_without_markup(text)))
    text = _E_MAIL.sub("[address]", without_addresses(redact_text(text)))
    # The site quotes these words: they must not be able to end the quotation and go on in its voice.
    text = " ".join(text.translate(_QUOTES).split())
    return text if len(text) <= MAX_WORDS_CHARS else text[: MAX_WORDS_CHARS - 1].rstrip() + "…"


def _plain(text: str) -> str:
    """A text without control, format, private and unassigned characters; line ends stay."""
    if text.isascii() and text.isprintable():
        return text
    letters = []
    for letter in text:
        kind = unicodedata.category(letter)
        if letter in "\n\t\r":
            letters.append(letter)
        elif kind == "Cc" or kind in ("Zl", "Zp"):
            letters.append(" ")
        elif kind == "Cs":
            letters.append("\ufffd")
        elif kind[0] != "C":
            letters.append(letter)
    return "".join(letters)


def _without_markup(text: str) -> str:
    if "<" not in text and "&" not in text:
        return text
    title = _TITLE.search(text)
    body = _TAG.sub(" ", _HIDDEN_PARTS.sub(" ", text))
    # An error page of a framework has the exception in its title, and little else in so few characters.
    markup = title[1] if title is not None and title[1].strip() else body
    return _TAG.sub(" ", html.unescape(_TAG.sub(" ", markup)))


def _exception(text: str) -> str:
    """The exception of a stack trace: the last line in Python, the text before the frames in other languages."""
    if _TRACEBACK in text:
        lines = [line for line in text.splitlines() if line.strip()]
        last = next((line for line in reversed(lines) if line[:1].strip() and _TRACEBACK not in line), "")
        return last or lines[-1]
    before = _STACK_FRAME.split(text, maxsplit=1)[0]
    return before if before.strip() else text


def _texts(value: Any, depth: int) -> Iterator[str]:
    """The texts of a reply that may be an agent's words, the most telling first."""
    if isinstance(value, str):
        yield value
    elif depth >= _MAX_DEPTH:
        return
    elif isinstance(value, list):
        items = [text for item in value[:MAX_ITEMS] for text in list(_texts(item, depth + 1))[:1]]
        if items:
            yield "; ".join(items)
    elif isinstance(value, Mapping):
        if (located := _located(value)) is not None:
            yield located
        elif (explained := _explained(value, depth)) is not None:
            yield explained
        for name in _FIELDS:
            if name in value:
                yield from _texts(value[name], depth + 1)


def _located(error: Mapping[str, Any]) -> str | None:
    """A validator's objection with the field that it is about, as FastAPI writes them."""
    place, message = error.get("loc"), error.get("msg")
    if isinstance(place, list) and isinstance(message, str):
        return f"{'.'.join(str(part)[:40] for part in place[:6])}: {message}"
    return None


def _explained(error: Mapping[str, Any], depth: int) -> str | None:
    """An error's message with what its data say beyond it, as in JSON-RPC."""
    message, data = error.get("message"), error.get("data")
    if "code" not in error or not isinstance(message, str) or data is None:
        return None
    more = next(_texts(data, depth + 1), "")
    return f"{message}: {more}" if more and more not in message else message
