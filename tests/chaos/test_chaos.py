"""The short form of ``make chaos``: 50 kills on each way of running a site (docs/chaos.md).

The plan is the same in every run, unless ``LEAGUE_CHAOS_SEED`` asks for another. Only ``make chaos``, on a machine that
does nothing else, checks that a league goes on within 15 s; here it has 60 s.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.chaos import plan
from tests.chaos.run import Run
from tests.chaos.servers import NotInstalled
from tests.chaos.sites import SCALED, SQLITE

KILLS = 50
SEED = 11
GOES_ON_WITHIN_S = 60.0
PROCESSES = {SQLITE: {"host", "referee"}, SCALED: {"web", "conductor", "referee", "redis", "postgres"}}


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", [SQLITE, SCALED])
def test_leagues_are_played_correctly_whichever_processes_are_killed(mode: str) -> None:
    seed = int(os.environ.get("LEAGUE_CHAOS_SEED") or SEED)
    # Not in pytest's own folder, which PostgreSQL, run as another user, cannot enter.
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{mode}-"))
    command = f"python -m tests.chaos --mode {mode} --kills {KILLS} --seed {seed} --within {GOES_ON_WITHIN_S:g}"
    print(f"\n{command}, in {folder}")
    try:
        run = Run(folder, mode, seed=seed, kills=KILLS, say=print, within_s=GOES_ON_WITHIN_S)
        summary = asyncio.run(run.play())
    except NotInstalled as missing:
        shutil.rmtree(folder)
        if os.environ.get("LEAGUE_CI"):
            raise
        pytest.skip(str(missing))
    print(summary.text())
    assert summary.violations == [], f"{command}; logs and journal are in {folder}"
    shutil.rmtree(folder)
    assert summary.kills >= KILLS
    kinds = {(role, kind) for role, kind, _ in summary.faults}
    assert {role for role, kind in kinds if kind == plan.KILL} >= PROCESSES[mode]
    assert {kind for _, kind in kinds} >= {plan.KILL, plan.STOP, plan.DELAY}
    assert {point.split()[-1] for _, _, point in summary.faults} >= {"write", "commit", "call", "answer", "clock"}
    assert {point for role, _, point in summary.faults if role == "line"} == set(plan.LINE_POINTS)
    assert mode == SCALED or any(role == "disk" for role, _ in kinds)
