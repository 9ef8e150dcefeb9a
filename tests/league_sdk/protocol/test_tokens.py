"""The auth_token of agents and the league_token of our messages (ruling, section 9)."""

import hashlib
import hmac
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol import tokens

SHAPE = re.compile(r"tok_[0-9a-f]{32}")


def test_new_tokens_are_all_different() -> None:
    made = [tokens.new_token() for _ in range(500)]
    assert len(set(made)) == 500
    assert [token for token in made if not SHAPE.fullmatch(token)] == []


def test_a_league_token_is_an_hmac_of_site_key_agent_and_epoch() -> None:
    made = tokens.league_token("site-key", "7", 3)
    assert made == "tok_" + hmac.digest(b"site-key", b"league-token:7:3", "sha256").hex()[:32]
    others = [("site-kez", "7", 3), ("site-key", "8", 3), ("site-key", "7", 4), ("site-key", "7:3", 3)]
    assert [tokens.league_token(*other) for other in others].count(made) == 0


def test_digest_is_the_sha_256_of_the_token() -> None:
    assert tokens.digest("tok_ä") == hashlib.sha256("tok_ä".encode()).hexdigest()


@given(st.text(), st.text())
def test_same_compares_any_two_texts(left: str, right: str) -> None:
    assert tokens.same(left, right) is (left == right)
    assert tokens.same(left, left) is True


def test_same_uses_the_constant_time_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return True

    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert tokens.same("a", "b") is True
    assert compared == [(b"a", b"b")]


def test_lone_surrogates_can_be_compared_and_hashed() -> None:
    assert tokens.same("\ud800", "\ud800") is True
    assert len(tokens.digest("\ud800")) == 64


@given(
    st.lists(st.text("tok_0123456789abcdef \"'\n", max_size=12), min_size=1, max_size=5),
    st.lists(st.binary(min_size=16, max_size=16).map(lambda raw: "tok_" + raw.hex()), max_size=5),
)
def test_redact_removes_every_token(words: list[str], made: list[str]) -> None:
    text = "".join(word + token for word, token in zip(words, made, strict=False)) + words[-1]
    redacted = tokens.redact(text)
    assert SHAPE.search(redacted) is None
    assert [token for token in made[: len(words)] if token in redacted] == []


def test_redact_removes_only_tokens_and_also_cut_ones() -> None:
    token = tokens.league_token("k", "1", 0)
    assert tokens.redact(f"a {token}, b {token}.") == "a tok_…, b tok_…."
    assert tokens.redact(token[:-3]) == "tok_…"
    assert tokens.redact("tok_ is how tokens begin; tok_p01 is none") == "tok_ is how tokens begin; tok_p01 is none"


@pytest.mark.parametrize(
    ("secret", "guessable"),
    [
        ("1234", True),
        ("123456789", True),
        ("cs101", True),
        ("hunter22", True),
        ("1234567890123", True),
        ("abcdefghij", False),
        ("tok_" + "0" * 32, False),
        ("", True),
    ],
)
def test_short_secrets_and_long_numbers_are_guessable(secret: str, guessable: bool) -> None:
    assert tokens.is_guessable(secret) is guessable
