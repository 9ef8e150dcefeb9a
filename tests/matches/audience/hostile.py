"""Hostile texts, and whether they stay harmless on a page."""

from __future__ import annotations

from matches.league import lifecycle
from matches.models import League
from tests import factories as make
from tests.matches.audience.tags import Tags

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def assert_harmless(text: str, *, shown: bool = True) -> None:
    """:data:`HOSTILE` has added no script, picture or event handler to a page.

    Args:
        shown: whether :data:`HOSTILE` must be on the page, as text.
    """
    tags = Tags(text).found
    assert [attrs for _, attrs in tags if any(name.startswith("on") for name in attrs)] == []
    assert [tag for tag, attrs in tags if tag == "img" or (tag == "script" and "src" not in attrs)] == []
    assert not shown or "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def hostile_league() -> make.MadeLeague:
    """Two players in round 1 of a league; its name and theirs are :data:`HOSTILE`."""
    made = make.league(players=0)
    League.objects.update(display_name=HOSTILE[:64])
    for number in (1, 2):
        make.player(HOSTILE, "fall", port=8100 + number)
    lifecycle.start_league(league_id="fall")
    make.open_round("fall")
    make.look()
    return made
