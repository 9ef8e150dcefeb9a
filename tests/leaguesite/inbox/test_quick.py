"""A caller that was accepted a moment ago is answered without Django, and no other caller is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from leaguesite.inbox.answering import InboxCaller
from leaguesite.inbox.quick import POLL_VALID_S, QuickInbox, Visits
from matches.inbox.hub import hub
from matches.inbox.lines import Terms

ADA = InboxCaller(1, "203.0.113.5", "digest of a token")


def scope(*headers: tuple[bytes, bytes], path: str = "/inbox", client: str = "203.0.113.5", method: str = "GET") -> Any:
    all_headers = [(b"host", b"league"), (b"authorization", b"Bearer tok"), *headers]
    return {
        "type": "http",
        "path": path,
        "method": method,
        "scheme": "http",
        "query_string": b"wait=0",
        "headers": all_headers,
        "client": (client, 50000),
    }


async def answered_by(visits: Visits, scope: Any) -> str:
    """Which of the two answered: ``inbox`` or ``django``."""
    calls: list[str] = []

    async def django(*_: Any) -> None:
        calls.append("django")

    async def receive() -> Any:
        if not calls:
            calls.append("body")
            return {"type": "http.request", "body": b""}
        await never_disconnects()
        return None

    async def send(message: Any) -> None:
        calls.append("inbox")

    await QuickInbox(django, visits)(scope, receive, send)
    return calls[-1]


async def never_disconnects() -> None:
    """The caller keeps its connection open and sends nothing more."""
    await hub.ask(0, {}, Terms(limit_s=3600, grace_s=3600))


@pytest.fixture
def visits() -> Visits:
    known = Visits()
    known.note(scope(), ADA)
    return known


async def test_an_agent_that_was_accepted_a_moment_ago_is_answered_without_django(visits: Visits) -> None:
    assert await answered_by(visits, scope()) == "inbox"
    assert await answered_by(visits, scope((b"accept", b"*/*"), path="/inbox/")) == "inbox"


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
async def test_a_call_of_another_caller_or_another_kind_goes_to_django(visits: Visits, other: Any) -> None:
    assert await answered_by(visits, other) == "django"


async def test_a_poll_is_answered_without_django_while_the_last_lookup_of_its_token_is_recent() -> None:
    visits = Visits(valid_s=0.0)
    visits.note(scope(), ADA)
    hub.revoke({ADA.token, "other"}, {ADA.token}, time.monotonic())
    assert await answered_by(visits, scope()) == "inbox"
    # A POST contains a response, so the database is asked whose token it is.
    assert await answered_by(visits, scope(method="POST")) == "django"
    hub.revoke({ADA.token, "other"}, {ADA.token}, time.monotonic() - POLL_VALID_S)
    assert await answered_by(visits, scope()) == "django"
    hub.revoke({ADA.token, "other"}, {"other"}, time.monotonic())
    assert await answered_by(visits, scope()) == "django"


async def test_after_the_validity_period_a_call_goes_to_django_again() -> None:
    visits = Visits(valid_s=0.0, key_valid_s=3600)
    visits.note(scope(), ADA)
    assert await answered_by(visits, scope()) == "django"


def test_pages_of_browsers_are_never_noted() -> None:
    visits = Visits()
    visits.note(scope((b"origin", b"http://league")), ADA)
    visits.note(None, ADA)
    assert not visits.known
