"""A crash report holds no secret."""

from __future__ import annotations

import sys
from typing import Any

from django.test import RequestFactory
from django.views.debug import get_exception_reporter_class

SECRET = "a-secret-nobody-may-see"


def test_no_secret_stands_in_the_report_of_a_crash(settings: Any) -> None:
    settings.DEBUG = True
    token = "tok_" + "5" * 32
    request = RequestFactory().post(
        f"/leagues/fall/mine/?code={SECRET}",
        {"secret": SECRET, "registration_code": SECRET},
        headers={"Authorization": f"Bearer {SECRET}", "Cookie": f"sessionid={SECRET}"},
    )
    try:
        message = {"auth_token": SECRET, "matches": [token]}
        raise ValueError(f"nobody has {message['matches'][0]}")
    except ValueError:
        reporter = get_exception_reporter_class(request)(request, *sys.exc_info())
        report = reporter.get_traceback_html() + reporter.get_traceback_text()
    leaked = [
        secret for secret in (SECRET, token, settings.SECRET_KEY, settings.LEAGUE_REFEREE_KEY) if secret in report
    ]
    assert (leaked, "auth_token" in report) == ([], True)
