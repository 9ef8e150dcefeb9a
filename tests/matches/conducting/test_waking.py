"""How long the conductor made no look, for example because its machine slept."""

from __future__ import annotations

from dataclasses import dataclass

from matches.conducting import waking


@dataclass
class Clocks:
    """Seconds by both clocks, as a test sets them."""

    monotonic: float
    wall: float


def test_the_time_slept_is_by_the_clock_that_moved_further() -> None:
    clocks = Clocks(monotonic=50.0, wall=1000.0)
    looks = waking.Looks(monotonic=lambda: clocks.monotonic, wall=lambda: clocks.wall)
    assert (looks.slept_s(), looks.made(), looks.recent) == (0.0, 1000.0, True)
    # In the last case the wall clock was set back by an hour.
    for passed, by_clock, slept in ((0.5, 0.5, 0.5), (0.5, 60.5, 60.5), (9.0, 8.0, 9.0), (0.5, -3599.5, -3600.0)):
        clocks.monotonic, clocks.wall = 50.0 + passed, 1000.0 + by_clock
        assert (looks.slept_s(), looks.recent) == (slept, passed < 5)
