"""One match of a referee from its first word to its report: who is called, what is sealed, what is told of it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from league_sdk.judging import telemetry
from league_sdk.judging.brief import Seat
from league_sdk.judging.canary import Canary
from league_sdk.judging.clock import Clock
from league_sdk.judging.conversation import Conversation
from league_sdk.judging.ending import Played, tell_sealed
from league_sdk.judging.fault import Fenced
from league_sdk.judging.heard import Heard
from league_sdk.judging.heartbeat import BODY_BUDGET, NOT_ABOUT_THE_CONTENT, PROGRESS_EVERY_S, Heartbeat, Key, Running
from league_sdk.judging.league_link import LeagueLink, Refused
from league_sdk.judging.match import play_match
from league_sdk.judging.player_line import PlayerLine
from league_sdk.judging.reporting import result_of, seal_of
from league_sdk.rules.registry import games
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import CallFailed
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)


class SealRefused(Exception):
    """The league manager does not take a verdict into safe keeping: nobody may hear it."""


@dataclass(frozen=True, slots=True)
class LeagueSafe:
    """What the league manager keeps of one match (:class:`league_sdk.judging.ending.Safe`)."""

    running: Running
    heartbeat: Heartbeat

    async def record_moves(self) -> None:
        await self.heartbeat.confirm(self.running)

    async def seal(self, played: Played) -> None:
        running = self.running
        running.seal = seal_of(running.brief, played)
        while not running.sealed:
            await self.heartbeat.confirm(running)
            if running.refused:
                raise SealRefused


@dataclass
class MatchRunner:
    """Plays the matches of a referee.

    Attributes:
        link: the line to the league manager.
        heartbeat: what it is told meanwhile.
        running: the matches in play; the referee adds and removes.
        clock: time.
        canary: says when a deadline that passed was ours.
        orphaned: whether the site that started this process has ended.
    """

    link: LeagueLink
    heartbeat: Heartbeat
    running: Mapping[Key, Running]
    clock: Clock
    canary: Canary
    orphaned: Callable[[], bool]
    _rng: random.Random = field(default_factory=random.SystemRandom, init=False)
    _lines: dict[EndpointPolicy, PlayerLine] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._breaker = Breaker(self.clock.monotonic)

    async def play(self, running: Running) -> None:
        """Play a match, or tell its sealed end, and report it.

        Raises:
            Fenced: no heartbeat was accepted for too long.
            MachineFailed: this machine can call nobody.
            SealRefused, Refused: the league manager does not take the verdict, or the result.
        """
        brief = running.brief
        line = await self._line(running.policy)
        game = games()[brief.game_type]
        ask, tell = line.for_match(brief.settings, game.choice_field)
        fenced_ask, fenced_tell = self._fenced(running, ask), self._fenced(running, tell)
        talk = Conversation(brief, fenced_ask, fenced_tell, self.clock, running.log, running.mailbox)
        if brief.sealed is not None:
            played = await tell_sealed(talk)
        else:
            safe = LeagueSafe(running, self.heartbeat) if brief.seals else None
            played = await play_match(talk, game, rng=self._rng, safe=safe)
        learned = {
            "spoken": {seat.player_id: spoken for seat in brief.seats if (spoken := line.spoken(seat))},
            "found_at": {seat.player_id: path for seat in brief.seats if (path := line.found_at(seat))},
            **({"proofs": running.log.proofs} if running.log.proofs else {}),
        }
        await self._report(running, played, learned)

    async def _report(self, running: Running, played: Played, learned: Mapping[str, Any]) -> None:
        """MATCH_RESULT_REPORT (ruling, section 4), with what is left of the transcript."""
        brief = running.brief
        running.over = True
        while running.log.size() > BODY_BUDGET:
            try:
                await self.heartbeat.send_entries(running)
            except (CallFailed, Refused) as error:
                # The result must outlive this; Referee.keep_reporting ends the match if the league stays away.
                logger.warning("the transcript of %s has to wait: %s", brief.match_id, error)
                await asyncio.sleep(PROGRESS_EVERY_S)
        result = {**result_of(brief, played), "lifecycle": running.log.steps, **learned}
        try:
            await self.link.report({**result, "transcript": running.log.take(BODY_BUDGET)})
        except Refused as error:
            if error.error_code in NOT_ABOUT_THE_CONTENT:
                raise
            # What players said must not keep the result from counting.
            logger.error("the transcript of %s is left out of its report: %s", brief.match_id, error)
            await self.link.report({**result, "transcript": []})

    def _fenced(self, running: Running, call: Callable[..., Awaitable[Heard]]) -> Callable[..., Awaitable[Heard]]:
        """Calls a player only while the match is surely ours.

        ``Referee.keep_reporting`` looks too, but one that was stopped and goes on may get to the players first: they
        would hear how a lost attempt ended after they have heard how the match did. So may one whose site was killed
        and started again while it stood still: a new site gives its matches to others at once.
        """

        async def fenced(seat: Seat, message: dict[str, Any], **more: Any) -> Heard:
            if running.left_s() <= 0 or self.orphaned():
                raise Fenced
            with telemetry.asking(seat.player_id, message["message_type"]):
                return await call(seat, message, **more)

        return fenced

    async def _line(self, policy: EndpointPolicy) -> PlayerLine:
        """The line to players under a policy; a new one takes the place of those that no match uses any more."""
        line = self._lines.get(policy)
        if line is None:
            line = self._lines[policy] = PlayerLine(policy, self.clock, self._breaker, self.canary)
            used = {policy, *(running.policy for running in self.running.values())}
            for left in [self._lines.pop(old) for old in self._lines.keys() - used]:
                await left.aclose()
        return line

    async def aclose(self) -> None:
        """Close every connection to players."""
        for line in self._lines.values():
            await line.aclose()
