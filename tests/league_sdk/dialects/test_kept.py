"""Open sessions are ended with DELETE: idle ones, and all when the caller stops."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from league_sdk.dialects.kept import KeptSessions
from league_sdk.dialects.memory import Memory
from league_sdk.dialects.session import STATELESS_VERSION, Session, open_session
from league_sdk.protocol.inbox import Way
from league_sdk.transport.client import Reply

URL = "http://127.0.0.1:8101/mcp"


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def sessions_and_deletions(clock: Clock) -> tuple[KeptSessions, list[tuple[str, str]]]:
    deleted: list[tuple[str, str]] = []

    async def delete(url: str, headers: Mapping[str, str]) -> None:
        await asyncio.sleep(0)
        deleted.append((url, headers["mcp-session-id"]))

    return KeptSessions(delete, idle_s=100, now=clock), deleted


async def test_an_idle_session_is_ended_and_the_next_call_opens_another() -> None:
    clock = Clock()
    sessions, deleted = sessions_and_deletions(clock)
    idle, busy = Memory(session=Session("s1")), Memory(session=Session("s2"))
    sessions.use(idle, URL)
    sessions.use(busy, URL)
    clock.seconds = 99
    sessions.use(busy, URL)
    await sessions.end_idle()
    assert deleted == []
    clock.seconds = 100
    await sessions.end_idle()
    assert (deleted, idle.session, idle.wants_session, len(sessions)) == ([(URL, "s1")], None, True, 1)
    assert busy.session == Session("s2")
    await sessions.aclose()


async def test_a_session_that_several_players_share_is_ended_once() -> None:
    sessions, deleted = sessions_and_deletions(Clock())
    for _ in range(3):
        sessions.use(Memory(session=Session("s1")), URL)
    sessions.use(Memory(session=Session("s1")), f"{URL}/other")
    await sessions.aclose()
    assert deleted == [(URL, "s1"), (f"{URL}/other", "s1")]


async def test_all_sessions_are_ended_when_the_caller_stops() -> None:
    sessions, deleted = sessions_and_deletions(Clock())
    for number in range(60):
        sessions.use(Memory(session=Session(f"s{number}")), f"{URL}/{number}")
    await sessions.aclose()
    assert (len(deleted), len(sessions)) == (60, 0)


async def test_a_server_without_session_ids_is_never_sent_delete() -> None:
    sessions, deleted = sessions_and_deletions(Clock())
    for session in (None, Session(), Session(version=STATELESS_VERSION)):
        sessions.use(Memory(session=session), URL)
    await sessions.aclose()
    assert (deleted, len(sessions)) == ([], 0)


async def test_no_delete_is_sent_for_a_session_that_was_opened_over_a_line() -> None:
    hello = {"result": {"protocolVersion": "2025-06-18", "capabilities": {}}}
    for way, ended in ((Way.BRIDGE, []), ("", [(URL, "s1")])):
        sessions, deleted = sessions_and_deletions(Clock())

        async def send(body: object, session: Session | None, way: str = way) -> Reply:
            await asyncio.sleep(0)
            return Reply(200, hello, "", 0.0, {"mcp-session-id": "s1"}, way=way)

        sessions.use(Memory(session=await open_session(send, lambda: 1)), URL)
        await sessions.aclose()
        assert deleted == ended


async def test_a_session_that_its_server_has_forgotten_is_forgotten_here() -> None:
    sessions, deleted = sessions_and_deletions(Clock())
    holder = Memory(session=Session("old"))
    sessions.use(holder, URL)
    holder.session = Session("new")
    sessions.use(holder, URL)
    await sessions.aclose()
    assert deleted == [(URL, "new")]


async def test_a_server_that_never_answers_delete_holds_nobody_up() -> None:
    async def silent(url: str, headers: Mapping[str, str]) -> None:
        await asyncio.Event().wait()

    sessions = KeptSessions(silent, end_s=0.01)
    sessions.use(Memory(session=Session("s1")), URL)
    await sessions.aclose()
    assert len(sessions) == 0
