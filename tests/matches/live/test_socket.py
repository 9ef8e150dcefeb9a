"""Live pages as a browser sees them: join, snapshot, then whole fragments with a sequence number."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from matches.audience import pages
from matches.audience.pages import KINDS, PageKey
from matches.league import lifecycle
from matches.live import hub as hubs
from matches.live.socket import TRY_LATER, Times
from matches.models import League
from tests import factories as make
from tests.matches.agent_server import PATIENCE_S, Agents
from tests.matches.live.browsing import BOARD, MATCH, browsing, serving, socket_of

pytestmark = pytest.mark.django_db(transaction=True)
CHOICE = re.compile(r"\b(even|odd)\b")


def rendered(key: PageKey) -> Callable[[], dict[str, str]]:
    def render() -> dict[str, str]:
        fragments = pages.fragments(key, "en")
        assert fragments is not None
        return fragments

    return render


@pytest.mark.parametrize(("key", "names"), [(BOARD, KINDS["board"].fragments), (MATCH, KINDS["match"].fragments)])
async def test_a_snapshot_has_every_fragment_of_the_page(
    db_thread: Agents, key: PageKey, names: tuple[str, ...]
) -> None:
    await db_thread.in_db(make.running_league)
    expected = await db_thread.in_db(rendered(key))
    async with browsing(key) as browser:
        assert await browser.frame() == {"type": "snapshot", "seq": 1, "fragments": expected}
    assert tuple(expected) == names


async def test_a_change_comes_as_the_fragments_that_changed(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD) as browser:
        before = (await browser.frame())["fragments"]
        await db_thread.in_db(lambda: lifecycle.pause(league_id="fall"))
        after = await db_thread.in_db(rendered(BOARD))
        changed = {name: html for name, html in after.items() if html != before[name]}
        assert set(changed) == {"header", "feed"}
        received, seq = {}, 1
        # They come in two frames if the page was being rendered at the time: with the old header and the new feed.
        while received != changed:
            frame = await browser.frame()
            assert (frame["type"], frame["from"], frame["seq"]) == ("frame", seq, seq + 1)
            assert frame["fragments"].keys() <= changed.keys() - received.keys(), "each comes once, and no other one"
            received |= frame["fragments"]
            seq += 1


async def test_a_page_gets_frames_of_its_own_match_only(db_thread: Agents) -> None:
    made = await db_thread.in_db(make.running_league)
    async with browsing(MATCH) as browser:
        await browser.frame()
        await db_thread.in_db(lambda: make.progress(made.match("R1M2"), joined=["P03"]))
        await db_thread.in_db(lambda: make.progress(made.match("R1M1"), joined=["P01"]))
        frame = await browser.frame()
    changed = {"match_header", "match_board", "match_transcript"}
    assert (frame["from"], frame["seq"], set(frame["fragments"])) == (1, 2, changed)


async def test_after_two_unacknowledged_frames_further_changes_come_as_one_frame(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD) as browser:
        await browser.frame(ack=False)
        await db_thread.in_db(lambda: lifecycle.pause(league_id="fall"))
        assert (await browser.frame(ack=False))["seq"] == 2
        page = hubs.hub._pages[BOARD, "en"]
        for number, change in ((3, lifecycle.resume), (4, lifecycle.pause)):
            await db_thread.in_db(lambda change=change: change(league_id="fall"))
            await db_thread.until(lambda number=number: page.seq == number)
        assert browser.has_read_everything
        await browser.say({"type": "ack"})
        frame = await browser.frame()
        assert (frame["from"], frame["seq"]) == (2, 4)
        assert browser.fragments == await db_thread.in_db(rendered(BOARD))


async def test_a_resync_request_is_answered_with_a_snapshot(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD) as browser:
        first = await browser.frame()
        await browser.say({"type": "resync"})
        assert await browser.frame() == first


async def test_acknowledgements_of_frames_that_were_not_sent_are_ignored(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD) as browser:
        await browser.frame(ack=False)
        await db_thread.in_db(lambda: lifecycle.pause(league_id="fall"))
        await browser.frame(ack=False)
        for seq in (0, 3, 99, -1, "1", None, [1]):
            await browser.say({"type": "ack", "seq": seq})
        await db_thread.in_db(lambda: lifecycle.resume(league_id="fall"))
        await db_thread.until(lambda: hubs.hub._pages[BOARD, "en"].seq == 3)
        assert browser.has_read_everything
        # An acknowledgement of frame 2 is one of frame 1 as well.
        await browser.say({"type": "ack", "seq": 2})
        assert (await browser.frame(ack=False))["from"] == 2
        await db_thread.in_db(lambda: lifecycle.pause(league_id="fall"))
        assert (await browser.frame(ack=False))["from"] == 3


async def test_a_second_snapshot_request_waits_for_the_interval(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD, app=serving(times=Times(snapshot_interval_s=3600.0))) as browser:
        first = await browser.frame()
        await browser.say({"type": "resync"})
        assert await browser.frame() == first
        await browser.say({"type": "resync"})
        await db_thread.in_db(lambda: lifecycle.pause(league_id="fall"))
        assert (await browser.frame())["type"] == "frame"


async def test_an_early_snapshot_request_is_answered_after_the_interval(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD, app=serving(times=Times(snapshot_interval_s=0.05))) as browser:
        first = await browser.frame()
        for _ in range(3):
            await browser.say({"type": "resync"})
            assert await browser.frame() == first


async def test_a_gzipped_frame_has_the_same_content(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD) as plain:
        expected = await plain.frame()
        packed = socket_of(BOARD, query="?packed=gzip")
        assert await packed.connect() == (True, None)
        message = await packed.receive_output(timeout=PATIENCE_S)
        assert json.loads(gzip.decompress(message["bytes"])) == expected
        await packed.disconnect()


async def test_other_messages_of_a_browser_are_ignored(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD) as browser:
        await browser.frame()
        for junk in (" ", "{", "[]", "5", '"ack"', '{"type":"drop"}', '{"type":' + "1" * 300 + "}"):
            await browser.say(junk)
        await browser.say({"type": "resync"})
        assert (await browser.frame())["type"] == "snapshot"


@pytest.mark.parametrize("key", [PageKey("board", "nowhere"), PageKey("match", "fall", "R9M9")])
async def test_the_socket_of_a_missing_page_is_closed_with_4404(db_thread: Agents, key: PageKey) -> None:
    await db_thread.in_db(make.running_league)
    socket = socket_of(key)
    assert await socket.connect(timeout=PATIENCE_S) == (True, None)
    assert await socket.receive_output(timeout=PATIENCE_S) == {"type": "websocket.close", "code": 4404}
    await socket.wait(timeout=PATIENCE_S)


async def test_the_socket_of_a_page_that_cannot_be_rendered_is_closed_with_try_later(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    await db_thread.in_db(lambda: League.objects.update(settings={"no_such_setting": 1}))
    socket = socket_of(BOARD)
    assert await socket.connect(timeout=PATIENCE_S) == (True, None)
    assert await socket.receive_output(timeout=PATIENCE_S) == {"type": "websocket.close", "code": TRY_LATER}
    await socket.wait(timeout=PATIENCE_S)


async def test_a_socket_from_a_foreign_origin_is_refused(db_thread: Agents) -> None:
    await db_thread.in_db(make.running_league)
    for origin in ("http://evil.example", "http://testserver.evil.example", "null", None):
        connected, _ = await socket_of(BOARD, origin).connect(timeout=PATIENCE_S)
        assert connected is False, origin


async def test_an_old_snapshot_with_its_frames_equals_a_new_snapshot(db_thread: Agents) -> None:
    made = await db_thread.in_db(lambda: make.league(players=4, auto_advance=True, announce_wait_s=0))
    async with browsing(BOARD) as board:
        await board.frame()
        await db_thread.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await db_thread.in_db(make.look)
        async with browsing(MATCH) as match:
            await match.frame()
            for state in ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"):
                lines = [make.entry(len(state))]
                await db_thread.in_db(
                    lambda state=state, lines=lines: make.progress(made.match("R1M1"), state=state, transcript=lines)
                )
            await db_thread.in_db(lambda: make.report(made.match("R1M1"), None))
            for _ in range(3):
                await db_thread.in_db(lambda: make.finish_round(made))
                await db_thread.in_db(make.look)
            for browser, key in ((board, BOARD), (match, MATCH)):
                await browser.catch_up(await db_thread.in_db(rendered(key)))
                seen = [frame["seq"] for frame in browser.frames]
                assert [frame.get("from") for frame in browser.frames] == [None, *seen[:-1]]
                async with browsing(key) as late:
                    assert (await late.frame())["fragments"] == browser.fragments
    assert (await db_thread.in_db(lambda: made.league.state)) == "COMPLETED"


async def test_no_choice_is_shown_before_the_draw(db_thread: Agents) -> None:
    made = await db_thread.in_db(lambda: make.running_league(players=2))
    client = Client()

    def shown_choices(**changes: Any) -> list[str]:
        """Report progress; what the pages and the API show then."""
        make.progress(made.match("R1M1"), joined=["P01", "P02"], **changes)
        paths = ("/", "/leagues/fall/", "/leagues/fall/matches/R1M1/", "/api/leagues/fall/matches/R1M1")
        return [choice for path in paths for choice in CHOICE.findall(client.get(path).content.decode())]

    call = make.entry(0, message_type="CHOOSE_PARITY_CALL", method="choose_parity", body={})
    answer = make.entry(1, sender="player:P01", method="", body={"parity_choice": "odd"})
    async with browsing(BOARD) as board, browsing(MATCH) as match:
        for browser in (board, match):
            await browser.frame()
        shown = await db_thread.in_db(
            lambda: shown_choices(state="COLLECTING_CHOICES", locked_in=["P01"], transcript=[call])
        )
        for browser, key in ((board, BOARD), (match, MATCH)):
            await browser.catch_up(await db_thread.in_db(rendered(key)))
            assert CHOICE.findall(json.dumps(browser.frames)) == []
            assert "has locked in" in json.dumps(browser.fragments)
        assert shown == []
        shown = await db_thread.in_db(lambda: shown_choices(state="DRAWING_NUMBER", transcript=[answer]))
        await match.catch_up(await db_thread.in_db(rendered(MATCH)))
        assert (set(shown), set(CHOICE.findall(json.dumps(match.frames)))) == ({"odd"}, {"odd"})


@pytest.mark.parametrize(("query", "language"), [("", "en"), ("?language=he", "he"), ("?language=xx", "en")])
async def test_a_socket_gets_the_page_in_the_language_of_its_query(
    db_thread: Agents, query: str, language: str
) -> None:
    await db_thread.in_db(make.running_league)
    async with browsing(BOARD, query) as browser:
        await browser.frame()
        assert list(hubs.hub._pages) == [(BOARD, language)]
