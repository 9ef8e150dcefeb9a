"""Stories of results in sentences; no sentence says whether a player is a "he" or a "she"."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.isolating import isolated
from matches.view.stories import Lead, Story, Tale


def in_words(story: Story, names: Mapping[str, str]) -> str:
    """A story in a sentence.

    Args:
        names: display names by player id.
    """
    values = {
        "hero": _name(story.hero, names),
        "other": _name(story.other, names),
        "number": story.number,
        "wins": story.run,
    }
    sentence = _sentence(story) % values
    if not story.run:
        return _("%(story)s.") % {"story": sentence}
    text = ngettext("%(story)s: %(wins)d win in a row.", "%(story)s: %(wins)d wins in a row.", story.run)
    return text % {"story": sentence, "wins": story.run}


def round_over(number: int, lead: Lead, names: Mapping[str, str]) -> str:
    """Says that a round is over, and who leads."""
    values = {"round": number, "leader": _name(lead.player_id, names), "points": lead.points}
    if lead.ahead is None:
        text = ngettext(
            "Round %(round)d is over. %(leader)s leads with %(points)d point.",
            "Round %(round)d is over. %(leader)s leads with %(points)d points.",
            lead.points,
        )
    elif lead.ahead.points:
        values["ahead"] = lead.ahead.points
        text = ngettext(
            "Round %(round)d is over. %(leader)s leads with %(points)d point, %(ahead)d ahead.",
            "Round %(round)d is over. %(leader)s leads with %(points)d points, %(ahead)d ahead.",
            lead.points,
        )
    elif lead.ahead.wins:
        text = ngettext(
            "Round %(round)d is over. %(leader)s leads with %(points)d point, by the number of wins.",
            "Round %(round)d is over. %(leader)s leads with %(points)d points, by the number of wins.",
            lead.points,
        )
    else:
        text = ngettext(
            "Round %(round)d is over. %(leader)s leads with %(points)d point, by the number of draws.",
            "Round %(round)d is over. %(leader)s leads with %(points)d points, by the number of draws.",
            lead.points,
        )
    return text % values


def _name(player_id: str, names: Mapping[str, str]) -> str:
    return isolated(names.get(player_id) or player_id)


def _sentence(story: Story) -> str:
    """The sentence of a story with placeholders, and without the full stop."""
    if story.tale == Tale.TAKES_LEAD:
        return _takes_lead(story)
    if story.tale == Tale.ENDS_RUN:
        return ngettext(
            "%(hero)s beats %(other)s, whose run ends after %(number)d win",
            "%(hero)s beats %(other)s, whose run ends after %(number)d wins",
            story.number,
        )
    if story.tale == Tale.UPSET:
        return ngettext(
            "%(hero)s beats %(other)s, who stood %(number)d place higher",
            "%(hero)s beats %(other)s, who stood %(number)d places higher",
            story.number,
        )
    return {
        Tale.CERTAIN: _("Nobody can catch %(hero)s any more: first place is certain"),
        Tale.BEATS_LEADER: _("%(hero)s beats the leader, %(other)s"),
        Tale.LAST_UNBEATEN: _("%(hero)s beats %(other)s, the last player without a loss"),
        Tale.HOLDS_LEADER: _("%(hero)s holds the leader, %(other)s, to a draw"),
        Tale.RUN: _("%(hero)s beats %(other)s"),
        Tale.CLIMBS: _("%(hero)s beats %(other)s and climbs to place %(number)d"),
        Tale.FIRST_WIN: _("%(hero)s beats %(other)s: the first win, in match %(number)d"),
    }[story.tale]


def _takes_lead(story: Story) -> str:
    if not story.other:
        return _("%(hero)s takes the lead")
    if story.number:
        return _("%(hero)s beats the leader, %(other)s, and takes the lead")
    return _("%(hero)s beats %(other)s and takes the lead")
