"""The form of the check page: who wants which agent checked."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from league_sdk.rules.registry import games
from matches.models import CheckRole


class CheckForm(forms.Form):
    """Who wants which agent checked."""

    endpoint = forms.CharField(
        label=gettext_lazy("Address"),
        required=False,
        max_length=MAX_ENDPOINT_CHARS,
        widget=forms.TextInput(
            attrs={"placeholder": "http://192.168.1.20:8101/mcp", "dir": "ltr", "inputmode": "url", "autofocus": True}
        ),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("What it is"),
        required=False,
        choices=CheckRole.choices,
        error_messages={"invalid_choice": gettext_lazy("There is no such role.")},
    )
    game_type = forms.ChoiceField(label=gettext_lazy("Game"), required=False)
    auth_token = forms.CharField(
        label=gettext_lazy("auth_token"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "dir": "ltr"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shown = [(name, game.display_name) for name, game in sorted(games().items())]
        self.fields["game_type"].choices = [("", gettext_lazy("what it is registered for")), *shown]

    def arguments(self) -> dict[str, str]:
        """What ``checks.ask`` wants, from a valid form."""
        given = self.cleaned_data
        return {
            "endpoint": given["endpoint"],
            "role": given["role"] or CheckRole.PLAYER.value,
            "game_type": given["game_type"],
            "token": given["auth_token"],
        }
