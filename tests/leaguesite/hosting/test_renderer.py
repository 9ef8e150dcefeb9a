"""Pages are rendered by another process, and by this one whenever that one cannot."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from leaguesite.hosting.renderer import RESTART_INTERVAL_S, START_TIMEOUT_S, Renderer, RenderingFailed
from matches.audience.pages import PageKey
from tests.e2e.site import PATIENCE_S, command_line, is_running, wait_for
from tests.leaguesite.hosting.rendering_stub import SLOW_TO_START

STUB = "tests.leaguesite.hosting.rendering_stub"
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
def renderer(clock: Clock, timeout_s: float) -> Iterator[Renderer]:
    one = Renderer("renderer-1", here=lambda *question: HERE, clock=clock, timeout_s=timeout_s, module=STUB)
    yield one
    one.stop()


def ask(renderer: Renderer, league_id: str, without: frozenset[str] = NOTHING) -> dict[str, str] | None:
    return renderer.fragments(PageKey("board", league_id), "he", without)


def there(renderer: Renderer) -> dict[str, str]:
    """Ask until the other process renders; what it said."""

    def said() -> dict[str, str] | None:
        fragments = ask(renderer, "fall")
        return fragments if fragments != HERE else None

    fragments = wait_for("the other process renders", said)
    assert fragments is not None
    return fragments


def pids() -> list[int]:
    """The processes that run in place of the renderer."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()
    return [int(pid) for pid in children if STUB in command_line(int(pid))]


@override_settings(LEAGUE_DEFAULT_ID="changed_by_an_option")
def test_this_process_renders_until_the_other_one_is_ready(renderer: Renderer) -> None:
    assert ask(renderer, "fall") == HERE
    assert there(renderer)["header"] == "changed_by_an_option renderer-1 he []"
    fragments = ask(renderer, "fall", frozenset({"ranks", "cross"}))
    assert fragments is not None
    assert fragments["header"].endswith("he ['cross', 'ranks']")
    assert ask(renderer, "nowhere") is None


def test_an_error_of_the_other_process_has_its_traceback(renderer: Renderer) -> None:
    before = there(renderer)
    with pytest.raises(RenderingFailed, match="what went wrong"):
        ask(renderer, "fail")
    assert ask(renderer, "fall") == before


@pytest.mark.parametrize(("fault", "timeout_s"), [("end", PATIENCE_S), ("hang", 2.0)])
def test_after_a_fault_this_process_renders_and_another_one_is_started_later(
    renderer: Renderer, clock: Clock, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    first = int(there(renderer)["pid"])
    assert ask(renderer, fault) == HERE
    assert not is_running(first)
    assert [record.getMessage()[:38] for record in caplog.records] == ["the process that renders pages failed "]
    assert ask(renderer, "fall") == HERE
    clock.now = RESTART_INTERVAL_S
    assert int(there(renderer)["pid"]) != first


def test_a_process_that_does_not_become_ready_is_stopped(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    renderer = Renderer(SLOW_TO_START, here=lambda *question: HERE, clock=clock, module=STUB)
    renderer.start()
    [slow] = wait_for("its process runs", pids)
    clock.now = START_TIMEOUT_S - 1
    assert ask(renderer, "fall") == HERE
    assert caplog.records == []
    clock.now = START_TIMEOUT_S
    assert ask(renderer, "fall") == HERE
    assert not is_running(slow)
    assert "not ready within 30 s" in caplog.records[0].getMessage()
    renderer.close()


def test_a_killed_process_is_replaced(renderer: Renderer, clock: Clock) -> None:
    first = int(there(renderer)["pid"])
    os.kill(first, signal.SIGKILL)
    wait_for("it has ended", lambda: not is_running(first))
    assert ask(renderer, "fall") == HERE
    clock.now = RESTART_INTERVAL_S
    assert int(there(renderer)["pid"]) != first


def test_a_machine_without_room_for_another_process_renders_itself(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    renderer = Renderer("renderer-1", here=lambda *question: HERE, clock=clock, program="/nowhere/python", module=STUB)
    renderer.start()
    assert ask(renderer, "fall") == HERE
    assert [record.getMessage()[:44] for record in caplog.records] == ["the process that renders pages cannot be sta"]


def test_a_closed_renderer_starts_no_process_any_more(renderer: Renderer, clock: Clock) -> None:
    pid = int(there(renderer)["pid"])
    renderer.close()
    assert not is_running(pid)
    clock.now = RESTART_INTERVAL_S
    assert ask(renderer, "fall") == HERE
    assert pids() == []
