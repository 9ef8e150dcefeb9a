"""What tests of pages share: how many queries a page makes, and whether hostile texts stay harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html.parser import HTMLParser

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents_registry.models import Agent
from matches.league import lifecycle
from matches.models import League
from tests import factories as make
from tests.sizes import MANY_ROWS

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_harmless(text: str, *, shown: bool = True) -> None:
    """:data:`HOSTILE` has added no script, picture or event handler to a page.

    Args:
        shown: whether :data:`HOSTILE` must be on the page, as text.
    """
    tags = Tags(text).found
    assert [attrs for _, attrs in tags if any(name.startswith("on") for name in attrs)] == []
    assert [tag for tag, attrs in tags if tag == "img" or (tag == "script" and "src" not in attrs)] == []
    assert not shown or "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def hostile_league() -> make.Setting:
    """Two players in round 1 of a league; its name and theirs are :data:`HOSTILE`."""
    place = make.setting(players=0)
    League.objects.update(display_name=HOSTILE[:64])
    for number in (1, 2):
        make.join(HOSTILE, "fall", port=8100 + number)
    lifecycle.start_league(league_id="fall")
    make.open_current("fall")
    make.look()
    return place


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
