"""Sentences about whether an agent answers, how it is reached, and which dialect it understands."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from agents_registry.isolating import isolated
from agents_registry.models import Agent, ReachedBy
from league_sdk.protocol import notes
from league_sdk.protocol.notes import Code
from league_sdk.protocol.states import AgentState
from storage import clock


def in_other_words(text: str) -> str:
    """A sentence that is not ours, quoted: a game's, a referee's, or one that an earlier version has stored."""
    return pgettext("a sentence that is not translated", "%(words)s") % {"words": isolated(text)}


VOICES = notes.Voices(quote=isolated, other=in_other_words)
"""How words of others are shown in a sentence on a page."""


def sentence_of(value: object, voices: notes.Voices = VOICES) -> str:
    """A note as a sentence for a page, in the reader's language, without a full stop.

    Args:
        value: the JSON of a note, or a text as it is stored; or an error with such a text.
        voices: how words of others are shown in it.
    """
    return notes.in_words(str(value) if isinstance(value, Exception) else value, _, voices=voices)


def too_many_attempts(seconds: int) -> str:
    """Tells somebody who has given wrong secrets to wait."""
    return ngettext(
        "Too many wrong attempts: wait %(seconds)d second.",
        "Too many wrong attempts: wait %(seconds)d seconds.",
        seconds,
    ) % {"seconds": seconds}


def state(value: str) -> str:
    """The state of an agent (004 2.8.1) in a word."""
    return {
        AgentState.INIT: _("not registered"),
        AgentState.REGISTERED: _("registered"),
        AgentState.ACTIVE: _("active"),
        AgentState.SUSPENDED: _("suspended"),
        AgentState.SHUTDOWN: _("shut down"),
    }[AgentState(value)]


def remarks(agent: Agent) -> list[str]:
    """What was odd about an agent's registration, and about its calls since, in sentences without a full stop."""
    return [sentence_of(one) for one in agent.notes]


def answers(agent: Agent) -> str:
    """Whether an agent answers, as far as it is known, and when it last did."""
    if agent.ping_wanted:
        return _("being asked …")
    if agent.problem:
        return _("no answer: %(problem)s") % {"problem": sentence_of(agent.problem)}
    if agent.heard_at is None:
        return _("not heard of yet")
    if not agent.was_reached:
        return _("registered, not asked yet")
    if clock.now() - agent.heard_at < timedelta(minutes=1):
        return _("answered within the last minute")
    return _("answered %(ago)s ago") % {"ago": timesince(agent.heard_at, depth=1)}


class Reach(NamedTuple):
    """How an agent is reached, for its owner and the staff.

    Attributes:
        way: how it is reached now.
        called: whether it was called since it registered.
        text: ``way`` in words, with the agent's address.
        seen_at: when its line was last seen; None if it has none now.
        found: what the last call at its address found in place of an agent, perhaps quoted; empty if it found one.
        mend: what the owner has to do, in our words; empty if it is reached.
    """

    way: ReachedBy
    called: bool
    text: str
    seen_at: datetime | None
    found: str
    mend: str


def reach(agent: Agent) -> Reach:
    """How an agent is reached now, what was found at its address, and what to do."""
    way = agent.reached_by
    text = str(way.label)
    if not agent.is_inbox_only:
        text = agent.endpoint if way == ReachedBy.ADDRESS else f"{agent.endpoint} · {way.label}"
    seen_at = agent.line_seen_at if agent.dials_out_now else None
    found = "" if _has_shown_itself(agent) else sentence_of(agent.call_found)
    return Reach(way, agent.was_reached, text, seen_at, found, _mend(agent))


def reach_for_all(agent: Agent, *, proven: bool) -> Reach:
    """Like :func:`reach`, without the agent's address and quotations, for people who may not be its owner.

    Args:
        proven: whether all its tokens were given to the agent itself, none to somebody who only named its address.
            Only then is anything said of what is at its address, and only if the agent has shown to be there (a
            personal code shows only whose it is) or the instructor has added it: otherwise anybody could make the site
            look at the addresses of other machines.
    """
    note = notes.read(notes.public("" if _has_shown_itself(agent) else agent.call_found))
    shown = reach(agent)._replace(text=str(agent.reached_by.label))
    if not proven or not (agent.is_inbox_only or agent.by_hand or agent.shown_at is not None):
        return shown._replace(found="", mend="")
    return shown._replace(found=sentence_of(note) if isinstance(note, notes.Note) else "")


def _has_shown_itself(agent: Agent) -> bool:
    """Whether an agent that answered the last ping with JSON that is no reply has since answered better."""
    note = notes.read(agent.call_found)
    if not isinstance(note, notes.Note) or note.code != Code.OTHER_JSON or agent.reached_by != ReachedBy.ADDRESS:
        return False
    return agent.heard_at is not None and agent.pinged_at is not None and agent.heard_at > agent.pinged_at


def _mend(agent: Agent) -> str:
    """What the owner of an agent that nothing reaches has to do, in our words; empty for one that is reached."""
    if agent.reached_by == ReachedBy.NOTHING:
        return _("Start it: it fetches no messages.")
    if agent.reached_by != ReachedBy.ADDRESS or not agent.call_found or _has_shown_itself(agent):
        return ""
    note = notes.read(agent.call_found)
    code = note.code if isinstance(note, notes.Note) else None
    if code in (Code.WEB_PAGE, Code.NO_AGENT, Code.OTHER_JSON):
        return _("Register its own address, or use --dial-out.")
    if code == Code.NOBODY_LISTENS:
        return _("Start it at its port, or with --dial-out.")
    return _("No call gets through: start it with --dial-out, or use the bridge.")


def understands(agent: Agent) -> str:
    """Which shapes an agent understood, each with the message types."""
    shapes: dict[str, list[str]] = {}
    for message, shape in sorted(agent.spoken.items()):
        shapes.setdefault(str(shape), []).append(str(message))
    if not shapes:
        return _("nothing seen yet; %(shape)s is tried first") % {"shape": agent.dialect}
    return "; ".join(f"{shape}: {', '.join(messages)}" for shape, messages in sorted(shapes.items()))
