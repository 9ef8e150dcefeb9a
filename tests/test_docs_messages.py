"""``docs/messages.md`` has a sample of every message, which fits its schema; it is what ``tests.messages_page`` writes.

``tests/league_sdk/test_league_sdk_samples.py`` tests that the code sends and understands the samples.
"""

from __future__ import annotations

import json
import re

from league_sdk.protocol import schemas
from league_sdk.protocol.messages import MessageType
from tests import messages_page

TEXT = messages_page.PAGE.read_text(encoding="utf-8")
SHOWN = {
    name: json.loads(body)
    for name, body in re.findall(r"^##+ ([A-Z_]+)\n\n.*?^```json\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
}


def test_every_message_has_its_sample() -> None:
    assert list(SHOWN) == list(schemas.MODELS)
    assert set(SHOWN) >= set(MessageType)


def test_every_sample_fits_its_schema() -> None:
    assert {name: schemas.problems(name, message) for name, message in SHOWN.items()} == {name: [] for name in SHOWN}


def test_the_page_is_written_from_the_samples() -> None:
    assert messages_page.text() == TEXT, "write it again: .venv/bin/python -m tests.messages_page"
