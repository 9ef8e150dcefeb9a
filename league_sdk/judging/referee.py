"""A referee: takes matches, plays up to so many at once, reports, keeps its leases, drains.

One asyncio process; an exception inside one match ends that match only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from league_sdk.judging import telemetry
from league_sdk.judging.brief import read_brief
from league_sdk.judging.callbacks import RELAYED_FOR, find_seat
from league_sdk.judging.canary import Canary
from league_sdk.judging.clock import SystemClock
from league_sdk.judging.fault import Fenced, MachineFailed
from league_sdk.judging.heartbeat import Heartbeat, Key, Running
from league_sdk.judging.league_link import LeagueLink, Refused
from league_sdk.judging.match_runner import MatchRunner, SealRefused
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InternalError, InvalidFormat, TokenInvalid
from league_sdk.protocol.faults import Cause
from league_sdk.rules.registry import games
from league_sdk.transport.client import CallFailed
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)

MOST_PASSED_ON = 16
"""Callbacks on their way to the league manager at once: anyone may send one, and heartbeats go there, too."""


class Referee:
    """Plays the matches that the league manager gives it.

    Args:
        link: the line to the league manager, registered.
        endpoint: this referee's own address, for the players.
        max_concurrent: matches at once.
        canary: says when a deadline that passed was ours; None for the real one.
        orphaned: whether the site that started this process has ended: its matches are given to others then.
    """

    def __init__(
        self,
        link: LeagueLink,
        *,
        endpoint: str,
        max_concurrent: int,
        canary: Canary | None = None,
        orphaned: Callable[[], bool] = lambda: False,
    ) -> None:
        self._link = link
        self._endpoint = endpoint
        self._max = max_concurrent
        self._clock = SystemClock()
        self._canary = canary or Canary(self._clock)
        self._running: dict[Key, Running] = {}
        self._done: dict[Key, str] = {}
        """The conversation of each match that is over."""
        self._heartbeat = Heartbeat(link, self._running, lost=self._give_up, given_back=self._forget)
        self._runner = MatchRunner(link, self._heartbeat, self._running, self._clock, self._canary, orphaned)
        self.seats_changed: Callable[[], None] = lambda: None
        """Called when a match begins or ends: the door has to know which seats are in play."""
        self._passing_on = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def draining(self) -> bool:
        """Whether it is leaving and takes no new match."""
        return self._heartbeat.leaving

    @property
    def in_play(self) -> int:
        """How many matches are being played here."""
        return len(self._running)

    @property
    def open_seats(self) -> set[str]:
        """The secrets of the paths at which players in play are heard."""
        return {seat.door for running in self._running.values() for seat in running.brief.seats}

    def late_s(self, within_s: float) -> float:
        """For how many of the last ``within_s`` seconds this process itself was late."""
        now = self._clock.monotonic()
        return self._canary.late_s(now - within_s, now)

    # Taking matches --------------------------------------------------------------------------

    def start_match(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Take a match, or say why not; idempotent by league, match and attempt (ruling, section 10).

        One that is over is another match when it comes in another conversation: the league has begun anew, as the demo
        does and a restored backup may.

        Raises:
            TokenInvalid: E012, it does not carry our own league_token.
            MissingField, InvalidFormat: E003, E002.
        """
        who = self._link.identity
        token = params.get("auth_token")
        if who is None or not isinstance(token, str) or not tokens.same(token, who.league_token):
            raise TokenInvalid(
                "start_match is taken from the league manager only.",
                field="auth_token",
                expected="the league_token of this referee",
            )
        brief = read_brief(params, referee_id=who.referee_id, referee_endpoint=self._endpoint)
        if brief.key in self._running or self._done.get(brief.key) == brief.conversation_id:
            return {"accepted": True, "reason": None}
        if brief.game_type not in games():
            return {"accepted": False, "reason": f"this referee has no rules for {brief.game_type}"}
        if self.draining:
            return {"accepted": False, "reason": "this referee is leaving"}
        # The league manager gives a place to another match as soon as it has the report, before its answer is here.
        if sum(not one.over for one in self._running.values()) >= self._max:
            return {"accepted": False, "reason": f"this referee plays {self._max} matches already"}
        for key in [key for key in self._running if key[:2] == brief.key[:2]]:
            if key > brief.key:
                return {"accepted": False, "reason": f"attempt {key[2]} is being played"}
            self._give_up(key)
        policy = EndpointPolicy.from_params(params.get("endpoint_policy"))
        running = self._running[brief.key] = self._heartbeat.begin(brief, policy)
        self._idle.clear()
        self.seats_changed()
        self._canary.sing()
        running.task = asyncio.create_task(self._play(running), name=f"match {brief.match_id}")
        return {"accepted": True, "reason": None}

    def match_state(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """get_match_state (ruling, section 3): the public view, to a player of the match.

        Raises:
            InvalidFormat: no such match here.
            TokenInvalid: the asker's own auth_token is needed.
        """
        match_id, league_id = params.get("match_id"), params.get("league_id")
        token, found = params.get("auth_token"), False
        for key, running in self._running.items():
            # Every league has an R1M1: without league_id the token tells which one is meant.
            if key[1] != match_id or (league_id is not None and key[0] != league_id):
                continue
            found = True
            if isinstance(token, str) and any(
                tokens.same(tokens.digest(token), digest)
                for seat in running.brief.seats
                for digest in seat.token_digests
            ):
                return {
                    "match_id": match_id,
                    "attempt": key[2],
                    "state": running.log.state,
                    "joined": running.log.joined,
                    "locked_in": running.log.locked_in,
                    "view": running.log.view,
                }
        if found:
            raise TokenInvalid(
                "Only the players of a match may ask.", field="auth_token", expected="your own auth_token"
            )
        raise InvalidFormat(
            "This match is not being played here.",
            field="match_id",
            seen=match_id,
            expected="a match in play",
            legacy_code="G003",
        )

    async def callback(self, message_type: str, message: dict[str, Any]) -> dict[str, Any]:
        """An answer that a player sends by a POST of its own; one of a match played elsewhere is passed on.

        Returns the fields of the answer to it.

        Raises:
            TokenMissing, TokenInvalid: E011, E012, its sender is not shown.
            OutOfTime: E001, it came after the verdict.
            InvalidFormat: E002, nothing of the kind was asked for.
            InternalError: E009, too many are being passed on at the moment.
        """
        who = self._link.identity
        table = [(running.brief, running.mailbox) for running in self._running.values()]
        found = find_seat(table, message, trusted_token=who.league_token if who else "")
        if found is not None:
            _brief, seat, mailbox = found
            return mailbox.deliver(seat.player_id, message_type, message)
        if RELAYED_FOR in message:
            raise InvalidFormat("This match is not being played here.", field="match_id", seen=message.get("match_id"))
        if self._passing_on >= MOST_PASSED_ON:
            raise InternalError("Too many answers are being passed on; send this one again.")
        self._passing_on += 1
        try:
            return await self._link.pass_on(message_type, message)
        finally:
            self._passing_on -= 1

    # Playing ---------------------------------------------------------------------------------

    async def _play(self, running: Running) -> None:
        with telemetry.playing(running.brief):
            await self._judge(running)

    async def _judge(self, running: Running) -> None:
        """A match to its report; whatever goes wrong in it ends it alone."""
        brief = running.brief
        try:
            await self._runner.play(running)
        except asyncio.CancelledError:
            self._end(running)
            raise
        except Fenced:
            logger.error("no heartbeat accepted for too long: giving up %s", brief.match_id)
            self._end(running)
        except MachineFailed as error:
            logger.error("match %s of %s is given back: %s", brief.match_id, brief.league_id, error)
            self._fail(running, Cause.REFEREE, str(error))
        except SealRefused:
            logger.error("the verdict of %s was not sealed", brief.match_id)
            self._fail(running, Cause.LEAGUE, "the league manager did not take the verdict")
        except Refused as error:
            logger.error("the result of %s was refused: %s", brief.match_id, error)
            self._fail(running, Cause.LEAGUE, f"the league manager did not take the result: {error}")
        except Exception as error:
            # Only this match ends.
            logger.exception("match %s of %s failed here", brief.match_id, brief.league_id)
            self._fail(running, Cause.REFEREE, f"an error in the referee's own code ({type(error).__name__})")
        else:
            telemetry.ended()
            self._end(running)

    def _fail(self, running: Running, cause: Cause, why: str) -> None:
        """Have the next progress report give a match back: it is void, and played again."""
        running.failed = (cause, why)
        telemetry.ended(cause)
        self._heartbeat.note(running.brief.key)

    def _end(self, running: Running) -> None:
        """A match is over here; the one that has taken its place goes on."""
        if self._running.get(running.brief.key) is running:
            self._forget(running.brief.key)

    def _forget(self, key: Key) -> None:
        ended = self._running.pop(key, None)
        if ended is not None:
            self._done[key] = ended.brief.conversation_id
            self.seats_changed()
        while len(self._done) > 10_000:
            self._done.pop(next(iter(self._done)))
        if not self._running:
            self._canary.rest()
            self._idle.set()

    def _give_up(self, key: Key) -> None:
        """Stop calling the players of a match at once."""
        running = self._running.get(key)
        if running is not None and running.task is not None:
            running.task.cancel()
            self._forget(key)

    # Heartbeat and leaving -------------------------------------------------------------------

    async def keep_reporting(self) -> None:
        """Report progress whenever there is some, for ever; give up what nothing is accepted of any more."""
        while True:
            await self._heartbeat.due()
            try:
                await self._heartbeat.send()
            except (CallFailed, TimeoutError) as error:
                logger.warning("the league manager does not answer: %s", str(error) or "not within the lease")
            except Refused as error:
                logger.warning("the league manager refuses our progress: %s", error)
                if error.error_code in ("E012", "E013"):
                    await self._register_again()
            for key, running in list(self._running.items()):
                if running.left_s() <= 0:
                    logger.error("no heartbeat accepted for %.1f s: giving up %s", running.silent_s(), key[1])
                    self._give_up(key)
            await self._heartbeat.pause()

    async def _register_again(self) -> None:
        for key in list(self._running):
            self._give_up(key)
        await self._link.register()

    async def drain(self, patience_s: float) -> None:
        """Take no new match, give those near their end ``patience_s`` seconds, hand the others back."""
        self._heartbeat.leave()
        try:
            async with asyncio.timeout(patience_s):
                await self._idle.wait()
        except TimeoutError:
            logger.info("handing back %d matches", len(self._running))
        for running in self._running.values():
            if running.task is not None:
                running.task.cancel()
        if self._running:
            try:
                async with asyncio.timeout(1):
                    await self._heartbeat.hand_back()
            except (CallFailed, Refused, TimeoutError) as error:
                logger.warning("the matches could not be handed back: %s", error)

    async def aclose(self) -> None:
        """Close every connection to players, and the canary's."""
        await self._canary.aclose()
        await self._runner.aclose()
