"""Pages and files go out gzipped: the room's Wi-Fi is one for all."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from leaguesite.serving import is_agent_path


class PackedPages(GZipMiddleware):
    """Django's, but for answers to agents: not every one of them can unpack what it says it takes."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response if is_agent_path(request.path) else super().process_response(request, response)
