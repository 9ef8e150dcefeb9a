"""A model of a league, and the steps that a test takes in the model and in the real league, in any order.

The test is ``tests/matches/conducting/test_due_deliveries.py``. Here the model is in ``model*``, by subject:
``model.World`` is all of it. What a step does to both, and how the two are compared, is in ``steps*``.
"""

from __future__ import annotations

import pytest

# A comparison that fails in these modules shows in what league and model differ.
pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("steps", "steps_agents", "steps_referees", "steps_instructor"))
)
