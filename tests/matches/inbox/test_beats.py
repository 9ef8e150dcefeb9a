"""Which processes of a site stand still, as another process knows it by what each says twice a second."""

from __future__ import annotations

import math

import pytest

from matches.inbox.beats import BEAT_INTERVAL_S, CUT_OFF_BEATS, GONE_AFTER_S, SILENT_AFTER_S, Beats

HERE, WEB, CONDUCTOR, NEW = "this web process", "another web process", "a conductor", "a web process that starts"


class Site:
    """Processes, the channel layer between them, and the clock."""

    def __init__(self) -> None:
        self.time = 0.0
        self.processes: dict[str, Beats] = {}

    def start(self, *names: str) -> None:
        for name in names:
            self.processes[name] = Beats(name, has_lines=name != CONDUCTOR, name=name, now=lambda: self.time)

    def run(self, seconds: float, *names: str) -> None:
        """Let this time pass, in which these processes run and hear each other; without names nobody does."""
        for _ in range(int(seconds / BEAT_INTERVAL_S)):
            self.time += BEAT_INTERVAL_S
            for name in names:
                beat = self.processes[name].beat()
                for hearer in names:
                    self.processes[hearer].hear(name, beat)

    def silent(self, *, at: str = HERE, since: float = math.inf) -> bool:
        """Whether one process takes another for silent, now or at any time since then."""
        return bool(self.what(at=at, since=since))

    def what(self, *, at: str = HERE, since: float = math.inf) -> str:
        """What one process finds standing still, now or at any time since then."""
        return str(self.processes[at].stalled(since))


@pytest.fixture
def site() -> Site:
    site = Site()
    site.start(HERE, WEB, CONDUCTOR)
    site.run(GONE_AFTER_S + 1, HERE, WEB, CONDUCTOR)
    return site


def test_all_run(site: Site) -> None:
    assert not site.silent()


def test_a_process_counts_how_often_it_was_not_heard_while_it_ran(site: Site) -> None:
    here = site.processes[HERE]
    # It stands still for long: it says nothing, so nothing is missing.
    site.run(4 * GONE_AFTER_S, WEB)
    assert here.unheard == 0
    for _ in range(CUT_OFF_BEATS):
        beat = here.beat()
    assert here.unheard == CUT_OFF_BEATS
    here.hear(HERE, beat)
    assert here.unheard == 0


def test_a_process_stands_still_until_it_has_ended(site: Site) -> None:
    site.run(SILENT_AFTER_S, HERE, CONDUCTOR)
    assert not site.silent()
    site.run(1, HERE, CONDUCTOR)
    assert site.silent()
    site.run(GONE_AFTER_S, HERE, CONDUCTOR)
    assert not site.silent()


def test_a_process_that_goes_on_was_silent_for_those_who_waited_meanwhile(site: Site) -> None:
    site.run(SILENT_AFTER_S + 1, HERE)
    went_on_at = site.time
    site.run(1, HERE, WEB)
    assert not site.silent()
    assert site.silent(since=went_on_at - 1)
    assert not site.silent(since=went_on_at + 1)


def test_a_process_that_ends_in_good_order_is_not_waited_for(site: Site) -> None:
    site.processes[HERE].hear_end(WEB)
    site.run(SILENT_AFTER_S + 1, HERE)
    assert not site.silent()


def test_a_process_without_lines_may_stand_still(site: Site) -> None:
    site.run(SILENT_AFTER_S + 1, HERE, WEB)
    assert not site.silent()


def test_a_process_that_hears_not_even_itself_knows_nothing_however_long_that_lasts(site: Site) -> None:
    site.run(2 * GONE_AFTER_S)
    assert site.silent()


def test_the_first_process_does_not_know_who_stands_still() -> None:
    site = Site()
    site.start(HERE)
    assert site.silent()
    site.run(GONE_AFTER_S - 1, HERE)
    assert site.silent()
    site.run(2, HERE)
    assert not site.silent()


@pytest.mark.parametrize("stands_still", [False, True])
def test_a_process_that_starts_is_told_who_stands_still(site: Site, *, stands_still: bool) -> None:
    if stands_still:
        site.run(SILENT_AFTER_S + 1, HERE, CONDUCTOR)
    site.start(NEW)
    site.run(BEAT_INTERVAL_S, *([HERE, CONDUCTOR, NEW] if stands_still else [HERE, WEB, CONDUCTOR, NEW]))
    assert site.silent(at=NEW) is stands_still


def test_processes_that_start_together_tell_each_other_nothing() -> None:
    site = Site()
    site.start(HERE, NEW)
    site.run(1, HERE, NEW)
    assert site.silent(at=HERE)
    assert site.silent(at=NEW)


def test_it_is_named_what_stands_still(site: Site) -> None:
    site.run(SILENT_AFTER_S + 1, HERE, CONDUCTOR)
    assert site.what() == f"a process of this site stood still: {WEB}"
    site.run(1, HERE, WEB, CONDUCTOR)
    assert site.what() == ""
    assert WEB in site.what(since=site.time - 3)


def test_redis_is_named_while_a_process_hears_not_even_itself_and_when_it_hears_the_others_first(site: Site) -> None:
    began_at = site.time
    # Each process goes on saying that it runs, and nobody hears it.
    for _ in range(2 * int(GONE_AFTER_S)):
        site.time += 1
        for process in site.processes.values():
            process.beat()
    assert site.what().startswith("Redis")
    site.processes[HERE].hear(WEB, site.processes[WEB].beat())
    site.processes[HERE].hear(HERE, site.processes[HERE].beat())
    assert site.what() == ""
    assert site.what(since=began_at).startswith("Redis")


def test_redis_is_named_whichever_process_is_heard_last_when_it_is_back(site: Site) -> None:
    began_at = site.time
    for _ in range(10):
        site.time += 1
        for process in site.processes.values():
            process.beat()
    for name in (HERE, WEB):
        site.processes[HERE].hear(name, site.processes[name].beat())
    assert site.what(since=began_at).startswith("Redis")


def test_a_process_that_stood_still_itself_does_not_blame_redis(site: Site) -> None:
    began_at = site.time
    site.run(10, WEB, CONDUCTOR)
    assert site.what() == f"a process of this site stood still: {HERE}"
    site.run(1, HERE, WEB, CONDUCTOR)
    assert site.what(since=began_at) == f"a process of this site stood still: {HERE}"
