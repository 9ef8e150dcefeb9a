"""What the desk says of students elsewhere, before a league starts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents_registry.addresses import seen as sightings
from agents_registry.addresses.seen import Seen
from agents_registry.models import Agent
from matches.league import opening
from tests import factories as make
from tests.matches.desk.clicking import NOW, shown

pytestmark = pytest.mark.django_db
STUDENT = "192.0.2.7"


@pytest.fixture(autouse=True)
def fresh(settings: Any) -> Iterator[Seen]:
    """A process that has seen nobody yet, of a site with a public address and an open league."""
    sightings.seen.latest = None
    settings.LEAGUE_PUBLIC_URL = "https://league.example.org"
    make.open_league()
    yield sightings.seen
    sightings.seen.latest = None


def reach(desk: Client) -> dict[str, Any]:
    reached: dict[str, Any] = shown(desk)["outside"]
    return reached


def test_a_site_for_its_own_machine_says_how_to_open_it(desk: Client, settings: Any) -> None:
    settings.LEAGUE_PUBLIC_URL = "http://127.0.0.1:8000"
    assert reach(desk)["text"].startswith("No other machine reaches this site: it was started for this one only.")
    assert "HOST=0.0.0.0" in desk.get(NOW).content.decode()


def test_before_anybody_came_the_address_to_give_out_is_named(desk: Client) -> None:
    # The desk is opened from this machine, which does not count.
    assert reach(desk)["text"].startswith("Nobody from outside this machine has reached the site yet.")
    assert "Give out https://league.example.org/;" in reach(desk)["text"]
    assert reach(desk)["latest"] is None


def test_a_call_from_elsewhere_shows_that_the_site_is_reached(desk: Client) -> None:
    Client().get("/leagues/fall/join/", REMOTE_ADDR=STUDENT)
    now = reach(desk)
    assert now["text"].startswith("Other machines reach this site, and no player has registered from there yet.")
    assert now["latest"] is not None
    assert (now["latest"].address, now["latest"].proxied) == (STUDENT, False)
    assert f'<bdi dir="ltr">{STUDENT}</bdi>' in desk.get(NOW).content.decode()


def test_players_from_elsewhere_are_counted_also_after_a_restart(desk: Client, fresh: Seen) -> None:
    for name, address in (("Ada", "127.0.0.1"), ("Blaise", STUDENT), ("Grace", "2001:db8::")):
        agent = make.player(name, "fall").agent
        Agent.objects.filter(pk=agent.pk).update(
            registered_from=address, registered_at=timezone.now() - timedelta(minutes=10 if name == "Grace" else 20)
        )
    now = reach(desk)
    assert now["text"] == "2 players have registered from outside this machine."
    assert now["latest"] is not None
    assert now["latest"].address == "2001:db8::"
    fresh.latest = sightings.Sighting(timezone.now(), "", proxied=True)
    assert "through the proxy or tunnel" in desk.get(NOW).content.decode()


def test_the_desk_says_nothing_of_students_elsewhere_once_the_schedule_is_made(desk: Client) -> None:
    make.player("Ada", "fall")
    make.player("Blaise", "fall", port=8102)
    opening.close_registration(league_id="fall")
    assert shown(desk)["outside"] is None
