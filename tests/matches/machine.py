"""What the state machines have in common."""

from __future__ import annotations

from django.db import transaction
from hypothesis.stateful import RuleBasedStateMachine


class RolledBack(RuleBasedStateMachine):
    """A state machine on the database; each run is rolled back."""

    def __init__(self) -> None:
        super().__init__()
        self.whole = transaction.atomic()
        self.whole.__enter__()

    def teardown(self) -> None:
        """Roll the run back."""
        transaction.set_rollback(True)
        self.whole.__exit__(None, None, None)
