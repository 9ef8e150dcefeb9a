"""A cursor says which of the messages that wait an agent has already."""

from __future__ import annotations

import pytest

from leaguesite.inbox import cursors


@pytest.mark.parametrize("ids", [set(), {1}, {1, 2**52, 17}])
def test_a_cursor_is_read_as_it_was_written(ids: set[int]) -> None:
    assert cursors.read(cursors.write(ids)) == ids


@pytest.mark.parametrize("text", ["", "0", "no cursor", "-", "1-", "f" * 15, "-".join(["1"] * 10_000), "1\n"])
def test_a_text_that_is_no_cursor_means_that_the_agent_has_no_message(text: str) -> None:
    assert cursors.read(text) == set()
