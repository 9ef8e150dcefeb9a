"""Rate limits: what is counted together, for how long, with and without Redis."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest

from agents_registry.rate_limits import attempts as counting
from agents_registry.rate_limits.attempts import (
    CALLS,
    GUESSES,
    GUESSES_FROM_ADDRESS,
    LOGINS,
    SAME_SECRET,
    STRANGERS,
    Attempts,
    network_of,
)
from agents_registry.rate_limits.counts import ProcessCounts
from agents_registry.rosters import roster
from league_sdk.protocol import tokens
from tests.clock import Clock
from tests.e2e.servers import Redis

SCHOOL, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def clock() -> Clock:
    return Clock(1000000.0)


@pytest.fixture
def attempts(clock: Clock) -> Attempts:
    return Attempts(clock)


def fail(attempts: Attempts, times: int, secret: str, address: str = SCHOOL, kind: str = "code") -> None:
    """Show a wrong secret this many times; none of the attempts has to wait."""
    for _ in range(times):
        assert attempts.refuse_secret(kind, address, secret) is None
        attempts.secret_was_wrong(kind, address, secret)


def test_an_agent_that_repeats_a_wrong_secret_waits_until_the_minute_is_over(attempts: Attempts, clock: Clock) -> None:
    fail(attempts, SAME_SECRET.amount, "tok_wrong")
    clock.now += 18
    wait = attempts.refuse_secret("code", SCHOOL, "tok_wrong")
    assert wait is not None
    assert (wait.seconds, wait.limit) == (42, "at most 20 tries of one wrong value in 60 s")
    clock.now += 42
    assert attempts.refuse_secret("code", SCHOOL, "tok_wrong") is None


def test_a_wrong_secret_keeps_no_other_agent_waiting(attempts: Attempts) -> None:
    fail(attempts, SAME_SECRET.amount, "tok_wrong")
    assert attempts.refuse_secret("code", SCHOOL, "tok_right") is None
    assert attempts.refuse_secret("code", ELSEWHERE, "tok_wrong") is None
    assert attempts.refuse_secret("API key", SCHOOL, "tok_wrong") is None


def test_guesses_are_limited_per_address_but_codes_like_ours_are_checked(attempts: Attempts, clock: Clock) -> None:
    for number in range(GUESSES_FROM_ADDRESS.amount - 1):
        # An agent that repeats one wrong code makes one guess.
        fail(attempts, 2, f"{number:04d}")
    fail(attempts, 1, "0499")
    assert attempts.refuse_secret("code", SCHOOL, "9999") is not None
    assert attempts.refuse_secret("code", SCHOOL, roster.new_code()) is None
    assert attempts.refuse_secret("code", SCHOOL, tokens.new_token()) is None
    assert attempts.refuse_secret("code", ELSEWHERE, "9999") is None
    clock.now += 600
    assert attempts.refuse_secret("code", SCHOOL, "9999") is None


def test_guesses_are_limited_for_all_addresses_together(attempts: Attempts) -> None:
    for number in range(GUESSES.amount):
        fail(attempts, 1, f"{number:04d}", address=f"192.0.2.{number % 100}")
    assert attempts.refuse_secret("code", ELSEWHERE, "9999") is not None


def test_a_code_of_ours_cannot_be_guessed() -> None:
    codes = [roster.new_code() for _ in range(2000)]
    assert [code for code in codes if tokens.is_guessable(code)] == []


def test_a_code_that_has_only_digits_is_drawn_again() -> None:
    drawn = iter("2345678923" + "ab2cd3ef4g")
    assert roster.new_code(lambda _letters: next(drawn)) == "ab2cd3ef4g"


def test_each_wait_after_more_wrong_passwords_is_longer(attempts: Attempts, clock: Clock) -> None:
    waits = []
    for number in range(1, LOGINS[-1].amount + 1):
        attempts.login_was_wrong(SCHOOL, "instructor")
        if number in [rule.amount for rule in LOGINS]:
            wait = attempts.refuse_login(SCHOOL, "instructor")
            assert wait is not None
            waits.append(wait.seconds)
            clock.now += 1
    assert waits == [60, 599, 3598]
    assert attempts.refuse_login(ELSEWHERE, "instructor") is None
    attempts.login_was_right(SCHOOL, "instructor")
    assert attempts.refuse_login(SCHOOL, "instructor") is None


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_all_ipv6_addresses_of_one_network_are_counted_as_one(address: str, counted: str) -> None:
    assert network_of(address) == counted


def test_process_counts_forget_the_oldest_count(clock: Clock) -> None:
    counts = ProcessCounts(clock, max_counts=3)
    for key in "abcd":
        counts.incr(key, 60)
    assert [counts.get(key) for key in "abcd"] == [0, 1, 1, 1]
    assert counts.reset() == 3


def test_a_flood_of_calls_does_not_push_out_counts_of_failures(clock: Clock) -> None:
    """Without Redis the process counts everything. The flood consists of new tokens and new registrations."""
    attempts = Attempts(clock, max_counts=1000)
    for number in range(GUESSES_FROM_ADDRESS.amount):
        attempts.secret_was_wrong("code", SCHOOL, str(number))
    for _ in range(LOGINS[0].amount):
        attempts.login_was_wrong(SCHOOL, "instructor")
    attempts.count_call(STRANGERS, SCHOOL)
    before = [attempts.refuse_secret("code", SCHOOL, "4711"), attempts.refuse_login(SCHOOL, "instructor")]
    assert None not in before
    for number in range(2000):
        attempts.count_call(CALLS, f"tok_{number:032}")
        attempts.secret_was_wrong("token", ELSEWHERE, f"tok_{number:032}")
        attempts.count_registration(ELSEWHERE, f"Agent {number}", "h|1")
    assert [attempts.refuse_secret("code", SCHOOL, "4711"), attempts.refuse_login(SCHOOL, "instructor")] == before
    assert attempts._in_process["strangers"].storage.get("LIMITER/strangers/192.0.2.1/3000/10/second") == 1


def test_attempts_are_counted_in_the_process_while_redis_does_not_answer(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        attempts = Attempts(clock, f"redis://127.0.0.1:{closed.getsockname()[1]}/0")
        with caplog.at_level(logging.WARNING, counting.logger.name):
            fail(attempts, SAME_SECRET.amount, "tok_wrong")
            assert attempts.refuse_secret("code", SCHOOL, "tok_wrong") is not None
    # Redis is asked once; then it is left alone for a while.
    assert len(caplog.records) == 1
    assert caplog.messages[0].startswith("Redis does not answer")


def test_processes_count_together_in_redis_and_each_alone_while_it_is_away(tmp_path: Path) -> None:
    server = Redis(tmp_path)
    try:
        one, other = (Attempts(redis_url=server.url, redis_retry_s=0.0) for _ in range(2))
        fail(one, SAME_SECRET.amount, "tok_wrong")
        wait = other.refuse_secret("code", SCHOOL, "tok_wrong")
        assert wait is not None
        assert 0 < wait.seconds <= 60
        assert other.refuse_login(SCHOOL, "instructor") is None
        server.kill()
        # Without Redis nobody gets an error, and the limits still hold.
        fail(other, SAME_SECRET.amount, "tok_other")
        assert other.refuse_secret("code", SCHOOL, "tok_other") is not None
        assert one.refuse_secret("code", SCHOOL, "tok_other") is None
        server.start()
        fail(one, SAME_SECRET.amount, "tok_third")
        assert other.refuse_secret("code", SCHOOL, "tok_third") is not None
    finally:
        server.kill()
