"""The lead: of several conductors one conducts, and another takes over when it ends or is not heard of.

That no two of them send the same is a matter of good manners, not of safety: every step of a league is a
compare-and-swap, so that two leaders at once (one was asleep and does not know yet that it has lost the lead) send a
message twice, with the same conversation_id, and judge nothing twice.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from matches.models import Lead

THE_LEAD = "conductor"
LEAD_S = 3.0
"""How long the lead holds without being renewed."""


def take_lead(*, holder: str, force: bool = False) -> bool:
    """Take the lead if it is free, or renew it; whether ``holder`` has it now.

    Args:
        holder: the conductor, by a name of its own.
        force: also from another that has it.
    """
    mine = Lead.objects.filter(pk=THE_LEAD)
    if not force:
        mine = mine.filter(Q(holder=holder) | Q(until__lte=Now()))
    until = Now() + timedelta(seconds=LEAD_S)
    if mine.update(holder=holder, until=until):
        return True
    if Lead.objects.filter(pk=THE_LEAD).exists():
        return False
    # The first conductor of this database; of two at once the row lets one in.
    first = Lead(pk=THE_LEAD, holder=holder, until=until)
    Lead.objects.bulk_create([first], ignore_conflicts=True)
    return Lead.objects.filter(pk=THE_LEAD, holder=holder).exists()


def give_up_lead(*, holder: str) -> None:
    """Let the next conductor begin at once."""
    Lead.objects.filter(pk=THE_LEAD, holder=holder).update(until=Now())
