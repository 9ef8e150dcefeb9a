"""The circuit breaker of an endpoint (000 section 6, 004 5.9.2): CLOSED, OPEN, HALF_OPEN."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol.faults import Cause
from league_sdk.transport.breaker import Breaker

HERE, THERE = "http://localhost:8101/mcp", "http://localhost:8102/mcp"


class Time:
    def __init__(self) -> None:
        self.now = 500.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def breaker(time: Time) -> Breaker:
    return Breaker(time)


def fail(breaker: Breaker, times: int, threshold: int = 5) -> None:
    for _ in range(times):
        breaker.failed(HERE, threshold=threshold)


def allows(breaker: Breaker, endpoint: str = HERE) -> bool:
    return breaker.allows(endpoint, reset_s=30)


def test_it_opens_after_five_failures_in_a_row(breaker: Breaker) -> None:
    fail(breaker, 4)
    assert allows(breaker) is True
    fail(breaker, 1)
    assert allows(breaker) is False


def test_an_answer_makes_the_count_start_anew(breaker: Breaker) -> None:
    fail(breaker, 4)
    breaker.succeeded(HERE)
    fail(breaker, 4)
    assert allows(breaker) is True


def test_each_endpoint_has_its_own(breaker: Breaker) -> None:
    fail(breaker, 5)
    assert (allows(breaker), allows(breaker, THERE)) == (False, True)


@pytest.mark.parametrize(("later", "allowed"), [(0, False), (29.9, False), (30, True), (3600, True)])
def test_after_the_reset_time_one_call_may_try(breaker: Breaker, time: Time, later: float, allowed: bool) -> None:
    fail(breaker, 5)
    time.now += later
    assert [allows(breaker), allows(breaker)] == [allowed, False]


def test_a_test_call_that_fails_opens_it_for_another_reset_time(breaker: Breaker, time: Time) -> None:
    fail(breaker, 5)
    time.now += 30
    assert allows(breaker) is True
    time.now += 5
    # One failure is enough now, whatever the threshold of the league that made the call.
    fail(breaker, 1, threshold=1000)
    time.now += 29
    assert allows(breaker) is False
    time.now += 1
    assert allows(breaker) is True


def test_a_test_call_that_is_answered_closes_it(breaker: Breaker, time: Time) -> None:
    fail(breaker, 5)
    time.now += 30
    allows(breaker)
    breaker.succeeded(HERE)
    assert [allows(breaker) for _ in range(3)] == [True] * 3
    fail(breaker, 4)
    assert allows(breaker) is True


def test_a_test_call_that_is_given_up_does_not_close_the_endpoint_for_ever(breaker: Breaker, time: Time) -> None:
    """Its match was lost, so nobody says how it went."""
    fail(breaker, 5)
    time.now += 30
    assert allows(breaker) is True
    time.now += 29
    assert allows(breaker) is False
    time.now += 1
    assert allows(breaker) is True


def test_it_knows_what_the_last_failure_was(breaker: Breaker) -> None:
    assert breaker.cause(HERE) == "CONNECT"
    breaker.failed(HERE, threshold=5, cause=Cause.NAME_LOOKUP)
    breaker.failed(HERE, threshold=5, cause=Cause.DEADLINE)
    assert (breaker.cause(HERE), breaker.cause(THERE)) == ("DEADLINE", "CONNECT")


def test_the_threshold_is_the_leagues(breaker: Breaker) -> None:
    fail(breaker, 1, threshold=1)
    assert allows(breaker) is False


@given(st.lists(st.sampled_from(["fail", "answer", "wait"]), max_size=40))
def test_it_is_open_exactly_after_enough_failures_without_an_answer(steps: list[str]) -> None:
    time = Time()
    breaker = Breaker(time)
    failures = 0
    for step in steps:
        if step == "fail":
            failures += 1
            fail(breaker, 1)
        elif step == "answer":
            failures = 0
            breaker.succeeded(HERE)
        else:
            time.now += 1
            assert breaker.allows(HERE, reset_s=10**6) is (failures < 5)
