"""Routes: pages of the audience, documentation, admin, the paths that agents call, and the API (with /health)."""

from django.conf import settings
from django.contrib import admin
from django.http import Http404
from django.urls import include, path, re_path
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView
from django.views.i18n import set_language

from leaguesite.api.routes import api, not_found
from leaguesite.docs import views as docs
from leaguesite.inbox import views as inbox
from leaguesite.login.throttle import login
from leaguesite.mcp import views as agents

handler400 = "leaguesite.api.routes.bad_request"
handler404 = "leaguesite.api.routes.not_found"
handler500 = "leaguesite.serving.database_away.failed"

admin.site.site_header = gettext_lazy("League desk")
admin.site.site_title = gettext_lazy("League desk")
admin.site.index_title = gettext_lazy("Your leagues")

# The paths of agents are in the API's namespace, under which the metrics know their routes.
_api, _app_name, _namespace = api.urls

urlpatterns = [
    path("favicon.ico", RedirectView.as_view(url=f"/{settings.STATIC_URL.strip('/')}/favicon.svg")),
    path("admin/login/", login),
    # Django's "view on site", which no page of ours offers, fails at an id of the wrong kind.
    re_path("^admin/r/", not_found, {"exception": Http404()}),
    path("admin/", admin.site.urls),
    # Exempt, as SECURITY.md says: its button is on every public page, which needs no token for it, and a stranger who
    # switches a reader's language does no harm.
    path("language/", csrf_exempt(set_language), name="set_language"),
    path("", agents.root),
    path("", include(docs.urlpatterns)),
    path("", include("matches.audience.urls")),
    path("", ([*agents.urlpatterns, *inbox.urlpatterns, *_api], _app_name, _namespace)),
]
