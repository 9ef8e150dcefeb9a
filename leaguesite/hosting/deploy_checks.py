"""What ``manage.py check --deploy`` says of this site beyond Django's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from django.core import checks

from league_sdk.protocol.tokens import is_guessable

KEYS = ("LEAGUE_API_KEY", "LEAGUE_REFEREE_KEY", "LEAGUE_DEMO_KEY", "LEAGUE_METRICS_KEY", "LEAGUE_ADMIN_PASSWORD")
"""Secrets that the environment may give. Those that the site makes cannot be guessed."""


def guessable_keys(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[checks.CheckMessage]:
    """A warning for each key in the environment that could be found by trying.

    No refusal: a class in a room starts with what it has, and wrong keys are counted. But who tries keeps the right
    one from being looked at as well, as long as it is one of those that could be guessed.
    """
    return [
        checks.Warning(
            f"{name} could be found by trying.",
            hint="Leave it out, and the site makes one; or take one of letters and digits, 16 or more.",
            id="leaguesite.W001",
        )
        for name in KEYS
        if os.environ.get(name) and is_guessable(os.environ[name])
    ]
