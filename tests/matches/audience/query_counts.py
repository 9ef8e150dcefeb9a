"""How many queries a page makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents_registry.models import Agent
from matches.models import League
from tests.sizes import MANY_ROWS


def query_count(client: Client, path: str) -> int:
    """The number of queries that a page makes."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def assert_same_query_count(client: Client, fill: Callable[[int], str], counts: Iterable[int] = (4, MANY_ROWS)) -> None:
    """A page makes as many queries for few rows as for many.

    Args:
        fill: makes a site with this many rows; returns the page's path.
    """
    counts = tuple(counts)
    query_count(client, fill(counts[0]))
    query_counts = set()
    for count in counts:
        League.objects.all().delete()
        Agent.objects.all().delete()
        query_counts.add(query_count(client, fill(count)))
    assert len(query_counts) == 1
