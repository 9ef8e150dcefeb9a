"""Who may use the instructor's part of the API."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import HttpBearer

from leaguesite.accounts import is_api_key


class InstructorKey(HttpBearer):
    """``Authorization: Bearer <API key>``."""

    def authenticate(self, request: HttpRequest, token: str) -> str | None:
        return "instructor" if is_api_key(token) else None


KEY = InstructorKey()
