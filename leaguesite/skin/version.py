"""The version of the site, for the foot of every page."""

from __future__ import annotations

from django.http import HttpRequest

from league_sdk.protocol import SDK_VERSION


def version(request: HttpRequest) -> dict[str, str]:
    """A context processor of Django's templates: ``site_version``."""
    return {"site_version": SDK_VERSION}
