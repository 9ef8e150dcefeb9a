"""The site's address as a page shows it, and as the site tells it to a program that has reached it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from agents_registry.addresses.callers import Caller, note_sender
from agents_registry.addresses.public import base_url, site_address_for_caller, site_address_for_page

PUBLIC = "http://192.0.2.7:8000"


@pytest.mark.parametrize(
    ("url", "public", "shown"),
    [
        ("http://127.0.0.1:8000", PUBLIC, PUBLIC),
        ("http://localhost:8000", PUBLIC, PUBLIC),
        ("http://[::1]:8000", PUBLIC, PUBLIC),
        ("http://10.0.0.5:8000", PUBLIC, "http://10.0.0.5:8000"),
        ("http://league.example.org", "https://league.example.org", "https://league.example.org"),
        ("http://LEAGUE.example.org", "https://league.example.org", "https://league.example.org"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_a_page_shows_an_address_that_other_machines_reach_if_there_is_one(url: str, public: str, shown: str) -> None:
    assert base_url(url, public) == shown


@pytest.mark.parametrize("proxied", [True, False])
def test_a_program_is_told_the_address_at_which_it_has_reached_the_site(settings: Any, proxied: bool) -> None:
    """A program that comes through a tunnel, which writes localhost into Host, has reached the public address."""
    settings.LEAGUE_PUBLIC_URL, settings.ALLOWED_HOSTS = "https://league.example.org", ["localhost"]
    request = RequestFactory(headers={"host": "localhost:8000"}).get("/")
    note_sender(request, Caller("192.0.2.9", proxied=proxied))
    assert site_address_for_page(request) == "https://league.example.org"
    assert site_address_for_caller(request) == ("https://league.example.org" if proxied else "http://localhost:8000")
