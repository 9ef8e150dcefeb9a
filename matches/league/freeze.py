"""The freeze: from a certain round on the public sees no new results, until the table is unveiled place by place."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents_registry.models import Kind
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.states import LeagueState
from matches.league import endings
from matches.league.effects import changed, record
from matches.league.errors import ActionRefused
from matches.league.leagues import get_league, named
from matches.models import League
from matches.view import queries, sight, summaries

_OVER = (LeagueState.COMPLETED, LeagueState.STOPPED)


@transaction.atomic
def plan(*, league_id: str, from_round: int | None) -> None:
    """Choose the first round whose results the public will not see; None cancels the freeze.

    Changes the league's row only: the board is frozen when that round starts.

    Raises:
        NotFound: no such league.
        ActionRefused: the board is frozen already, the league is over, or that round has begun.
    """
    league = get_league(league_id)
    if league.frozen_seq is not None:
        raise ActionRefused(_("The board of %(league)s is frozen already.") % named(league))
    if league.state in _OVER:
        raise ActionRefused(_("%(league)s is over: there is nothing to freeze.") % named(league))
    if from_round is not None:
        _refuse_round(league, from_round)
    League.objects.filter(pk=league.pk).update(freeze_from=from_round)
    changed(league.pk)


def _refuse_round(league: League, from_round: int) -> None:
    started = max(sight.moment(league).rounds, default=0)
    # Before the schedule is complete, the number of its rounds is not known.
    planned = league.rounds.count() if league.state != LeagueState.REGISTRATION else 0
    if from_round <= started:
        raise ActionRefused(
            _("Round %(asked)d has begun already: freeze from round %(next)d on, or later.")
            % {"asked": from_round, "next": started + 1}
        )
    if planned and from_round > planned:
        raise ActionRefused(
            ngettext(
                "There is no round %(asked)d: the schedule has %(rounds)d round.",
                "There is no round %(asked)d: the schedule has %(rounds)d rounds.",
                planned,
            )
            % {"asked": from_round, "rounds": planned}
        )


def begin_before(league: League, number: int) -> None:
    """Freeze the board if round ``number``, which is about to start, is the first hidden one.

    Changes: an event, the last one that the public sees, and a snapshot of what pages show besides events. Call inside
    the transaction that starts the round.
    """
    if league.freeze_from is None or league.frozen_seq is not None or number < league.freeze_from:
        return
    record(league.pk, EventKind.FROZEN, after_round=number - 1)
    view = sight.everything(league)
    league.frozen_seq = view.moment.seq
    league.frozen = {
        "after": number - 1,
        "head": view.moment.head,
        "names": view.names,
        "states": dict(league.agents.filter(kind=Kind.PLAYER).order_by("pk").values_list("code", "state")),
        "agents": queries.agents_of(view),
        # The registration code is a secret: keep no second copy of it.
        "settings": {name: value for name, value in league.settings.items() if name != "registration_code"},
        "summary": summaries.summary(view).stored(),
    }
    League.objects.filter(pk=league.pk).update(frozen_seq=league.frozen_seq, frozen=league.frozen, unveiled=0)


@transaction.atomic
def unveil(*, league_id: str) -> int:
    """Show one more place of the final table, from the last place up; the first place ends the freeze.

    Returns the place that was unveiled.

    Raises:
        ActionRefused: the board is not frozen, the league is not over, or somebody else has just unveiled a place.
    """
    league = _frozen(league_id)
    if league.state not in _OVER:
        raise ActionRefused(
            _("%(league)s is not over: places are unveiled when all rounds are played.") % named(league)
        )
    place = len(sight.everything(league).standings) - league.unveiled
    if place <= 1:
        lift(league_id=league_id)
        return 1
    same = League.objects.filter(pk=league.pk, unveiled=league.unveiled, frozen_seq=league.frozen_seq)
    moved = same.update(unveiled=F("unveiled") + 1)
    if not moved:
        raise ActionRefused(_("Someone else has just unveiled a place: look again."))
    record(league.pk, EventKind.PLACE_UNVEILED, place=place)
    changed(league.pk)
    return place


@transaction.atomic
def lift(*, league_id: str) -> None:
    """End the freeze at once. If the league is COMPLETED, LEAGUE_COMPLETED is queued now.

    Raises:
        ActionRefused: the board is not frozen.
    """
    league = _frozen(league_id)
    frozen = League.objects.filter(pk=league.pk, frozen_seq=league.frozen_seq)
    if not frozen.update(frozen_seq=None, frozen={}, freeze_from=None, unveiled=0):
        raise ActionRefused(_("The board of %(league)s is not frozen.") % named(league))
    record(league.pk, EventKind.UNVEILED)
    # Read it again: it may have ended since, and while the board was frozen no agent was told.
    league = get_league(league_id)
    if league.state == LeagueState.COMPLETED:
        endings.announce_end(league)
    changed(league.pk)


def _frozen(league_id: str) -> League:
    league = get_league(league_id)
    if league.frozen_seq is None:
        raise ActionRefused(_("The board of %(league)s is not frozen.") % named(league))
    return league
