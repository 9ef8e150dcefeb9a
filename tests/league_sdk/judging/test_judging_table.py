"""The table in ``docs/dialects.md`` has the figures of the sample agents in ``tests/bots/zoo``."""

from __future__ import annotations

from tests.league_sdk.judging.zoo_table import count, table
from tests.paths import ROOT

BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"


async def test_the_table_of_shapes_is_that_of_the_zoo() -> None:
    page = (ROOT / "docs" / "dialects.md").read_text(encoding="utf-8")
    counted = table(await count())
    assert page.partition(BEGIN)[2].partition(END)[0].strip() == counted, f"the table has to be:\n{counted}"
