"""A row becomes the instance that Django itself would make of it."""

from __future__ import annotations

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from agents_registry.models import Agent
from matches.models import Delivery, Match
from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", [Agent, Match, Delivery])
def test_an_instance_is_what_django_makes(model: type[models.Model]) -> None:
    make.playing(players=4)
    ours = model._default_manager.order_by("pk")[0]
    names = [field.attname for field in model._meta.concrete_fields]
    theirs = models.Model.from_db.__func__(model, "default", names, [getattr(ours, name) for name in names])  # type: ignore[attr-defined]
    assert {name: vars(ours)[name] for name in names} == {name: vars(theirs)[name] for name in names}
    assert (ours._state.adding, ours._state.db) == (theirs._state.adding, theirs._state.db)
    ours.save()
    ours.refresh_from_db()
    assert ours == theirs


def test_what_was_not_read_is_fetched_when_it_is_asked_for() -> None:
    place = make.playing(players=4)
    match = Match.objects.select_related("player_a").only("match_id", "player_a__code").get(match_id="R1M1")
    assert match.player_a.get_deferred_fields() >= {"spoken", "name"}
    with CaptureQueriesContext(connection) as asked:
        assert (match.match_id, match.player_a.code) == ("R1M1", place.match("R1M1").player_a.code)
        assert match.player_a.name == "Player 1"
    assert sum("agents_registry_agent" in one["sql"] and "name" in one["sql"] for one in asked) >= 1
