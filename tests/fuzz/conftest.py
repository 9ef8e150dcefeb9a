"""What the fuzz tests share."""

from tests.fuzz.site import site
from tests.fuzz.world import world

__all__ = ["site", "world"]
