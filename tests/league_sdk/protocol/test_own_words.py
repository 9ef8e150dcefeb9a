"""An agent's own words in place of an answer: found in every kind of reply, and cleaned of what must not be shown."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol.own_words import MAX_WORDS_CHARS, clean_words, says_only_unknown, words_of

KEY_ERROR = "KeyError: 'deadline'"
TOKEN = "tok_0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": KEY_ERROR}}, KEY_ERROR),
        ({"error": {"code": -32603, "message": "Internal error", "data": KEY_ERROR}}, f"Internal error: {KEY_ERROR}"),
        (
            {"error": {"code": -32603, "message": "Internal error", "data": {"exception": "Boom"}}},
            "Internal error: Boom",
        ),
        ({"error": KEY_ERROR}, KEY_ERROR),
        ({"detail": [{"loc": ["body", "id"], "msg": "not a string", "type": "string_type"}]}, "body.id: not a string"),
        ({"result": {"isError": True, "content": [{"type": "text", "text": KEY_ERROR}]}}, KEY_ERROR),
        ({"result": {"status": "error", "message": KEY_ERROR}}, KEY_ERROR),
        ({"accept": False, "reason": "busy until ten"}, "busy until ten"),
        ([{"error": KEY_ERROR}], KEY_ERROR),
        (KEY_ERROR, KEY_ERROR),
        ({"error": True, "code": 500}, ""),
        ([], ""),
        (7, ""),
    ],
)
def test_the_words_are_found_in_every_kind_of_reply(body: Any, words: str) -> None:
    assert words_of(body) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    f()\n{KEY_ERROR}\n', KEY_ERROR),
        ("TypeError: x is undefined\n    at f (file:///home/a/x.js:3:4)\n    at g", "TypeError: x is undefined"),
        (
            f"<!doctype html><title>{KEY_ERROR} // Debugger</title><style>p{{}}</style><p>a</p>",
            f"{KEY_ERROR} // Debugger",
        ),
        ("<html><body><h1>Internal Server Error</h1><p>It broke.</p></body></html>", "Internal Server Error It broke."),
        ("cannot turn <class 'int'> into text", "cannot turn <class 'int'> into text"),
        ("Internal Server Error", "Internal Server Error"),
        ("", ""),
    ],
)
def test_the_words_of_a_reply_that_is_not_json_are_its_exception_or_else_its_text(text: str, words: str) -> None:
    assert words_of(None, text) == words


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link", "red link"),
        ("a\u202eb\u2066c\u200bd\u00ade", "abcde"),
        ("one\x00two\x07three\x85four", "one two three four"),
        ("<b>bold</b> &lt;script&gt;alert(1)&lt;/script&gt;", "bold alert(1)"),
        (f"bad token {TOKEN}", "bad token tok_…"),
        ("to\u200bk_0123456789abcdef0123456789abcdef", "tok_…"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: …"),
        ("cannot reach http://10.0.0.7:8101/mcp or 192.168.1.4:8000", "cannot reach [address] or [address]"),
        ("write to ada@example.org", "write to [address]"),
        ("lone \ud800 half", "lone \ufffd half"),
    ],
)
def test_control_characters_and_secrets_are_removed_from_an_agents_words(raw: str, clean: str) -> None:
    assert clean_words(raw) == clean


@pytest.mark.parametrize("hidden", ["&#8203;", "&zwnj;", "&#x200b;", "&#xad;"])
def test_no_entity_hides_what_must_not_be_shown(hidden: str) -> None:
    text = clean_words(f"{TOKEN[:4]}{hidden}{TOKEN[4:]} at 192.168{hidden}.1.5 of me{hidden}@x.org")
    assert text == clean_words(f"{TOKEN} at 192.168.1.5 of me@x.org")
    assert TOKEN not in text
    assert "192.168" not in text


@pytest.mark.parametrize("end", ["”", "&rdquo;", "»", "„", "״"])
def test_the_words_cannot_end_the_quotation_around_them(end: str) -> None:
    assert clean_words(f"no{end}; the referee was late") == 'no"; the referee was late'


def test_long_words_are_cut() -> None:
    assert clean_words("x" * 5000) == "x" * (MAX_WORDS_CHARS - 1) + "…"


def test_words_that_say_only_that_the_method_is_unknown_are_recognised() -> None:
    unknown = {"error": {"code": -32601, "message": "no such thing"}}
    assert says_only_unknown(unknown, words_of(unknown))
    assert says_only_unknown({"detail": "Not Found"}, "Not Found")
    assert says_only_unknown({"error": "Unknown method: choose_parity"}, "Unknown method: choose_parity")
    assert not says_only_unknown({"error": KEY_ERROR}, KEY_ERROR)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "data", "code", "detail", "loc", "msg", "result"]), inner
        )
    ),
    max_leaves=20,
)


@given(anything, st.text())
def test_the_words_of_any_reply_are_one_short_printable_line(body: Any, text: str) -> None:
    words = words_of(body, text)
    assert len(words) <= MAX_WORDS_CHARS
    assert all(unicodedata.category(letter)[0] != "C" for letter in words)


@pytest.mark.parametrize(
    "part", ["<a ", "<title>", "<!--", "\x1b]", "\x1b[", "&#x3c;", "\n \t at", "a@", "<script>", " "]
)
def test_the_words_of_a_text_that_repeats_itself_are_short(part: str) -> None:
    assert len(clean_words(part * 100_000)) <= MAX_WORDS_CHARS
