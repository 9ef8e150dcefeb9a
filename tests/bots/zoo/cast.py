"""Every bot by its name."""

from __future__ import annotations

from tests.bots.base import cast_of
from tests.bots.zoo import documents, registering, speaking
from tests.bots.zoo.base import Bot

BOTS = cast_of(Bot, registering, speaking, documents)
