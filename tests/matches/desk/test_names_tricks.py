"""Tricks with names that look like another's: to crowd others out of the desk, to get around the refusal."""

from __future__ import annotations

import pytest
from django.test import Client

from matches.desk.names import MAX_WITH_BUTTONS
from tests.matches.desk.test_names import CYRILLIC, problem, register, register_ada, shown_names

pytestmark = pytest.mark.django_db


def test_repeated_refusals_of_one_caller_leave_buttons_for_others(client: Client, desk: Client) -> None:
    register_ada(client)
    register(client, CYRILLIC, port=8150, caller="192.0.2.9")
    for number in range(MAX_WITH_BUTTONS + 2):
        register(client, "ADA", port=9000 + number)
    labels = [one.label for one in problem(desk).remedies]
    assert len(labels) == 2 * MAX_WITH_BUTTONS
    assert any(label.startswith(f"Let “{CYRILLIC}”") for label in labels)
    assert len([label for label in labels if label.startswith("Let “ADA”")]) == MAX_WITH_BUTTONS - 1


def test_the_token_of_a_numbered_copy_brings_no_similar_name(client: Client) -> None:
    """It shows who the copy is; an agent whose name looks like the copy's would be shown without a number."""
    register_ada(client)
    copy = register(client, "Ada", port=8150)
    assert copy["status"] == "ACCEPTED"
    assert register(client, CYRILLIC, auth_token=copy["auth_token"])["player_id"] == copy["player_id"]
    assert shown_names() == ["Ada", "Ada (2)"]
