"""Canonical JSON, digests, and walking along a chain."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league_sdk.ledger.canonical import canonical, plain, sha256_of
from league_sdk.ledger.chain import BEGINNING, Broken, Link, digest_of, hash_private, link, walk

TEXT = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
AT = datetime(2025, 1, 15, 10, 15, tzinfo=UTC)


def test_canonical_json_has_sorted_keys_no_spaces_and_only_the_escapes_that_json_requires() -> None:
    assert canonical({"b": [1, None, True], "a": 'é"\n'}) == '{"a":"é\\"\\n","b":[1,null,true]}'.encode()
    assert sha256_of({}) == hashlib.sha256(b"{}").hexdigest()


@given(VALUES)
def test_a_plain_value_has_the_same_canonical_json_after_it_was_stored(value: Any) -> None:
    written = canonical(plain(value))
    assert canonical(json.loads(written)) == written
    assert canonical(plain(json.loads(json.dumps(value)))) == written


def test_plain_turns_whole_floats_into_integers() -> None:
    assert plain([1.0, 1e22, -0.0, 0.5, (2,)]) == [1, 10**22, 0, "0.5", [2]]


@pytest.mark.parametrize("value", [1e23, -1e23, 1.5e300, 2.0**53 + 2, 123456789012345680000.0])
def test_plain_gives_a_large_float_the_same_value_after_postgresql_stored_it(value: float) -> None:
    """PostgreSQL's ``jsonb`` stores the decimal digits that it receives, without an exponent."""
    stored = json.loads(f"{Decimal(json.dumps(value)):f}".removesuffix(".0"))
    assert canonical(plain(stored)) == canonical(plain(value))


@pytest.mark.parametrize("value", [1.5, {1: 2}, "\ud800", {"a": {1.0}}, b"x"])
def test_canonical_refuses_values_without_a_unique_text(value: Any) -> None:
    with pytest.raises(ValueError, match=r"float|key|surrogate|set|bytes"):
        canonical(value)


def test_canonical_refuses_deep_nesting_and_plain_cuts_it() -> None:
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        canonical(deep)
    canonical({"data": plain(deep), "lone": plain("\ud800")})


def events(count: int) -> list[Link]:
    links: list[Link] = []
    before = ""
    for seq in range(1, count + 1):
        data = {"round_id": seq, "why": f"secret {seq}"}
        one = link(before, f"{seq:032x}", league_id="fall", seq=seq, kind="round_opened", at=AT, data=data)
        before = one.digest
        links.append(one)
    return links


def test_a_digest_is_computed_as_the_ruling_says() -> None:
    one = link("", "0" * 32, league_id="fall", seq=1, kind="round_opened", at=AT, data={"round_id": 1, "why": "x"})
    public = (
        '{"at":"2025-01-15T10:15:00.000000Z","data":{"round_id":1},"kind":"round_opened","league_id":"fall","seq":1}'
    )
    private = hashlib.sha256(bytes(16) + b'{"why":"x"}').digest()
    assert canonical(dict(one.public)).decode() == public
    assert one.private_sha256 == private.hex()
    assert one.digest == hashlib.sha256(bytes.fromhex(BEGINNING) + public.encode() + private).hexdigest()


def test_erasing_the_private_part_keeps_the_digest() -> None:
    data = {"round_id": 1, "why": "x"}
    one = link("", "0" * 32, league_id="fall", seq=1, kind="round_opened", at=AT, data=data)
    private_digest = hash_private("0" * 32, "round_opened", data)
    assert link("", private_digest, league_id="fall", seq=1, kind="round_opened", at=AT, data={"round_id": 1}) == one


@given(st.integers(0, 5), st.sampled_from(["public", "private", "digest", "gone", "twice", "swapped"]))
def test_walk_names_the_first_wrong_event_after_any_change(index: int, change: str) -> None:
    whole = events(7)
    head = whole[-1].digest
    assert walk(whole, league_id="fall", head=head)[-1] == head
    one = whole[index]
    expected = index + 1
    if change == "public":
        whole[index] = one._replace(public={**one.public, "data": {"round_id": 99}})
    elif change == "private":
        whole[index] = one._replace(private_sha256="a" * 64)
    elif change == "digest":
        whole[index] = one._replace(digest="a" * 64)
    elif change == "gone":
        del whole[index]
        expected = index + 2
    elif change == "twice":
        whole.insert(index, one)
    else:
        whole[index], whole[index + 1] = whole[index + 1], one
        expected = index + 2
    with pytest.raises(Broken) as broken:
        walk(whole, league_id="fall", head=head)
    assert broken.value.seq == expected
    assert f"event {expected} (round_opened)" in str(broken.value)


def test_walk_refuses_a_chain_without_its_end_or_of_another_league() -> None:
    whole = events(3)
    with pytest.raises(Broken, match="the head after event 2"):
        walk(whole[:2], league_id="fall", head=whole[2].digest)
    with pytest.raises(Broken, match="another league"):
        walk(whole, league_id="spring", head=whole[2].digest)


def test_digest_of_refuses_a_malformed_hash() -> None:
    with pytest.raises(ValueError, match="64"):
        digest_of("A" * 64, {}, "a" * 64)
