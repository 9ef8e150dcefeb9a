"""Any deliveries in any order: a model of a league, and the steps that are taken with it and with the real one.

The test is ``tests/matches/conducting/test_due_deliveries.py``. Here the model is in ``model*``, by subject:
``model.World`` is all of it. What a step does to both, and how the two are compared, is in ``steps*``.
"""

from __future__ import annotations

import pytest

# A comparison that fails shows in what the two differ.
pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("steps", "steps_agents", "steps_referees", "steps_instructor"))
)
