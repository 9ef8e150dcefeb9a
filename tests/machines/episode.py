"""One fault during one league: what the league did meanwhile and afterwards, and what of that is not as promised."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import httpx

from tests.machines.bed import PLAYERS, Bed, holds_within, until
from tests.machines.faults import Fault

MATCHES = PLAYERS * (2 * PLAYERS - 1)
"""Matches of a league in which everybody meets everybody once."""
BEFORE, FURTHER = 4, 4
"""Matches that end before the fault begins, and that must end while it lasts, if leagues go on."""
PATIENCE_S = 60.0
"""How much longer than it has to a fault lasts to see them."""
END_S = 200.0
"""In this time after a fault a league must have ended."""
LIMIT_S = 10.0
"""Longer pauses are marked in the table; no test fails by them."""

_DONE = "SELECT count(*) FROM matches_match WHERE league_id = %s AND state = 'FINISHED'"
_STATE = "SELECT state FROM matches_league WHERE league_id = %s"
_RESULTS = "SELECT finished_at FROM matches_match WHERE league_id = %s AND finished_at IS NOT NULL ORDER BY 1"
_MOVES = """
    SELECT s.entry ->> 'at' FROM matches_message s JOIN matches_match m ON m.id = s.match_id WHERE m.league_id = %s
"""
_ODD = """
    SELECT m.match_id, m.status, m.faults, m.state FROM matches_match m
    WHERE m.league_id = %s AND (m.status NOT IN ('WIN', 'DRAW') OR m.faults::text <> '[]') ORDER BY m.id
"""
_AGAIN = "SELECT coalesce(sum(attempt - 1), 0) FROM matches_match WHERE league_id = %s AND attempt > 1"


@dataclass(slots=True)
class Report:
    """What a fault did to a league.

    Attributes:
        lasted_s: how long the fault lasted.
        ended_s: how long after the fault the league ended.
        during_s, after_s: the longest times without a message of a match, and without a result, while the fault lasted
            and after it.
        again: second and further attempts.
        charged: matches with a technical loss or a counted fault.
        note: what could not be done as named.
        broken: a sentence for each thing that is not as promised.
    """

    name: str
    lasted_s: float = 0.0
    ended_s: float | None = None
    during_s: tuple[float, float] = (0.0, 0.0)
    after_s: tuple[float, float] = (0.0, 0.0)
    again: int = 0
    charged: int = 0
    note: str = ""
    broken: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One line of the table."""
        gaps = " ".join(f"{gap:6.1f}{'!' if gap > LIMIT_S else ' '}" for gap in (*self.during_s, *self.after_s))
        ended = "never" if self.ended_s is None else f"{self.ended_s:.0f}"
        text = f"{self.name:32} {self.lasted_s:6.0f} {gaps} {ended:>6} {self.again:5} {self.charged:7}  "
        return text + "; ".join([*([self.note] if self.note else []), *self.broken])


HEAD = (
    f"{'fault':32} {'lasted':>6} {'moves':>6}  {'results':>7} {'moves':>7} {'results':>7}  {'ended':>6} again charged\n"
    f"{'':32} {'':6} {'longest pause in it':^15} {'and after it':^15}"
)


async def play(bed: Bed, fault: Fault, league: str) -> Report:
    """Play a league with a fault in it; returns what that showed."""
    report = Report(fault.name)
    body = {"league_id": league, "display_name": league, "game_type": "tic_tac_toe", "settings": {"auto_advance": True}}
    await bed.api("POST", "/leagues", body)
    bed.seat(league)
    try:
        await until("all players have registered", lambda: _has_players(bed, league))
        await bed.api("POST", f"/leagues/{league}/start", {"auto_advance": True})
        await until("the first matches have ended", lambda: _has_results(bed, league, BEFORE))
        await _suffer(bed, fault, league, report)
        if report.ended_s is not None:
            code, printed = await bed.run(bed.machines["desk"], "league_sdk", "verify", f"{bed.url}/leagues/{league}/")
            if code:
                report.broken.append(f"league verify: {printed.strip()[-600:]}")
    finally:
        await bed.unseat()
    return report


async def _suffer(bed: Bed, fault: Fault, league: str, report: Report) -> None:
    begun = time.time()
    before = await _done(bed, league)
    try:
        report.note = await fault.begin(bed)
        await asyncio.sleep(fault.lasts_s)
        if fault.goes_on and not await holds_within(PATIENCE_S, lambda: _has_results(bed, league, before + FURTHER)):
            done = await _done(bed, league) - before
            report.broken.append(f"{done} matches ended in {time.time() - begun:.0f} s of the fault")
    finally:
        await fault.end(bed)
    over = time.time()
    report.lasted_s = over - begun
    if await holds_within(END_S, lambda: _is_over(bed, league)):
        report.ended_s = time.time() - over
    else:
        report.broken.append(f"{await _done(bed, league)} of {MATCHES} matches {END_S:.0f} s after the fault")
    await _look_back(bed, fault, league, report, begun, over)


async def _look_back(bed: Bed, fault: Fault, league: str, report: Report, begun: float, over: float) -> None:
    """Read from the league's own records what happened."""
    results = [moment.timestamp() for (moment,) in await bed.sql(_RESULTS, league) or []]
    moves = sorted(datetime.fromisoformat(at).timestamp() for (at,) in await bed.sql(_MOVES, league) or [])
    last = results[-1] if results and report.ended_s is not None else time.time()
    report.during_s = longest_pause(moves, begun, over), longest_pause(results, begun, over)
    report.after_s = longest_pause(moves, over, last), longest_pause(results, over, last)
    odd = await bed.sql(_ODD, league) or []
    report.again = int((await bed.sql(_AGAIN, league) or [(0,)])[0][0])
    report.charged = len(odd)
    if odd and fault.spares:
        report.broken.append(f"players were charged: {odd[:3]}")


def longest_pause(moments: Sequence[float], begin: float, end: float) -> float:
    """The longest time between two consecutive moments within a span, counted from its begin and to its end."""
    inside = [begin, *(one for one in moments if begin < one < end), max(begin, end)]
    return max(later - earlier for earlier, later in pairwise(inside))


async def _done(bed: Bed, league: str) -> int:
    rows = await bed.sql(_DONE, league)
    return int(rows[0][0]) if rows else 0


async def _has_results(bed: Bed, league: str, count: int) -> bool:
    return await _done(bed, league) >= min(count, MATCHES)


async def _is_over(bed: Bed, league: str) -> bool:
    return await bed.sql(_STATE, league) == [("COMPLETED",)]


async def _has_players(bed: Bed, league: str) -> bool:
    try:
        agents = await bed.api("GET", f"/leagues/{league}/agents")
    except (httpx.HTTPError, RuntimeError):
        return False
    return sum(one["kind"] == "player" for one in agents) == 2 * PLAYERS
