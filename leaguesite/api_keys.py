"""Who may use the instructor's part of the API."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja.errors import HttpError
from ninja.security import HttpBearer

from agents_registry.attempts import API_KEY, attempts
from leaguesite import metrics
from leaguesite.accounts import is_api_key
from matches.views.check import caller_of


class TooManyKeys(HttpError):
    """Wrong keys came too often; ``seconds`` says how long to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(429, _("Too many wrong attempts: wait %(seconds)d seconds.") % {"seconds": seconds})
        self.seconds = seconds


class InstructorKey(HttpBearer):
    """``Authorization: Bearer <API key>``."""

    def authenticate(self, request: HttpRequest, token: str) -> str | None:
        address = caller_of(request).ip
        wait = attempts.refuse_secret(API_KEY, address, token)
        if wait is not None:
            metrics.limited(wait.name)
            raise TooManyKeys(wait.seconds)
        if is_api_key(token):
            return "instructor"
        attempts.secret_was_wrong(API_KEY, address, token)
        return None


KEY = InstructorKey()
