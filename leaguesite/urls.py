"""Routes: pages of the audience, the admin, the paths that agents call, and the API (which holds /api and /health)."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.utils.translation import gettext_lazy
from django.views.generic import RedirectView
from django.views.i18n import set_language

from leaguesite.api.routes import api
from leaguesite.login.throttle import login
from leaguesite.mcp import views as agents

handler400 = "leaguesite.api.routes.bad_request"
handler404 = "leaguesite.api.routes.not_found"

admin.site.site_header = gettext_lazy("League desk")
admin.site.site_title = gettext_lazy("League desk")
admin.site.index_title = gettext_lazy("What would you like to do?")

# What agents call belongs to the API: the metrics name their routes so.
_api, *_named = api.urls

urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=f"/{settings.STATIC_URL.strip('/')}/favicon.svg")),
    path("admin/login/", login),
    path("admin/", admin.site.urls),
    path("language/", set_language, name="set_language"),
    path("", agents.root),
    path("", include("matches.audience.urls")),
    path("", ([*agents.urlpatterns, *_api], *_named)),
]
