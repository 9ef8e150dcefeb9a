"""All hostile behaviours by name."""

from __future__ import annotations

from tests.bots.hostile import bodies, playing, wire
from tests.bots.hostile.base import BEHAVIOURS, Behaviour

MODULES = (wire, bodies, playing)
"""The modules that fill ``BEHAVIOURS`` when they are imported."""
HOSTILE: dict[str, Behaviour] = dict(BEHAVIOURS)
