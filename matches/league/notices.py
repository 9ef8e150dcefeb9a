"""Notices: what the instructor says to the room, or to the owner of one agent. All of it is our choice."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from agents_registry.models import Agent, Kind
from league_sdk.ledger import chain
from league_sdk.ledger.kinds import EventKind
from matches.league import lifecycle
from matches.league.effects import record, shown
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import Event, Notice
from matches.models.desk import MAX_NOTICE_CHARS, MAX_USER_CHARS


def say(*, league_id: str, text: str, by: str, player_id: str = "") -> Notice:
    """Say something to the room, or to the owner of one player.

    Changes: a notice. One to the room is an event, too, and stands on the board and the screen at once, whether the
    board is frozen or not; one to a player is shown on its owner's page alone.

    Args:
        text: 1 to 500 characters; what stands around it is taken off.
        by: the user name of whoever says it.
        player_id: the player whose owner is meant; empty: the room.

    Raises:
        NotFound: no such league.
        Invalid: a text that cannot be used, or no such player.
        ActionRefused: the demo, which nobody runs.
    """
    with transaction.atomic():
        league = lifecycle.get_league(league_id)
        if league.demo:
            raise ActionRefused(_("The demo league runs by itself: say it in another league."))
        agent = _player(league_id, player_id) if player_id else None
        now = timezone.now()
        notice = Notice.objects.create(
            league=league, agent=agent, text=_checked(text), made_by=by[:MAX_USER_CHARS], made_at=now
        )
        if agent is None:
            record(league.pk, EventKind.NOTICE, text=notice.text, said=now.isoformat())
        shown(league.pk)
        return notice


def withdraw(*, league_id: str, number: int) -> Notice:
    """Take a notice back: nobody is shown it any more, not in the feed either.

    Changes: the notice; of one to the room also the event, which no longer says what it was.

    Args:
        number: its primary key.

    Raises:
        NotFound: no such notice in this league.
        ActionRefused: it was withdrawn before.
    """
    with transaction.atomic():
        notice = Notice.objects.filter(league_id=league_id, pk=number).first()
        if notice is None:
            raise NotFound(_("There is no such announcement in this league."))
        moved = Notice.objects.filter(pk=number, withdrawn_at__isnull=True).update(withdrawn_at=timezone.now())
        if not moved:
            raise ActionRefused(_("This announcement has been withdrawn already."))
        if notice.agent_id is None:
            said = notice.made_at.isoformat()
            told = Event.objects.filter(league_id=league_id, kind=EventKind.NOTICE, data__said=said)
            for event in told:
                # The hash of what was said takes the place of its salt: the chain holds, and no guess can be tried.
                kept = chain.hash_private(event.salt, event.kind, event.data)
                Event.objects.filter(pk=event.pk).update(
                    kind=EventKind.NOTICE_WITHDRAWN, data={"said": said}, salt=kept
                )
        shown(league_id)
        notice.refresh_from_db()
        return notice


def _checked(text: object) -> str:
    """A text as it is kept.

    Raises:
        Invalid: nothing is left of it, it is too long, or no database takes it.
    """
    kept = text.strip() if isinstance(text, str) else ""
    if not kept:
        raise Invalid(_("The text is empty: write what the room should know."), field="text")
    if len(kept) > MAX_NOTICE_CHARS:
        raise Invalid(
            _("The text has %(seen)d characters; at most %(most)d are shown. Shorten it.")
            % {"seen": len(kept), "most": MAX_NOTICE_CHARS},
            field="text",
        )
    if "\x00" in kept or any("\ud800" <= letter <= "\udfff" for letter in kept):
        raise Invalid(_("%(field)s holds a character that cannot be stored.") % {"field": "text"}, field="text")
    return kept


def _player(league_id: str, player_id: str) -> Agent:
    wanted = player_id.replace("\x00", "\ufffd")
    agent = Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, code=wanted).first()
    if agent is None:
        sentence = _("There is no player %(player)s in this league. Leave the player out to speak to the room.")
        raise Invalid(sentence % {"player": wanted[:40]}, field="player_id")
    return agent
