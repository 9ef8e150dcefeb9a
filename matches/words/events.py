"""Events as the replay and the feed for machines tell them: every one of them, results too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from matches.words import states

PUBLIC: dict[str, tuple[str, ...]] = {
    "league_created": (),
    "lobby_joined": ("players",),
    "player_registered": ("player_id", "name"),
    "player_added": ("player_id", "name"),
    "left_out": ("players",),
    "schedule_made": ("players", "rounds"),
    "settings_changed": (),
    "auto_advance_on": (),
    "round_started": ("round_id",),
    "draw_committed": ("match_id",),
    "round_opened": ("round_id",),
    "round_completed": ("round_id",),
    "match_finished": ("match_id", "round_id", "players", "status", "winner_id", "attempt", "referee_id"),
    "attempt_lost": ("match_id", "attempt", "referee_id", "cause"),
    "match_held": ("match_id", "attempt", "referee_id", "cause"),
    "match_released": ("match_id",),
    "paused": (),
    "resumed": (),
    "played_again": ("match_id", "champion"),
    "league_completed": ("champion",),
    "league_stopped": (),
    "demo_afresh": (),
    "frozen": ("after_round",),
    "place_unveiled": ("place",),
    "unveiled": (),
    "notice": ("text",),
    "notice_withdrawn": (),
    "corrected": ("number", "kind", "match_id", "player_id", "points", "out", "reason"),
    "correction_undone": ("number", "kind", "match_id", "player_id", "points", "out", "reason"),
}
"""What of an event's data everybody may read, by kind. What is not here (who has which role) is for the desk alone."""


def happened(kind: str, data: Mapping[str, Any]) -> str:
    """An event in a sentence. A result is told in our words, not in those of the referee that reported it."""
    if kind == "round_opened":
        return _("The matches of round %(round_id)s may begin.") % data
    if kind == "match_finished":
        summary = states.result_summary(data["status"], data["winner_id"], data["details"])
        return _("%(match_id)s: %(summary)s.") % {"match_id": data["match_id"], "summary": summary}
    return states.event(kind, data)
