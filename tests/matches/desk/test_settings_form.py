"""The form of a new league: what is shown, what empty fields become, where errors are shown."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from matches.league import entry, opening
from matches.models import League
from tests import factories as make

pytestmark = pytest.mark.django_db
ADD = "/admin/matches/league/add/"
FORM = {"display_name": "Autumn 2026!", "game_type": "even_odd", "no_show": "cancel", "error_style": "error"}


def test_even_odd_is_preselected_and_a_setting_has_its_name_beside_its_label(desk: Client) -> None:
    page = desk.get(ADD).content.decode()
    assert '<option value="even_odd" selected>' in page
    assert re.search(r"Seconds that a player has to choose or to move\s*<small[^>]*>move_timeout_s</small>", page)
    assert '<details class="settings" open>' not in page


@pytest.mark.parametrize(
    ("name", "league_id"),
    [
        ("Autumn 2026!", "autumn_2026"),
        ("Taken!", "taken_2"),
        ("demo", "demo_2"),
        ("ליגת הסתיו", "league_2025_even_odd"),
        ("_-_", "league_2025_even_odd"),
        ("x" * 64, "x" * 58),
    ],
)
def test_an_id_left_empty_is_made_from_the_name(desk: Client, name: str, league_id: str) -> None:
    opening.create_league(league_id="taken", display_name="Taken")
    answer = desk.post(ADD, FORM | {"display_name": name, "league_id": ""})
    assert answer["Location"] == f"/admin/matches/league/{league_id.replace('_', '_5F')}/change/"
    assert League.objects.get(pk=league_id).display_name == name


def test_the_id_that_waiting_players_were_promised_is_proposed(desk: Client) -> None:
    assert entry.is_promised() is False
    assert 'value="league_2025_even_odd"' not in desk.get(ADD).content.decode()
    make.player("Alpha")
    assert entry.is_promised() is True
    assert 'value="league_2025_even_odd"' in desk.get(ADD).content.decode()


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"max_players": "2", "min_players": "5"}, {"max_players": ["This is smaller than min_players."]}),
        ({"suspend_after": "9"}, {"shutdown_after": ["This is smaller than suspend_after."]}),
        ({"hold_s": "0"}, {"hold_s": ["Ensure this value is greater than 0."]}),
        ({"max_retries": "11"}, {"max_retries": ["Ensure this value is less than or equal to 10."]}),
    ],
)
def test_a_section_with_an_error_is_open_and_the_error_is_at_its_field(
    desk: Client, changes: dict[str, str], wrong: dict[str, list[str]]
) -> None:
    answer = desk.post(ADD, FORM | {"league_id": "autumn"} | changes)
    assert answer.context["adminform"].form.errors == wrong
    assert answer.content.decode().count('<details class="settings" open>') == 1
    assert not League.objects.exists()
