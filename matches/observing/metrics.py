"""Every metric of a site's process, for ``/metrics``.

What happens is counted where it happens; rows of the database are counted when the metrics are read.

Labels have few values, all of them ours: names of routes, types of messages, states, codes of errors. Nothing that an
agent or a browser sent becomes a label.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count
from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from agents_registry.models import Agent, Kind
from matches.models import Delivery, DeliveryState, League, Match

CONTENT_TYPE = CONTENT_TYPE_LATEST
OK, OTHER = "ok", "other"
REGISTRY = CollectorRegistry()
"""The metrics of this process."""
ASK_REDIS_S = 1.0
"""How long Redis may take to answer when the metrics are read."""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_counter = partial(Counter, registry=REGISTRY)
_gauge = partial(Gauge, registry=REGISTRY)
_histogram = partial(Histogram, buckets=SECONDS, registry=REGISTRY)

# Requests and calls ---------------------------------------------------------------------------

_REQUESTS = _counter("league_http_requests", "Answered requests.", ["route", "status"])
_REQUEST_SECONDS = _histogram(
    "league_http_request_seconds",
    "Time from a whole request to its answer, the wait for its thread included.",
    ["thread"],
)
_IN_PROGRESS = _gauge("league_http_requests_in_progress", "Requests that wait for a thread or are in it.", ["thread"])
_CALLS = _counter(
    "league_agent_calls",
    "Messages of agents, by what they were answered with: ok, or the code of the error.",
    ["message_type", "outcome"],
)
_CALL_SECONDS = _histogram("league_agent_call_seconds", "Time to answer a message.", ["message_type"])
_LIMITED = _counter("league_limited", "Requests refused because there were too many.", ["limit"])

# The conductor --------------------------------------------------------------------------------

LOOK_SECONDS = _histogram("league_look_seconds", "Time of one look of the conductor at the rows.")
LOOK_FAILURES = _counter("league_look_failures", "Looks that ended in an error.")
LOOKED_AT = _gauge("league_last_look_timestamp_seconds", "When the last look at the rows ended.")
DELIVERIES = _counter(
    "league_deliveries",
    "Messages that this site sent to agents, by what became of them: ok, or the cause of the failure.",
    ["message_type", "outcome"],
)
DELIVERY_SECONDS = _histogram(
    "league_delivery_seconds", "Time until an agent answered a message of this site, or did not.", ["message_type"]
)
DELIVERY_RETRIES = _counter("league_delivery_retries", "Messages sent once more.")

# Agents that dial out -------------------------------------------------------------------------

INBOX_LINES = _gauge("league_inbox_lines", "Open polls and sockets of agents that dial out.", ["way"])
INBOX_TAKEOVERS = _counter("league_inbox_takeovers", "Lines of agents that a newer line took over.")
INBOX_MESSAGES = _counter(
    "league_inbox_messages",
    "Messages for agents that dial out, by outcome: answered, not_connected (nobody took it), silent, lost, or stalled "
    "(not answered while a process of the site stood still).",
    ["outcome"],
)

# Live pages -----------------------------------------------------------------------------------

SOCKETS = _gauge("league_sockets", "Open sockets of live pages.")
SOCKETS_REFUSED = _counter("league_sockets_refused", "Sockets not opened: there were too many.")
SOCKETS_DROPPED = _counter("league_sockets_dropped", "Sockets closed: the browser took or acknowledged nothing.")
FRAMES = _counter("league_frames_sent", "Frames sent to browsers.")
RENDER_SECONDS = _histogram("league_render_seconds", "Time to render one live page.")

# Results --------------------------------------------------------------------------------------

RESULTS = _counter("league_results", "Results that this process made count, by their status.", ["status"])

# The process ----------------------------------------------------------------------------------


def _log_lines_lost() -> int:
    return sum(getattr(handler, "lost", 0) for handler in logging.getLogger().handlers)


_gauge("league_log_lines_lost", "Lines that could not be written into the log file.").set_function(_log_lines_lost)
ProcessCollector(registry=REGISTRY)


class _Rows:
    """What the database holds, asked when the metrics are read: one grouped count each."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One metric family for each kind of rows; without a database only the metric that says so."""
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


class _Redis:
    """Whether Redis answers, asked when the metrics are read; nothing where the site does without it."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One metric family."""
        if not settings.LEAGUE_LIMITS_REDIS_URL:
            return
        # Imported where it is used: a site in one process has no redis-py installed.
        from redis import Redis, RedisError  # noqa: PLC0415

        waits = {"socket_connect_timeout": ASK_REDIS_S, "socket_timeout": ASK_REDIS_S}
        try:
            with Redis.from_url(settings.LEAGUE_LIMITS_REDIS_URL, **waits, retry=None) as client:
                answers = bool(client.ping())
        except RedisError:
            answers = False
        yield GaugeMetricFamily("league_redis_reachable", "Whether Redis answered just now.", value=answers)


def _by_state(name: str, words: str, rows: Any) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=["state"])
    for state, count in rows.values_list("state").annotate(Count("pk")).order_by("state"):
        family.add_metric([state], count)
    return family


REGISTRY.register(_Rows())
REGISTRY.register(_Redis())


@contextmanager
def in_progress(thread: str) -> Iterator[None]:
    """Count and time a request within the context: it waits for its thread there, and runs in it.

    Args:
        thread: the name of the thread in ``leaguesite.serving.threads``.
    """
    with _IN_PROGRESS.labels(thread).track_inprogress(), _REQUEST_SECONDS.labels(thread).time():
        yield


def answered(request: HttpRequest | None, status: int) -> None:
    """Count an answer under the name of its route; what has none is ``other``."""
    match = getattr(request, "resolver_match", None)
    _REQUESTS.labels(match.view_name if match is not None else OTHER, str(status)).inc()


def answered_at(route: str, status: int) -> None:
    """Count an answer that Django did not give, under the name of a route."""
    _REQUESTS.labels(route, str(status)).inc()


def called(message_type: str, outcome: str, seconds: float) -> None:
    """Count a message of an agent.

    Args:
        message_type: a name of ours, or ``other``.
        outcome: the code of the error it was answered with; empty for none.
        seconds: how long the answer took.
    """
    _CALLS.labels(message_type, outcome or OK).inc()
    _CALL_SECONDS.labels(message_type).observe(seconds)


def limited(limit: str) -> None:
    """Count a request that was refused because there were too many, under our name of the limit."""
    _LIMITED.labels(limit).inc()


def text() -> bytes:
    """All metrics in the text format of Prometheus."""
    return generate_latest(REGISTRY)
