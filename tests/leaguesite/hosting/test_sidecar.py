"""Pages are rendered by the sidecar, a process beside this one, and by this process while no sidecar is ready."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from league_sdk.watchdog import EXIT_HUNG
from leaguesite.hosting.sidecar import RESTART_INTERVAL_S, START_TIMEOUT_S, RenderingFailed, Sidecar
from matches.audience.pages import PageKey
from tests.e2e.site import PATIENCE_S, command_line, is_running, wait_for
from tests.leaguesite.hosting.sidecar_stub import SLOW_TO_START
from tests.paths import ROOT

STUB = "tests.leaguesite.hosting.sidecar_stub"
COMMAND = (sys.executable, "-m", STUB)
HERE = {"header": "rendered here"}
NOTHING: frozenset[str] = frozenset()


class Clock:
    """Seconds that pass when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timeout_s() -> float:
    return PATIENCE_S


@pytest.fixture
def sidecar(clock: Clock, timeout_s: float) -> Iterator[Sidecar]:
    one = Sidecar("sidecar-1", render_here=lambda *question: HERE, clock=clock, timeout_s=timeout_s, command=COMMAND)
    yield one
    one.stop()


def ask(sidecar: Sidecar, league_id: str, without: frozenset[str] = NOTHING) -> dict[str, str] | None:
    return sidecar.fragments(PageKey("board", league_id), "he", without)


def rendered_there(sidecar: Sidecar) -> dict[str, str]:
    """Ask until the sidecar's process renders; returns its fragments."""

    def foreign_fragments() -> dict[str, str] | None:
        fragments = ask(sidecar, "fall")
        return fragments if fragments != HERE else None

    fragments = wait_for("the other process renders", foreign_fragments)
    assert fragments is not None
    return fragments


KEEPER_THAT_STANDS_STILL = """
import asyncio, re
from league_sdk.watchdog import Watchdog
from leaguesite.hosting import sidecar_process

class Keeper:
    async def keep(self):
        await asyncio.sleep(0.9)
        print("alive", flush=True)
        re.match("(a|aa)+$", "a" * 200 + "b")

sidecar_process.watchdog.watch = lambda loop: loop.create_task(Watchdog(0.3).run())
sidecar_process.shared_folder.keeper = lambda **options: Keeper()
sidecar_process._keep_shared()
"""


def test_a_sidecar_that_stands_still_while_it_keeps_shared_ends_although_no_page_is_asked_for(tmp_path: Path) -> None:
    environment = os.environ | {"LEAGUE_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "leaguesite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", KEEPER_THAT_STANDS_STILL],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == "alive\n", done.stderr
    assert done.returncode in {EXIT_HUNG, -signal.SIGPROF}
    assert "in keep" in done.stderr


def pids() -> list[int]:
    """The processes that run in place of the sidecar."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return [int(pid) for pid in children if STUB in command_line(int(pid))]


@override_settings(LEAGUE_DEFAULT_ID="changed_by_an_option")
def test_this_process_renders_until_the_other_one_is_ready(sidecar: Sidecar) -> None:
    assert ask(sidecar, "fall") == HERE
    assert rendered_there(sidecar)["header"] == "changed_by_an_option sidecar-1 he [] False"
    fragments = ask(sidecar, "fall", frozenset({"ranks", "cross"}))
    assert fragments is not None
    assert fragments["header"].endswith("he ['cross', 'ranks'] False")
    assert ask(sidecar, "nowhere") is None


def test_a_sidecar_that_is_asked_to_keep_shared_does_so_while_it_runs() -> None:
    sidecar = Sidecar("sidecar-1", keep_shared=True, render_here=lambda *question: HERE, command=COMMAND)
    assert not sidecar.keeps_shared
    assert rendered_there(sidecar)["header"].endswith(" True")
    assert sidecar.keeps_shared
    sidecar.close()
    sidecar.tend()
    assert not sidecar.keeps_shared


def test_an_error_of_the_sidecar_is_raised_with_its_traceback(sidecar: Sidecar) -> None:
    before = rendered_there(sidecar)
    with pytest.raises(RenderingFailed, match="what went wrong"):
        ask(sidecar, "fail")
    assert ask(sidecar, "fall") == before


@pytest.mark.parametrize(("fault", "timeout_s"), [("end", PATIENCE_S), ("hang", 2.0)])
def test_after_a_fault_this_process_renders_until_another_sidecar_is_started(
    sidecar: Sidecar, clock: Clock, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    first = int(rendered_there(sidecar)["pid"])
    assert ask(sidecar, fault) == HERE
    assert not is_running(first)
    assert [record.getMessage()[:19] for record in caplog.records] == ["the sidecar failed "]
    assert ask(sidecar, "fall") == HERE
    clock.now = RESTART_INTERVAL_S
    assert int(rendered_there(sidecar)["pid"]) != first


def test_a_sidecar_that_does_not_become_ready_is_stopped(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    sidecar = Sidecar(SLOW_TO_START, render_here=lambda *question: HERE, clock=clock, command=COMMAND)
    sidecar.tend()
    [slow] = wait_for("its process runs", pids)
    clock.now = START_TIMEOUT_S - 1
    assert ask(sidecar, "fall") == HERE
    assert caplog.records == []
    clock.now = START_TIMEOUT_S
    assert ask(sidecar, "fall") == HERE
    assert not is_running(slow)
    assert "not ready within 30 s" in caplog.records[0].getMessage()
    sidecar.close()


def test_tending_notices_that_a_sidecar_is_ready_and_that_it_has_ended(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    sidecar = Sidecar("sidecar-1", keep_shared=True, render_here=lambda *question: HERE, clock=clock, command=COMMAND)

    def is_ready() -> bool:
        sidecar.tend()
        return sidecar.keeps_shared

    wait_for("it is ready, although no page is asked for", is_ready)
    [first] = pids()
    assert caplog.records == []
    os.kill(first, signal.SIGKILL)
    wait_for("its end is noticed, although no page is asked for", lambda: not is_ready())
    assert len(caplog.records) == 1
    clock.now = RESTART_INTERVAL_S
    wait_for("another one is ready", is_ready)
    assert pids() != [first]
    sidecar.close()
    wait_for("the end after closing is noticed", lambda: not is_ready())
    assert len(caplog.records) == 1


def test_a_killed_sidecar_is_replaced(sidecar: Sidecar, clock: Clock) -> None:
    first = int(rendered_there(sidecar)["pid"])
    os.kill(first, signal.SIGKILL)
    wait_for("it has ended", lambda: not is_running(first))
    assert ask(sidecar, "fall") == HERE
    clock.now = RESTART_INTERVAL_S
    assert int(rendered_there(sidecar)["pid"]) != first


def test_this_process_renders_if_no_sidecar_can_be_started(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    sidecar = Sidecar("sidecar-1", render_here=lambda *question: HERE, clock=clock, command=["/nowhere/python"])
    sidecar.tend()
    assert ask(sidecar, "fall") == HERE
    assert ["FileNotFoundError" in record.getMessage() for record in caplog.records] == [True]


def test_a_closed_sidecar_starts_no_process_any_more(sidecar: Sidecar, clock: Clock) -> None:
    pid = int(rendered_there(sidecar)["pid"])
    sidecar.close()
    assert not is_running(pid)
    clock.now = RESTART_INTERVAL_S
    assert ask(sidecar, "fall") == HERE
    assert pids() == []
