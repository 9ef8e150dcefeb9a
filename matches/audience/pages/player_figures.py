"""The figures of a player's page: what it chose how often, and how long it took to answer."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from agents_registry.models import Agent
from league_sdk.protocol.messages import MessageType
from matches.models import Message
from matches.view.sight import View

MOST_CHOICES = 8
"""Different choices that get a bar of their own; the rest share one."""
ANSWERS: dict[str, str] = {
    MessageType.GAME_JOIN_ACK: "join",
    MessageType.CHOOSE_PARITY_RESPONSE: "choice",
    MessageType.GAME_MOVE_RESPONSE: "choice",
}
"""The answers whose times are shown, and the lane they are on."""
TICKS_MS = (1, 10, 100, 1000, 10_000, 100_000)
LAST_TICK = 85.0
"""Percent of the way: beyond it the words of the deadline stand."""
MOST_DOTS = 400

_FIELDS = ("match__match_id", "attempt", "entry__message_type", "entry__elapsed_ms", "entry__limit_ms")


def choices(matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often it chose what, and how often it won with it.

    Args:
        matches: those of the page: ``choice`` and ``letter`` of each that has a result.

    Returns bars: ``choice``, ``n``, ``won``, and ``most``, the length of the longest bar.
    """
    made: Counter[str] = Counter()
    won: Counter[str] = Counter()
    for match in matches:
        if match.get("choice"):
            made[match["choice"]] += 1
            won[match["choice"]] += match["letter"] == "W"
    parity = bool(made) and made.keys() <= {"even", "odd"}
    order = ["even", "odd"] if parity else [choice for choice, _n in made.most_common(MOST_CHOICES)]
    bars = [{"choice": one, "n": made[one], "won": won[one]} for one in order]
    rest = [one for one in made if one not in order]
    if rest:
        bars.append({"choice": _("others"), "n": sum(made[one] for one in rest), "won": sum(won[one] for one in rest)})
    most = max((bar["n"] for bar in bars), default=0)
    return [bar | {"most": most} for bar in bars]


def times(view: View, agent: Agent) -> list[dict[str, Any]]:
    """How long it took to answer, in its matches that have a result in this view; one query.

    Returns lanes, one for invitations and one for choices: median, slowest, how many came too late, and a dot for
    each of the latest against the deadline, on a scale on which every step is ten times the one before.
    """
    entries = Message.objects.filter(
        Q(match__player_a=agent) | Q(match__player_b=agent),
        Q(entry__sender=agent.code) | Q(entry__sender=f"player:{agent.code}"),
        match__league=view.league,
    ).order_by("match__round__number", "match_id", "attempt", "n")
    lanes: dict[str, list[tuple[int, int]]] = {"join": [], "choice": []}
    for match_id, attempt, kind, elapsed, limit, problem in entries.values_list(*_FIELDS, "entry__problem"):
        outcome = view.outcome(match_id)
        lane = ANSWERS.get(kind) if isinstance(kind, str) else None
        if outcome is None or attempt > outcome.attempt or lane is None:
            continue
        # A student's referee may have written anything; and a refused connection is quick, but no answer.
        if is_time(elapsed) and is_time(limit) and limit and (elapsed >= limit or not problem):
            lanes[lane].append((elapsed, limit))
    return [_lane(name, taken) for name, taken in lanes.items() if taken]


def is_time(value: object) -> bool:
    """Whether a transcript's milliseconds can be shown: not every referee is ours."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 86_400_000


def _lane(name: str, taken: list[tuple[int, int]]) -> dict[str, Any]:
    # The last try of a request has what is left of the patience: the deadline is the longest one.
    limit = max(2, *(limit for _elapsed, limit in taken))
    in_time = [elapsed for elapsed, own in taken if elapsed < own]
    return {
        "name": name,
        "label": _("Answers to invitations") if name == "join" else _("Choices and moves"),
        "n": len(taken),
        "late": len(taken) - len(in_time),
        "median": span(round(median(in_time))) if in_time else "",
        "slowest": span(max(in_time)) if in_time else "",
        "limit": span(limit),
        "dots": [
            {"x": "100" if elapsed >= own else place_of(elapsed, limit), "late": elapsed >= own}
            for elapsed, own in taken[-MOST_DOTS:]
        ],
        "ticks": [
            {"x": place, "label": span(tick)} for tick in TICKS_MS if float(place := place_of(tick, limit)) < LAST_TICK
        ],
    }


def place_of(elapsed: float, limit: int) -> str:
    """Where a time stands on a scale on which every step is ten times the one before, in percent of its end."""
    return f"{min(100.0, 100 * math.log(max(elapsed, 1)) / math.log(limit)):.1f}"


def span(milliseconds: int) -> str:
    """A time in words."""
    if milliseconds < 1000:
        return _("%(ms)d ms") % {"ms": milliseconds}
    return _("%(s)s s") % {"s": f"{milliseconds / 1000:.2f}".rstrip("0").rstrip(".")}
