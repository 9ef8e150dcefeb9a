"""The join page: the game, the limits, the protocol, and how an agent that nobody can call takes part."""

from __future__ import annotations

import pytest
from django.test import Client

from tests import factories as make

pytestmark = pytest.mark.django_db


def test_the_join_page_tells_rules_limits_and_how_to_play_without_an_address(client: Client) -> None:
    make.open_league("fall")
    page = client.get("/leagues/fall/join/").content.decode()
    for text in (
        "Who alone guessed its parity wins",
        "30 s to choose or to move",
        "If nobody can call your agent",
        '<a href="/protocol.md">',
    ):
        assert text in page, text


def test_the_site_serves_the_protocol_document(client: Client) -> None:
    answer = client.get("/protocol.md")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "## Dialling out" in answer.content.decode()
