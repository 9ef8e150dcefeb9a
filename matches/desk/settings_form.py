"""The admin form of a league, with a field for each setting (ruling, section 11)."""

from __future__ import annotations

from typing import Any, get_args

from django import forms
from django.conf import settings as site
from django.core.validators import BaseValidator
from django.template.loader import render_to_string
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
from matches.desk.forms import set_choices
from matches.desk.merging import MergedForm
from matches.desk.setting_labels import CHOICES, LABELS, hint, limits
from matches.league import entry
from matches.league.errors import ActionRefused, Invalid
from matches.league.leagues import refuse_taken
from matches.league.opening import check_settings
from matches.models import League
from matches.view.offered import offered_games

GROUPS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (
        gettext_lazy("Players and rounds"),
        ("min_players", "max_players", "auto_advance", "registration_code", "agents_per_person", "require_check"),
    ),
    (gettext_lazy("Points"), ("win_points", "draw_points", "loss_points", "technical_loss_points")),
    (
        gettext_lazy("Time limits, in seconds"),
        (
            *("join_timeout_s", "move_timeout_s", "game_over_timeout_s", "generic_timeout_s"),
            *("connect_grace_s", "announce_wait_s"),
        ),
    ),
    (gettext_lazy("Retries"), ("max_retries", "retry_base_s", "retry_factor", "request_patience_s")),
    (
        gettext_lazy("Silence and faults"),
        ("no_show", "suspend_after", "shutdown_after", "pause_if_absent", "breaker_threshold", "breaker_reset_s"),
    ),
    (gettext_lazy("Referees and protocol"), ("referee_lease_s", "hold_s", "error_style")),
)

_HINTS = {
    "registration_code": gettext_lazy("Empty: none is asked for."),
    "agents_per_person": gettext_lazy("Empty: as many as each person likes."),
    "require_check": gettext_lazy(
        "Everyone may register; each player is checked a few seconds later, and again while it fails. "
        "Players whose check has not passed when registration closes are left out of the schedule."
    ),
}


def _field(name: str) -> forms.Field:
    """A form field for one setting, with a sentence for a label and the setting's name beside it."""
    info = LeagueSettings.model_fields[name]
    default = info.default
    label = render_to_string("admin/matches/league/setting_label.html", {"label": LABELS[name], "name": name})
    common: dict[str, Any] = {"label": label, "required": False, "help_text": _HINTS.get(name, "")}
    if isinstance(default, bool):
        return forms.BooleanField(**common, initial=default, widget=UnfoldBooleanSwitchWidget())
    choices = [(choice, CHOICES[choice]) for choice in get_args(info.annotation) if isinstance(choice, str)]
    if choices:
        return forms.ChoiceField(**common, choices=choices, initial=default, widget=UnfoldAdminSelectWidget())
    if name == "registration_code":
        return forms.CharField(**common, max_length=64, widget=UnfoldAdminTextInputWidget())
    common["help_text"] = common["help_text"] or hint(name)
    more_than, minimum, maximum = limits(name)
    attrs = {"step": "any", "placeholder": "" if default is None else str(default)}
    if int in (info.annotation, *get_args(info.annotation)):
        whole = UnfoldAdminIntegerFieldWidget(attrs)
        return forms.IntegerField(**common, widget=whole, min_value=minimum, max_value=maximum)
    validators = [] if more_than is None else [_MoreThan(more_than)]
    widget = UnfoldAdminDecimalFieldWidget(attrs)
    return forms.FloatField(**common, widget=widget, min_value=minimum, max_value=maximum, validators=validators)


class _MoreThan(BaseValidator):
    """Refuse a limit itself and what is below it."""

    message = gettext_lazy("Ensure this value is greater than %(limit_value)s.")

    def compare(self, a: Any, b: Any) -> bool:
        return bool(a <= b)


class LeagueForm(MergedForm):
    """A league and its settings; an empty field means the default."""

    game_type = forms.ChoiceField(label=gettext_lazy("Game"), widget=UnfoldAdminSelectWidget())

    class Meta:
        model = League
        fields = ("league_id", "display_name", "game_type")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "game_type" in self.fields:
            offered = sorted(offered_games().items())
            set_choices(self, "game_type", [(name, game.display_name) for name, game in offered])
        if "league_id" in self.fields:
            self.fields["league_id"].required = False
            self.fields["league_id"].help_text = _(
                "Agents name the league by this. Empty: it is made from the name; letters, digits, - and _."
            )
        # A new league begins with the settings of the site's configuration.
        self._site_values = site.LEAGUE_NEW_LEAGUES if self.instance._state.adding else {}
        for _group, names in GROUPS:
            for name in names:
                self.fields[name] = _field(name)
                if name in (known := {**self._site_values, **self.instance.settings}):
                    self.initial[name] = known[name]
        self.carry_shown()

    def clean(self) -> dict[str, Any]:
        """Validate all settings together; an error is shown at its field."""
        cleaned = super().clean() or self.cleaned_data
        if "display_name" in cleaned and cleaned.get("league_id") == "":
            self.cleaned_data["league_id"] = entry.id_for_new_name(cleaned["display_name"])
        if self._contradicts(cleaned):
            return cleaned
        values = {name: cleaned.get(name) for _group, names in GROUPS for name in names}
        defaults = LeagueSettings()
        settings = {
            name: value
            for name, value in values.items()
            if value not in (None, "") and (value != getattr(defaults, name) or name in self._site_values)
        }
        try:
            self.instance.settings = check_settings(settings)
        except Invalid as error:
            self.add_error(error.field if error.field in self.fields else None, error.sentence)
        return cleaned

    def _contradicts(self, cleaned: dict[str, Any]) -> bool:
        """Whether two settings contradict each other: as in ``LeagueSettings``, said at the field and translated."""
        contradicts = False
        for larger, smaller in (("max_players", "min_players"), ("shutdown_after", "suspend_after")):
            high, low = (
                LeagueSettings.model_fields[name].default if cleaned.get(name) is None else cleaned[name]
                for name in (larger, smaller)
            )
            if high < low and not self.errors.keys() & {larger, smaller}:
                self.add_error(larger, _("This is smaller than %(name)s.") % {"name": smaller})
                contradicts = True
        return contradicts

    def clean_league_id(self) -> str:
        """Refuse an id that another league has; an empty one is made in :meth:`clean`."""
        league_id = self.cleaned_data["league_id"]
        if self.instance._state.adding:
            try:
                refuse_taken(league_id)
            except ActionRefused as refusal:
                raise forms.ValidationError(str(refusal)) from None
        return str(league_id)
