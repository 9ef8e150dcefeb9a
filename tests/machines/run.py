"""A whole run: faults one after the other, each in a league of its own, on one set of machines."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.machines.bed import MACHINES, Bed, require_servers
from tests.machines.episode import HEAD, Report, play
from tests.machines.faults import Fault
from tests.machines.network import network


async def run(faults: Sequence[Fault], *, seed: int, say: Callable[[str], None]) -> list[Report]:
    """Try every fault; machines that a fault has left broken are built again.

    Args:
        seed: decides the order of the faults.
        say: prints a line of the table.

    Raises:
        NotInstalled: something that is needed is missing; the message says what.
    """
    require_servers()
    left = random.Random(seed).sample(list(faults), len(faults))
    reports: list[Report] = []
    say(HEAD)
    while left:
        # Not in a folder that PostgreSQL, run as another user, cannot enter.
        folder = Path(tempfile.mkdtemp(prefix="machines-"))
        with network(MACHINES, router="router") as made:
            bed = Bed(folder, made)
            try:
                await bed.start()
                while left:
                    reports.append(await play(bed, left.pop(0), f"machines-{len(reports) + 1}"))
                    say(reports[-1].line())
                    if reports[-1].broken:
                        break
            finally:
                await bed.close()
        if reports and reports[-1].broken:
            say(f"  logs: {folder}")
        else:
            shutil.rmtree(folder)
    return reports
