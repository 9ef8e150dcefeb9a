"""Subscribers of resources are told of changes, and behind a freeze of nothing that it hides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from django.db import DatabaseError

from league_sdk.mcp.listening import Filter, Listeners
from leaguesite.mcp.offering import make_registry
from leaguesite.mcp.resources import changed
from leaguesite.mcp.telling import Freeze, Telling, freezes_of
from matches.league import lifecycle
from tests import factories as make

FALL = "league://fall"
TABLE, FIRST, SECOND = f"{FALL}/standings", f"{FALL}/matches/R1M1", f"{FALL}/matches/R1M2"


@dataclass
class Subscriber:
    """One subscriber, and the freezes that the site reads from now on.

    Attributes:
        failures: how many of the next reads of freezes fail.
        uris: what it was told since :meth:`told_after` was called last.
    """

    freezes: dict[str, Freeze] = field(default_factory=dict)
    failures: int = 0
    uris: list[str] = field(default_factory=list)

    async def told_after(self, site: Telling, *match_ids: str) -> list[str]:
        """What the subscriber is told after a change of the league and of these matches."""
        self.uris.clear()
        site.hear({"leagues": {"fall": list(match_ids)}})
        await site.tell()
        return list(self.uris)

    def read(self, league_ids: Collection[str]) -> Mapping[str, Freeze]:
        if self.failures:
            self.failures -= 1
            raise DatabaseError("no connection")
        return {pk: one for pk, one in self.freezes.items() if pk in league_ids}


@asynccontextmanager
async def subscribed(subscriber: Subscriber) -> AsyncIterator[Telling]:
    """A site of which somebody has subscribed to the table and two matches of a league."""
    listeners = Listeners()
    wanted = Filter(uris={TABLE, FIRST, SECOND})
    listener = listeners.add(wanted, "here", lambda method, params: subscriber.uris.append(params["uri"]), print)
    yield Telling(listeners, subscriber.read, interval_s=0.0)
    listeners.remove(listener)


async def test_many_changes_of_a_league_are_told_together() -> None:
    subscriber = Subscriber()
    async with subscribed(subscriber) as site:
        for _ in range(50):
            site.hear({"leagues": {"fall": ["R1M1"], "spring": ["R1M2"]}})
        assert subscriber.uris == []
        assert await subscriber.told_after(site, "R1M1") == [FIRST, TABLE]


async def test_behind_a_freeze_nothing_is_told_until_the_board_is_unveiled() -> None:
    subscriber = Subscriber()
    async with subscribed(subscriber) as site:
        assert await subscriber.told_after(site, "R1M1") == [FIRST, TABLE]
        subscriber.freezes["fall"] = Freeze(7, 0)
        # The freeze itself shows on the board; a match that changed at the same time does not.
        assert await subscriber.told_after(site, "R1M1") == [TABLE]
        assert await subscriber.told_after(site, "R1M2") == []
        assert await subscriber.told_after(site) == []
        subscriber.freezes["fall"] = Freeze(7, 1)
        assert await subscriber.told_after(site, "R1M2") == [TABLE]
        subscriber.freezes.clear()
        assert await subscriber.told_after(site) == [FIRST, SECOND, TABLE]
        assert await subscriber.told_after(site) == [TABLE]


async def test_a_process_that_starts_behind_a_freeze_tells_nothing_of_it() -> None:
    subscriber = Subscriber({"fall": Freeze(7, 2)})
    async with subscribed(subscriber) as site:
        assert await subscriber.told_after(site, "R1M1") == []


async def test_what_was_told_is_forgotten_when_nobody_listens_any_more() -> None:
    """Otherwise a client that subscribes again during a freeze would be told of the first change behind it."""
    subscriber = Subscriber()
    async with subscribed(subscriber) as site:
        assert await subscriber.told_after(site, "R1M1") == [FIRST, TABLE]
    site.hear({"leagues": {"fall": ["R1M2"]}})
    subscriber.freezes["fall"] = Freeze(7, 0)
    site.listeners.add(
        Filter(uris={TABLE}), "here", lambda method, params: subscriber.uris.append(params["uri"]), print
    )
    assert await subscriber.told_after(site, "R1M2") == []


async def test_what_was_heard_while_the_database_was_away_is_told_later() -> None:
    subscriber = Subscriber(failures=1)
    async with subscribed(subscriber) as site:
        assert await subscriber.told_after(site, "R1M1") == []
        assert await subscriber.told_after(site, "R1M2") == [FIRST, SECOND, TABLE]


async def test_what_is_heard_is_told_after_an_interval() -> None:
    subscriber, first = Subscriber(), asyncio.Event()
    async with subscribed(subscriber) as site:
        listeners = site.listeners
        other = listeners.add(Filter(uris={TABLE}), "there", lambda method, params: first.set(), print)
        running = asyncio.create_task(site.run())
        site.hear({"leagues": {"fall": []}})
        await first.wait()
        running.cancel()
        listeners.remove(other)
    assert subscriber.uris == [TABLE]


@pytest.mark.django_db
def test_the_freezes_of_leagues_are_read() -> None:
    make.open_league("spring")
    made = make.league_before_freeze()
    assert freezes_of(["fall", "spring"]) == {}
    lifecycle.start_round(league_id="fall")
    seq = made.league.frozen_seq
    assert seq is not None
    assert freezes_of(["fall", "spring", "nowhere"]) == {"fall": Freeze(seq, 0)}


def test_exactly_the_resources_that_report_changes_take_subscriptions() -> None:
    names = ("standings", "rounds", "agents", "rules", "matches/R1M1", "players/P01/history")
    uris = ["league://standings", *(f"{FALL}/{name}" for name in names)]
    wanted = Filter.read({"resourceSubscriptions": uris}, make_registry())
    assert wanted.uris == changed("fall", ["R1M1"])
