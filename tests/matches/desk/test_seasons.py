"""The page that clones and deletes a league and puts it into a series, the archive in lists, and all of it by API."""

from __future__ import annotations

import pytest
from django.test import Client

from matches.league import lifecycle, seasons
from matches.models import League
from tests import factories as make
from tests import rich
from tests.leaguesite.script import Script
from tests.matches.desk.clicking import LEAGUES, count_queries, person, post, sentences_of

pytestmark = pytest.mark.django_db
PAGE = f"{LEAGUES}fall/season/"


def test_a_league_is_cloned_on_its_page_and_the_desk_of_the_new_one_follows(desk: Client) -> None:
    make.league(players=2)
    form = {"do": "clone", "display_name": "Spring Term", "with_settings": "on"}
    answer = desk.post(PAGE, form)
    assert (answer.status_code, answer["Location"]) == (302, f"{LEAGUES}spring_5Fterm/change/")
    assert sentences_of(answer) == ["Spring Term is open for registration."]
    page = desk.post(PAGE, form | {"wanted_id": "spring_term"}).content.decode()
    assert "exists already: choose another id." in page


def test_the_page_counts_what_would_be_deleted_and_the_id_has_to_be_typed(desk: Client) -> None:
    made = make.league(players=2)
    counted = desk.get(PAGE).context["counted"]
    assert counted["players"] == 2
    assert counted["events"] == made.league.event_seq > 0
    page = desk.post(PAGE, {"do": "delete", "typed": "spring"}).content.decode()
    assert "Type the id of the league, fall, to delete it." in page
    answer = desk.post(PAGE, {"do": "delete", "typed": "fall"})
    assert (answer.status_code, answer["Location"]) == (302, LEAGUES)
    assert (sentences_of(answer), League.objects.count()) == (["The league is deleted."], 0)


def test_a_league_that_is_played_shows_no_form_to_delete_it(desk: Client) -> None:
    make.running_league()
    page = desk.get(PAGE).content.decode()
    assert "It is being played: stop it first, on its desk." in page
    assert 'value="delete"' not in page
    assert desk.post(PAGE, {"do": "delete", "typed": "fall"}).status_code == 200
    assert League.objects.filter(pk="fall").exists()


def test_a_user_who_may_not_open_leagues_is_offered_no_clone() -> None:
    make.open_league()
    page = person("instructor", "fall").get(PAGE).content.decode()
    assert 'value="clone"' not in page
    assert 'value="delete"' in page


def test_lists_leave_out_an_archived_league_and_its_pages_stay(desk: Client, client: Client) -> None:
    make.open_league("fall")
    make.open_league("other")
    lifecycle.stop(league_id="fall")
    assert post(desk, "do/archive") == "The league is in the archive: lists leave it out, and its pages stay."
    assert "/leagues/fall/" not in client.get("/").content.decode()
    assert [one["league_id"] for one in client.get("/api/leagues").json()] == ["other"]
    assert client.get("/leagues/fall/").status_code == 200
    assert client.get("/api/leagues/fall").status_code == 200
    for query, shown in (("", ["other"]), ("only", ["fall"]), ("too", ["other", "fall"])):
        listed = desk.get(LEAGUES, {"archive": query} if query else {}).context["cl"].result_list
        assert sorted(one.pk for one in listed) == sorted(shown)
    assert [one["league"].pk for one in desk.get("/admin/").context["leagues_now"]] == ["other"]
    labels = [button.label for button in desk.get(f"{LEAGUES}fall/change/").context["desk"]["buttons"]]
    assert labels == ["Export the league, print evidence sheets", "Take out of the archive"]
    assert post(desk, "do/take_back") == "The league is out of the archive."
    assert "/leagues/fall/" in client.get("/").content.decode()


def test_the_page_makes_as_many_queries_for_a_large_league(desk: Client) -> None:
    make.league(players=2)
    few = count_queries(desk, PAGE)
    make.insert_players("fall", 30, letter="Q")
    assert count_queries(desk, PAGE) == few


def test_a_league_is_put_into_a_series_and_taken_out_on_its_page(desk: Client) -> None:
    make.league(players=2)
    answer = desk.post(PAGE, {"do": "put_in_series", "series_id": "course", "series_name": "The course"})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert sentences_of(answer) == ["The league is in the series The course."]
    assert '<a href="/series/course">' in desk.get(PAGE).content.decode()
    refused = desk.post(PAGE, {"do": "put_in_series", "series_id": "no id"})
    assert "Use letters, digits, - and _ only." in refused.content.decode()
    assert sentences_of(desk.post(PAGE, {"do": "leave_series"})) == ["The league is in no series any more."]
    assert "/series/" not in desk.get(PAGE).content.decode()


def test_a_script_puts_leagues_into_series(script: Script, public: Script) -> None:
    made = rich.over()
    path = f"/leagues/{made.league_id}/series"
    assert script.post(path, {"series_id": "course", "series_name": "The course"})[0] == 200
    assert public.get("/series") == (200, [{"series_id": "course", "display_name": "The course", "leagues": 1}])
    status, series = public.get("/series/course")
    assert (status, [one["league_id"] for one in series["evenings"]]) == (200, [made.league_id])
    assert not [secret for secret in rich.secrets() if secret in str(series)]
    assert script.post(f"{path}/leave")[0] == 200
    assert public.get("/series/course")[0] == 404
    assert public.post(path, {"series_id": "course"})[0] == 401


def test_a_script_clones_archives_and_deletes_a_league(script: Script) -> None:
    made = rich.over()
    path = f"/leagues/{made.league_id}"
    assert script.post(f"{path}/clone", {"wanted_id": "spring", "with_roster": False})[1]["league_id"] == "spring"
    assert script.post(f"{path}/archive")[0] == 200
    status, reply = script.post(f"{path}/notices", {"text": "Hello"})
    assert (status, "is in the archive" in reply["error"]) == (409, True)
    assert script.post(f"{path}/archive/take_back")[0] == 200
    assert script.post(f"{path}/delete", {"typed": "spring"})[0] == 422
    assert script.post(f"{path}/delete", {"typed": made.league_id}) == (200, {"league_id": made.league_id})
    assert script.post(f"{path}/delete", {"typed": made.league_id})[0] == 404
    assert seasons.take_back(league_id="spring").pk == "spring"
