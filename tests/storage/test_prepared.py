"""Statements whose SQL is kept do the same as the queries that the ORM would make each time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.forms.models import model_to_dict
from pytest_django import DjangoAssertNumQueries

from agents_registry.models import Agent, AgentToken, Kind
from storage.prepared import ROWS_AT_ONCE, JsonText, Prepared, Sql, insert, listed, swap

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
FIELDS = [field.attname for field in Agent._meta.concrete_fields]

BY_TOKEN = Prepared(
    lambda *, sha256: AgentToken.objects.select_related("agent__league").filter(sha256=sha256), sha256=str
)
LATER = Prepared(
    lambda *, kind, after: Agent.objects.filter(kind=kind, pk__gt=after).only("code").order_by("-pk"),
    kind=str,
    after=int,
)
NAMED = Prepared(lambda *, names: Agent.objects.filter(name__among=names).order_by("pk"), names=str)


def agent(number: int, **fields: object) -> Agent:
    made = Agent.objects.create(
        kind=Kind.PLAYER,
        code=f"P{number}",
        name=f"Agent {number}",
        endpoint=f"http://127.0.0.1:9/{number}",
        endpoint_key=f"127.0.0.1:9/{number}",
        registered_at=NOW,
        **fields,
    )
    return Agent.objects.get(pk=made.pk)


def test_a_prepared_queryset_gives_the_same_instances(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    one = agent(1, spoken={"GAME_OVER": "chapter8"}, heard_at=NOW, game_types=["even_odd"])
    AgentToken.objects.create(agent=one, sha256="a" * 64, created_at=NOW)
    for _ in range(2):
        with django_assert_num_queries(1):
            token = BY_TOKEN.one(sha256="a" * 64)
            assert token is not None
            agent_of_token = token.agent
            assert agent_of_token.league is None
            assert {name: getattr(agent_of_token, name) for name in FIELDS} == {
                name: getattr(one, name) for name in FIELDS
            }
    assert BY_TOKEN.one(sha256="b" * 64) is None
    # An instance like any other: it can be saved.
    agent_of_token.version = "2.0.0"
    agent_of_token.save()
    assert Agent.objects.get(pk=one.pk).version == "2.0.0"


def test_each_parameter_gets_its_value_and_columns_left_out_are_fetched_on_access(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    first, second, third = agent(1), agent(2), agent(3)
    with django_assert_num_queries(1):
        agents = LATER.all(kind=Kind.PLAYER, after=first.pk)
        assert [one.code for one in agents] == ["P3", "P2"]
        assert [one.pk for one in agents] == [third.pk, second.pk]
    with django_assert_num_queries(1):
        assert agents[0].name == "Agent 3"
    assert LATER.all(kind=Kind.REFEREE, after=first.pk) == []


def test_a_value_that_is_not_in_the_statement_is_an_error() -> None:
    forgotten = Prepared(lambda *, code, kind: Agent.objects.filter(code=code), code=str, kind=str)
    with pytest.raises(ValueError, match="not in the statement: kind"):
        forgotten.all(code="P1", kind="player")


def test_a_list_of_any_length_is_one_parameter(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    names = ["it's", 'a "b"', "שלום", "%s {}", "[]"]
    for number, name in enumerate(names):
        agent(number)
        Agent.objects.filter(code=f"P{number}").update(name=name)
    many = [*names[1:], *(str(number) for number in range(300_000))]
    with django_assert_num_queries(1):
        assert [one.name for one in NAMED.all(names=listed(many))] == names[1:]
    assert NAMED.all(names=listed([])) == []
    with django_assert_num_queries(1):
        assert swap(Agent, {"silences": 7}, pk=list(range(300_000)), state="REGISTERED") == len(names)


def test_a_swap_changes_only_rows_that_are_in_the_expected_state() -> None:
    one, other = agent(1, silences=1), agent(2, silences=1)
    changes = {"spoken": {"a": ["ü", None]}, "heard_at": NOW, "problem": "it's gone", "silences": Sql("silences + 1")}
    assert swap(Agent, changes, pk=one.pk, state="REGISTERED") == 1
    changed = Agent.objects.get(pk=one.pk)
    assert (changed.spoken, changed.heard_at) == ({"a": ["ü", None]}, NOW)
    assert (changed.problem, changed.silences) == ("it's gone", 2)
    assert swap(Agent, {"silences": 9}, pk=one.pk, state="ACTIVE") == 0
    assert swap(Agent, {"silences": 9}, pk=()) == swap(Agent, {"silences": 9}, pk=[]) == 0
    assert model_to_dict(Agent.objects.get(pk=other.pk)) == model_to_dict(other)
    assert (
        swap(Agent, {"heard_at": None, "state": "ACTIVE"}, pk=(one.pk, other.pk), state=("REGISTERED", "ACTIVE")) == 2
    )
    assert set(Agent.objects.values_list("heard_at", "state")) == {(None, "ACTIVE")}
    assert swap(Agent, {"heard_at": NOW}, pk=[one.pk, 0], heard_at=None) == 1
    assert swap(Agent, {"silences": 9}, pk=one.pk, heard_at=None) == 0


def test_a_text_that_is_json_already_is_inserted_as_it_is() -> None:
    one = agent(1)
    names = [name for name in FIELDS if name != "id"]
    row = [getattr(one, name) for name in names]
    spoken = {"a": ["ü'\"\\", None, {"שלום": 0.5}], "b": "%s {}"}
    row[names.index("spoken")] = JsonText(json.dumps(spoken, ensure_ascii=False))
    row[names.index("code")] = row[names.index("name")] = "P2"
    insert(Agent, names, [row])
    assert Agent.objects.get(code="P2").spoken == spoken
    assert Agent.objects.filter(spoken__b="%s {}").count() == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="another database is used: no PostgreSQL")
def test_rows_are_inserted_without_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was frozen in one kept the row of a referee locked for as long as it was frozen."""
    import psycopg  # noqa: PLC0415 - only with PostgreSQL

    def refuse(self: object) -> None:
        raise AssertionError("a pipeline")

    monkeypatch.setattr(psycopg.Pipeline, "__enter__", refuse)
    owner = agent(1)
    count = ROWS_AT_ONCE + 3
    rows = [(owner.pk, f"{number:064d}", True, NOW) for number in range(count)]
    insert(AgentToken, ("agent_id", "sha256", "proven", "created_at"), rows)
    assert AgentToken.objects.filter(agent=owner).count() == count


def test_an_insert_may_skip_rows_that_exist_already() -> None:
    one = agent(1)
    names = ("agent_id", "sha256", "proven", "created_at")
    rows = [(one.pk, letter * 64, letter == "a", NOW) for letter in "abc"]
    insert(AgentToken, names, rows[:1])
    insert(AgentToken, names, rows, once=True)
    stored = list(AgentToken.objects.order_by("sha256").values_list(*names))
    assert stored == rows
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(AgentToken, names, rows[:1])
