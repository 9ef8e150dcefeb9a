"""Every run draws the same inputs; different shares of a test's inputs are drawn differently."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.profile import many, seeded


def drawn(*share: object) -> list[bytes]:
    values: list[bytes] = []

    @many(100)
    @seeded(*share)
    @given(value=st.binary(min_size=8, max_size=8))
    def take(value: bytes) -> None:
        values.append(value)

    take()
    return values


def test_a_share_draws_the_same_inputs_again() -> None:
    assert drawn("agents", 1) == drawn("agents", 1)


def test_two_shares_have_hardly_any_input_in_common() -> None:
    value, other = set(drawn("agents", 1)), set(drawn("agents", 2))
    assert min(len(value), len(other)) > 80
    # Hypothesis begins with the same simple inputs whatever the seed.
    assert len(value & other) < 5
