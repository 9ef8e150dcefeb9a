"""The number of inputs of a fuzz test, quick or long, and their seed.

Every run draws the same inputs, unless ``LEAGUE_FUZZ_SEED`` sets another seed. The long form (`make fuzz`) sends
over 100,000 inputs to the site, and 100,000 answers to checks of players; ``LEAGUE_FUZZ_TIMES`` multiplies these
numbers, and where only ``LEAGUE_CI`` is set, they are a fifth.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, seed, settings

T = TypeVar("T", bound=Callable[..., Any])
SEED = os.environ.get("LEAGUE_FUZZ_SEED") or "0"
TIMES = float(os.environ.get("LEAGUE_FUZZ_TIMES") or (0.2 if os.environ.get("LEAGUE_CI") else 1))


def many(count: int, **changes: Any) -> settings:
    """Settings of hypothesis for ``count`` examples."""
    return settings(
        **{
            "max_examples": count,
            "deadline": None,
            "database": None,
            "suppress_health_check": list(HealthCheck),
            "phases": (Phase.explicit, Phase.generate, Phase.shrink),
            "print_blob": True,
        }
        | changes
    )


def long_count(count: int) -> int:
    """The number of examples in the long form: ``count``, multiplied by ``TIMES``."""
    return max(1, round(count * TIMES))


def seeded(*share: object) -> Callable[[T], T]:
    """A decorator that seeds a test by the run's seed and its share; different shares draw different inputs."""
    return seed(" ".join(map(str, (SEED, *share))))
