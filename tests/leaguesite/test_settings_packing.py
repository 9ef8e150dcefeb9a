"""Pages are gzipped for browsers that accept it; answers to agents are not."""

from __future__ import annotations

import gzip

import pytest
from django.test import Client

from tests import factories as make
from tests import wire

pytestmark = pytest.mark.django_db
TAKES = {"HTTP_ACCEPT_ENCODING": "gzip, br"}


def test_a_page_is_gzipped_only_for_clients_that_accept_it(client: Client) -> None:
    make.running_league(players=4)
    plain, packed = client.get("/leagues/fall/"), client.get("/leagues/fall/", **TAKES)
    assert (plain.get("Content-Encoding"), packed.get("Content-Encoding")) == (None, "gzip")
    assert gzip.decompress(packed.content) == plain.content
    assert "Accept-Encoding" in packed["Vary"]


@pytest.mark.parametrize("path", ["/mcp", "/register", "/leagues/fall/mcp"])
def test_answers_to_agents_are_not_gzipped_and_have_only_five_headers(client: Client, path: str) -> None:
    make.open_league("fall")
    body = wire.request("register_player", wire.player_request())
    answer = client.post(path, body, content_type="application/json", **TAKES)
    assert (answer.status_code, answer.get("Content-Encoding")) == (200, None)
    assert len(answer.content) > 200
    # The middleware of pages did not run: it would add headers of language and session, and a content security policy.
    ours = {"Content-Type", "Content-Length", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy"}
    assert set(answer.headers) == ours
