"""Who may use the instructor's part of the API, and read the metrics: every door of HTTP asks here.

Agents' one door for the key (``create_schedule``) counts alike, and refuses in their words: ``admission.admit_key``.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja.errors import HttpError
from ninja.security import HttpBearer

from agents_registry.attempts import API_KEY, attempts
from league_sdk.protocol import tokens
from leaguesite.login.accounts import is_api_key
from leaguesite.observing import metrics


class TooManyKeys(HttpError):
    """Wrong keys came too often; ``seconds`` says how long to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(429, _("Too many wrong attempts: wait %(seconds)d seconds.") % {"seconds": seconds})
        self.seconds = seconds


def opens(key: str, caller: str, is_right: Callable[[str], bool] = is_api_key) -> bool:
    """Whether a key is the right one; a wrong one is counted (``agents_registry.attempts``).

    Args:
        key: what came.
        caller: the IP address it came from.
        is_right: what it has to be.

    Raises:
        TooManyKeys: it is not looked at now.
    """
    wait = attempts.refuse_secret(API_KEY, caller, key)
    if wait is not None:
        metrics.limited(wait.name)
        raise TooManyKeys(wait.seconds)
    if is_right(key):
        return True
    attempts.secret_was_wrong(API_KEY, caller, key)
    return False


class BearerKey(HttpBearer):
    """``Authorization: Bearer <key>``.

    Args:
        who: what somebody with the key is called.
        is_right: whether a key is right.
    """

    def __init__(self, who: str, is_right: Callable[[str], bool]) -> None:
        super().__init__()
        self._who = who
        self._is_right = is_right

    def authenticate(self, request: HttpRequest, token: str) -> str | None:
        return self._who if opens(token, request.caller.ip, self._is_right) else None


# The documentation names a way in by its class.
class InstructorKey(BearerKey):
    """The API key."""


class MetricsKey(BearerKey):
    """The API key, or ``LEAGUE_METRICS_KEY``."""


def may_read_metrics(key: str) -> bool:
    """Whether this is the instructor's API key, or ``LEAGUE_METRICS_KEY`` where that is set."""
    own = os.environ.get("LEAGUE_METRICS_KEY", "")
    return (bool(own) and tokens.same(key, own)) or is_api_key(key)


KEY = InstructorKey("instructor", is_api_key)
METRICS_KEY = MetricsKey("metrics", may_read_metrics)
