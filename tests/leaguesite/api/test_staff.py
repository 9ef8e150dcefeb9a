"""What only the instructor reads by API: settings, plan, freeze, roles, roster, names."""

from __future__ import annotations

import pytest

from matches.league import opening
from tests import factories as make
from tests import rich
from tests.leaguesite.script import Script

pytestmark = pytest.mark.django_db
READS = ("settings", "plan", "freeze", "roles", "roster", "names", "roster.csv", "export/league.json", "evidence")


@pytest.mark.parametrize("read", READS)
def test_what_is_for_the_instructor_needs_the_key(public: Script, read: str) -> None:
    make.open_league("fall")
    assert public.get(f"/leagues/fall/{read}")[0] == 401


@pytest.mark.parametrize("read", READS)
def test_what_is_for_the_instructor_is_404_for_an_unknown_league(script: Script, read: str) -> None:
    assert script.get(f"/leagues/nowhere/{read}")[0] == 404


def test_settings_show_defaults_as_well(script: Script) -> None:
    opening.create_league(league_id="fall", display_name="Fall", settings={"move_timeout_s": 3})
    status, shown = script.get("/leagues/fall/settings")
    assert (status, shown["display_name"]) == (200, "Fall")
    assert (shown["settings"]["move_timeout_s"], shown["settings"]["win_points"]) == (3, 3)


def test_the_roster_shows_people_with_codes_and_agents(script: Script) -> None:
    rich.begun()
    status, people = script.get("/leagues/fall/roster")
    shown = {person["name"]: (person["code"], person["agents"]) for person in people}
    assert (status, len(people)) == (200, 4)
    assert shown["Dana Geheimnis"] == ("dana-geheim-7", ["P01", "P04"])
    assert shown[rich.ABSENT[0]] == ("absent-geheim-1", [])


def test_notices_to_one_owner_are_read_with_the_key_only(script: Script, public: Script) -> None:
    rich.begun()
    assert [one["text"] for one in public.get("/leagues/fall/notices")[1]] == [rich.TO_ROOM]
    assert public.get("/leagues/fall/notices?as=staff")[0] == 401
    assert [one["text"] for one in script.get("/leagues/fall/notices?as=staff")[1]] == [rich.TO_ONE, rich.TO_ROOM]
