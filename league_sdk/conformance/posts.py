"""Answers that the player under check sends by a POST of its own, proven as a referee has them proven."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.asking.callbacks import find_seat
from league_sdk.asking.mailbox import Mailbox
from league_sdk.conformance.listener import Listener
from league_sdk.dialects import inbound
from league_sdk.dialects.words import ANSWERS
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat, LeagueError, MissingField
from league_sdk.protocol.sentences import Sentence, _, ours
from league_sdk.simulated_league import Identity, Match

_NOT_HERE, _NO_MATCH_ID = _("This match is not being played here."), _("match_id is missing.")
_REFUSALS = (
    _NOT_HERE,
    _NO_MATCH_ID,
    _("auth_token is missing."),
    _("This is not the token of a player of the match."),
    _("Nothing of the kind was asked for."),
    _("This answer came after the verdict; it changes nothing."),
)
"""Why a POST is refused, here and in a match, as far as it is translated."""


@dataclass(frozen=True, slots=True)
class _Seat:
    player_id: str
    league_token: str
    known_digests: Collection[str]

    def owns(self, token: str) -> bool:
        return tokens.digest(token) in self.known_digests


@dataclass(slots=True)
class OpenMatch:
    """The match that the check plays now.

    Attributes:
        path_secret: the secret at the end of the path that only the player was told.
        refused: why a POST for it was refused last; empty if none was.
    """

    league_id: str
    match_id: str
    path_secret: str
    seat: _Seat
    mailbox: Mailbox = field(default_factory=Mailbox)
    refused: str = ""

    @property
    def seats(self) -> tuple[_Seat, ...]:
        return (self.seat,)


class Posts(Listener):
    """Takes the player's answers to the match that is played now, at a port of its own or from the league manager.

    A POST is proven by a token of the player, as in a match; or by the secret path, if nobody knows the player's
    tokens. If its token may belong to somebody else at the player's address, it must also name the match or come by the
    secret path, which only the called program was told: a caller that registers another's address gets a token as well.

    Args:
        known: the SHA-256 of the tokens of all that are registered at the player's address; None where nobody knows
            them, as it is not registered.
        own: those of them that certainly belong to the program there: a POST with such a token need not name its match,
            as in a league.
    """

    minds_headers = True

    def __init__(self, known: Collection[str] | None = None, own: Collection[str] = ()) -> None:
        super().__init__(self._answer)
        self._known, self._own = known, own
        self._match: OpenMatch | None = None

    @property
    def refused(self) -> Sentence | str:
        """Why a POST for the match that is played now was refused last; empty if none was."""
        return ours(self._match.refused, _REFUSALS) if self._match is not None else ""

    def open(self, match: Match, who: Identity) -> OpenMatch:
        """Take answers to this match from now on, and to no earlier match any more."""
        open_match = self._match
        if open_match is None or open_match.path_secret != match.path_secret:
            seat = _Seat(who.player_id, who.league_token, self._known or ())
            open_match = self._match = OpenMatch(who.league_id, match.match_id, match.path_secret, seat)
        return open_match

    def relayed(self, message_type: str, message: Mapping[str, Any]) -> None:
        """Take an answer that the player sent to the league manager, which has proven that it is for this check."""
        match = self._match
        if match is not None and message.get("match_id", message.get("game_id")) in (match.match_id, None):
            self._deliver(match, message_type, dict(message))

    async def _answer(self, request: inbound.Inbound, body: Any, path: str) -> dict[str, Any]:
        """Answer what a referee would.

        Raises:
            TokenMissing, TokenInvalid: E011, E012.
            OutOfTime, InvalidFormat: E001, E002; no request waits for this answer, or it is for another match.
            MissingField: E003; it does not say for which match it is.
        """
        match = self._match
        if match is None or request.name not in ANSWERS:
            return {"status": "RECEIVED"}
        try:
            self._prove(match, request.message, is_told=path.endswith(f"/{match.path_secret}"))
        except LeagueError as error:
            match.refused = error.message
            raise
        return match.mailbox.deliver(match.seat.player_id, request.name, request.message)

    def _prove(self, match: OpenMatch, message: Mapping[str, Any], *, is_told: bool) -> None:
        """Refuse a POST that is not the player's; ``is_told`` says whether it came by the secret path."""
        if self._known is None and is_told:
            return
        match_id = message.get("match_id", message.get("game_id"))
        if find_seat([(match, match.mailbox)], message, trusted_token="") is None:
            raise InvalidFormat(_NOT_HERE, field="match_id", seen=match_id)
        if match_id is None and not (is_told or self._is_own(message)):
            raise MissingField(_NO_MATCH_ID, field="match_id", expected="the match that this answers")

    def _is_own(self, message: Mapping[str, Any]) -> bool:
        """Whether the token of a POST is certainly of the program at the player's address."""
        return tokens.digest(str(message.get("auth_token") or message.get("league_token"))) in self._own

    @staticmethod
    def _deliver(match: OpenMatch, message_type: str, message: dict[str, Any]) -> None:
        try:
            match.mailbox.deliver(match.seat.player_id, message_type, message)
        except LeagueError as error:
            # The sender was told already that its answer was received, as in a match.
            match.refused = error.message
