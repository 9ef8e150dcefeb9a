"""A league as it should be after any messages in any order: who is who, which attempt is played, which result counts.

The model is small and pure: it follows the ruling (sections 5 to 10 and 14) and uses none of the league's code. Each
base class has its subject.
"""

from __future__ import annotations

from tests.matches.deliveries.model_conducting import Conducting
from tests.matches.deliveries.model_correcting import Correcting
from tests.matches.deliveries.model_entering import Entering
from tests.matches.deliveries.model_judging import Judging


class World(Entering, Judging, Conducting, Correcting):
    """The league, its agents, and the messages that are on their way to them."""
