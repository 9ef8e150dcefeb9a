"""Routes: pages of the audience, the admin, and the API (which holds /mcp, /api and /health)."""

from django.contrib import admin
from django.urls import include, path
from django.views.i18n import set_language

from leaguesite.api import api

urlpatterns = [
    path("admin/", admin.site.urls),
    path("language/", set_language, name="set_language"),
    path("", include("matches.urls")),
    path("", api.urls),
]
