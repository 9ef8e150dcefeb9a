"""A check of a player in progress: what it is sent, and what its answers have shown so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from league_sdk import match_messages
from league_sdk.asking.reading import read_join, read_move
from league_sdk.asking.request import Request
from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.posts import Posts
from league_sdk.conformance.reading import oddities
from league_sdk.conformance.side import side_of
from league_sdk.conformance.subject_caller import Stopped, SubjectCaller
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.dialects import answers
from league_sdk.dialects.memory import Memory
from league_sdk.protocol import notes
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.notes import Note
from league_sdk.protocol.sentences import Sentence, _, ours, say
from league_sdk.simulated_league import Match, SimulatedLeague

_REFUSALS = (_('parity_choice must be exactly "even" or "odd".'),)
"""Sentences about illegal moves in reports of earlier versions; newer reports have notes (``protocol.notes``)."""


@dataclass(slots=True)
class Talk:
    """Sends the messages of one check and collects what the answers show.

    Attributes:
        deviations: by clause, the first deviation with its exchange.
        answer_counts: by message type, how many answers were read.
        first_answer: the first answer of all.
        sent_token: whether any answer had an auth_token.
        cannot_play: whether it is known that the agent cannot play.
        server: what was found out about an MCP server that is called through its tools; None for other agents.
    """

    caller: SubjectCaller
    league: SimulatedLeague
    verdicts: Verdicts
    limits: LeagueSettings
    posts: Posts
    deviations: dict[str, tuple[Sentence, Exchange]] = field(default_factory=dict)
    answer_counts: Counter[MessageType] = field(default_factory=Counter)
    first_answer: Exchange | None = None
    sent_token: bool = False
    cannot_play: bool = False
    server: Memory | None = None
    _open: dict[str, Match] = field(default_factory=dict)

    async def invite(self, match: Match, *, limit_s: float | None = None, **options: Any) -> Exchange:
        """Send GAME_INVITATION until it is answered, as a referee does.

        Args:
            limit_s: the limit in seconds; None for the league's own.
            options: as for :meth:`_obtain`.
        """
        self._open[match.match_id] = match
        return await self._obtain(
            match,
            partial(match_messages.invitation, self.league.receiver(match)),
            MessageType.GAME_JOIN_ACK,
            read_join,
            limit_s=self.limits.join_timeout_s if limit_s is None else limit_s,
            **options,
        )

    async def choose(
        self, match: Match, *, generic: bool = False, limit_s: float | None = None, **options: Any
    ) -> Exchange:
        """Ask for a choice or move, as a referee does.

        Args:
            generic: with GAME_MOVE_CALL for any game.
            limit_s: the limit in seconds; None for the league's own.
            options: as for :meth:`_obtain`.
        """
        game, state, to = self.league.game, self.league.position(match), self.league.receiver(match)
        return await self._obtain(
            match,
            partial(match_messages.move_call, to, game, state, generic=generic),
            MessageType.GAME_MOVE_RESPONSE if generic else game.response_message,
            lambda message: read_move(message, game, state, to.player_id),
            limit_s=self.limits.move_timeout_s if limit_s is None else limit_s,
            **options,
        )

    async def _obtain(  # noqa: PLR0913 - what differs between invitations and moves, and how they are asked
        self,
        match: Match,
        build: Callable[..., dict[str, Any]],
        answer_type: MessageType,
        accept: Callable[[Mapping[str, Any]], Any],
        *,
        limit_s: float,
        more: Mapping[str, Any] = MappingProxyType({}),
        once: bool = False,
        judged_first: bool = False,
        **options: Any,
    ) -> Exchange:
        """Ask for one thing with the tries that a match has, and read the answer; returns the exchange that decides.

        Args:
            more: further fields of the message.
            once: try once only. This is also done as soon as it is known that the agent cannot play.
            judged_first: do not stop the check here if the agent is gone: the caller judges the answer first.
            options: further arguments of :meth:`SubjectCaller.ask`.

        Raises:
            Stopped: the check cannot go on.
        """
        caller, choice_field = self.caller, self.league.game.choice_field
        side = side_of(
            caller, self.posts, self.league, match, answer_type, limits=self.limits, limit_s=limit_s, **options
        )
        side.mailbox.allow_repeat(side.player_id)
        retries, timeouts_before = 0 if once or self.cannot_play else self.limits.max_retries, caller.timeouts
        await Request(
            side,
            lambda now, deadline: build(now=now, deadline=deadline) | dict(more),
            limit_s=limit_s,
            answer_type=answer_type,
            accept=accept,
            max_retries=retries,
        ).obtain()
        # The timeouts of all tries of one request count as one.
        caller.timeouts = min(caller.timeouts, timeouts_before + 1)
        exchange = side.decisive
        if exchange is None:
            raise RuntimeError("a request without a try")
        if exchange.is_untyped and not exchange.said_ready and caller.hears_posts:
            exchange = await side.late_post(exchange)
        by_name = answer_type not in (MessageType.GAME_MOVE_RESPONSE, MessageType.GAME_JOIN_ACK)
        self._read(exchange, answer_type, side.message, choice_field=choice_field if by_name else "")
        if not judged_first:
            caller.check_alive()
        return exchange

    async def tell(self, message: Mapping[str, Any], *, patient: bool = False, probe: bool = False) -> Exchange:
        """Send a message that asks for nothing; ``patient`` and ``probe`` as for :meth:`SubjectCaller.ask`."""
        over = message["message_type"] == MessageType.GAME_OVER
        limit = self.limits.game_over_timeout_s if over else self.limits.generic_timeout_s
        exchange = await self.caller.ask(message, limit_s=limit, patient=patient, probe=probe)
        self.caller.check_alive()
        return exchange

    async def end(self, match: Match, status: str = "CANCELLED", choice: Any = None) -> Exchange:
        """Send GAME_OVER in several dialects until it is answered: until then some agents refuse everything else."""
        exchange = await self.tell(self.league.game_over(match, status, choice), patient=True)
        self._open.pop(match.match_id, None)
        return exchange

    async def cancel_open_matches(self) -> None:
        """Cancel the matches of a check that was stopped: an agent in one may be unable to play another."""
        for match in list(self._open.values()):
            self.caller.extend(self.limits.game_over_timeout_s)
            try:
                await self.end(match)
            except Stopped:
                # The agent is gone or still silent; try the next match all the same.
                continue

    def has_joined(self, exchange: Exchange) -> bool:
        """Whether an invitation was accepted."""
        return exchange.answered and answers.accepted(exchange.message) is True

    def move(self, exchange: Exchange) -> Any:
        """The choice in an answer, None when there is none."""
        return answers.choice(exchange.message, self.league.game.choice_field) if exchange.answered else None

    def why_illegal(self, match: Match, exchange: Exchange) -> Sentence | Note | str:
        """Why an answer is not a legal choice; empty if it is one."""
        move = self.move(exchange)
        if move is None:
            return exchange.in_words()
        try:
            self.league.game.apply(self.league.position(match), self.league.who.player_id, move)
        except LeagueError as error:
            seen = str(error.context.get("seen"))
            refusal = notes.read(error.message.rstrip("."))
            if isinstance(refusal, Note):
                return say(_("{sentence}. Seen: {seen}."), sentence=refusal, seen=seen)
            return say(_("{sentence} Seen: {seen}."), sentence=ours(error.message, _REFUSALS), seen=seen)
        return ""

    def _read(self, exchange: Exchange, expected: MessageType, sent: Mapping[str, Any], choice_field: str = "") -> None:
        if not exchange.answered or exchange.said_ready:
            return
        self.answer_counts[expected] += 1
        self.first_answer = self.first_answer or exchange
        self._adopt(exchange.message.get("player_id"))
        self.sent_token |= bool(exchange.message.get("auth_token"))
        who = self.league.who
        for clause, sentence in oddities(exchange, who, expected=expected, sent=sent, choice_field=choice_field):
            self.deviations.setdefault(clause, (sentence, exchange))

    def _adopt(self, own: Any) -> None:
        """Use the id by which an unknown agent calls itself: it may be registered with another league."""
        who = self.league.who
        if not who.known and isinstance(own, str) and own[:1] == "P" and own[1:].isdecimal():
            self.league.who = replace(who, player_id=own, known=True)
