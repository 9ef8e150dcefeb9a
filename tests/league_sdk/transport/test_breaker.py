"""The circuit breaker of an endpoint (000 section 6, 004 5.9.2): CLOSED, OPEN, HALF_OPEN."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.protocol.faults import Cause
from league_sdk.transport.breaker import Breaker
from tests.clock import Clock

ENDPOINT, OTHER_ENDPOINT = "http://localhost:8101/mcp", "http://localhost:8102/mcp"


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture
def breaker(time: Clock) -> Breaker:
    return Breaker(time)


def fail(breaker: Breaker, times: int, threshold: int = 5) -> None:
    for _ in range(times):
        breaker.failed(ENDPOINT, threshold=threshold)


def allows(breaker: Breaker, endpoint: str = ENDPOINT) -> bool:
    return breaker.allows(endpoint, reset_s=30)


def test_a_breaker_counts_each_endpoint_separately(breaker: Breaker) -> None:
    fail(breaker, 5)
    assert (allows(breaker), allows(breaker, OTHER_ENDPOINT)) == (False, True)


@pytest.mark.parametrize(("later", "allowed"), [(0, False), (29.9, False), (30, True), (3600, True)])
def test_a_breaker_allows_one_test_call_after_the_reset_time(
    breaker: Breaker, time: Clock, later: float, allowed: bool
) -> None:
    fail(breaker, 5)
    time.now += later
    assert [allows(breaker), allows(breaker)] == [allowed, False]


def test_a_failed_test_call_opens_the_circuit_for_another_reset_time(breaker: Breaker, time: Clock) -> None:
    fail(breaker, 5)
    time.now += 30
    assert allows(breaker) is True
    # The match of the test call is given up, so its result is never reported: a second test call is allowed later.
    time.now += 29
    assert allows(breaker) is False
    time.now += 1
    assert allows(breaker) is True
    time.now += 5
    # One failure is enough in a test call, whatever the threshold.
    fail(breaker, 1, threshold=1000)
    time.now += 29
    assert allows(breaker) is False
    time.now += 1
    assert allows(breaker) is True


def test_an_answered_test_call_closes_the_circuit(breaker: Breaker, time: Clock) -> None:
    fail(breaker, 5)
    time.now += 30
    allows(breaker)
    breaker.succeeded(ENDPOINT)
    assert [allows(breaker) for _ in range(3)] == [True] * 3
    fail(breaker, 4)
    assert allows(breaker) is True


def test_a_breaker_knows_the_cause_of_the_last_failure(breaker: Breaker) -> None:
    assert breaker.cause(ENDPOINT) == "CONNECT"
    breaker.failed(ENDPOINT, threshold=5, cause=Cause.NAME_LOOKUP)
    breaker.failed(ENDPOINT, threshold=5, cause=Cause.DEADLINE)
    assert (breaker.cause(ENDPOINT), breaker.cause(OTHER_ENDPOINT)) == ("DEADLINE", "CONNECT")


def test_a_breaker_uses_the_threshold_of_the_call(breaker: Breaker) -> None:
    fail(breaker, 1, threshold=1)
    assert allows(breaker) is False


@given(st.lists(st.sampled_from(["fail", "answer", "wait"]), max_size=40))
def test_a_circuit_is_open_exactly_after_enough_failures_in_a_row(steps: list[str]) -> None:
    time = Clock()
    breaker = Breaker(time)
    failures = 0
    for step in steps:
        if step == "fail":
            failures += 1
            fail(breaker, 1)
        elif step == "answer":
            failures = 0
            breaker.succeeded(ENDPOINT)
        else:
            time.now += 1
            assert breaker.allows(ENDPOINT, reset_s=10**6) is (failures < 5)
