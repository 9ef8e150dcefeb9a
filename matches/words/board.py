"""What the board and the charts say of results and of matches in play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from league_sdk.protocol.states import MatchState


def letters() -> dict[str, str]:
    """The letter of each result as it is shown."""
    return {
        "W": pgettext("form: win", "W"),
        "D": pgettext("form: draw", "D"),
        "L": pgettext("form: loss", "L"),
        "T": pgettext("form: technical loss", "T"),
        "C": pgettext("form: cancelled", "C"),
    }


def going(match: Mapping[str, Any]) -> str:
    """How far a match in play has come, and for whom it waits: short enough for one line of the board."""
    if match["board"] is not None:
        return str(match["state_label"])
    names = {"a": match["a"]["player_id"], "b": match["b"]["player_id"]}
    if match["state"] == MatchState.WAITING_FOR_PLAYERS:
        done = [side for side in ("a", "b") if match[side]["joined"]]
        if len(done) == 1:
            return _("waiting for %(player)s") % {"player": names["b" if done == ["a"] else "a"]}
    if match["state"] == MatchState.COLLECTING_CHOICES:
        done = [side for side in ("a", "b") if match[side]["locked_in"]]
        if len(done) == 2:
            return _("both have locked in")
        if done:
            return _("%(player)s has locked in") % {"player": names[done[0]]}
    return str(match["state_label"])
