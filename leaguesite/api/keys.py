"""Who may use the instructor's part of the API, and read the metrics.

``leaguesite.login.accounts`` compares the keys and counts wrong ones.
"""

from __future__ import annotations

import os

from django.http import HttpRequest
from ninja.security import HttpBearer

from agents_registry.addresses.callers import sender_of
from league_sdk.protocol import tokens
from leaguesite.login.accounts import is_api_key, opens


# The OpenAPI document shows the name of this class as the name of the security scheme.
class InstructorKey(HttpBearer):
    """``Authorization: Bearer <key>`` with the instructor's API key."""

    def authenticate(self, request: HttpRequest, token: str) -> bool:
        """Whether the key is right.

        Raises:
            TooOften: too many wrong keys came, from the sender's IP address or in all.
        """
        return self.opens(token, sender_of(request).ip)

    def opens(self, key: str, address: str) -> bool:
        """Whether a key that was sent from an IP address is right; raises as :meth:`authenticate`."""
        return opens(key, address)


class MetricsKey(InstructorKey):
    """``Authorization: Bearer <key>`` with the instructor's API key, or with ``LEAGUE_METRICS_KEY`` if that is set."""

    def opens(self, key: str, address: str) -> bool:
        """Whether a key that was sent from an IP address is one of the two; raises as :meth:`authenticate`."""
        own = os.environ.get("LEAGUE_METRICS_KEY", "")
        return opens(key, address, lambda sent: (bool(own) and tokens.same(sent, own)) or is_api_key(sent))


KEY = InstructorKey()
METRICS_KEY = MetricsKey()
