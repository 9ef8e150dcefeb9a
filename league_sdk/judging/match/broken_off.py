"""The two exceptions that break off an attempt at a match, before its verdict or before all players were told it."""

from __future__ import annotations

from league_sdk.asking.call_result import CallResult
from league_sdk.protocol.faults import Cause


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


class Fenced(Exception):
    """The match may be another referee's by now, so its players must not be called any more."""
