"""Leagues in series: put in, taken out, by whom; a series without leagues is deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from matches.league import seasons, series, staffing
from matches.league.errors import ActionRefused, Invalid, NotFound
from matches.models import League, Series
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def leagues() -> Iterator[None]:
    for league_id in ("one", "two", "three"):
        make.open_league(league_id)
    yield


def order(series_id: str) -> list[str]:
    leagues = League.objects.filter(series_id=series_id)
    return list(leagues.order_by("series_place").values_list("pk", flat=True))


def test_a_series_is_made_by_its_first_league_and_deleted_with_its_last() -> None:
    assert series.put(league_id="one", series_id="course", series_name="The course").display_name == "The course"
    series.put(league_id="three", series_id="course")
    series.put(league_id="two", series_id="course", series_name="Course")
    assert (order("course"), Series.objects.get().display_name) == (["one", "three", "two"], "Course")
    series.put(league_id="one", series_id="course")
    assert order("course") == ["three", "two", "one"]
    series.put(league_id="one", series_id="other")
    seasons.delete(league_id="one", typed="one")
    assert list(Series.objects.values_list("pk", flat=True)) == ["course"]
    for league_id in ("two", "three", "three"):
        series.leave(league_id=league_id)
    assert not Series.objects.exists()


def test_a_clone_goes_on_with_the_series_if_asked() -> None:
    series.put(league_id="one", series_id="course")
    seasons.clone(league_id="one", wanted_id="next", with_series=True)
    seasons.clone(league_id="one", wanted_id="apart")
    assert order("course") == ["one", "next"]


@pytest.mark.parametrize(
    ("series_id", "name", "field"),
    [
        ("", "", "series_id"),
        ("a b", "x", "series_id"),
        ("a\ud800", "x", "series_id"),
        ("ok", "\x00", "series_name"),
        ("ok", "x" * 5000, "series_name"),
    ],
)
def test_a_series_that_cannot_be_made_is_refused(series_id: str, name: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        series.put(league_id="one", series_id=series_id, series_name=name)
    assert refused.value.field == field
    with pytest.raises(NotFound):
        series.put(league_id="none", series_id="ok")


def test_nobody_adds_to_the_series_of_another_instructor() -> None:
    dana = User.objects.create_user("dana", password="x" * 12, is_staff=True)
    staffing.give_role(league_id="two", username="dana", name="instructor")
    series.put(league_id="one", series_id="course", series_name="The course")
    with pytest.raises(ActionRefused, match="The course is another instructor's series: choose another id"):
        series.put(league_id="two", series_id="course", series_name="Mine", by=dana)
    assert Series.objects.get().display_name == "The course"
    staffing.give_role(league_id="one", username="dana", name="instructor")
    series.put(league_id="two", series_id="course", by=dana)
    assert order("course") == ["one", "two"]


def test_a_series_has_a_limit_of_leagues() -> None:
    for number in range(1, series.MAX_LEAGUES):
        make.open_league(f"league_{number}")
        series.put(league_id=f"league_{number}", series_id="course")
    series.put(league_id="one", series_id="course")
    series.put(league_id="one", series_id="course")
    with pytest.raises(ActionRefused, match="This series is full"):
        series.put(league_id="two", series_id="course")
