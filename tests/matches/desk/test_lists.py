"""The admin's lists speak the reader's language, also where the model has the protocol's words in capitals."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from matches.league import notices
from matches.models import Match
from tests import factories as make
from tests.matches.desk.clicking import LEAGUES

pytestmark = pytest.mark.django_db
MATCHES, AGENTS = "/admin/matches/match/", "/admin/agents_registry/agent/"
CAPITALS = re.compile(r"\b[A-Z]{4,}\b")


def words_on(desk: Client, address: str) -> str:
    """The text of a page, without tags and scripts."""
    text = desk.get(address).content.decode()
    main = text[text.index("<main") :]
    return re.sub(r"<script.*?</script>|<[^>]*>", " ", main, flags=re.S)


def test_lists_and_filters_in_hebrew_have_no_words_of_the_protocol(desk: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    desk.cookies["django_language"] = "he"
    for address in (LEAGUES, MATCHES):
        assert CAPITALS.findall(words_on(desk, address)) == [], address
    shown = words_on(desk, MATCHES)
    assert ("שחקן א" in shown, "Player A" in shown) == (True, False)


def test_the_filters_of_matches_and_leagues_choose_by_value(desk: Client) -> None:
    made = make.running_league(players=4)
    make.finish_round(made)
    waiting = Match.objects.filter(state="PENDING").count()
    chosen = desk.get(MATCHES, {"state": "PENDING"}).context["cl"].result_count
    won = desk.get(MATCHES, {"status": "WIN"}).context["cl"].result_count
    assert (chosen, won) == (waiting, Match.objects.filter(status="WIN").count())
    assert 0 < waiting < Match.objects.count()
    leagues = [desk.get(LEAGUES, {"state": state}).context["cl"].result_count for state in ("RUNNING", "STOPPED")]
    assert leagues == [1, 0]


@pytest.mark.parametrize("column", range(1, 11))
def test_matches_are_sorted_by_columns_with_an_index_only(desk: Client, column: int) -> None:
    """Of the two million matches of 2,000 players a sort of all takes longer than the database allows a statement."""
    make.running_league(players=4)
    indexed = {name for model_index in _indexes(Match) for name in model_index[:1]} | {"id"}
    with CaptureQueriesContext(connection) as queries:
        assert desk.get(MATCHES, {"o": str(column)}).status_code == 200
    orders = [re.search(r'FROM "matches_match".*ORDER BY "matches_match"."(\w+)"', one["sql"]) for one in queries]
    sorted_by = {found[1] for found in orders if found}
    assert sorted_by
    assert sorted_by <= indexed


def _indexes(model: type[Model]) -> list[list[str]]:
    """The columns of each index of a model that has all rows."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, model._meta.db_table)
    partial = {index.name for index in model._meta.indexes if index.condition is not None}
    return [one["columns"] for name, one in found.items() if (one["index"] or one["unique"]) and name not in partial]


def test_times_in_the_admin_are_in_utc_and_marked_for_the_script_that_adds_the_readers_zone(desk: Client) -> None:
    make.running_league(players=2)
    notices.say(league_id="fall", text="We begin", by="x")
    agent = desk.get(AGENTS).context["cl"].queryset[0].pk
    pages = (AGENTS, f"{AGENTS}{agent}/change/", "/admin/matches/auditentry/")
    for address in (*pages, f"{LEAGUES}fall/notices/", f"{LEAGUES}fall/papers/evidence/"):
        text = desk.get(address).content.decode()
        clocks = re.findall(r"<time[^>]*data-local>[^<]*UTC</time>", text)
        bare = re.findall(r"\d\d:\d\d", re.sub(r"<(time|script).*?</\1>", "", text, flags=re.S))
        assert (bare, "js/local.js" in text) == ([], True), address
        assert clocks or "auditentry" in address, address
