"""A process that is told to stop ends within five seconds, whatever it is doing."""

from __future__ import annotations

from leaguesite.hosting.host import PLAYER_STOP_TIMEOUT_S, REFEREE_STOP_TIMEOUT_S
from leaguesite.hosting.web import DRAIN_TIMEOUT_S, STOP_TIMEOUT_S, end_in_any_case

PROMISED_S = 5


def test_a_process_that_was_told_to_stop_ends_in_any_case() -> None:
    codes: list[int] = []
    timer = end_in_any_case(0, codes.append)
    timer.join()
    # If the timer's thread were no daemon, it would keep a process alive that has stopped in good order.
    assert (codes, timer.daemon) == ([0], True)


def test_the_timeouts_of_a_stop_add_up_to_less_than_the_promise() -> None:
    assert REFEREE_STOP_TIMEOUT_S + PLAYER_STOP_TIMEOUT_S < STOP_TIMEOUT_S
    assert DRAIN_TIMEOUT_S < STOP_TIMEOUT_S < PROMISED_S
