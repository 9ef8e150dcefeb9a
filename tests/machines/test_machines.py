"""The short form of ``python -m tests.machines``: four faults of machines and links (docs/chaos.md)."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.chaos.servers import NotInstalled
from tests.machines.episode import longest_pause
from tests.machines.faults import SHORT, every_fault
from tests.machines.run import run

SEED = 1
LASTS_S = 12.0


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.timeout(1200)
def test_leagues_go_on_and_nobody_is_charged_whichever_machine_is_away() -> None:
    faults = [one for one in every_fault(LASTS_S) if one.name in SHORT]
    assert {one.name for one in faults} == set(SHORT)
    try:
        reports = asyncio.run(run(faults, seed=SEED, say=print))
    except NotInstalled as missing:
        if os.environ.get("LEAGUE_CI"):
            raise
        pytest.skip(str(missing))
    assert {report.name: report.broken for report in reports if report.broken} == {}
    assert len(reports) == len(SHORT)


def test_the_longest_pause_is_counted_from_the_begin_and_to_the_end() -> None:
    moments = [1.0, 12.0, 13.0, 19.0, 40.0]
    assert longest_pause(moments, 10.0, 20.0) == 6.0
    assert longest_pause(moments, 10.0, 30.0) == 11.0
    assert longest_pause([], 10.0, 30.0) == 20.0
    assert longest_pause(moments, 50.0, 45.0) == 0.0
