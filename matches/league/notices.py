"""Notices: the instructor's texts to everybody, or to the owner of one agent. All of it is our choice."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from agents_registry.isolating import isolated
from agents_registry.models import Agent, Kind
from league_sdk.ledger import chain
from league_sdk.ledger.kinds import EventKind
from league_sdk.protocol.transcript import is_storable
from matches.league.effects import record, shown
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.league.leagues import get_league
from matches.models import Event, Notice
from matches.models.desk import MAX_NOTICE_CHARS, MAX_USER_CHARS
from storage import clock


@transaction.atomic
def say(*, league_id: str, text: str, by: str, player_id: str = "") -> Notice:
    """Announce something to everybody, or to the owner of one player.

    Changes: a notice. A notice to everybody is an event too, and is shown on the board and the screen at once, even
    while the board is frozen. A notice to an owner is shown only on the owner's page.

    Args:
        text: 1 to 500 characters; surrounding whitespace is removed.
        by: the user name of the instructor.
        player_id: the player whose owner is addressed; empty for everybody.

    Raises:
        NotFound: no such league.
        Invalid: the text cannot be used, or there is no such player.
        ActionRefused: it is the demo league.
    """
    league = get_league(league_id)
    if league.demo:
        raise ActionRefused(_("The demo league runs by itself: say it in another league."))
    agent = _player(league_id, player_id) if player_id else None
    now = clock.now()
    notice = Notice.objects.create(
        league=league, agent=agent, text=_checked(text), made_by=by[:MAX_USER_CHARS], made_at=now
    )
    if agent is None:
        record(league.pk, EventKind.NOTICE, text=notice.text, said=now.isoformat())
    shown(league.pk)
    return notice


@transaction.atomic
def withdraw(*, league_id: str, number: int) -> Notice:
    """Withdraw a notice: it is not shown any more, not even in the feed.

    Changes: the notice; if it was to everybody also its event, from which the text is removed.

    Args:
        number: the primary key of the notice.

    Raises:
        NotFound: no such notice in this league.
        ActionRefused: it was withdrawn before.
    """
    notice = get_league(league_id).notices.filter(pk=number).first()
    if notice is None:
        raise NotFound(_("There is no such notice in this league."))
    moved = Notice.objects.filter(pk=number, withdrawn_at__isnull=True).update(withdrawn_at=clock.now())
    if not moved:
        raise ActionRefused(_("This notice has been withdrawn already."))
    if notice.agent_id is None:
        made_at = notice.made_at.isoformat()
        events = Event.objects.filter(league_id=league_id, kind=EventKind.NOTICE, data__said=made_at)
        for event in events:
            # Keep the hash of the text instead of its salt: the chain still verifies, and no text can be guessed.
            private_hash = chain.hash_private(event.salt, event.kind, event.data)
            Event.objects.filter(pk=event.pk).update(
                kind=EventKind.NOTICE_WITHDRAWN, data={"said": made_at}, salt=private_hash
            )
    shown(league_id)
    notice.refresh_from_db()
    return notice


def _checked(text: object) -> str:
    """Check a text, and return it as it is stored.

    Raises:
        Invalid: it is empty or too long, or cannot be stored.
    """
    stripped = text.strip() if isinstance(text, str) else ""
    if not stripped:
        raise Invalid(_("The text is empty: write what the room should know."), field="text")
    if len(stripped) > MAX_NOTICE_CHARS:
        raise Invalid(
            _("The text has %(seen)d characters; at most %(max)d are shown. Shorten it.")
            % {"seen": len(stripped), "max": MAX_NOTICE_CHARS},
            field="text",
        )
    if not is_storable(stripped):
        raise Invalid(_("%(field)s holds a character that cannot be stored.") % {"field": "text"}, field="text")
    return stripped


def _player(league_id: str, player_id: str) -> Agent:
    code = player_id.replace("\x00", "\ufffd")
    agent = Agent.objects.filter(league_id=league_id, kind=Kind.PLAYER, code=code).first()
    if agent is None:
        sentence = _("There is no player %(player)s in this league. Leave the player out to speak to the room.")
        raise Invalid(sentence % {"player": isolated(code[:40])}, field="player_id")
    return agent
