"""All strangers by name."""

from __future__ import annotations

from tests.bots.base import bots_in
from tests.bots.strangers import elsewhere, entering, mcp, new_era, speaking, wire
from tests.bots.strangers.base import Stranger

STRANGERS = bots_in(Stranger, wire, mcp, new_era, speaking, entering, elsewhere)
