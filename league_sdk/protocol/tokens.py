"""Tokens: the auth_token that authenticates an agent, and the league_token in our messages (ruling, section 9)."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets

_TOKEN_ANYWHERE = re.compile(r"tok_[0-9a-f]{16,}")
"""Matches also a token whose end was cut off."""
REDACTED = "tok_…"
MIN_SECRET_BITS = 45
"""A secret with fewer bits can be guessed. At a thousand guesses a second, 45 bits last for a thousand years; a code
made by the site has 49."""


def new_token() -> str:
    """Make an auth_token: ``tok_`` and 32 hex digits from the system's secure random generator."""
    return "tok_" + secrets.token_hex(16)


def digest(token: str) -> str:
    """The SHA-256 of a token in hex: tokens are stored in this form only."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def same(left: str, right: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


def is_guessable(secret: str) -> bool:
    """Whether a secret could be guessed, judged by its length and the kinds of its characters."""
    letters = any(character.isalpha() for character in secret)
    digits = any(character.isdigit() for character in secret)
    kinds = 26 * letters + 10 * digits + 4 * (not secret.isalnum())
    return len(secret) * math.log2(max(kinds, 2)) < MIN_SECRET_BITS


def league_token(site_key: str, agent: str, epoch: int) -> str:
    """The token in our messages to an agent: it is derived, never stored, and refused as a credential.

    Args:
        site_key: the site's secret.
        agent: the agent's primary key as text.
        epoch: increased to revoke earlier tokens.
    """
    mac = hmac.new(site_key.encode(), f"league-token:{agent}:{epoch}".encode(), hashlib.sha256)
    return "tok_" + mac.hexdigest()[:32]


def redact(text: str) -> str:
    """Replace every token in a text."""
    # Most texts contain no token, and a search for four letters is several times faster than the regular expression.
    return _TOKEN_ANYWHERE.sub(REDACTED, text) if "tok_" in text else text
