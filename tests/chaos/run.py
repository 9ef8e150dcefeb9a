"""A whole run: a site and its players, one episode after the other, and a summary."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.cutting import Cutter
from tests.chaos.episode import PROMISED_S, Episode, Report
from tests.chaos.players import Room
from tests.chaos.processes import Journal
from tests.chaos.sites import SCALED, ScaledSite, Site, SqliteSite

KILLS_PER_EPISODE = 25


@dataclass(slots=True)
class Summary:
    """The results of a run.

    Attributes:
        within_s: seconds within which a league must go on after the last fault.
    """

    within_s: float
    reports: list[Report] = field(default_factory=list)
    faults: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    places: int = 0

    @property
    def violations(self) -> list[str]:
        """Every promise that was broken."""
        return [one for report in self.reports for one in report.violations]

    @property
    def kills(self) -> int:
        """How many processes and servers were killed."""
        return sum(report.kills for report in self.reports)

    def text(self) -> str:
        """The summary as lines of text."""
        lines = [
            f"{self.kills} kills, {self.faults.total() - self.kills} other faults at {self.places} different places; "
            f"{sum(one.leagues for one in self.reports)} leagues, {sum(one.matches for one in self.reports)} matches, "
            f"{sum(one.replays for one in self.reports)} replays; "
            f"slowest recovery {max(one.recovery_s for one in self.reports):.1f} s of {self.within_s:g} s"
        ]
        by_process: dict[str, Counter[str]] = {}
        for (role, kind, point), count in sorted(self.faults.items()):
            by_process.setdefault(role, Counter())[f"{kind} {point}"] += count
        for role, kinds in by_process.items():
            lines.append(f"  {role}: " + ", ".join(f"{kind} {count}" for kind, count in kinds.items()))
        lines.append(f"  {len(self.violations) or 'no'} violation{'s'[: len(self.violations) != 1]}")
        return "\n".join(lines)


class Run:
    """A run; it begins with ``play``.

    Args:
        folder: an empty folder for data, logs and journal.
        mode: the way of running a site, ``sqlite`` or ``scaled``.
        kills: how many processes and servers are killed in all, at least.
        say: prints the lines of each episode.
        within_s: seconds within which a league must go on after the last fault.
    """

    def __init__(
        self,
        folder: Path,
        mode: str,
        *,
        seed: int,
        kills: int,
        say: Callable[[str], None],
        within_s: float = PROMISED_S,
    ) -> None:
        self._folder, self._mode, self._seed, self._kills, self._say = folder, mode, seed, kills, say
        self._within_s = within_s

    async def play(self) -> Summary:
        """Play the run; leaves nothing behind but the folder.

        Raises:
            NotInstalled: a program that is needed is missing.
        """
        site: Site = (ScaledSite if self._mode == SCALED else SqliteSite)(self._folder, self._seed)
        journal, room = Journal(self._folder), Room(self._seed)
        numbers = itertools.count(1)
        cutters = [Cutter(one, self._seed, numbers, journal.cut) for one in site.addresses]
        following = asyncio.create_task(journal.follow())
        summary = Summary(self._within_s)
        try:
            await room.open()
            for cutter in cutters:
                await cutter.open()
            site.start()
            kills_left, number = self._kills, 0
            while kills_left > 0:
                kills = min(kills_left, KILLS_PER_EPISODE)
                episode = Episode(
                    site, journal, room, cutters, number=number, seed=self._seed, kills=kills, within_s=self._within_s
                )
                report = await episode.play()
                summary.reports.append(report)
                kills_left, number = kills_left - report.kills, number + 1
                self._say(f"  {report.text()}")
                for violation in report.violations:
                    self._say(f"    VIOLATION: {violation}")
        finally:
            following.cancel()
            journal.kill_all()
            await site.close()
            journal.kill_all()
            await room.close()
            for cutter in cutters:
                await cutter.close()
        summary.faults, summary.places = journal.faults, len(journal.hit_places)
        return summary
