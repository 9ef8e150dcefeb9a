"""One episode: leagues are played under fire until enough has been killed, then left alone until all have ended."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import psycopg

from tests.chaos import inside, plan, rows
from tests.chaos.players import Player, Room
from tests.chaos.processes import Journal, Target
from tests.chaos.sites import API_KEY, Site, SqliteSite
from tests.chaos.verdict import violations

PROMISED_S = 15.0
"""A league goes on by itself within so long after the last fault."""
AT_ONCE = 3
HOPELESS_S = 180.0
PATIENCE_S = 10.0
WANTS_TO_WRITE_S = 1.5
"""The conductor renews its lead once a second."""
_ENDED = "all told"
_STILL = ("REGISTRATION", "SCHEDULED", _ENDED)
"""Of a league in these nothing is expected: its players have not come yet, or all is done."""
_UNREACHABLE = (aiohttp.ClientError, TimeoutError, OSError)
_UNREADABLE = (sqlite3.Error, psycopg.Error)


@dataclass(slots=True)
class Report:
    """What one episode showed.

    Attributes:
        recovery_s: the longest a league took from the last fault, or from its last result after that, to its next one.
        replays: attempts beyond the first.
        fire_s: how long faults happened.
    """

    number: int
    leagues: int = 0
    matches: int = 0
    kills: int = 0
    replays: int = 0
    fire_s: float = 0.0
    recovery_s: float = 0.0
    violations: list[str] = field(default_factory=list)

    def text(self) -> str:
        """One line for people."""
        return (
            f"episode {self.number}: {self.kills} kills in {self.fire_s:.0f} s, {self.leagues} leagues, "
            f"{self.matches} matches, {self.replays} replays, recovered in {self.recovery_s:.1f} s, "
            f"{len(self.violations)} violations"
        )


class Episode:
    """An episode that has not begun.

    Args:
        number: from 0.
        seed: of the run.
        kills: so many, and then quiet.
        within_s: what is promised.
    """

    def __init__(
        self, site: Site, journal: Journal, room: Room, *, number: int, seed: int, kills: int, within_s: float
    ) -> None:
        self._within_s = within_s
        self._site, self._journal, self._room = site, journal, room
        self._number, self._seed, self._kills = number, seed, kills
        self._leagues: list[str] = []
        self._going: list[asyncio.Task[None]] = []
        self._calm = site.folder / inside.CALM
        self._rng = random.Random(f"{seed}/episode/{number}")
        self._said: list[str] = []
        self._under_fire = True

    async def play(self) -> Report:
        """Play it."""
        report = Report(self._number)
        before = self._journal.kills
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as http:
            self._http = http
            watching = asyncio.create_task(self._watch())
            begun = time.monotonic()
            await self._strike_until(before + self._kills)
            self._under_fire = False
            report.fire_s = time.monotonic() - begun
            await self._journal.all_go_on()
            # A fault that was on its way when the calm began.
            await asyncio.sleep(0.2)
            self._journal.look()
            await self._journal.all_go_on()
            report.kills = self._journal.kills - before
            report.recovery_s, late = await self._wait_for_the_end()
            watching.cancel()
            for task in self._going:
                task.cancel()
            await asyncio.gather(watching, *self._going, return_exceptions=True)
            snapshot = rows.snapshot_of(self._site.database)
            tables = {league: await self._table(league) for league in self._leagues}
        players = [player for league in self._leagues for player in self._room.of(league)]
        mine = [match for match in snapshot.matches if match.league_id in self._leagues]
        told = [report for report in self._journal.accepted if report["league_id"] in self._leagues]
        report.leagues, report.matches = len(self._leagues), len(mine)
        report.replays = sum(match.attempt - 1 for match in mine)
        report.violations = self._said + late + violations(snapshot, players, tables, told)
        return report

    # Leagues ---------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Always so many leagues at a time, until it is quiet."""
        going = self._leagues
        while True:
            with contextlib.suppress(*_UNREADABLE):
                states = rows.leagues_of(self._site.database)
                going = [league for league in self._leagues if states.get(league) != "COMPLETED"]
            if self._under_fire and len(going) < AT_ONCE:
                league = f"chaos-{self._number}-{len(self._leagues) + 1}"
                self._leagues.append(league)
                self._going.append(asyncio.create_task(self._open(league)))
            await asyncio.sleep(0.2)

    async def _open(self, league: str) -> None:
        """What instructor and players do, again and again until it is done."""
        rng = random.Random(f"{self._seed}/{league}")
        game = rng.choice(["even_odd", "even_odd", "tic_tac_toe"])
        body = {"league_id": league, "game_type": game, "settings": plan.settings_of(rng)}
        while await self._api("POST", "/leagues", body) not in (201, 409):
            await _a_moment()
        await asyncio.gather(*(self._register(player) for player in self._room.seat(league, rng.choice([4, 5, 6]))))
        while await self._api("POST", f"/leagues/{league}/start", {"auto_advance": True}) != 200:
            with contextlib.suppress(*_UNREADABLE):
                if rows.leagues_of(self._site.database).get(league) not in ("REGISTRATION", "SCHEDULED"):
                    return
            await _a_moment()

    async def _register(self, player: Player) -> None:
        body = {"jsonrpc": "2.0", "method": "register_player", "params": player.registration(), "id": 1}
        while True:
            answer = await self._post("/mcp", body)
            result = answer.get("result")
            if isinstance(result, dict) and result.get("status") == "ACCEPTED":
                player.player_id = result["player_id"]
                player.tokens.append(result["auth_token"])
                return
            if result is not None:
                self._said.append(f"{player.league_id} {player.name} was refused: {result}")
                return
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
        """The table as the site shows it; none where it shows none."""
        try:
            async with self._http.get(f"{self._site.addresses[0]}/api/leagues/{league}/standings") as response:
                found: list[dict[str, Any]] = await response.json(content_type=None)
        except (*_UNREACHABLE, ValueError):
            return []
        return found

    # Faults ----------------------------------------------------------------------------------

    async def _strike_until(self, kills: int) -> None:
        """One blow after the other, the processes' own or by the clock; between two of them a result counts.

        Otherwise a slow machine would see nothing but processes that die before they have done anything.
        """
        blows = plan.Blows(self._seed, self._number, self._site.mode)
        blow = blows.next()
        while (killed := self._journal.kills) < kills:
            self._calm.unlink(missing_ok=True)
            if not await self._dies_before(blow, killed):
                blow = blows.next() if await self._strike(blow) else blow
            self._calm.touch()
            counted = len(self._journal.accepted)
            await _within(PATIENCE_S, lambda counted=counted: len(self._journal.accepted) > counted)

    async def _dies_before(self, blow: plan.Blow, killed: int) -> bool:
        """Wait until a blow is due; whether a process has died meanwhile by itself.

        Args:
            killed: how many had when the waiting began.
        """
        if not blow.at_an_end:
            return await _within(blow.after_s, lambda: self._journal.kills > killed)
        ends = self._room.ends
        await _within(PATIENCE_S, lambda: self._journal.kills > killed or self._room.ends > ends)
        return self._journal.kills > killed

    async def _strike(self, blow: plan.Blow) -> bool:
        """Whether there was something to hit."""
        if blow.what == plan.DISK:
            return await self._fill(blow.seconds)
        if blow.what in (plan.REDIS, plan.POSTGRES):
            await self._restart(blow)
            return True
        target = self._one_of(blow)
        if target is None:
            return False
        if blow.what == plan.STOP:
            self._journal.stop(target, blow.seconds)
        elif target.signal(signal.SIGKILL):
            self._journal.blow(target.role, plan.KILL, pid=target.pid)
        return True

    def _one_of(self, blow: plan.Blow) -> Target | None:
        # One that has just started is left to the faults that it has in itself.
        found = [one for one in self._journal.targets(blow.role) if time.time() - one.since > 1.0]
        return found[int(blow.which * len(found))] if found else None

    async def _restart(self, blow: plan.Blow) -> None:
        server = getattr(self._site, blow.what)
        self._journal.blow(blow.what, plan.KILL)
        await server.restart(0.5)
        self._journal.last_fault = time.time()

    async def _fill(self, seconds: float) -> bool:
        """No room on the disk for a while; a site that answers has to say so."""
        assert isinstance(self._site, SqliteSite)
        disk = self._site.disk
        if not self._leagues_are_open():
            return False
        self._journal.blow("disk", "full" if disk.own else "file limit", seconds=seconds)
        try:
            if disk.own:
                await asyncio.get_running_loop().run_in_executor(None, disk.fill)
            else:
                self._journal.limit_files(4096)
            said = await self._health(seconds)
        finally:
            disk.clear()
            self._journal.limit_files(-1)
            self._journal.last_fault = time.time()
        # One that has only just started, or is stopped, says nothing at all.
        if len(said) > 2 and not any("disk" in reason or "written" in reason for reason in said):
            self._said.append(f"the disk was full for {seconds:g} s, and the site said: {sorted(set(said))}")
        return True

    def _leagues_are_open(self) -> bool:
        try:
            return bool(rows.leagues_of(self._site.database))
        except _UNREADABLE:
            return False

    async def _health(self, seconds: float) -> list[str]:
        """What the site says of itself for so many seconds, from when it has surely wanted to write."""
        found = []
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            with contextlib.suppress(*_UNREACHABLE, ValueError):
                async with self._http.get(f"{self._site.addresses[0]}/health") as response:
                    health = await response.json(content_type=None)
                if time.monotonic() - begun > WANTS_TO_WRITE_S:
                    found.append(f"{health.get('status')} {health.get('reason', '')}")
            await asyncio.sleep(0.2)
        return found

    # The end ---------------------------------------------------------------------------------

    async def _wait_for_the_end(self) -> tuple[float, list[str]]:
        """Until every league has ended; the longest pause of any of them, and which were longer than promised."""
        calm = self._journal.last_fault
        gone: dict[str, tuple[tuple[str, int], float]] = {}
        late: set[str] = set()
        slowest = 0.0
        while (now := time.time()) - calm < HOPELESS_S:
            seen = self._progress()
            for league, (state, count) in seen.items():
                before, since = gone.get(league, ((state, count), calm))
                if state in _STILL or league not in gone:
                    gone[league] = (state, count), calm if league not in gone else now
                    continue
                if now - since > self._within_s:
                    late.add(league)
                if (state, count) != before:
                    slowest = max(slowest, now - since)
                    gone[league] = (state, count), now
            if seen and all(state == _ENDED for state, _ in seen.values()):
                break
            await asyncio.sleep(0.2)
        promised = f"{self._within_s:g} s after the last fault"
        found = [f"{league} stood still for more than {promised}" for league in sorted(late)]
        if now - calm >= HOPELESS_S:
            found.append(f"not over {HOPELESS_S:g} s after the last fault")
        return slowest, found

    def _progress(self) -> dict[str, tuple[str, int]]:
        """Of each league its state and how many results count; nothing while the database does not answer."""
        try:
            snapshot = rows.snapshot_of(self._site.database)
        except _UNREADABLE:
            return {}
        done = Counter(match.league_id for match in snapshot.matches if match.state == "FINISHED")
        found = {league: (snapshot.leagues.get(league, "REGISTRATION"), done[league]) for league in self._leagues}
        # What was queued by the end of one is still on its way.
        return {
            league: (_ENDED if state == "COMPLETED" and not snapshot.waiting.get(league) else state, count)
            for league, (state, count) in found.items()
        }


async def _within(seconds: float, look: Callable[[], bool]) -> bool:
    """Whether something is seen within so many seconds."""
    end = time.monotonic() + seconds
    while not (seen := look()) and time.monotonic() < end:  # noqa: ASYNC110 - a journal tells nobody that it has grown
        await asyncio.sleep(0.02)
    return seen


async def _a_moment() -> None:
    """Until it is tried again."""
    await asyncio.sleep(0.2)
