"""The API's part for gateways: hosts that many programs share, each under its own path (ruling, section 8)."""

from __future__ import annotations

from django.http import HttpRequest

from agents_registry import programs
from leaguesite.api.base import Refused, router
from leaguesite.api.keys import KEY


@router.get("/gateways", auth=KEY, tags=["instructor"], response={200: list[str], 401: Refused, 429: Refused})
def show_gateways(request: HttpRequest) -> list[str]:
    """The hosts that are marked as gateways."""
    return sorted(programs.gateways())
