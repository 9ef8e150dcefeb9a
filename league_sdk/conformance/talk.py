"""A check of a player in progress: its line, its imagined league, and what was odd in its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from league_sdk.conformance.exchange import Exchange, Line, Stopped
from league_sdk.conformance.fixtures import Match, Stage
from league_sdk.conformance.reading import oddities
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects import answers
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.messages import MessageType


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for one check; those of the documents where they name one (004 2.7 table 5).

    Attributes:
        join_s: for GAME_JOIN_ACK.
        move_s: for a choice or move.
        game_over_s: for GAME_OVER.
        other_s: for everything else.
        contact_s: for the first sign of life (our choice).
        overall_s: for the whole check (our choice).
    """

    join_s: float = 5
    move_s: float = 30
    game_over_s: float = 5
    other_s: float = 10
    contact_s: float = 5
    overall_s: float = 90


@dataclass(slots=True)
class Talk:
    """What the parts of a check share.

    Attributes:
        odd: by clause, the first oddity with its exchange, and how many answers had one.
        heard: by message type, how many answers were read.
        sample: the first of them.
        own_ids: by id, the first answer in which the agent called itself so.
        senders: the same of sender.
        tokens: what it sent as auth_token.
    """

    line: Line
    stage: Stage
    verdicts: Verdicts
    limits: Limits
    odd: dict[str, tuple[str, Exchange]] = field(default_factory=dict)
    heard: Counter[MessageType] = field(default_factory=Counter)
    sample: Exchange | None = None
    own_ids: dict[str, Exchange] = field(default_factory=dict)
    senders: dict[str, Exchange] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    _open: dict[str, Match] = field(default_factory=dict)

    async def invite(self, match: Match) -> Exchange:
        """GAME_INVITATION, in every way until it is answered."""
        self._open[match.match_id] = match
        message = self.stage.invitation(match)
        exchange = await self.line.ask(message, limit_s=self.limits.join_s)
        self._read(exchange, MessageType.GAME_JOIN_ACK, message)
        self.line.check_alive()
        return exchange

    async def choose(self, match: Match, *, generic: bool = False, patient: bool = True) -> Exchange:
        """The request for a choice or move; ``generic`` uses GAME_MOVE_CALL for any game."""
        stage = self.stage
        message = stage.generic_call(match) if generic else stage.move_call(match)
        name = stage.game.choice_field
        exchange = await self.line.ask(message, limit_s=self.limits.move_s, choice_field=name, patient=patient)
        called = MessageType(message["message_type"])
        expected = MessageType.GAME_MOVE_RESPONSE if generic else stage.game.response_message
        self._read(exchange, expected, message, choice_field="" if called == MessageType.GAME_MOVE_CALL else name)
        self.line.check_alive()
        return exchange

    async def tell(self, message: Mapping[str, Any], *, patient: bool = False, probe: bool = False) -> Exchange:
        """A message that asks for nothing; ``probe`` as for :meth:`Line.ask`."""
        over = message["message_type"] == MessageType.GAME_OVER
        limit = self.limits.game_over_s if over else self.limits.other_s
        exchange = await self.line.ask(message, limit_s=limit, patient=patient, probe=probe)
        self.line.check_alive()
        return exchange

    async def end(self, match: Match, status: str = "CANCELLED", choice: Any = None) -> Exchange:
        """GAME_OVER; some agents refuse everything until they get it, so every way is tried."""
        exchange = await self.tell(self.stage.game_over(match, status, choice), patient=True)
        self._open.pop(match.match_id, None)
        return exchange

    async def leave_free(self) -> None:
        """Cancel the matches of a check that was stopped: an agent in one may be unable to play another."""
        for match in list(self._open.values()):
            self.line.extend(self.limits.game_over_s)
            try:
                await self.end(match)
            except Stopped:
                # It is gone, or silent as before; the next match was told.
                continue

    def joined(self, exchange: Exchange) -> bool:
        """Whether an invitation was accepted."""
        return exchange.answered and answers.accepted(exchange.message) is True

    def move(self, exchange: Exchange) -> Any:
        """The choice in an answer, None when there is none."""
        return answers.choice(exchange.message, self.stage.game.choice_field) if exchange.answered else None

    def illegal(self, match: Match, move: Any) -> str:
        """Why a choice is not legal; empty when it is."""
        try:
            self.stage.game.apply(self.stage.position(match), self.stage.who.player_id, move)
        except LeagueError as error:
            return f"{error.message} Seen: {error.context.get('seen')}."
        return ""

    def _read(self, exchange: Exchange, expected: MessageType, sent: Mapping[str, Any], choice_field: str = "") -> None:
        if not exchange.answered:
            return
        self.heard[expected] += 1
        self.sample = self.sample or exchange
        for clause, sentence in oddities(exchange, expected=expected, sent=sent, choice_field=choice_field):
            self.odd.setdefault(clause, (sentence, exchange))
        token = exchange.message.get("auth_token")
        if isinstance(token, str) and token:
            self.tokens.append(token)
        sender = exchange.message.get("sender")
        if isinstance(sender, str) and sender:
            self.senders.setdefault(sender, exchange)
        player_id = exchange.message.get("player_id")
        if isinstance(player_id, str) and player_id:
            self.own_ids.setdefault(player_id, exchange)
            self._adopt(player_id)

    def _adopt(self, player_id: str) -> None:
        """An agent nothing is known of may be registered somewhere: it is called by the id it uses."""
        who = self.stage.who
        if not who.known and player_id[:1] == "P" and player_id[1:].isdecimal():
            self.stage.who = replace(who, player_id=player_id, known=True)
