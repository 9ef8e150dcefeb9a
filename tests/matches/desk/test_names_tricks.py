"""Names that look like another's, by somebody who has read decision 16: around the refusal, before the desk."""

from __future__ import annotations

import pytest
from django.test import Client

from matches.desk.names import MOST_SHOWN
from tests.matches.desk.test_names import CYRILLIC, ada, desk, problem, register, shown_names

__all__ = ["desk"]
pytestmark = pytest.mark.django_db


def test_whoever_is_refused_again_and_again_pushes_nobody_elses_button_away(client: Client, desk: Client) -> None:
    ada(client)
    register(client, CYRILLIC, port=8150, caller="192.0.2.9")
    for number in range(MOST_SHOWN + 2):
        register(client, "ADA", port=9000 + number)
    labels = [one.label for one in problem(desk)["remedies"]]
    assert len(labels) == 2 * MOST_SHOWN
    assert any(label.startswith(f"Let “{CYRILLIC}”") for label in labels)
    assert len([label for label in labels if label.startswith("Let “ADA”")]) == MOST_SHOWN - 1


def test_a_copy_of_a_name_is_no_way_to_one_that_looks_like_it(client: Client) -> None:
    """A copy is shown with a number; what looks like its name would be shown without."""
    first = ada(client)
    copy = register(client, "Ada", port=8150)
    assert copy["status"] == "ACCEPTED"
    assert register(client, CYRILLIC, auth_token=copy["auth_token"])["status"] == "REJECTED"
    assert register(client, CYRILLIC, auth_token=first["auth_token"])["status"] == "ACCEPTED"
    assert shown_names() == ["Ada", "Ada (2)", CYRILLIC]
