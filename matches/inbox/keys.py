"""Keys with which a referee may put messages into a player's inbox: valid for one seat of one attempt (section 13)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from django.conf import settings

from league_sdk.protocol.states import IN_PLAY
from matches.models import Match

_PURPOSE = b"inbox of a seat"


@dataclass(frozen=True, slots=True)
class SeatKey:
    """What a key is for: the primary keys of match and player, and the attempt."""

    match: int
    attempt: int
    agent: int

    def text(self) -> str:
        """The key as text, as it is sent with ``start_match``."""
        head = f"{self.match}.{self.attempt}.{self.agent}"
        return f"{head}.{_signature(head)}"


def _signature(head: str) -> str:
    secret = hashlib.sha256(_PURPOSE + settings.SECRET_KEY.encode()).digest()
    return hmac.new(secret, head.encode(), hashlib.sha256).hexdigest()[:40]


def read_key(text: str) -> SeatKey | None:
    """The seat of a key that this site made; None for any other text."""
    head, _dot, signature = text.rpartition(".")
    if not (text.isascii() and len(text) <= 200 and hmac.compare_digest(_signature(head), signature)):
        return None
    match, attempt, agent = (int(part) for part in head.split("."))
    return SeatKey(match, attempt, agent)


def opens(key: SeatKey) -> bool:
    """Whether the attempt is being played: a key of a match that is over, or went to another referee, opens nothing."""
    rows = Match.objects.filter(pk=key.match, attempt=key.attempt, state__in=IN_PLAY)
    seats = rows.values_list("player_a_id", "player_b_id").first()
    return seats is not None and key.agent in seats
