"""Every stranger by its name."""

from __future__ import annotations

from tests.bots.base import cast_of
from tests.bots.strangers import elsewhere, entering, mcp, speaking, wire
from tests.bots.strangers.base import Stranger

STRANGERS = cast_of(Stranger, wire, mcp, speaking, entering, elsewhere)
