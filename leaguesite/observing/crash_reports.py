"""The report of a crash: settings, the request and local variables are in it, secrets are in none of them."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from league_sdk.protocol.redaction import redact, redact_text


class WithoutSecrets(SafeExceptionReporterFilter):
    """Django's, also while developing, with the names and shapes of our secrets."""

    hidden_settings = re.compile(
        "API|AUTH|TOKEN|KEY|SECRET|PASS|SIGNATURE|COOKIE|SESSION|CSRF|CODE|QUERY_STRING|CREDENTIAL|"
        "DATABASES|CHANNEL_LAYERS|CACHES|REDIS",
        flags=re.IGNORECASE,
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        """Always: a developer's screen is on the wall, too."""
        return True

    def cleanse_setting(self, key: Any, value: Any) -> Any:
        """A setting, a header or a variable of the environment."""
        cleansed = super().cleanse_setting(key, value)
        return redact_text(cleansed) if isinstance(cleansed, str) else cleansed

    def get_post_parameters(self, request: HttpRequest | None) -> Any:
        """What a form held: names only."""
        return {} if request is None else dict.fromkeys(request.POST, self.cleansed_substitute)

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: Any) -> list[tuple[str, Any]]:
        """Local variables as they would be printed."""
        found = super().get_traceback_frame_variables(request, tb_frame)
        return [(name, _shown(name, value)) for name, value in found]


class Reporter(ExceptionReporter):
    """Django's, with no secret in its text: not in the error's own sentence, not in the address."""

    def get_traceback_data(self) -> dict[str, Any]:
        """What the report is made of; of a query only the names."""
        data = super().get_traceback_data()
        query = data.get("request_GET_items") or ()
        data["request_GET_items"] = [(name, SafeExceptionReporterFilter.cleansed_substitute) for name, _value in query]
        return data

    def get_traceback_html(self) -> str:
        """For the browser, and for mail."""
        return redact_text(super().get_traceback_html())

    def get_traceback_text(self) -> str:
        """For mail, and for the terminal."""
        return redact_text(super().get_traceback_text())


def _shown(name: str, value: Any) -> Any:
    try:
        [shown] = redact({name: value if isinstance(value, (dict, list, tuple, str)) else repr(value)}).values()
    except Exception as error:
        # Whatever a broken __repr__ raises: the report of one crash must not be another.
        return f"a value that cannot be printed ({type(error).__name__})"
    return shown
