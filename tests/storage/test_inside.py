"""Code that relies on Django's internals gives what Django itself gives, for every statement and model that uses it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents_registry.models import Agent
from league_sdk.protocol import tokens
from matches.league import lifecycle
from matches.models import League, Match, Round
from storage.inside import QuickLoad
from storage.prepared import Prepared, listed
from tests import factories as make

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
APPS = ("agents_registry", "leaguesite", "matches")
QUICK = [model for model in apps.get_models() if issubclass(model, QuickLoad)]


def statements() -> list[Prepared[Any]]:
    """Every statement that the site declares, also in modules that nothing has imported yet."""
    for path in (path for app in APPS for path in sorted((ROOT / app).rglob("*.py"))):
        if "Prepared(" in path.read_text(encoding="utf-8"):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return [one for one in Prepared.declared if one.build.__module__.partition(".")[0] in APPS]


def whole(instance: models.Model) -> Any:
    """All that an instance has in memory, with its loaded related instances; nothing is fetched."""
    state = instance._state
    fields = {name: value for name, value in vars(instance).items() if name != "_state"}
    related = {name: one and whole(one) for name, one in state.fields_cache.items()}
    return type(instance), fields, state.adding, state.db, related


def parameters_at_each_step() -> Any:
    """Play a league step by step; yield at each step a value for every parameter that a statement may have."""
    made = make.league(players=4)
    # For the statement that finds leagues whose schedule was begun and not finished.
    Round.objects.create(league=make.open_league("half-made"), number=1)
    match_ids = ["R1M1", "R1M2"]
    values = {
        "league_id": "fall",
        "pk": "fall",
        "seq": 1,
        "match_id": match_ids[0],
        "match_ids": listed(match_ids),
        "referee_id": made.referees[0].agent.pk,
        "sha256": tokens.digest(made.players[1].token),
    }
    lifecycle.start_league(league_id="fall")
    values["round_id"] = made.match(match_ids[0]).round_id
    yield values
    make.open_round("fall")
    yield values
    make.look()
    Agent.objects.filter(code="P02").update(ping_wanted=True)
    yield values
    Match.objects.filter(match_id=match_ids[0]).update(referee=None, seal={"attempt": 1})
    Agent.objects.filter(code="P02").update(moving={"next_at": 0.0})
    League.objects.filter(pk="half-made").update(remove_at=timezone.now())
    yield values


def test_every_statement_gives_the_same_instances_as_django(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = statements()
    found_some = set()
    for values in parameters_at_each_step():
        for one in declared:
            arguments = {name: values[name] for name in one.kinds}
            with CaptureQueriesContext(connection) as queries:
                ours = [whole(instance) for instance in one.all(**arguments)]
            with monkeypatch.context() as without_quick_load:
                without_quick_load.delattr(QuickLoad, "from_db")
                theirs = [whole(instance) for instance in one.build(**arguments)]
            assert ours == theirs
            assert len(queries) == 1
            found_some |= {one} if ours else set()
    # A statement that never finds a row would not be tested.
    assert [one.build for one in declared if one not in found_some] == []


@pytest.mark.parametrize("model", QUICK)
def test_quick_load_makes_the_same_instance_as_django(model: type[models.Model]) -> None:
    make.running_league(players=4)
    Match.objects.get(match_id="R1M1").messages.create(attempt=1, n=1, entry={"n": 1})
    ours = model._default_manager.order_by("pk")[0]
    names = [field.attname for field in model._meta.concrete_fields]
    theirs = models.Model.from_db.__func__(model, "default", names, [getattr(ours, name) for name in names])  # type: ignore[attr-defined]
    assert whole(ours) == whole(theirs)
    ours.save()
    ours.refresh_from_db()
    assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]


def test_deferred_fields_are_fetched_on_access() -> None:
    made = make.running_league(players=4)
    match = Match.objects.select_related("player_a").only("match_id", "player_a__code").get(match_id="R1M1")
    assert match.player_a.get_deferred_fields() >= {"spoken", "name"}
    code = made.match("R1M1").player_a.code
    with CaptureQueriesContext(connection) as queries:
        assert (match.match_id, match.player_a.code) == ("R1M1", code)
        assert len(queries) == 0
        assert match.player_a.name == "Player 1"
        assert len(queries) == 1
