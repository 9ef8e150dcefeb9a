"""Crash reports without secrets: they hold settings, the request and local variables."""

from __future__ import annotations

import re
from collections.abc import ItemsView
from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from league_sdk.protocol.redaction import redact, redact_text


class WithoutSecrets(SafeExceptionReporterFilter):
    """Django's filter, active also while developing, that knows the names and shapes of our secrets."""

    hidden_settings = re.compile(
        "API|AUTH|TOKEN|KEY|SECRET|PASS|SIGNATURE|COOKIE|SESSION|CSRF|CODE|QUERY_STRING|CREDENTIAL|"
        "DATABASES|CHANNEL_LAYERS|CACHES|REDIS",
        flags=re.IGNORECASE,
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        """Always: a projector may show a developer's screen to a class."""
        return True

    def cleanse_setting(self, key: Any, value: Any) -> Any:
        """Clean a setting, a header or a variable of the environment."""
        cleansed = super().cleanse_setting(key, value)
        return redact_text(cleansed) if isinstance(cleansed, str) else cleansed

    def get_post_parameters(self, request: HttpRequest | None) -> Any:
        """The names of a form's fields without their values."""
        return {} if request is None else dict.fromkeys(request.POST, self.cleansed_substitute)

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: Any) -> ItemsView[str, Any]:
        """The local variables of a frame, cleaned."""
        variables = super().get_traceback_frame_variables(request, tb_frame)
        return {name: _cleaned(name, value) for name, value in variables}.items()


class Reporter(ExceptionReporter):
    """Django's report with no secret in its text: neither in the error's message nor in the address."""

    def get_traceback_data(self) -> dict[str, Any]:
        """The data of the report; of a query only the names."""
        data = super().get_traceback_data()
        query = data.get("request_GET_items") or ()
        data["request_GET_items"] = [(name, SafeExceptionReporterFilter.cleansed_substitute) for name, _value in query]
        return data

    def get_traceback_html(self) -> SafeString:
        """The report for the browser and for mail."""
        return SafeString(redact_text(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        """The report for mail and for the terminal."""
        return SafeString(redact_text(super().get_traceback_text()))


def _cleaned(name: str, value: Any) -> Any:
    try:
        [cleaned] = redact({name: value if isinstance(value, (dict, list, tuple, str)) else repr(value)}).values()
    except Exception as error:
        # A __repr__ may raise anything: the report of a crash must not crash.
        return f"a value that cannot be printed ({type(error).__name__})"
    return cleaned
