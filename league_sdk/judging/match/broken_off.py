"""The exceptions that break off an attempt at a match, before its verdict or before all players were told it."""

from __future__ import annotations

from league_sdk.asking.call_result import CallResult
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Code, note


class MachineFailed(Exception):
    """This machine cannot call a player, or the league manager cannot hand messages to it: another referee should play.

    Args:
        result: of the call that failed. Its excuse is the text of the exception.

    Attributes:
        cause: REFEREE or LEAGUE: the side that failed.
    """

    def __init__(self, result: CallResult) -> None:
        super().__init__(result.excuse)
        self.cause = Cause.LEAGUE if result.cause is Cause.LEAGUE else Cause.REFEREE


class PlayerNotReached(Exception):
    """A player could not be reached from this machine: a referee in another place should look (ruling, section 12).

    Args:
        player_id: the player.
    """

    def __init__(self, player_id: str) -> None:
        super().__init__(str(note(Code.NOT_REACHED, player=player_id)))
        self.player_id = player_id


class Fenced(Exception):
    """The match may be another referee's by now, so its players must not be called any more."""
