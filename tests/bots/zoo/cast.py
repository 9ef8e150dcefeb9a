"""Every bot by its name."""

from __future__ import annotations

from tests.bots.zoo.base import Bot
from tests.bots.zoo.documents import DOCUMENTS
from tests.bots.zoo.registering import REGISTERING
from tests.bots.zoo.speaking import SPEAKING

BOTS: dict[str, type[Bot]] = {kind.name: kind for kind in (*REGISTERING, *SPEAKING, *DOCUMENTS)}
