"""Traces: a span for every call of an agent, with what it was about, if tracing is configured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from league_sdk import tracing
from league_sdk.protocol import records
from leaguesite.environment import BASE_DIR
from tests import factories as make
from tests import wire

PLANTED = "tok_" + "5" * 32


@pytest.fixture(autouse=True)
def no_tracers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_tracers", [])


@pytest.fixture
def spans(no_tracers: None) -> Iterator[Any]:
    """A function that returns the name and the attributes of every span that has ended so far."""
    exporter = InMemorySpanExporter()
    provider = tracing.start("web", exporter=exporter)

    def ended() -> list[tuple[str, dict[str, Any]]]:
        assert provider.force_flush()
        return [(span.name, dict(span.attributes or {})) for span in exporter.get_finished_spans()]

    yield ended
    provider.shutdown()


@pytest.mark.django_db
def test_a_call_has_spans_with_its_league_and_sender_and_no_token(client: Client, spans: Any) -> None:
    made = make.running_league(players=2)
    query = make.message_from(made.players[0], "LEAGUE_QUERY", league_id="fall", query_type="GET_STANDINGS")
    wire.ask(client, "league_query", query)
    wire.post(client, wire.request("league_query", query | {"auth_token": PLANTED, "conversation_id": PLANTED}))
    # The first span is of the steps that all calls take; the second, after it, of the query on a thread of its own.
    (_, common), (name, attributes), (_, refused) = spans()
    assert (name, common["league.message_type"]) == ("agent call", "LEAGUE_QUERY")
    assert attributes.pop("league.duration_ms") > 0
    assert attributes == {
        "league.league_id": "fall",
        "league.conversation_id": query["conversation_id"],
        "league.message_type": "LEAGUE_QUERY",
        "league.peer": "player:P01",
    }
    assert (refused["league.error_code"], refused["league.conversation_id"]) == ("E012", "tok_…")


def test_a_span_within_another_has_the_outer_ones_attributes(spans: Any) -> None:
    with records.work("agent call", message_type="MATCH_RESULT_REPORT"), records.work("result", match_id="R1M1"):
        pass
    assert [(name, attributes["league.message_type"]) for name, attributes in spans()] == [
        ("result", "MATCH_RESULT_REPORT"),
        ("agent call", "MATCH_RESULT_REPORT"),
    ]


def test_without_configuration_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAGUE_OTEL", raising=False)
    monkeypatch.delenv(tracing.ENDPOINT, raising=False)
    assert (tracing.start("web"), records._tracers) == (None, [])


@pytest.mark.parametrize("wish", [("LEAGUE_OTEL", "1"), (tracing.ENDPOINT, "http://127.0.0.1:4318")])
def test_without_opentelemetry_a_sentence_says_so_and_nothing_is_traced(
    wish: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(tracing, "import_module", missing)
    monkeypatch.setenv(*wish)
    assert (tracing.start("web"), records._tracers) == (None, [])
    assert capsys.readouterr().err == (
        "OpenTelemetry is not installed: no traces. Install requirements/telemetry.txt or unset LEAGUE_OTEL and "
        "OTEL_EXPORTER_OTLP_ENDPOINT.\n"
    )


def test_the_site_is_imported_without_opentelemetry() -> None:
    code = "import sys, leaguesite.asgi; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    assert subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, env=environment, check=False).returncode == 0
