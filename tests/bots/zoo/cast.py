"""All bots of the zoo by name."""

from __future__ import annotations

from tests.bots.base import bots_in
from tests.bots.zoo import documents, registering, since, speaking
from tests.bots.zoo.base import Bot

BOTS = bots_in(Bot, registering, speaking, documents, since)
