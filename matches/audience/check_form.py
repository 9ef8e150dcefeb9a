"""The form of the check page: which agent is to be checked."""

from __future__ import annotations

from typing import TypedDict

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from league_sdk.protocol.limits import MAX_ENDPOINT_CHARS
from league_sdk.rules.registry import games
from matches.models import CheckRole


class Asked(TypedDict):
    """What the form asks for, as arguments of ``checks.asking.ask``."""

    endpoint: str
    role: str
    game_type: str
    token: str


def _game_choices() -> list[tuple[str, str]]:
    names = [(name, game.display_name) for name, game in sorted(games().items())]
    return [("", _("what it is registered for")), *names]


class CheckForm(forms.Form):
    """Which agent is to be checked, and as what."""

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
    game_type = forms.ChoiceField(label=gettext_lazy("Game"), required=False, choices=_game_choices)
    auth_token = forms.CharField(
        label=gettext_lazy("auth_token"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "dir": "ltr"}),
    )

    def arguments(self) -> Asked:
        """The arguments of ``checks.asking.ask``, from a valid form."""
        values = self.cleaned_data
        return {
            "endpoint": values["endpoint"],
            "role": values["role"] or CheckRole.PLAYER.value,
            "game_type": values["game_type"],
            "token": values["auth_token"],
        }
