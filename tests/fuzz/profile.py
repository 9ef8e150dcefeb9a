"""How many inputs a fuzz test sends, in its quick form and in its long one, and from which seed.

Both forms draw the same inputs in every run. ``LEAGUE_FUZZ_SEED`` draws others, and the same ones again with the same
seed. The long form is 100,000 inputs in all (`make fuzz`); ``LEAGUE_FUZZ_TIMES`` sends so many times as many. With
``LEAGUE_CI`` it is a fifth.
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
    """Settings of hypothesis for so many examples."""
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


def long(count: int) -> int:
    """So many examples of the long form, or as many times that as were asked for."""
    return max(1, round(count * TIMES))


def seeded(*share: object) -> Callable[[T], T]:
    """A decorator: the test draws what the seed has for this share, and another share draws something else."""
    return seed(" ".join(map(str, (SEED, *share))))
