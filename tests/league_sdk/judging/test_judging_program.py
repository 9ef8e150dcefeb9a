"""``python -m league_sdk.judging``: when a referee ends by itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from league_sdk.judging import __main__ as program
from league_sdk.judging.journal import Journal
from league_sdk.judging.worker.league_link import Refused
from tests.league_sdk.judging.starts import Link


class Broken:
    """A referee that cannot send heartbeats."""

    async def keep_reporting(self) -> None:
        raise KeyError("a fault of ours")


class Refusing(Link):
    """A league manager that refuses to register the referee."""

    async def register(self) -> Any:
        raise Refused("REJECTED", "no")


@pytest.mark.parametrize(("link", "error"), [(Link(), KeyError), (Refusing(), Refused)])
async def test_a_referee_process_ends_when_heartbeats_fail_or_its_registration_is_refused(
    link: Link, error: type[Exception]
) -> None:
    stop = asyncio.Event()
    with pytest.raises(error):
        await program._work(link, Broken(), Journal(), "Referee", stop)  # type: ignore[arg-type]
    assert stop.is_set()
