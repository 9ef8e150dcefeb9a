"""What is known of an agent's answering and way of speaking, in words."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from agents_registry.models import Agent


def answers(agent: Agent) -> str:
    """Whether an agent answers, as far as we know, and since when."""
    if agent.check_wanted:
        return _("being asked …")
    if agent.problem:
        return _("no answer: %(problem)s") % {"problem": agent.problem}
    if agent.heard_at is None:
        return _("not heard of yet")
    if agent.checked_at is None and agent.heard_at <= agent.registered_at:
        return _("registered, not asked yet")
    if timezone.now() - agent.heard_at < timedelta(minutes=1):
        return _("answered within the last minute")
    return _("answered %(ago)s ago") % {"ago": timesince(agent.heard_at, depth=1)}


def understands(agent: Agent) -> str:
    """In which way an agent was seen to understand which messages."""
    shapes: dict[str, list[str]] = {}
    for message, shape in sorted(agent.spoken.items()):
        shapes.setdefault(str(shape), []).append(str(message))
    if not shapes:
        return _("nothing seen yet; %(shape)s is tried first") % {"shape": agent.dialect}
    return "; ".join(f"{shape}: {', '.join(messages)}" for shape, messages in sorted(shapes.items()))
