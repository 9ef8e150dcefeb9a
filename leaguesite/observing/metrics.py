"""The metrics of a process for Prometheus: counted where things happen, asked of the database when they are read.

Labels have few values, all of them ours: names of routes, types of messages, states, codes of errors. Nothing that an
agent or a browser sent becomes a label.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError
from django.db.models import Count
from django.http import HttpRequest
from prometheus_client import Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from agents_registry.models import Agent, Kind
from leaguesite.observing import logs
from matches.models import Delivery, DeliveryState, League, Match
from matches.observing.metrics import OK, REGISTRY, SECONDS

CONTENT_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"

REQUESTS = Counter("league_http_requests", "Answered requests.", ["route", "status"], registry=REGISTRY)
REQUEST_SECONDS = Histogram(
    "league_http_request_seconds",
    "Time from a whole request to its answer, the wait for its thread included.",
    ["thread"],
    buckets=SECONDS,
    registry=REGISTRY,
)
IN_PROGRESS = Gauge(
    "league_http_requests_in_progress", "Requests that wait for a thread or are in it.", ["thread"], registry=REGISTRY
)
CALLS = Counter(
    "league_agent_calls",
    "Messages of agents, by what they were answered with: ok, or the code of the error.",
    ["message_type", "outcome"],
    registry=REGISTRY,
)
CALL_SECONDS = Histogram(
    "league_agent_call_seconds", "Time to answer a message.", ["message_type"], buckets=SECONDS, registry=REGISTRY
)
LIMITED = Counter("league_limited", "Requests refused because there were too many.", ["limit"], registry=REGISTRY)
LOG_LINES_LOST = Gauge("league_log_lines_lost", "Lines that could not be written into the log file.", registry=REGISTRY)
LOG_LINES_LOST.set_function(logs.lost)
ProcessCollector(registry=REGISTRY)


class _Rows:
    """What the database holds, asked when the metrics are read: one grouped count each."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One family for each kind of rows; without a database only that there is none."""
        reachable = GaugeMetricFamily("league_database_reachable", "Whether the database answered just now.")
        try:
            yield _by_state("league_leagues", "Leagues by state.", League.objects)
            yield _by_state("league_matches", "Matches by state.", Match.objects)
            yield _by_state("league_referees", "Referees by state.", Agent.objects.filter(kind=Kind.REFEREE))
            waiting = Delivery.objects.filter(state=DeliveryState.PENDING).count()
            yield GaugeMetricFamily("league_outbox_waiting", "Messages that have yet to reach an agent.", value=waiting)
        except DatabaseError:
            reachable.add_metric([], 0)
        else:
            reachable.add_metric([], 1)
        yield reachable


def _by_state(name: str, words: str, rows: Any) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=["state"])
    for state, count in rows.values_list("state").annotate(Count("pk")).order_by("state"):
        family.add_metric([state], count)
    return family


REGISTRY.register(_Rows())


@contextmanager
def in_progress(thread: str) -> Iterator[None]:
    """A request that waits for its thread and runs in it.

    Args:
        thread: by its name in ``serving.threads``.
    """
    waiting = IN_PROGRESS.labels(thread)
    waiting.inc()
    begun = time.perf_counter()
    try:
        yield
    finally:
        waiting.dec()
        REQUEST_SECONDS.labels(thread).observe(time.perf_counter() - begun)


def answered(request: HttpRequest | None, status: int) -> None:
    """Count an answer under the name of its route; what has none is ``other``."""
    match = getattr(request, "resolver_match", None)
    REQUESTS.labels(match.view_name if match is not None else OTHER, str(status)).inc()


def called(message_type: str, outcome: str, seconds: float) -> None:
    """Count a message of an agent.

    Args:
        message_type: a name of ours, or ``other``.
        outcome: the code of the error it was answered with; empty for none.
    """
    CALLS.labels(message_type, outcome or OK).inc()
    CALL_SECONDS.labels(message_type).observe(seconds)


def limited(limit: str) -> None:
    """Count a request that was refused because there were too many.

    Args:
        limit: a name of ours for the limit, such as ``register``.
    """
    LIMITED.labels(limit).inc()


def text() -> bytes:
    """All metrics in the text format of Prometheus."""
    return generate_latest(REGISTRY)
