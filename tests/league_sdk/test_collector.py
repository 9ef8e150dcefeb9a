"""The collector of cyclic garbage, as serving processes set it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from league_sdk import collector


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


class _Ring:
    def __init__(self) -> None:
        self.itself = self


def test_what_is_loaded_is_left_alone_and_what_comes_later_is_collected() -> None:
    loaded = _Ring()
    seen = weakref.ref(loaded)
    collector.settle()
    assert gc.get_threshold()[0] == collector.NEW_OBJECTS
    del loaded
    gc.collect()
    assert seen() is not None
    later = weakref.ref(_Ring())
    gc.collect()
    assert later() is None


def test_garbage_that_is_there_before_is_not_kept() -> None:
    gc.disable()
    try:
        garbage = weakref.ref(_Ring())
        assert garbage() is not None
        collector.settle()
    finally:
        gc.enable()
    assert garbage() is None
