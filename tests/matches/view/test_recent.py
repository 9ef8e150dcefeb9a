"""A dict that keeps the entries set last."""

from __future__ import annotations

from matches.view.recent import Recent


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
