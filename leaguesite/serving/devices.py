"""Browsers in which somebody has logged in before, recognised by a signed cookie ("device cookie").

It is read before a request is given a thread (``serving.queues``) and where a password is checked (``login.throttle``).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.core import signing

from league_sdk.protocol import tokens

COOKIE = "league_device"
COOKIE_AGE_S = 180 * 24 * 3600
# The module that signed these cookies before. With another salt the cookies that browsers have would be refused.
_SALT = "leaguesite.login.throttle"


@dataclass(frozen=True, slots=True)
class Device:
    """A known browser, and the digest of the name that was logged in with there."""

    key: str
    name: str


def name_digest(username: str) -> str:
    """The form in which a name stands in the cookie."""
    return tokens.digest(username)


def new_cookie(username: str) -> str:
    """The cookie of a browser in which this name has just logged in."""
    return signing.dumps([name_digest(username), secrets.token_hex(16)], salt=_SALT)


def known(cookie: str) -> Device | None:
    """The browser with this cookie; None if we did not sign it, or if it is too old."""
    try:
        name, key = signing.loads(cookie, salt=_SALT, max_age=COOKIE_AGE_S)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return Device(key=key, name=name)
