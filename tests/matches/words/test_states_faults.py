"""Faults in words, in the reader's language."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation

from league_sdk.asking.fault import Fault
from league_sdk.protocol.faults import Cause
from matches.words import states
from matches.words.corrections import fault_cause

KNOWN = ("nobody listens at its address", "it refused the invitation", "")


def fault(cause: Cause, detail: str = "") -> dict[str, Any]:
    """A fault as a site's referee reports it."""
    return Fault("P02", "E001", "CHOOSE_PARITY_CALL", 4, cause, 30.0, detail).to_report()


@pytest.mark.parametrize("detail", [*KNOWN, "HTTP 500", "50% of <b>it</b> %(player)s"])
@pytest.mark.parametrize("cause", Cause)
def test_a_fault_in_english_equals_the_referees_sentence(cause: Cause, detail: str) -> None:
    one = fault(cause, detail)
    assert states.fault_sentence(one) == one["sentence"]


def test_every_cause_has_a_label_of_its_own() -> None:
    labels = [fault_cause(cause) for cause in Cause]
    assert (all(labels), len(set(labels)), fault_cause("bad luck"), fault_cause("")) == (
        True,
        len(Cause),
        "",
        "",
    )


def test_a_fault_is_translated_from_its_fields() -> None:
    with translation.override("he"):
        one = fault(Cause.DEADLINE) | {"sentence": "something else"}
        assert states.fault_sentence(one) == "P02 לא ענה ל-CHOOSE_PARITY_CALL תוך 30 שנ׳ (ניסיונות: 4)"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        # As stored before faults had causes.
        ({"sentence": "P02 did not answer"}, "P02 did not answer"),
        ({"sentence": ""}, "P02"),
        # A student's referee.
        ({"cause": "DEADLINE", "limit_s": None, "sentence": "too slow"}, "too slow"),
        ({"cause": "ILLEGAL_MOVE", "limit_s": None, "sentence": ""}, "P02 lost: illegal move"),
        # Decided without calls.
        (
            {"cause": "CONNECT", "limit_s": None, "error_code": "E005", "sentence": "P02 is shut down"},
            "P02 is shut down after too many silences: not called",
        ),
    ],
)
def test_a_fault_with_missing_fields_still_has_a_sentence(row: dict[str, Any], sentence: str) -> None:
    base = {"player_id": "P02", "error_code": "E001", "message_type": "CHOOSE_PARITY_CALL", "tries": 1}
    assert states.fault_sentence(base | row) == sentence
