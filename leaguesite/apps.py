"""The site as an app of Django, and what ``manage.py check --deploy`` says of it beyond Django's own checks."""

from __future__ import annotations

import os
from typing import Any

from django.apps import AppConfig
from django.core import checks

from league_sdk.protocol.tokens import is_guessable

KEYS = ("LEAGUE_API_KEY", "LEAGUE_REFEREE_KEY", "LEAGUE_DEMO_KEY", "LEAGUE_METRICS_KEY", "LEAGUE_ADMIN_PASSWORD")
"""Secrets that the environment may give. Those that the site makes cannot be guessed."""
_IF_LEFT_OUT = {"LEAGUE_METRICS_KEY": "/metrics takes the API key only, or a referee's the referee key"}


class LeaguesiteConfig(AppConfig):
    name = "leaguesite"

    def ready(self) -> None:
        """Have Django's own check of a deployment ask ours, too."""
        checks.register(guessable_keys, checks.Tags.security, deploy=True)


def guessable_keys(**_: Any) -> list[checks.CheckMessage]:
    """A warning for each key in the environment that could be found by trying.

    The site starts all the same: a class in one room may choose a simple key, and wrong keys are limited. But while
    somebody guesses, a right key that is easy to guess may be refused with the wrong ones.
    """
    return [
        checks.Warning(
            f"{name} could be found by trying.",
            hint=f"Leave it out, and {_IF_LEFT_OUT.get(name, 'the site makes one')}; "
            "or take one of letters and digits, 16 or more.",
            id="leaguesite.W001",
        )
        for name in KEYS
        if os.environ.get(name) and is_guessable(os.environ[name])
    ]
