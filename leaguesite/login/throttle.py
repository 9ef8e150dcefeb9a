"""Logging in to the desk: wrong passwords cost time, and a stranger who guesses does not keep the instructor out.

Wrong passwords are counted by address and name. A whole school may have one address, so a browser in which somebody has
logged in before is recognised by a signed cookie ("device cookie") and counted by itself: what others type at the same
address does not count against it. It also waits in a queue of its own (``serving.queues``), as checking a password
takes half a second, for names that do not exist as well.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib import admin
from django.forms import ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from unfold.forms import AuthenticationForm

from agents_registry.addresses.callers import sender_of
from agents_registry.rate_limits.attempts import attempts, network_of
from agents_registry.words import too_many_attempts
from leaguesite.serving import devices
from matches.league import audit
from matches.observing import metrics


class CarefulLogin(AuthenticationForm):
    """A login form that does not check a password while there were too many wrong ones.

    Attributes:
        request: the login request; the login page always passes it.
        wait_s: seconds that the person has to wait before a password is checked; None if there is no need to wait.
    """

    request: HttpRequest
    wait_s: int | None = None

    def clean(self) -> dict[str, object]:
        """Check the password, or say how long to wait.

        Raises:
            ValidationError: the password is wrong, or the person has to wait.
        """
        who = _who(self.request, self.cleaned_data.get("username") or "")
        wait = attempts.refuse_login(*who)
        if wait is not None:
            metrics.limited(wait.name)
            self.wait_s = wait.seconds
            raise ValidationError(too_many_attempts(wait.seconds))
        try:
            cleaned = super().clean()
        except ValidationError:
            attempts.login_was_wrong(*who)
            raise
        if self.get_user() is not None:
            # Without a user a field was empty, and no password was checked.
            attempts.login_was_right(*who)
        return cleaned


@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """The admin's own login page; 429 for somebody who has to wait, and a cookie for somebody who has logged in."""
    response = admin.site.login(request)
    form = (response.context_data or {}).get("form") if isinstance(response, TemplateResponse) else None
    if isinstance(form, CarefulLogin) and form.wait_s is not None:
        response.status_code = 429
        response["Retry-After"] = str(form.wait_s)
    elif request.method == "POST" and request.user.is_authenticated:
        audit.note(by=request.user, action="login", target=network_of(sender_of(request).ip))
        response.set_cookie(
            devices.COOKIE,
            devices.new_cookie(request.user.get_username()),
            max_age=devices.COOKIE_AGE_S,
            path=request.path,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def _who(request: HttpRequest, username: str) -> tuple[str, str]:
    """The counter of wrong passwords for a name: of the browser if it is known for that name, else of the address."""
    name = devices.name_digest(username)
    device = devices.known(request.COOKIES.get(devices.COOKIE, ""))
    if device is not None and device.name == name:
        return device.key, name
    return network_of(sender_of(request).ip), name
