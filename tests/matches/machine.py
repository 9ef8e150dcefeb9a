"""The base of the state machines of these tests."""

from __future__ import annotations

from django.db import transaction
from hypothesis.stateful import RuleBasedStateMachine


class RolledBack(RuleBasedStateMachine):
    """A state machine on the database; each run is rolled back."""

    def __init__(self) -> None:
        super().__init__()
        self.run_transaction = transaction.atomic()
        self.run_transaction.__enter__()

    def teardown(self) -> None:
        """Roll the run back."""
        transaction.set_rollback(True)
        self.run_transaction.__exit__(None, None, None)
