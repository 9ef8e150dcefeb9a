"""A referee without a network."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from league_sdk.judging.worker.referee import Referee
from tests.league_sdk.judging.staged import Stage
from tests.league_sdk.judging.starts import Link


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def link() -> Link:
    return Link()


@pytest_asyncio.fixture
async def referee(link: Link, stage: Stage) -> AsyncIterator[Referee]:
    made = Referee(link, endpoint="http://localhost:8001/mcp", max_concurrent=2, uses=stage.uses)  # type: ignore[arg-type]
    yield made
    link.on_progress = None
    await made.drain(0)
    await made.aclose()
