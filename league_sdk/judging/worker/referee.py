"""A referee: it takes matches, plays several at once, reports them, keeps its leases, and drains before it ends.

One asyncio process; an exception inside one match ends that match only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

from league_sdk.asking.callbacks import RELAYED_FOR, find_seat
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.match.brief import read_brief
from league_sdk.judging.match.broken_off import Fenced, MachineFailed, PlayerNotReached
from league_sdk.judging.observing import telemetry
from league_sdk.judging.worker.heartbeat import Heartbeat, Key, RunningMatch
from league_sdk.judging.worker.league_link import LeagueLink, Refused
from league_sdk.judging.worker.match_runner import Dependencies, MatchRunner, SealRefused
from league_sdk.judging.worker.shown import MatchesShown
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InternalError, InvalidFormat, LeagueError, TokenInvalid
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Code, note
from league_sdk.rules.registry import games
from league_sdk.transport.client import CallFailed
from league_sdk.transport.policy import EndpointPolicy

logger = logging.getLogger(__name__)

MAX_FORWARDED_CALLBACKS = 16
"""Callbacks on their way to the league manager at once. Anyone may send one, and they must not delay heartbeats."""


MAX_FINISHED = 10_000
"""Attempts that ended here, in any way, and are remembered: a repeated start_match does not play them again."""


class Referee:
    """Plays the matches that the league manager gives it.

    Args:
        link: calls the league manager, at which it has registered.
        endpoint: this referee's own address, for the players; empty if they are told the league manager's, which passes
            their answers on: to a referee that dials out, and to one behind a tunnel.
        league_endpoint: that address of the league manager; empty: the one that the link calls.
        max_concurrent: matches at once.
        uses: the clock, the network and the other dependencies; None for the real ones.
    """

    def __init__(
        self,
        link: LeagueLink,
        *,
        endpoint: str,
        league_endpoint: str = "",
        max_concurrent: int,
        uses: Dependencies | None = None,
    ) -> None:
        self._link = link
        self._endpoint = endpoint
        self._league_endpoint = league_endpoint or link.url
        self._max_concurrent = max_concurrent
        uses = uses or Dependencies()
        self._clock = uses.clock
        self._canary = uses.canary or Canary(self._clock)
        self._running: dict[Key, RunningMatch] = {}
        # The conversation of each attempt that ended here, in any way.
        self._finished: dict[Key, str] = {}
        self.shown = MatchesShown(self._running)
        """What its players are shown of their matches."""
        self._heartbeat = Heartbeat(
            link,
            self._running,
            self._clock,
            interval_s=uses.progress_interval_s,
            lost=self._give_up,
            handed_back=self._remove,
        )
        self._runner = MatchRunner(link, self._heartbeat, self._running, self._canary, uses)
        self.seats_changed: Callable[[], None] = lambda: None
        """Called when a match begins or ends, because the door has to know which seats are in play."""
        self._forwarding = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def draining(self) -> bool:
        """Whether it takes no new match because it is leaving."""
        return self._heartbeat.leaving

    @property
    def in_play(self) -> int:
        """How many matches are being played here."""
        return len(self._running)

    @property
    def open_seats(self) -> set[str]:
        """The secrets of the paths at which players of matches in play send callbacks."""
        return {seat.path_secret for match in self._running.values() for seat in match.brief.seats}

    def players_at(self, secrets: Collection[str]) -> dict[str, str]:
        """Those of these secrets that belong to seats in play, by the SHA-256 of the player's auth_token.

        Tokens that are not proven yet are left out: the site may have given them to someone who only named the
        player's address.
        """
        return {
            digest: seat.path_secret
            for match in self._running.values()
            for seat in match.brief.seats
            if seat.path_secret in secrets
            for digest in seat.token_digests
            if digest not in seat.unproven
        }

    def late_s(self, within_s: float) -> float:
        """For how many of the last ``within_s`` seconds this process was late."""
        now = self._clock.monotonic()
        return self._canary.late_s(now - within_s, now)

    # Taking matches --------------------------------------------------------------------------

    def start_match(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Take a match, or say why not; idempotent by league, match and attempt (ruling, section 10).

        A match that is over is played again if it comes in another conversation: the league was reset, as the
        demo does and a restored backup may.

        Raises:
            TokenInvalid: E012, the message does not carry our own league_token.
            MissingField, InvalidFormat: E003, E002.
        """
        identity = self._link.identity
        token = params.get("auth_token")
        if identity is None or not isinstance(token, str) or not tokens.same(token, identity.league_token):
            raise TokenInvalid(
                "Matches are started for the league manager only.",
                field="auth_token",
                expected="the league_token of this referee",
            )
        brief = read_brief(
            params,
            referee_id=identity.referee_id,
            referee_endpoint=self._endpoint or self._league_endpoint,
            relayed=not self._endpoint,
        )
        if brief.key in self._running or self._finished.get(brief.key) == brief.conversation_id:
            return {"accepted": True, "reason": None}
        if brief.game_type not in games():
            return {"accepted": False, "reason": f"this referee has no rules for {brief.game_type}"}
        if self.draining:
            return {"accepted": False, "reason": "this referee is leaving"}
        # A match that is over takes up no place: the league manager gives its place to another match as soon as it has
        # the report, perhaps before we have its answer.
        if sum(not match.over for match in self._running.values()) >= self._max_concurrent:
            return {"accepted": False, "reason": f"this referee plays {self._max_concurrent} matches already"}
        for key in [key for key in self._running if key[:2] == brief.key[:2]]:
            if key > brief.key:
                return {"accepted": False, "reason": f"attempt {key[2]} is being played"}
            self._give_up(key)
        policy = EndpointPolicy.from_params(params.get("endpoint_policy"))
        match = self._running[brief.key] = self._heartbeat.start_match(brief, policy)
        self.shown.forget(brief.key)
        self._idle.clear()
        self.seats_changed()
        self._canary.start()
        match.task = asyncio.create_task(self._play(match), name=f"match {brief.match_id}")
        return {"accepted": True, "reason": None}

    def start_matches(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Take or refuse each of several matches, as :meth:`start_match` would; a refused one changes no other.

        Raises:
            InvalidFormat: E002, ``matches`` is no list of objects.
        """
        matches = params.get("matches")
        if not isinstance(matches, list) or not all(isinstance(match, dict) for match in matches):
            expected = "a list of what start_match would have said of each match"
            raise InvalidFormat("There are no matches to start.", field="matches", seen=matches, expected=expected)
        return {"matches": [self._start_answer(match) for match in matches]}

    def _start_answer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Whether one of several matches is taken: the answer of ``start_match``, or its error as fields."""
        try:
            return self.start_match(params)
        except LeagueError as error:
            return {"accepted": False, "reason": error.message, "error_code": error.error_code}
        except Exception:
            # The other matches of the call may have begun: their answer must not be lost with this one.
            logger.exception("a match was not started")
            failed = InternalError("The referee failed; nothing was changed.")
            return {"accepted": False, "reason": failed.message, "error_code": failed.error_code}

    async def callback(self, message_type: str, message: dict[str, Any]) -> dict[str, Any]:
        """Take an answer that a player sends by a POST of its own; forward it if the match is played elsewhere.

        Returns the fields of the answer to it.

        Raises:
            TokenMissing, TokenInvalid: E011, E012, the sender is not proven.
            OutOfTime: E001, it came after the verdict.
            InvalidFormat: E002, no such answer was asked for.
            InternalError: E009, too many are being forwarded at the moment.
            LeagueError: the league manager refuses a forwarded answer.
        """
        identity = self._link.identity
        matches = [(match.brief, match.mailbox) for match in self._running.values()]
        addressee = find_seat(matches, message, trusted_token=identity.league_token if identity else "")
        if addressee is not None:
            seat, mailbox = addressee
            return mailbox.deliver(seat.player_id, message_type, message)
        if RELAYED_FOR in message:
            raise InvalidFormat("This match is not being played here.", field="match_id", seen=message.get("match_id"))
        if self._forwarding >= MAX_FORWARDED_CALLBACKS:
            raise InternalError("Too many answers are being passed on; send this one again.")
        self._forwarding += 1
        try:
            return await self._link.forward(message_type, message)
        finally:
            self._forwarding -= 1

    # Playing ---------------------------------------------------------------------------------

    async def _play(self, match: RunningMatch) -> None:
        with telemetry.playing(match.brief.about):
            await self._play_to_report(match)

    async def _play_to_report(self, match: RunningMatch) -> None:
        """Play a match and report it; whatever goes wrong in it ends this match only."""
        brief = match.brief
        try:
            await self._runner.play(match)
        except asyncio.CancelledError:
            self._end(match)
            raise
        except Fenced:
            logger.error("another referee may have the match by now: giving up %s", brief.match_id)
            self._end(match)
        except MachineFailed as error:
            logger.error("match %s of %s is handed back: %s", brief.match_id, brief.league_id, error)
            self._fail(match, error.cause, str(error))
        except PlayerNotReached as error:
            logger.warning("match %s of %s is handed on: %s", brief.match_id, brief.league_id, error)
            match.unreached = error.player_id
            self._fail(match, Cause.REFEREE, str(error))
        except SealRefused:
            logger.error("the verdict of %s was not sealed", brief.match_id)
            self._fail(match, Cause.LEAGUE, str(note(Code.VERDICT_NOT_TAKEN)))
        except Refused as error:
            logger.error("the result of %s was refused: %s", brief.match_id, error)
            self._fail(match, Cause.LEAGUE, str(note(Code.RESULT_NOT_TAKEN, sentence=str(error))))
        except Exception as error:
            logger.exception("match %s of %s failed here", brief.match_id, brief.league_id)
            self._fail(match, Cause.REFEREE, str(note(Code.REFEREE_ERROR, kind=type(error).__name__)))
        else:
            telemetry.ended()
            if match.ended is not None:
                self.shown.remember(match.ended)
            self._end(match)

    def _fail(self, match: RunningMatch, cause: Cause, why: str) -> None:
        """Have the next heartbeat hand a match back, so that it is played again."""
        match.failed = (cause, why)
        telemetry.ended(cause)
        self._heartbeat.mark_changed(match.brief.key)

    def _end(self, match: RunningMatch) -> None:
        """Remove a match that is over; a newer attempt of the same match continues."""
        if self._running.get(match.brief.key) is match:
            self._remove(match.brief.key)

    def _remove(self, key: Key) -> None:
        ended = self._running.pop(key, None)
        if ended is not None:
            self._finished[key] = ended.brief.conversation_id
            self.seats_changed()
        while len(self._finished) > MAX_FINISHED:
            self._finished.pop(next(iter(self._finished)))
        if not self._running:
            self._canary.stop()
            self._idle.set()

    def _give_up(self, key: Key) -> None:
        """Stop calling the players of a match, at once."""
        match = self._running.get(key)
        if match is not None and match.task is not None:
            match.task.cancel()
            self._remove(key)

    # Heartbeat and leaving -------------------------------------------------------------------

    async def keep_reporting(self) -> None:
        """Make heartbeats until cancelled; give up each match that no accepted heartbeat has reported for too long.

        Raises:
            Refused: the league manager rejects this referee when it registers again.
        """
        while True:
            await self._heartbeat.wait_until_due()
            try:
                await self._heartbeat.send()
            except (CallFailed, TimeoutError) as error:
                logger.warning("the league manager does not answer: %s", str(error) or "no answer in time")
            except Refused as error:
                logger.warning("the league manager refuses our progress: %s", error)
                # It does not know our token (E012) or us (E013).
                if error.error_code in ("E012", "E013"):
                    await self._register_again()
            for key, match in list(self._running.items()):
                if match.left_s() <= 0:
                    logger.error("no heartbeat accepted for %.1f s: giving up %s", match.silent_s(), key[1])
                    self._give_up(key)
            await self._heartbeat.pause()

    async def _register_again(self) -> None:
        for key in list(self._running):
            self._give_up(key)
        await self._link.register()

    async def drain(self, patience_s: float) -> None:
        """Take no new match, wait ``patience_s`` seconds for those in play to end, hand the others back."""
        self._heartbeat.leave()
        try:
            async with asyncio.timeout(patience_s):
                await self._idle.wait()
        except TimeoutError:
            logger.info("handing back %d matches", len(self._running))
        for match in self._running.values():
            if match.task is not None:
                match.task.cancel()
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
