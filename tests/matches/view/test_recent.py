"""A dict that keeps the entries set last."""

from __future__ import annotations

from matches.view.recent import ALWAYS_KEPT, Recent


def filled(max_size: int = 2) -> Recent[str, int]:
    recent: Recent[str, int] = Recent(max_size)
    recent["a"], recent["b"] = 1, 2
    return recent


def test_the_entry_that_was_set_first_is_dropped() -> None:
    recent = filled()
    recent["c"] = 3
    assert list(recent.items()) == [("b", 2), ("c", 3)]


def test_an_entry_that_is_set_again_is_the_newest() -> None:
    recent = filled()
    recent["a"] = 4
    recent["c"] = 3
    assert list(recent.items()) == [("a", 4), ("c", 3)]


def test_reading_an_entry_does_not_make_it_newer() -> None:
    recent = filled()
    assert (recent["a"], recent.get("a")) == (1, 1)
    recent["c"] = 3
    assert list(recent) == ["b", "c"]


def test_entries_that_are_set_at_once_are_limited_too() -> None:
    recent = filled()
    recent.update({"c": 3, "d": 4, "e": 5})
    assert recent.setdefault("f", 6) == 6
    assert list(recent.items()) == [("e", 5), ("f", 6)]


def test_a_cleared_dict_can_be_filled_again() -> None:
    recent = filled()
    recent.clear()
    recent["c"] = 3
    assert list(recent.items()) == [("c", 3)]


def test_an_entry_is_forgotten_whether_it_is_there_or_not() -> None:
    recent = filled()
    recent.forget("a")
    recent.forget("a")
    assert list(recent.items()) == [("b", 2)]


def test_large_entries_make_room_and_the_last_ones_stay_whatever_their_size() -> None:
    recent: Recent[int, str] = Recent(100, len)
    for number in range(20):
        recent[number] = "x" * 6
    # 16 of 6 are within 100.
    assert list(recent) == list(range(4, 20))
    recent[20] = "x" * 90
    assert list(recent) == list(range(11, 21))
    assert len(recent) == ALWAYS_KEPT
