"""Where the repository is, and a sample of every message of the course's documents."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SAMPLES_FOLDER = ROOT / "tests" / "samples"
SAMPLES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(SAMPLES_FOLDER.glob("*.json"))
}
"""The samples by message type; not to be changed, see :func:`sample`."""


def sample(name: str) -> dict[str, Any]:
    """The sample of a message type, to be changed at will."""
    return copy.deepcopy(SAMPLES[name])
