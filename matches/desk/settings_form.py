"""Forms: a league in the admin, one field for each setting of the ruling's section 11."""

from __future__ import annotations

from typing import Any, get_args

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.registry import games
from matches.league.errors import Invalid
from matches.league.opening import check_settings
from matches.models import League

GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (
        gettext_lazy("Players and rounds"),
        ("min_players", "max_players", "auto_advance", "registration_code", "require_check"),
    ),
    (gettext_lazy("Points"), ("win_points", "draw_points", "loss_points", "technical_loss_points")),
    (
        gettext_lazy("Time limits, in seconds"),
        ("join_timeout_s", "move_timeout_s", "game_over_timeout_s", "generic_timeout_s", "announce_wait_s"),
    ),
    (gettext_lazy("Retries"), ("max_retries", "retry_base_s", "retry_factor", "request_patience_s")),
    (
        gettext_lazy("Silence and faults"),
        ("no_show", "suspend_after", "shutdown_after", "breaker_threshold", "breaker_reset_s"),
    ),
    (gettext_lazy("Referees and protocol"), ("referee_lease_s", "hold_s", "error_style")),
)

_HINTS = {
    "require_check": gettext_lazy(
        "Everyone may register; each player is checked a few seconds later, and again while it fails. "
        "Players whose check has not passed when registration closes are left out of the schedule."
    ),
}


def _field(name: str) -> forms.Field:
    """A form field for one setting; its ranges are checked by the settings themselves."""
    info = LeagueSettings.model_fields[name]
    default = info.default
    shown = {"label": name, "required": False}
    if isinstance(default, bool):
        hint = _HINTS.get(name, "")
        return forms.BooleanField(**shown, initial=default, help_text=hint, widget=UnfoldBooleanSwitchWidget())
    choices = [(choice, choice) for choice in get_args(info.annotation) if isinstance(choice, str)]
    if choices:
        return forms.ChoiceField(**shown, choices=choices, initial=default, widget=UnfoldAdminSelectWidget())
    if name == "registration_code":
        hint = gettext_lazy("Empty: none is asked for.")
        return forms.CharField(**shown, max_length=64, help_text=hint, widget=UnfoldAdminTextInputWidget())
    hint = gettext_lazy("Empty: none.") if default is None else f"{default:g}"
    attrs = {"step": "any", "placeholder": "" if default is None else f"{default:g}"}
    if info.annotation is int:
        return forms.IntegerField(**shown, widget=UnfoldAdminIntegerFieldWidget(attrs), help_text=hint)
    return forms.FloatField(**shown, widget=UnfoldAdminDecimalFieldWidget(attrs), help_text=hint)


class LeagueForm(forms.ModelForm):
    """A league and its settings; an empty field is the default."""

    game_type = forms.ChoiceField(label=gettext_lazy("Game"), widget=UnfoldAdminSelectWidget())

    class Meta:
        model = League
        fields = ("league_id", "display_name", "game_type")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "game_type" in self.fields:
            self.fields["game_type"].choices = [(name, game.display_name) for name, game in sorted(games().items())]
        for _group, names in GROUPS:
            for name in names:
                self.fields[name] = _field(name)
                if name in self.instance.settings:
                    self.initial[name] = self.instance.settings[name]

    def clean(self) -> dict[str, Any]:
        """Check the settings together; an error stands at its field."""
        cleaned = super().clean() or self.cleaned_data
        given = {name: cleaned.get(name) for _group, names in GROUPS for name in names}
        defaults = LeagueSettings()
        settings = {
            name: value for name, value in given.items() if value not in (None, "") and value != getattr(defaults, name)
        }
        try:
            self.instance.settings = check_settings(settings)
        except Invalid as error:
            self.add_error(error.field if error.field in self.fields else None, str(error))
        return cleaned

    def clean_league_id(self) -> str:
        """A new league needs a free id."""
        league_id = self.cleaned_data["league_id"]
        if not self.instance.created_at and League.objects.filter(pk=league_id).exists():
            raise forms.ValidationError(_("A league with this id exists already: choose another."))
        return str(league_id)
