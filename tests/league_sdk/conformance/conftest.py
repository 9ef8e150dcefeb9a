"""Every check that these tests carry out is also read in Hebrew: no sentence of it may lack a translation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from league_sdk.conformance.exchange import Exchange
from league_sdk.conformance.report import Report, Verdict
from league_sdk.conformance.verdicts import Verdicts
from league_sdk.protocol.sentences import Sentence
from tests.hebrew import texts_of, without_hebrew


@pytest.fixture(autouse=True)
def every_sentence_has_hebrew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Collect the sentences of all clauses and reports of a test, and look them up at its end."""
    sentences: list[Sentence | None] = []
    record, report = Verdicts.record, Verdicts.report

    def recorded(self: Verdicts, name: str, verdict: Verdict, why: Sentence, exchange: Exchange | None = None) -> None:
        sentences.append(why)
        record(self, name, verdict, why, exchange)

    def reported(self: Verdicts, **how: Any) -> Report:
        found = report(self, **how)
        sentences.extend([found.summary_words, found.next_step_words])
        return found

    monkeypatch.setattr(Verdicts, "record", recorded)
    monkeypatch.setattr(Verdicts, "report", reported)
    yield
    assert without_hebrew(text for one in sentences for text in texts_of(one)) == []
