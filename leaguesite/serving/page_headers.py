"""Headers that tell browsers what they may do with our pages."""

from __future__ import annotations

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

PERMISSIONS = ", ".join(f"{name}=()" for name in ("camera", "geolocation", "microphone", "payment", "usb"))


class PageHeaders(CSPMiddleware):
    """Content-Security-Policy and Permissions-Policy of every page."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the headers."""
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return super().process_response(request, response)

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The policy of the settings, widened for the part of the site that needs more."""
        parts = super().get_policy_parts(request, response, report_only)
        by_prefix = settings.LEAGUE_POLICY_ADDITIONS
        additions = next((policy for prefix, policy in by_prefix.items() if request.path.startswith(prefix)), None)
        if additions is not None and parts.update is None:
            parts.update = additions
        return parts
