"""What each setting of a league is called in the forms of the desk, and which values a numeric setting may have."""

from __future__ import annotations

from typing import Any, NamedTuple

from annotated_types import Ge, Gt, Le
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from league_sdk.protocol.league_settings import LeagueSettings

LABELS: dict[str, Any] = {
    "min_players": gettext_lazy("Players that are needed to start"),
    "max_players": gettext_lazy("At most so many players may register"),
    "auto_advance": gettext_lazy("The rounds follow each other by themselves"),
    "registration_code": gettext_lazy("Code that everyone needs to register"),
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


class Limits(NamedTuple):
    """The range of a numeric setting; None for a limit that it does not have.

    Attributes:
        more_than: the number that it must be more than.
        minimum: its smallest value.
        maximum: its largest value.
    """

    more_than: float | None
    minimum: float | None
    maximum: float | None


def limits(name: str) -> Limits:
    """The range of a numeric setting."""
    limits_by_name: dict[str, float] = {}
    for limit in _metadata(name):
        if isinstance(limit, Gt):
            limits_by_name["more_than"] = float(limit.gt)  # type: ignore[arg-type]
        elif isinstance(limit, Ge):
            limits_by_name["minimum"] = float(limit.ge)  # type: ignore[arg-type]
        elif isinstance(limit, Le):
            limits_by_name["maximum"] = float(limit.le)  # type: ignore[arg-type]
    return Limits(*map(limits_by_name.get, Limits._fields))


def _metadata(name: str) -> list[Any]:
    """The limits of a setting; if the setting may be None, its limits are attached to the other part of its type."""
    info = LeagueSettings.model_fields[name]
    inner = [limit for part in getattr(info.annotation, "__args__", ()) for limit in getattr(part, "__metadata__", ())]
    limits: list[Any] = []
    for one in [*info.metadata, *inner]:
        limits += getattr(one, "metadata", [one])
    return limits


def hint(name: str) -> str:
    """The range and the default of a numeric setting, as a sentence."""
    more_than, minimum, maximum = limits(name)
    default = LeagueSettings.model_fields[name].default
    values = {
        "default": _plain(default),
        "min": _plain(more_than if minimum is None else minimum),
        "max": _plain(maximum),
    }
    if default is None:
        return _("Empty: never. More than %(min)s, at most %(max)s.") % values
    if minimum is None:
        return _("Empty: %(default)s. More than %(min)s, at most %(max)s.") % values
    return _("Empty: %(default)s. From %(min)s to %(max)s.") % values


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"
