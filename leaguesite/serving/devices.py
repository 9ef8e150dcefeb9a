"""The browsers in which somebody has logged in before: told by a signed cookie ("device cookie").

Read in two places: before a request is given a thread (``serving``), and where a password is looked at (``logins``).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.core import signing

from league_sdk.protocol import tokens

COOKIE = "league_device"
KNOWN_FOR_S = 180 * 24 * 3600
# As the cookies of before were signed.
_SALT = "leaguesite.login.throttle"


@dataclass(frozen=True, slots=True)
class Device:
    """A known browser, and the digest of the name that was logged in with there."""

    key: str
    name: str


def name_digest(username: str) -> str:
    """How a name stands in the cookie."""
    return tokens.digest(username)


def new_cookie(username: str) -> str:
    """The cookie of a browser in which this name has just logged in."""
    return signing.dumps([name_digest(username), secrets.token_hex(16)], salt=_SALT)


def known(cookie: str) -> Device | None:
    """Whose cookie this is; None for one that is none of ours, or too old."""
    try:
        name, key = signing.loads(cookie, salt=_SALT, max_age=KNOWN_FOR_S)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return Device(key=key, name=name)
