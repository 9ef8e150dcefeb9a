"""The version and the link to the documentation are at the foot of the pages, but not on the projector."""

from __future__ import annotations

import pytest
from django.test import Client

from league_sdk.protocol import SDK_VERSION
from tests import factories as make

pytestmark = pytest.mark.django_db
FOOT = f'<footer class="foot"><a href="/docs/">Documentation</a> · <bdi>leaguesite {SDK_VERSION}</bdi></footer>'


def test_the_version_is_at_the_foot_of_public_pages_and_of_the_desk(client: Client, admin_client: Client) -> None:
    make.open_league("fall")
    assert [FOOT in client.get(path).content.decode() for path in ("/", "/leagues/fall/", "/check")] == [True] * 3
    assert FOOT in admin_client.get("/admin/").content.decode()
    assert "leaguesite" not in client.get("/leagues/fall/screen/").content.decode()
