"""The instructor's login and API key: made at first use, shown once, kept as hashes."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth import get_user_model

from league_sdk.protocol import tokens

INSTRUCTOR = "instructor"


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What was made now and is shown once; None where it was there already or is fixed from outside."""

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
