"""The form of a new league shows the id that follows from a name while it is typed."""

from __future__ import annotations

import pytest
from django.test import Client

from tests import factories as make
from tests.matches.desk.clicking import LEAGUES, person

pytestmark = pytest.mark.django_db


def test_the_form_of_a_new_league_asks_which_id_follows_from_its_name(desk: Client) -> None:
    make.open_league("autumn_2026")
    address = f"{LEAGUES}next-id/"
    ids = [desk.get(address, {"name": name}).content.decode() for name in ("Autumn 2026!", "Spring", "x" * 9000)]
    assert ids[:2] == ["autumn_2026_2", "spring"]
    assert len(ids[2]) <= 64
    assert 'data-next-id="/admin/matches/league/next-id/"' in desk.get(f"{LEAGUES}add/").content.decode()


def test_a_user_who_may_open_no_league_sees_no_id() -> None:
    make.open_league("fall")
    assert person("assistant", "fall").get(f"{LEAGUES}next-id/", {"name": "Spring"}).status_code == 403
