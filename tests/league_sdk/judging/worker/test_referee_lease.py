"""Heartbeats, leases and leaving (ruling, section 10)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from league_sdk.judging.worker import heartbeat
from league_sdk.judging.worker.league_link import Refused
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol import rpc
from league_sdk.protocol.transcript import entry
from league_sdk.transport.client import NotReached, TimedOut
from tests.league_sdk.judging.scripted import BEGIN
from tests.league_sdk.judging.staged import KEY, TAKEN, WIN, Stage, begin, in_play, settle
from tests.league_sdk.judging.starts import START, Link

ENTRIES = [entry(n=n, at=BEGIN, sender="P02", recipient="REF01", message_type="GAME_JOIN_ACK") for n in range(3)]


@asynccontextmanager
async def reporting(referee: Referee) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(referee.keep_reporting())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def refusing(error: Exception) -> Any:
    async def answer(matches: list[dict[str, Any]]) -> list[Any]:
        raise error

    return answer


# -- heartbeats -------------------------------------------------------------------------------------------


async def test_one_heartbeat_reports_every_match(referee: Referee, link: Link, stage: Stage) -> None:
    referee.start_match(START)
    await begin(referee, START | {"match_id": "R1M2"})
    log = stage.logs[KEY]
    log.join("P02")
    log.lock_in("P02")
    log.add(ENTRIES[0])
    log.add(ENTRIES[1], hidden=True)
    async with reporting(referee):
        await link.changed.wait()
    common = {"league_id": "league_2025_even_odd", "attempt": 1, "state": "WAITING_FOR_PLAYERS", "view": {}}
    expected = [
        common | {"match_id": "R1M1", "joined": ["P02"], "locked_in": ["P02"], "transcript": [ENTRIES[0]]},
        common | {"match_id": "R1M2", "joined": [], "locked_in": [], "transcript": []},
    ]
    assert [{name: one[name] for name in expected[0]} for one in link.heartbeats[0]] == expected


async def test_a_league_with_a_long_lease_does_not_delay_idle_heartbeats(
    referee: Referee, link: Link, stage: Stage
) -> None:
    stage.clock.at = 1000.0
    patient = {"settings": START["settings"] | {"referee_lease_s": 600}}
    await begin(referee, START | patient)
    stage.logs[KEY].join("P02")
    async with reporting(referee):
        await link.changed.wait()
        link.changed.clear()
        # Nothing is new, and a quarter of that lease is 150 s.
        stage.clock.at = 1000.0 + heartbeat.IDLE_INTERVAL_S
        await link.changed.wait()
    assert [[one["match_id"] for one in matches] for matches in link.heartbeats] == [["R1M1"], []]


async def test_an_answer_that_does_not_come_is_not_waited_for_until_a_lease_ends(link: Link, stage: Stage) -> None:
    def never(key: Any) -> None:
        raise AssertionError(f"nobody plays {key}")

    async def silent(matches: list[dict[str, Any]]) -> list[Any]:
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    link.on_progress = silent
    beats = heartbeat.Heartbeat(link, {}, stage.clock, lost=never, handed_back=never)  # type: ignore[arg-type]
    beats.answer_s = 0.01
    for patience_s in (0.02, 0.04):
        beats.leave()
        with pytest.raises(TimeoutError):
            await beats.send()
        assert beats.answer_s == patience_s
    link.on_progress = None
    beats.leave()
    await beats.send()
    assert beats.answer_s == heartbeat.ANSWER_S
    assert link.heartbeats == [[], [], []]


async def test_entries_that_did_not_arrive_are_sent_again(referee: Referee, link: Link, stage: Stage) -> None:
    await begin(referee)
    log = stage.logs[KEY]
    log.add(ENTRIES[0])
    link.on_progress = refusing(TimedOut("no answer within 10 s", connected=True))
    async with reporting(referee):
        await link.changed.wait()
        await settle()
        link.on_progress = None
        log.add(ENTRIES[1])
        await settle()
        log.add(ENTRIES[2])
        await settle()
    sent = [[one["n"] for one in heartbeat[0]["transcript"]] for heartbeat in link.heartbeats]
    assert [numbers for numbers in sent if numbers] == [[0], [0, 1], [2]]


async def test_a_heartbeat_stays_below_64_kib(referee: Referee, link: Link, stage: Stage) -> None:
    await begin(referee)
    for n in range(30):
        body = "x" * 3500
        stage.logs[KEY].add(entry(n=n, at=BEGIN, sender="P01", recipient="REF01", message_type="X", body=body))
    async with reporting(referee):
        await link.changed.wait()
        await settle()
    assert max(sum(len(str(one)) for one in heartbeat) for heartbeat in link.heartbeats) < 60 * 1024
    first = [one["n"] for one in link.heartbeats[0][0]["transcript"]]
    assert first == list(range(len(first)))
    assert 5 < len(first) < 30


async def test_what_does_not_fit_into_one_heartbeat_is_sent_with_the_next(link: Link, stage: Stage) -> None:
    referee = Referee(link, endpoint="http://localhost:8001/mcp", max_concurrent=64, uses=stage.uses)  # type: ignore[arg-type]
    for number in range(64):
        referee.start_match(START | {"match_id": f"R1M{number}"})
    await settle()
    for key, log in stage.logs.items():
        log.set_view({"board": "x" * 1500})
        for n in range(4):
            log.add(entry(n=n, at=BEGIN, sender="P01", recipient=key[1], message_type="X", body="x" * 3500))
    async with reporting(referee):
        while sum(len(item["transcript"]) for heartbeat in link.heartbeats for item in heartbeat) < 4 * 64:
            await link.changed.wait()
            link.changed.clear()
    assert max(len(rpc.dumps(heartbeat)) for heartbeat in link.heartbeats) < 63 * 1024
    # The transcript of one match does not delay the board of another.
    assert {item["match_id"] for heartbeat in link.heartbeats[:3] for item in heartbeat} == {
        key[1] for key in stage.logs
    }
    link.heartbeats.clear()
    await referee.drain(0)
    assert max(len(rpc.dumps(heartbeat)) for heartbeat in link.heartbeats) < 63 * 1024
    assert sorted(item["match_id"] for heartbeat in link.heartbeats for item in heartbeat) == sorted(
        key[1] for key in stage.logs
    )
    await referee.aclose()


async def test_a_match_without_news_is_reported_after_a_quarter_of_its_lease(
    referee: Referee, link: Link, stage: Stage
) -> None:
    stage.clock.at = begun = 1000.0
    referee.start_match(START | {"settings": {"referee_lease_s": 8}})
    await begin(referee, START | {"match_id": "R1M2", "settings": {"referee_lease_s": 80}})
    log = stage.logs[KEY]
    async with reporting(referee):
        for after_s in (0.0, 1.9, 2.1, 19.9, 20.1):
            stage.clock.at = begun + after_s
            log.join(f"P{after_s}")
            await settle()
    reported = [{item["match_id"] for item in heartbeat} for heartbeat in link.heartbeats]
    both, one = {"R1M1", "R1M2"}, {"R1M1"}
    assert reported == [both, one, one, one, both]


# -- leases -----------------------------------------------------------------------------------------------


async def test_a_match_that_is_lost_is_given_up(referee: Referee, link: Link, stage: Stage) -> None:
    referee.start_match(START)
    await begin(referee, START | {"match_id": "R1M2"})

    async def lost(matches: list[dict[str, Any]]) -> list[Any]:
        named = {name: matches[0][name] for name in ("league_id", "match_id", "attempt")}
        return [named | {"status": "lost"}, {"match_id": "R1M2", "status": "ok"}, "?"]

    link.on_progress = lost
    async with reporting(referee):
        await stage.gave_up.wait()
        await settle()
    assert (stage.given_up, in_play(referee), in_play(referee, "R1M2")) == ([KEY], False, True)
    assert link.reports == []


async def test_a_match_is_given_up_after_three_quarters_of_its_lease_without_a_heartbeat(
    referee: Referee, link: Link, stage: Stage
) -> None:
    stage.clock.at = begun = 1000.0
    referee.start_match(START | {"settings": {"referee_lease_s": 8}})
    await begin(referee, START | {"match_id": "R1M2", "settings": {"referee_lease_s": 600}})
    link.on_progress = refusing(NotReached("no connection", connected=False))
    async with reporting(referee):
        stage.clock.at = begun + 5.9
        stage.logs[KEY].join("P01")
        await settle()
        assert (in_play(referee), in_play(referee, "R1M2")) == (True, True)
        stage.clock.at = begun + 6.1
        stage.logs[KEY].join("P02")
        await settle()
        assert (in_play(referee), in_play(referee, "R1M2")) == (False, True)
    assert stage.given_up == [KEY]


async def test_a_heartbeat_that_is_not_answered_does_not_outlast_the_lease(
    referee: Referee, link: Link, stage: Stage
) -> None:
    stage.clock.at = begun = 1000.0
    never = asyncio.Event()

    async def silent(matches: list[dict[str, Any]]) -> list[Any]:
        stage.clock.at = begun + 6.1
        await never.wait()
        return []

    link.on_progress = silent
    await begin(referee)
    stage.clock.at = begun + 5.99
    async with reporting(referee):
        await stage.gave_up.wait()
    assert (stage.given_up, in_play(referee)) == ([KEY], False)


async def test_a_match_that_no_accepted_heartbeat_reported_is_given_up(
    referee: Referee, link: Link, stage: Stage
) -> None:
    """A heartbeat that was accepted renews the leases of the matches that it reports, and no other."""
    stage.clock.at = begun = 1000.0
    short = {"settings": {"referee_lease_s": 8}}
    referee.start_match(START | short)
    await begin(referee, START | short | {"match_id": "R1M2"})
    async with reporting(referee):
        await settle()
        stage.clock.at = begun + 1.9
        stage.logs[(KEY[0], "R1M2", 1)].join("P01")
        await settle()
        assert [[one["match_id"] for one in matches] for matches in link.heartbeats] == [["R1M1", "R1M2"], ["R1M2"]]
        link.on_progress = refusing(NotReached("no connection", connected=False))
        stage.clock.at = begun + 6.1
        stage.logs[KEY].join("P01")
        await settle()
        assert (in_play(referee), in_play(referee, "R1M2")) == (False, True)


async def test_a_match_that_was_given_later_is_kept_for_longer(referee: Referee, link: Link, stage: Stage) -> None:
    """Each match has its own lease: that of a match which was given later has not expired yet."""
    stage.clock.at = begun = 1000.0
    await begin(referee, START | {"settings": {"referee_lease_s": 8}})
    async with reporting(referee):
        await settle()
        link.on_progress = refusing(NotReached("no connection", connected=False))
        stage.clock.at = begun + 5
        await begin(referee, START | {"match_id": "R1M2", "settings": {"referee_lease_s": 8}})
        stage.clock.at = begun + 6.1
        stage.logs[KEY].join("P01")
        await settle()
        assert (in_play(referee), in_play(referee, "R1M2")) == (False, True)


async def test_the_lease_of_a_match_begins_when_it_is_given(referee: Referee, link: Link, stage: Stage) -> None:
    """The last heartbeat of an idle referee may be older than a short lease: no reason to give up its first match."""
    stage.clock.at = begun = 1000.0
    link.on_progress = refusing(NotReached("no connection", connected=False))
    referee.start_match(START | {"settings": {"referee_lease_s": 1}})
    async with reporting(referee):
        await settle()
        assert in_play(referee)
        stage.clock.at = begun + 0.76
        stage.logs[KEY].join("P01")
        await settle()
        assert not in_play(referee)


@pytest.mark.parametrize("code", ["E012", "E013"])
async def test_a_referee_that_is_unknown_gives_up_its_matches_and_registers_again(
    referee: Referee, link: Link, stage: Stage, code: str
) -> None:
    await begin(referee)
    link.on_progress = refusing(Refused(code, "who are you?"))
    async with reporting(referee):
        await stage.gave_up.wait()
        await settle()
        link.on_progress = None
    assert (stage.given_up, link.registrations, in_play(referee)) == ([KEY], 1, False)


async def test_a_heartbeat_refused_for_its_content_changes_nothing(referee: Referee, link: Link, stage: Stage) -> None:
    await begin(referee)
    link.on_progress = refusing(Refused("E002", "not readable"))
    async with reporting(referee) as task:
        await link.changed.wait()
        await settle()
        assert not task.done()
    assert (link.registrations, in_play(referee)) == (0, True)


# -- leaving ----------------------------------------------------------------------------------------------


async def test_a_leaving_referee_hands_back_its_matches(referee: Referee, link: Link, stage: Stage) -> None:
    await begin(referee)
    stage.logs[KEY].add(ENTRIES[0])
    await referee.drain(0)
    await settle()
    refusal = {"accepted": False, "reason": "this referee is leaving"}
    assert referee.start_match(START | {"match_id": "R1M2"}) == refusal
    assert referee.start_match(START) == TAKEN
    (item,) = link.heartbeats[-1]
    assert (item["match_id"], item["state"], item["transcript"]) == ("R1M1", "HANDED_BACK", [ENTRIES[0]])
    assert (stage.given_up, link.reports) == ([KEY], [])


async def test_a_draining_referee_waits_for_a_match_near_its_end(referee: Referee, link: Link, stage: Stage) -> None:
    await begin(referee)
    leaving = asyncio.create_task(referee.drain(60))
    await settle()
    stage.end(WIN)
    await leaving
    assert ([one["status"] for one in link.reports], link.heartbeats) == (["WIN"], [])
