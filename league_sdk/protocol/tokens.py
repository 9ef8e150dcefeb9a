"""Tokens: what an agent proves itself with, and what we show to agents (ruling, section 9)."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets

_TOKEN_ANYWHERE = re.compile(r"tok_[0-9a-f]{16,}")
"""Also one that a limit of length has cut."""
REDACTED = "tok_…"
GUESSABLE_BITS = 45
"""A code that the site makes has 49; at a thousand tries a second 45 bits last for a thousand years."""


def new_token() -> str:
    """A fresh auth_token: ``tok_`` and 32 hex digits from the system's generator."""
    return "tok_" + secrets.token_hex(16)


def digest(token: str) -> str:
    """The SHA-256 of a token in hex: the only form in which one is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


def is_guessable(secret: str) -> bool:
    """Whether a secret of this make could be found by trying: from its length and the kinds of its characters."""
    letters = any(character.isalpha() for character in secret)
    digits = any(character.isdigit() for character in secret)
    kinds = 26 * letters + 10 * digits + 4 * (not secret.isalnum())
    return len(secret) * math.log2(max(kinds, 2)) < GUESSABLE_BITS


def league_token(site_key: str, agent: str, epoch: int) -> str:
    """The token that our messages to one agent carry: derived, never stored, no credential to us.

    Args:
        site_key: the site's secret.
        agent: the agent's primary key as text.
        epoch: raised to revoke earlier ones.
    """
    mac = hmac.new(site_key.encode(), f"league-token:{agent}:{epoch}".encode(), hashlib.sha256)
    return "tok_" + mac.hexdigest()[:32]


def redact(text: str) -> str:
    """Take every token of ours out of a text."""
    # Most texts hold none, and looking for four letters is several times cheaper than looking for a token.
    return _TOKEN_ANYWHERE.sub(REDACTED, text) if "tok_" in text else text
