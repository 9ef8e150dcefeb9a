"""Routes: pages of the audience, the admin, and the API (which holds /mcp, /api and /health)."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.utils.translation import gettext_lazy
from django.views.generic import RedirectView
from django.views.i18n import set_language

from leaguesite.api.routes import api, root
from leaguesite.login.throttle import login

handler400 = "leaguesite.api.routes.bad_request"
handler404 = "leaguesite.api.routes.not_found"

admin.site.site_header = gettext_lazy("League desk")
admin.site.site_title = gettext_lazy("League desk")
admin.site.index_title = gettext_lazy("What would you like to do?")

urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=f"/{settings.STATIC_URL.strip('/')}/favicon.svg")),
    path("admin/login/", login),
    path("admin/", admin.site.urls),
    path("language/", set_language, name="set_language"),
    path("", root),
    path("", include("matches.audience.urls")),
    path("", api.urls),
]
