"""Logging in to the desk: wrong passwords cost time, and no stranger's guessing keeps the instructor out.

Wrong passwords are counted by address and name. A whole school may have one address, so a browser in which somebody
has logged in before is told by a signed cookie ("device cookie") and counted by itself: what others type into the login
page at the same address does not count against it. It also waits in a line of its own (``serving``): a password that
is looked at costs half a second, and names that nobody has cost the same.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.forms import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from unfold.forms import AuthenticationForm

from agents_registry.attempts import attempts, network_of
from leaguesite.observing import metrics
from leaguesite.serving import devices


class CarefulLogin(AuthenticationForm):
    """Does not look at a password while there were too many wrong ones."""

    def clean(self) -> dict[str, object]:
        """Check the password, or say how long to wait.

        Raises:
            ValidationError: it is wrong, or it is too early.
        """
        who = _who(self.request, self.cleaned_data.get("username") or "")
        wait = attempts.refuse_login(*who)
        if wait is not None:
            metrics.limited(wait.name)
            self.request.login_wait_s = wait.seconds
            raise ValidationError(_("Too many wrong attempts: wait %(seconds)d seconds.") % {"seconds": wait.seconds})
        try:
            cleaned = super().clean()
        except ValidationError:
            attempts.login_was_wrong(*who)
            raise
        if self.get_user() is not None:
            # Not when a field was empty: then nothing was looked at.
            attempts.login_was_right(*who)
        return cleaned


@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """The admin's own login page; 429 for who has to wait, and a cookie for who came in."""
    response = admin.site.login(request)
    wait_s = getattr(request, "login_wait_s", None)
    if wait_s is not None and isinstance(response, TemplateResponse):
        response.status_code = 429
        response["Retry-After"] = str(wait_s)
    elif request.method == "POST" and request.user.is_authenticated:
        response.set_cookie(
            devices.COOKIE,
            devices.new_cookie(request.user.get_username()),
            max_age=devices.KNOWN_FOR_S,
            path=request.path,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def _who(request: HttpRequest, username: str) -> tuple[str, str]:
    """What wrong passwords for a name are counted under: the browser if it is known for that name, else the address."""
    name = devices.name_digest(username)
    device = devices.known(request.COOKIES.get(devices.COOKIE, ""))
    if device is not None and device.name == name:
        return device.key, name
    return network_of(request.caller.ip), name
