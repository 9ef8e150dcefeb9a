"""What each setting of a league is called in the forms of the desk, and which values a numeric setting may have."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from league_sdk.protocol.league_settings import LeagueSettings

LABELS: dict[str, Any] = {
    "min_players": gettext_lazy("Players that are needed to start"),
    "max_players": gettext_lazy("At most so many players may register"),
    "auto_advance": gettext_lazy("The rounds follow each other by themselves"),
    "registration_code": gettext_lazy("Code that everyone needs to register"),
    "agents_per_person": gettext_lazy("Agents that one personal code may register"),
    "require_check": gettext_lazy("Only players whose check has passed are in the schedule"),
    "win_points": gettext_lazy("Points for a win"),
    "draw_points": gettext_lazy("Points for a draw"),
    "loss_points": gettext_lazy("Points for a loss"),
    "technical_loss_points": gettext_lazy("Points for a technical loss"),
    "join_timeout_s": gettext_lazy("Seconds that a player has to answer an invitation"),
    "move_timeout_s": gettext_lazy("Seconds that a player has to choose or to move"),
    "game_over_timeout_s": gettext_lazy("Seconds that a player has to answer GAME_OVER"),
    "generic_timeout_s": gettext_lazy("Seconds that an agent has to answer any other message"),
    "connect_grace_s": gettext_lazy("Seconds that an agent which dials out has to fetch a message"),
    "announce_wait_s": gettext_lazy("Seconds that a round waits until all players have its announcement"),
    "max_retries": gettext_lazy("Tries after the first one"),
    "retry_base_s": gettext_lazy("Seconds of waiting before the second try"),
    "retry_factor": gettext_lazy("Each further wait is longer by this factor"),
    "request_patience_s": gettext_lazy("Seconds that all tries of one request may take together"),
    "no_show": gettext_lazy("What becomes of a match to which a player does not come"),
    "suspend_after": gettext_lazy("Silent matches in a row after which a player is suspended"),
    "shutdown_after": gettext_lazy("Silent matches in a row after which a player is shut down"),
    "pause_if_absent": gettext_lazy(
        "The league pauses if this share of the players stop answering in one round; 0: never"
    ),
    "breaker_threshold": gettext_lazy("Failures in a row after which an address is not called for a while"),
    "breaker_reset_s": gettext_lazy("Seconds after which such an address is tried again"),
    "referee_lease_s": gettext_lazy("Seconds without a sign of life after which a referee counts as lost"),
    "hold_s": gettext_lazy("Seconds after which a held match is cancelled"),
    "error_style": gettext_lazy("How the league manager sends LEAGUE_ERROR"),
}
"""The label of each setting."""

CHOICES: dict[str, Any] = {
    "technical_loss": gettext_lazy("The absent player loses technically"),
    "cancel": gettext_lazy("The match is cancelled and counts nowhere"),
    "error": gettext_lazy("As a JSON-RPC error"),
    "result": gettext_lazy("As the result of the call"),
}
"""What each choice of a setting means."""


_SCHEMAS = LeagueSettings.model_json_schema()["properties"]


def limits(name: str) -> tuple[Any, Any, Any]:
    """The range of a numeric setting: what it must be more than, its smallest and its largest value; None for none."""
    # Of a setting that may be null, the limits are those of the other part of its type.
    parts = [_SCHEMAS[name], *_SCHEMAS[name].get("anyOf", ())]
    found = {key: value for part in parts for key, value in part.items()}
    return found.get("exclusiveMinimum"), found.get("minimum"), found.get("maximum")


def hint(name: str) -> str:
    """The range and the default of a numeric setting, as a sentence."""
    more_than, minimum, maximum = limits(name)
    default = LeagueSettings.model_fields[name].default
    values = {"default": default, "min": more_than if minimum is None else minimum, "max": maximum}
    if default is None:
        return _("Empty: never. More than %(min)s, at most %(max)s.") % values
    if minimum is None:
        return _("Empty: %(default)s. More than %(min)s, at most %(max)s.") % values
    return _("Empty: %(default)s. From %(min)s to %(max)s.") % values
