"""The settings of the garbage collector for server processes."""

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
    # The tests themselves are exempt, see pytest_collection_finish.
    gc.freeze()


class _Ring:
    def __init__(self) -> None:
        self.itself = self


def test_existing_objects_are_exempt_and_later_ones_are_collected() -> None:
    loaded = _Ring()
    seen = weakref.ref(loaded)
    collector.exempt_loaded_objects()
    assert gc.get_threshold()[0] == collector.NEW_OBJECTS
    del loaded
    gc.collect()
    assert seen() is not None
    later = weakref.ref(_Ring())
    gc.collect()
    assert later() is None


def test_existing_garbage_is_collected_first() -> None:
    gc.disable()
    try:
        garbage = weakref.ref(_Ring())
        assert garbage() is not None
        collector.exempt_loaded_objects()
    finally:
        gc.enable()
    assert garbage() is None


def test_while_it_is_paused_nothing_is_collected_and_afterwards_it_is_even_after_an_error() -> None:
    with pytest.raises(RuntimeError), collector.paused():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()
