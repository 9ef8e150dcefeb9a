"""Runs draw the same inputs again, and shares of a run draw different ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.profile import many, seeded


def drawn(*share: object) -> list[bytes]:
    found: list[bytes] = []

    @many(100)
    @seeded(*share)
    @given(one=st.binary(min_size=8, max_size=8))
    def take(one: bytes) -> None:
        found.append(one)

    take()
    return found


def test_a_share_is_drawn_the_same_again() -> None:
    assert drawn("agents", 1) == drawn("agents", 1)


def test_shares_have_hardly_anything_in_common() -> None:
    one, other = set(drawn("agents", 1)), set(drawn("agents", 2))
    assert min(len(one), len(other)) > 80
    # What hypothesis begins with is the simplest input, for everybody.
    assert len(one & other) < 5
