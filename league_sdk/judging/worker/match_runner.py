"""One match of a referee, from the invitation to the report of its result."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from league_sdk.asking.clock import Clock
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.calls.inbox_caller import PlayerInboxCaller
from league_sdk.judging.calls.player_caller import PlayerCaller
from league_sdk.judging.journal import Journal
from league_sdk.judging.match.broken_off import Fenced
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ended import EndedMatch
from league_sdk.judging.match.ending import Verdict, announce_sealed
from league_sdk.judging.match.play import play_match
from league_sdk.judging.worker.heartbeat import (
    CODES_NOT_ABOUT_CONTENT,
    MAX_TRANSCRIPT_BYTES,
    PROGRESS_INTERVAL_S,
    Heartbeat,
    Key,
    RunningMatch,
)
from league_sdk.judging.worker.league_link import LeagueLink, Refused
from league_sdk.rules.registry import games
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import CallFailed, Client
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)


class SealRefused(Exception):
    """The league manager does not seal the verdict, so no player may be told."""


@dataclass(frozen=True, slots=True)
class LeagueVerdictStore:
    """Stores moves and the verdict of one match with the league manager; a match's ``VerdictStore``."""

    match: RunningMatch
    heartbeat: Heartbeat

    async def record_moves(self) -> None:
        await self.heartbeat.confirm(self.match)

    async def seal(self, verdict: Verdict) -> None:
        match = self.match
        match.seal = verdict.to_seal(match.brief)
        while not match.sealed:
            await self.heartbeat.confirm(match)
            if match.refused:
                raise SealRefused


@dataclass
class Dependencies:
    """What a referee uses of the outside world; the defaults are the real things.

    Attributes:
        clock: time.
        canary: says when a deadline that passed was our fault.
        new_caller: makes a caller of players.
        play_match: plays one attempt (:func:`league_sdk.judging.match.play.play_match`).
        progress_interval_s: seconds between two heartbeats while there is news.
        journal: logs each message of each match.
        orphaned: whether the site that started this process has ended; its matches then go to other referees.
    """

    clock: Clock = field(default_factory=Clock)
    canary: Canary | None = None
    new_caller: Callable[[EndpointPolicy, Clock, Breaker, Canary], PlayerCaller] = PlayerCaller
    play_match: Callable[..., Awaitable[Verdict]] = play_match
    progress_interval_s: float = PROGRESS_INTERVAL_S
    journal: Journal = field(default_factory=Journal)
    orphaned: Callable[[], bool] = lambda: False


@dataclass
class MatchRunner:
    """Plays the matches of a referee.

    Attributes:
        link: calls the league manager.
        heartbeat: reports the matches while they are played.
        running: the matches in play; the referee adds and removes.
        canary: says when a deadline that passed was our fault.
        uses: what the referee uses of the outside world.
    """

    link: LeagueLink
    heartbeat: Heartbeat
    running: Mapping[Key, RunningMatch]
    canary: Canary
    uses: Dependencies
    _rng: random.Random = field(default_factory=random.SystemRandom, init=False)
    _callers: dict[EndpointPolicy, PlayerCaller] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._breaker = Breaker(self.uses.clock.monotonic)
        self._league_client = Client(agent_type="referee")
        self._inbox = PlayerInboxCaller(self.link.url, self._league_client, self.uses.clock, self.link.token)

    async def play(self, match: RunningMatch) -> None:
        """Play a match, or announce its sealed verdict, and report the result.

        Raises:
            Fenced: the match may be another referee's by now.
            MachineFailed: a player could not be called, by no fault of its own.
            SealRefused, Refused: the league manager does not take the verdict, or the result.
        """
        brief = match.brief
        match.log.on_entry = partial(self.uses.journal.record, brief)
        caller = await self._caller(match.policy)
        game = games()[brief.game_type]
        ask, tell = caller.for_match(brief.settings, game.choice_field)
        fence = partial(self._fence, match)
        talk = Conversation(brief, ask, tell, self.uses.clock, match.log, match.mailbox, fence)
        if brief.sealed is not None:
            verdict = await announce_sealed(talk)
        else:
            store = LeagueVerdictStore(match, self.heartbeat) if brief.seals else None
            verdict = await self.uses.play_match(talk, game, rng=self._rng, store=store)
        match.ended = EndedMatch.of(brief, verdict, match.log, self.uses.clock.now())
        findings = {
            "spoken": {seat.player_id: spoken for seat in brief.seats if (spoken := caller.spoken(seat))},
            "found_at": {seat.player_id: path for seat in brief.seats if (path := caller.found_at(seat))},
        }
        optional = {
            "learned": {seat.player_id: more for seat in brief.seats if (more := caller.learned(seat))},
            "registrations": {seat.player_id: seat.registration for seat in brief.seats if seat.registration},
            "proofs": match.log.proofs,
        }
        findings |= {name: found for name, found in optional.items() if found}
        await self._report(match, {**verdict.to_report(brief), "lifecycle": match.log.steps, **findings})

    async def _report(self, match: RunningMatch, report: Mapping[str, Any]) -> None:
        """Send MATCH_RESULT_REPORT (ruling, section 4) with the rest of the transcript."""
        match.over = True
        while match.log.unsent_bytes > MAX_TRANSCRIPT_BYTES:
            try:
                await self.heartbeat.report([match])
            except (CallFailed, Refused) as error:
                # Keep the result: Referee.keep_reporting ends the match if the league manager stays away.
                logger.warning("the transcript of %s has to wait: %s", match.brief.match_id, error)
                await asyncio.sleep(self.uses.progress_interval_s)
        try:
            await self.link.report({**report, "transcript": match.log.take(MAX_TRANSCRIPT_BYTES)})
        except Refused as error:
            if error.error_code in CODES_NOT_ABOUT_CONTENT:
                raise
            # The result must count, whatever the players said.
            logger.error("the report of %s is sent without its transcript: %s", match.brief.match_id, error)
            await self.link.report({**report, "transcript": []})

    def _fence(self, match: RunningMatch) -> None:
        """Raise Fenced unless the match is certainly ours.

        ``Referee.keep_reporting`` checks that, too, but a referee process that was stopped and continues may call the
        players before that check: they would be told the end of a lost attempt after that of the final one. The same
        holds if the site was killed and restarted meanwhile: a new site gives its matches to other referees at once.
        """
        if match.left_s() <= 0 or self.uses.orphaned():
            raise Fenced

    async def _caller(self, policy: EndpointPolicy) -> PlayerCaller:
        """The caller of players under a policy; making a new one closes those that no match uses any more."""
        caller = self._callers.get(policy)
        if caller is None:
            caller = self._callers[policy] = self.uses.new_caller(policy, self.uses.clock, self._breaker, self.canary)
            caller.inbox = self._inbox
            used = {policy, *(match.policy for match in self.running.values())}
            for unused in [self._callers.pop(old) for old in self._callers.keys() - used]:
                await unused.aclose()
        return caller

    async def aclose(self) -> None:
        """Close every connection to players."""
        for caller in self._callers.values():
            await caller.aclose()
        await self._league_client.aclose()
