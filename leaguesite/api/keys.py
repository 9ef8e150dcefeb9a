"""Who may use the instructor's part of the API, and read the metrics. Wrong keys: ``leaguesite.login.accounts``."""

from __future__ import annotations

import os

from django.http import HttpRequest
from ninja.security import HttpBearer

from agents_registry.addresses.callers import sender_of
from league_sdk.protocol import tokens
from leaguesite.login.accounts import is_api_key, opens


# The document names a way in by its class.
class InstructorKey(HttpBearer):
    """``Authorization: Bearer <key>`` with the instructor's API key."""

    def authenticate(self, request: HttpRequest, token: str) -> bool:
        """Whether the key is right.

        Raises:
            TooOften: too many wrong ones came from there.
        """
        return self.opens(token, sender_of(request).ip)

    def opens(self, key: str, address: str) -> bool:
        """The same for a key from an IP address."""
        return opens(key, address)


class MetricsKey(InstructorKey):
    """The same, or with ``LEAGUE_METRICS_KEY`` where that is set."""

    def opens(self, key: str, address: str) -> bool:
        """The same for a key from an IP address."""
        own = os.environ.get("LEAGUE_METRICS_KEY", "")
        return opens(key, address, lambda sent: (bool(own) and tokens.same(sent, own)) or is_api_key(sent))


KEY = InstructorKey()
METRICS_KEY = MetricsKey()
