"""The instructor's login and API key: made at first use, shown once, kept as hashes, never found by trying."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model

from agents_registry.rate_limits.attempts import API_KEY, attempts
from league_sdk.protocol import tokens
from leaguesite.serving.refusals import refuse_if_too_often

INSTRUCTOR = "instructor"


@dataclass(frozen=True, slots=True)
class FirstRun:
    """Secrets that were made now and are shown once; None for those that exist already or come from the environment."""

    password: str | None
    api_key: str | None


def ensure_accounts() -> FirstRun:
    """Make the superuser ``instructor`` and the API key if they are missing.

    ``LEAGUE_ADMIN_PASSWORD`` and ``LEAGUE_API_KEY`` fix them, also later.
    """
    users = get_user_model().objects
    user = users.filter(username=INSTRUCTOR).first()
    fixed = os.environ.get("LEAGUE_ADMIN_PASSWORD")
    password = None
    if user is None:
        password = None if fixed else secrets.token_urlsafe(12)
        users.create_superuser(INSTRUCTOR, password=fixed or password)
    elif fixed and not user.check_password(fixed):
        user.set_password(fixed)
        user.save(update_fields=["password"])
    api_key = None
    path = settings.LEAGUE_API_KEY_FILE
    if not os.environ.get("LEAGUE_API_KEY") and not path.exists():
        api_key = secrets.token_urlsafe(24)
        path.touch(mode=0o600)
        path.write_text(tokens.digest(api_key), encoding="ascii")
    return FirstRun(password=password, api_key=api_key)


def is_api_key(key: str) -> bool:
    """Whether this is the instructor's API key."""
    fixed = os.environ.get("LEAGUE_API_KEY")
    if fixed:
        return tokens.same(key, fixed)
    path = settings.LEAGUE_API_KEY_FILE
    return path.exists() and tokens.same(tokens.digest(key), path.read_text(encoding="ascii").strip())


def opens(key: str, address: str, is_right: Callable[[str], bool] = is_api_key) -> bool:
    """Whether a key is the right one; a wrong one is counted.

    Whatever in a web process or conductor takes the API key or the metrics key asks here.

    Args:
        key: the key that was sent.
        address: the IP address it was sent from.
        is_right: the test of the key.

    Raises:
        TooOften: too many wrong ones were sent; this one is not looked at.
    """
    refuse_if_too_often(attempts.refuse_secret(API_KEY, address, key), "auth_token")
    right = is_right(key)
    if not right:
        attempts.secret_was_wrong(API_KEY, address, key)
    return right
