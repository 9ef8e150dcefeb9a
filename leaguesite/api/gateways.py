"""The API's part for gateways: hosts that many programs share, each under its own path (ruling, section 8)."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Schema
from pydantic import ConfigDict

from agents_registry import programs
from leaguesite.api.base import Refused, router
from leaguesite.api.keys import KEY
from matches.league import gateways


class GatewayMark(Schema):
    """A host, and whether it is a gateway: then the path of an address counts, else its IP address and port alone."""

    model_config = ConfigDict(extra="forbid")
    host: str
    gateway: bool = True


@router.get("/gateways", auth=KEY, tags=["instructor"], response={200: list[str], 401: Refused, 429: Refused})
def show_gateways(request: HttpRequest) -> list[str]:
    """The hosts that are marked as gateways."""
    return sorted(programs.gateways())


@router.post(
    "/gateways",
    auth=KEY,
    tags=["instructor"],
    response={200: GatewayMark, 400: Refused, 401: Refused, 422: Refused, 429: Refused, 503: Refused},
)
def mark_gateway(request: HttpRequest, mark: GatewayMark) -> dict[str, object]:
    """Mark a host as a gateway to many agents, or no longer; matches given out from now on follow it."""
    return {"host": gateways.mark(host=mark.host, gateway=mark.gateway), "gateway": mark.gateway}
