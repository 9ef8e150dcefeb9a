"""A match in words: why it ended as it did, what became of each attempt, how long an answer took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from league_sdk.protocol.faults import Cause
from league_sdk.protocol.states import ResultStatus
from matches.events.history import Outcome
from matches.words import states


def why(outcome: Outcome) -> str:
    """Why a result is what it is, in one sentence; as the referee put it where no more is known than that.

    The full stop is there unless the words are the referee's.
    """
    if outcome.faults and outcome.correction is None:
        told = "; ".join(states.fault_sentence(fault) for fault in outcome.faults)
        end = {
            ResultStatus.TECHNICAL_LOSS: _("technical loss"),
            ResultStatus.CANCELLED: _("the match counts nowhere"),
        }.get(ResultStatus(outcome.status))
        return f"{told}: {end}." if end else f"{told}."
    return _drawn(outcome) or outcome.reason


def _drawn(outcome: Outcome) -> str:
    """For a game of even and odd: the number, and what each had said."""
    number, choices = outcome.details.get("drawn_number"), outcome.details.get("choices")
    if outcome.correction is not None or not isinstance(number, int) or not isinstance(choices, Mapping):
        return ""
    said = [choices.get(player) for player in outcome.players]
    known = {"even": _("even"), "odd": _("odd")}
    if any(not isinstance(one, str) or one not in known for one in said):
        return ""
    first, second = outcome.players
    return _("The number is %(number)d, %(parity)s: %(a)s chose %(first)s, %(b)s %(second)s.") % {
        "number": number,
        "parity": known[("even", "odd")[number % 2]],
        "a": first,
        "first": known[str(said[0])],
        "b": second,
        "second": known[str(said[1])],
    }


def owner(cause: str) -> str:
    """Whose side a cause lies on; empty for one that is not on the list."""
    if cause not in frozenset(Cause):
        return ""
    return {Cause.REFEREE: _("the referee's side"), Cause.LEAGUE: _("the league's side")}.get(
        Cause(cause), _("the player's side")
    )


def lost_attempt(data: Mapping[str, Any]) -> str:
    """Why an attempt was lost, from its event ``attempt_lost`` or ``match_held``."""
    names = {"referee": data.get("referee_id") or "–", "reason": data.get("why") or "–"}
    if data.get("cause") == Cause.LEAGUE:
        return _("Lost through the league: %(reason)s. It counts for nobody.") % names
    return _("Lost with its referee %(referee)s: %(reason)s. It counts for nobody.") % names


def duration(milliseconds: int) -> str:
    """A time in words: "12 ms", "1.234 s", "30 s", "2 min 5 s".

    Args:
        milliseconds: not negative.
    """
    if milliseconds < 1000:
        return _("%(ms)d ms") % {"ms": milliseconds}
    if milliseconds >= 120_000:
        return _("%(min)d min %(s)d s") % {"min": milliseconds // 60_000, "s": milliseconds // 1000 % 60}
    return _("%(s)s s") % {"s": f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".")}


def took(elapsed_ms: int, limit_ms: int | None) -> str:
    """How long an answer took, and of how much."""
    if limit_ms is None:
        return duration(elapsed_ms)
    return _("%(took)s of %(limit)s") % {"took": duration(elapsed_ms), "limit": duration(limit_ms)}


def never(elapsed_ms: int | None, limit_ms: int | None) -> str:
    """That nothing came."""
    if limit_ms is not None and (elapsed_ms is None or elapsed_ms >= limit_ms):
        return _("no answer in %(limit)s") % {"limit": duration(limit_ms)}
    return _("no answer")


def too_late(elapsed_ms: int, limit_ms: int) -> str:
    """That something came, after the deadline."""
    return _("%(took)s: too late by %(late)s") % {
        "took": duration(elapsed_ms),
        "late": duration(elapsed_ms - limit_ms),
    }


def tries(count: int) -> str:
    """How often somebody was asked."""
    return ngettext("%(count)d try", "%(count)d tries", count) % {"count": count}
