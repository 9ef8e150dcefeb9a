"""One episode: leagues are played under faults until enough processes were killed, then without until all end."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import psycopg

from tests.chaos import inside, plan, rows
from tests.chaos.cutting import Cutter
from tests.chaos.lines import PUSH
from tests.chaos.players import Player, Room
from tests.chaos.processes import Journal, Target
from tests.chaos.sites import API_KEY, Site, SqliteSite
from tests.chaos.verdict import violations

PROMISED_S = 15.0
"""The promise: within this time after the last fault a league goes on without help."""
LEAGUES_AT_ONCE = 3
GIVE_UP_S = 180.0
MAX_WAIT_S = 10.0
WRITES_WITHIN_S = 1.5
"""Within this time the site surely tries to write, because the conductor renews its lead once a second."""
_ENDED = "completed and delivered"
_NOTHING_EXPECTED = ("REGISTRATION", "SCHEDULED", _ENDED)
"""States in which no new result of a league is expected: it has not started, or it has ended."""
_UNREACHABLE = (aiohttp.ClientError, TimeoutError, OSError)
_UNREADABLE = (sqlite3.Error, psycopg.Error)


@dataclass(slots=True)
class Report:
    """The results of one episode.

    Attributes:
        recovery_s: the longest time a league had no new result, counted from the last fault or a result after it.
        replays: attempts beyond the first of each match.
        faults_s: seconds during which faults happened.
    """

    number: int
    leagues: int = 0
    matches: int = 0
    kills: int = 0
    replays: int = 0
    faults_s: float = 0.0
    recovery_s: float = 0.0
    violations: list[str] = field(default_factory=list)

    def text(self) -> str:
        """One line for people."""
        return (
            f"episode {self.number}: {self.kills} kills in {self.faults_s:.0f} s, {self.leagues} leagues, "
            f"{self.matches} matches, {self.replays} replays, recovered in {self.recovery_s:.1f} s, "
            f"{len(self.violations)} violations"
        )


class Episode:
    """An episode; it begins with ``play``.

    Args:
        number: from 0.
        seed: the seed of the run.
        cutters: through which players that dial out find the site, one for each of its addresses.
        kills: the number of killed processes and servers after which the faults end.
        within_s: seconds within which a league must go on after the last fault.
    """

    def __init__(
        self,
        site: Site,
        journal: Journal,
        room: Room,
        cutters: Sequence[Cutter],
        *,
        number: int,
        seed: int,
        kills: int,
        within_s: float,
    ) -> None:
        self._within_s = within_s
        self._site, self._journal, self._room, self._cutters = site, journal, room, cutters
        self._number, self._seed, self._kills = number, seed, kills
        self._leagues: list[str] = []
        self._openings: list[asyncio.Task[None]] = []
        # While this file exists, processes cause no faults in themselves.
        self._calm = site.folder / inside.CALM
        self._rng = random.Random(f"{seed}/episode/{number}")
        self._violations: list[str] = []
        self._faults_happen = True

    async def play(self) -> Report:
        """Play the episode; returns what it showed."""
        report = Report(self._number)
        before = self._journal.kills
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as http:
            self._http = http
            watching = asyncio.create_task(self._watch())
            begun = time.monotonic()
            self._cut_lines(True)
            await self._strike_until(before + self._kills)
            self._faults_happen = False
            self._cut_lines(False)
            report.faults_s = time.monotonic() - begun
            await self._journal.all_go_on()
            # Wait for faults that were due just before they were switched off.
            await asyncio.sleep(0.2)
            self._journal.read_new_lines()
            await self._journal.all_go_on()
            report.kills = self._journal.kills - before
            report.recovery_s, late = await self._wait_for_the_end()
            watching.cancel()
            for task in self._openings:
                task.cancel()
            await asyncio.gather(watching, *self._openings, return_exceptions=True)
            snapshot = rows.snapshot_of(self._site.database)
            tables = {league: await self._table(league) for league in self._leagues}
        players = [player for league in self._leagues for player in self._room.of(league)]
        own_matches = [match for match in snapshot.matches if match.league_id in self._leagues]
        reports = [report for report in self._journal.accepted if report["league_id"] in self._leagues]
        report.leagues, report.matches = len(self._leagues), len(own_matches)
        report.replays = sum(match.attempt - 1 for match in own_matches)
        report.violations = self._violations + late + violations(snapshot, players, tables, reports)
        return report

    # Leagues ---------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Keep ``LEAGUES_AT_ONCE`` leagues in play until the faults end."""
        running = self._leagues
        while True:
            with contextlib.suppress(*_UNREADABLE):
                states = rows.leagues_of(self._site.database)
                running = [league for league in self._leagues if states.get(league) != "COMPLETED"]
            if self._faults_happen and len(running) < LEAGUES_AT_ONCE:
                league = f"chaos-{self._number}-{len(self._leagues) + 1}"
                self._leagues.append(league)
                self._openings.append(asyncio.create_task(self._open(league)))
            await asyncio.sleep(0.2)

    async def _open(self, league: str) -> None:
        """Open a league, register its players and start it; a call is repeated until it succeeds.

        A registration that is refused is not repeated: it is a violation.
        """
        rng = random.Random(f"{self._seed}/{league}")
        game = rng.choice(["even_odd", "even_odd", "tic_tac_toe"])
        body = {"league_id": league, "game_type": game, "settings": plan.settings_of(rng)}
        while await self._api("POST", "/leagues", body) not in (201, 409):
            await _pause()
        await asyncio.gather(*(self._register(player) for player in self._room.seat(league, rng.choice([4, 5, 6]))))
        while await self._api("POST", f"/leagues/{league}/start", {"auto_advance": True}) != 200:
            with contextlib.suppress(*_UNREADABLE):
                if rows.leagues_of(self._site.database).get(league) not in ("REGISTRATION", "SCHEDULED"):
                    return
            await _pause()

    async def _register(self, player: Player) -> None:
        """Register a player, and once more without its address if it dials out."""
        # At first with its address: from there it may register again if the answer, with its token, is lost.
        registered = await self._register_until_answered(player, player.registration())
        if registered and player.way != PUSH and await self._register_until_answered(player, player.without_address()):
            self._room.dial(player, [one.address for one in self._cutters])

    async def _register_until_answered(self, player: Player, request: dict[str, Any]) -> bool:
        body = {"jsonrpc": "2.0", "method": "register_player", "params": request, "id": 1}
        while True:
            answer = await self._post("/mcp", body)
            result = answer.get("result")
            if isinstance(result, dict) and result.get("status") == "ACCEPTED":
                player.player_id = result["player_id"]
                player.tokens.append(result["auth_token"])
                return True
            if result is not None:
                self._violations.append(f"{player.league_id} {player.name} was refused: {result}")
                return False
            await asyncio.sleep(0.2)

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            async with self._http.post(self._rng.choice(self._site.addresses) + path, json=body) as response:
                answer = await response.json(content_type=None)
        except (*_UNREACHABLE, ValueError):
            return {}
        return answer if isinstance(answer, dict) else {}

    async def _api(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        try:
            url = f"{self._rng.choice(self._site.addresses)}/api{path}"
            headers = {"Authorization": f"Bearer {API_KEY}"}
            async with self._http.request(method, url, json=body, headers=headers) as response:
                return response.status
        except _UNREACHABLE:
            return 0

    async def _table(self, league: str) -> list[dict[str, Any]]:
        """The table as the site shows it; empty if it does not answer."""
        try:
            async with self._http.get(f"{self._site.addresses[0]}/api/leagues/{league}/standings") as response:
                answer: list[dict[str, Any]] = await response.json(content_type=None)
        except (*_UNREACHABLE, ValueError):
            return []
        return answer

    # Faults ----------------------------------------------------------------------------------

    def _cut_lines(self, cut: bool) -> None:
        """Let the lines of players be cut, or not; unlike other faults, cuts happen also after a kill."""
        for cutter in self._cutters:
            cutter.cuts = cut

    async def _strike_until(self, kills: int) -> None:
        """Let faults happen until this many processes and servers were killed.

        After each kill and each timed fault, wait up to ``MAX_WAIT_S`` for another result that counts: otherwise
        processes on a slow machine would be killed before they have done anything.
        """
        faults = plan.TimedFaults(self._seed, self._number, self._site.mode)
        fault = faults.next()
        while (killed := self._journal.kills) < kills:
            self._calm.unlink(missing_ok=True)
            if not await self._process_killed_before(fault, killed):
                fault = faults.next() if await self._strike(fault) else fault
            self._calm.touch()
            counted = len(self._journal.accepted)
            await _within(MAX_WAIT_S, lambda counted=counted: len(self._journal.accepted) > counted)

    async def _process_killed_before(self, fault: plan.TimedFault, killed: int) -> bool:
        """Wait until a timed fault is due; returns whether a process was killed by a fault of its own meanwhile.

        Args:
            killed: the number of kills before the wait.
        """
        if not fault.at_game_over:
            return await _within(fault.after_s, lambda: self._journal.kills > killed)
        before = self._room.game_overs
        await _within(MAX_WAIT_S, lambda: self._journal.kills > killed or self._room.game_overs > before)
        return self._journal.kills > killed

    async def _strike(self, fault: plan.TimedFault) -> bool:
        """Cause a timed fault; returns False if it was not possible, such as when there was no process to hit."""
        if fault.what == plan.DISK:
            return await self._fill(fault.seconds)
        if fault.what in (plan.REDIS, plan.POSTGRES):
            await self._restart(fault)
            return True
        target = self._one_of(fault)
        if target is None:
            return False
        if fault.what == plan.STOP:
            self._journal.stop(target, fault.seconds)
        elif target.signal(signal.SIGKILL):
            self._journal.record(target.role, plan.KILL, pid=target.pid)
        return True

    def _one_of(self, fault: plan.TimedFault) -> Target | None:
        # A process that started less than a second ago is hit only by the faults inside it.
        targets = [one for one in self._journal.targets(fault.role) if time.time() - one.since > 1.0]
        return targets[int(fault.which * len(targets))] if targets else None

    async def _restart(self, fault: plan.TimedFault) -> None:
        server = getattr(self._site, fault.what)
        self._journal.record(fault.what, plan.KILL)
        await server.restart(0.5)
        self._journal.last_fault = time.time()

    async def _fill(self, seconds: float) -> bool:
        """Fill the disk for a while; ``/health`` must report it."""
        assert isinstance(self._site, SqliteSite)
        disk = self._site.disk
        if not self._leagues_are_open():
            return False
        self._journal.record("disk", "full" if disk.own else "file limit", seconds=seconds)
        try:
            if disk.own:
                await asyncio.get_running_loop().run_in_executor(None, disk.fill)
            else:
                self._journal.limit_files(4096)
            reasons = await self._health(seconds)
        finally:
            disk.clear()
            self._journal.limit_files(-1)
            self._journal.last_fault = time.time()
        # A site that has only just started, or is stopped, does not answer.
        if len(reasons) > 2 and not any("disk" in reason or "written" in reason for reason in reasons):
            self._violations.append(f"the disk was full for {seconds:g} s, and the site said: {sorted(set(reasons))}")
        return True

    def _leagues_are_open(self) -> bool:
        try:
            return bool(rows.leagues_of(self._site.database))
        except _UNREADABLE:
            return False

    async def _health(self, seconds: float) -> list[str]:
        """The answers of ``/health`` for this many seconds, without those before ``WRITES_WITHIN_S``."""
        answers = []
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            with contextlib.suppress(*_UNREACHABLE, ValueError):
                async with self._http.get(f"{self._site.addresses[0]}/health") as response:
                    health = await response.json(content_type=None)
                if time.monotonic() - begun > WRITES_WITHIN_S:
                    answers.append(f"{health.get('status')} {health.get('reason', '')}")
            await asyncio.sleep(0.2)
        return answers

    # The end ---------------------------------------------------------------------------------

    async def _wait_for_the_end(self) -> tuple[float, list[str]]:
        """Wait until every league has ended; returns the longest pause, and a sentence for each that was too long."""
        faults_ended_at = self._journal.last_fault
        last_change: dict[str, tuple[tuple[str, int], float]] = {}
        late: set[str] = set()
        slowest = 0.0
        while (now := time.time()) - faults_ended_at < GIVE_UP_S:
            progress = self._progress()
            for league, (state, count) in progress.items():
                before, since = last_change.get(league, ((state, count), faults_ended_at))
                if state in _NOTHING_EXPECTED or league not in last_change:
                    last_change[league] = (state, count), faults_ended_at if league not in last_change else now
                    continue
                if now - since > self._within_s:
                    late.add(league)
                if (state, count) != before:
                    slowest = max(slowest, now - since)
                    last_change[league] = (state, count), now
            if progress and all(state == _ENDED for state, _ in progress.values()):
                break
            await asyncio.sleep(0.2)
        promised = f"{self._within_s:g} s after the last fault"
        stalled = [f"{league} stood still for more than {promised}" for league in sorted(late)]
        if now - faults_ended_at >= GIVE_UP_S:
            stalled.append(f"some league had not ended {GIVE_UP_S:g} s after the last fault")
        return slowest, stalled

    def _progress(self) -> dict[str, tuple[str, int]]:
        """State and number of results of each league; empty while the database does not answer."""
        try:
            snapshot = rows.snapshot_of(self._site.database)
        except _UNREADABLE:
            return {}
        done = Counter(match.league_id for match in snapshot.matches if match.state == "FINISHED")
        progress = {league: (snapshot.leagues.get(league, "REGISTRATION"), done[league]) for league in self._leagues}
        # A completed league has ended only when its last messages are delivered.
        return {
            league: (_ENDED if state == "COMPLETED" and not snapshot.waiting.get(league) else state, count)
            for league, (state, count) in progress.items()
        }


async def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Wait until ``condition`` returns True; returns whether it did within this many seconds."""
    end = time.monotonic() + seconds
    while not (seen := condition()) and time.monotonic() < end:  # noqa: ASYNC110 - a journal file has no event
        await asyncio.sleep(0.02)
    return seen


async def _pause() -> None:
    """Wait before the next try."""
    await asyncio.sleep(0.2)
