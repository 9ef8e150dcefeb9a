"""A league as it should be after any deliveries in any order: who is who, which attempt is on, which result counts.

Small and pure: it knows the ruling (sections 5, 7, 8, 10), none of the league's code. Each base has its subject.
"""

from __future__ import annotations

from tests.matches.deliveries.model_conducting import Conducting
from tests.matches.deliveries.model_correcting import Correcting
from tests.matches.deliveries.model_entering import Entering
from tests.matches.deliveries.model_judging import Judging


class World(Entering, Judging, Conducting, Correcting):
    """The league, its agents, and what is on its way to them."""
