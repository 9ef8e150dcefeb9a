"""Whoever was let in a moment ago is answered past Django, and nobody else is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from leaguesite.inbox.answering import Who
from leaguesite.inbox.quick import POLL_VALID_S, QuickInbox, Visits
from matches.inbox.hub import hub

ADA = Who(1, "203.0.113.5", "digest of a token")


def scope(*headers: tuple[bytes, bytes], path: str = "/inbox", client: str = "203.0.113.5", method: str = "GET") -> Any:
    given = [(b"host", b"league"), (b"authorization", b"Bearer tok"), *headers]
    return {
        "type": "http",
        "path": path,
        "method": method,
        "scheme": "http",
        "query_string": b"wait=0",
        "headers": given,
        "client": (client, 50000),
    }


async def visit(visits: Visits, asked: Any) -> str:
    """Who answered: ``inbox``, or ``django``."""
    heard: list[str] = []

    async def django(*_: Any) -> None:
        heard.append("django")

    async def receive() -> Any:
        if not heard:
            heard.append("body")
            return {"type": "http.request", "body": b""}
        await hub_is_never_left()
        return None

    async def send(message: Any) -> None:
        heard.append("inbox")

    await QuickInbox(django, visits)(asked, receive, send)
    return heard[-1]


async def hub_is_never_left() -> None:
    """The caller stays: nothing more is received."""
    await hub.ask(0, {}, limit_s=3600, grace_s=3600)


@pytest.fixture
def visits() -> Visits:
    known = Visits()
    known.note(scope(), ADA)
    return known


async def test_an_agent_that_was_let_in_a_moment_ago_is_answered_without_django(visits: Visits) -> None:
    assert await visit(visits, scope()) == "inbox"
    assert await visit(visits, scope((b"accept", b"*/*"), path="/inbox/")) == "inbox"


@pytest.mark.parametrize(
    "other",
    [
        scope(client="198.51.100.7"),
        scope((b"x-forwarded-for", b"198.51.100.7")),
        scope((b"origin", b"http://evil")),
        scope((b"host", b"evil")),
        scope((b"authorization", b"Bearer other")),
        scope(path="/inbox/deliver", method="POST"),
        scope(path="/mcp", method="POST"),
        scope(method="DELETE"),
    ],
)
async def test_anything_else_goes_to_django(visits: Visits, other: Any) -> None:
    assert await visit(visits, other) == "django"


async def test_the_next_poll_of_a_line_whose_token_was_looked_up_meanwhile_is_answered_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visits = Visits(valid_s=0.0)
    visits.note(scope(), ADA)
    monkeypatch.setattr(hub, "_valid_at", {})
    hub.revoke({ADA.token, "other"}, {ADA.token}, time.monotonic())
    assert await visit(visits, scope()) == "inbox"
    # What it brings is an answer: the database is asked whose token it is.
    assert await visit(visits, scope(method="POST")) == "django"
    hub.revoke({ADA.token, "other"}, {ADA.token}, time.monotonic() - POLL_VALID_S)
    assert await visit(visits, scope()) == "django"
    hub.revoke({ADA.token, "other"}, {"other"}, time.monotonic())
    assert await visit(visits, scope()) == "django"


async def test_after_a_while_the_database_is_asked_again() -> None:
    visits = Visits(valid_s=0.0, key_valid_s=3600)
    visits.note(scope(), ADA)
    assert await visit(visits, scope()) == "django"


def test_pages_of_browsers_are_never_noted() -> None:
    visits = Visits()
    visits.note(scope((b"origin", b"http://league")), ADA)
    visits.note(None, ADA)
    assert not visits._known
