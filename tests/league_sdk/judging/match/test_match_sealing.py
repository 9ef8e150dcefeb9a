"""What a referee stores before its players hear how a match ended, and how it announces another referee's verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from league_sdk.asking.clock import Clock
from league_sdk.judging.match.brief import Sealed, read_brief
from league_sdk.judging.match.ending import Verdict, announce_sealed
from league_sdk.judging.match.play import play_match
from league_sdk.judging.worker.heartbeat import Heartbeat, RunningMatch
from league_sdk.judging.worker.match_runner import LeagueVerdictStore, SealRefused
from league_sdk.protocol.states import ResultStatus
from league_sdk.transport.client import TimedOut
from league_sdk.transport.policy import EndpointPolicy
from tests.league_sdk.judging.match.test_match_turn_based import CALL, OVER, OtherGame, moves
from tests.league_sdk.judging.scripted import JOIN, NOT_LISTENING, SILENCE, A, B, ScriptedMatch, brief
from tests.league_sdk.judging.staged import WIN, settle
from tests.league_sdk.judging.starts import START, Link


@dataclass
class RecordedMatch(OtherGame):
    """A match whose league manager records moves and verdicts.

    Attributes:
        records: what was recorded, and what was sent to the players and published by then.
        broken: at which record the league manager is gone.
    """

    records: list[tuple[str, Any, int, str]] = field(default_factory=list)
    broken: str = ""

    async def play(self) -> Verdict:
        return await play_match(self.talk(), self.game, rng=self, store=self)

    async def record_moves(self) -> None:
        self._keep("moves", [list(one) for one in self.log.moves])

    async def seal(self, played: Verdict) -> None:
        self._keep("seal", played)

    def _keep(self, what: str, value: Any) -> None:
        self._publish()
        self.records.append((what, value, len(self.sent), str(self.published)))
        if self.broken == what:
            raise ConnectionError("the league manager is gone")


async def test_each_move_is_recorded_before_the_other_player_is_asked() -> None:
    scripted = RecordedMatch(moves={A: moves(4, 0, 8), B: moves(1, 2)})
    played = await scripted.play()
    assert [value for what, value, _, _ in scripted.records if what == "moves"] == [
        [[A, 4]],
        [[A, 4], [B, 1]],
        [[A, 4], [B, 1], [A, 0]],
        [[A, 4], [B, 1], [A, 0], [B, 2]],
    ]
    # Two invitations and one call more each time.
    assert [sent for what, _, sent, _ in scripted.records] == [3, 4, 5, 6, 7]
    assert scripted.records[-1][:2] == ("seal", played)


async def test_the_last_move_is_hidden_before_the_seal() -> None:
    scripted = RecordedMatch(moves={A: moves(4, 0, 8), B: moves(1, 2)})
    await scripted.play()
    before = scripted.records[-1][3]
    assert "'choice': 2" in before
    assert "'choice': 8" not in before


@pytest.mark.parametrize("broken", ["moves", "seal"])
async def test_no_player_is_told_anything_that_could_not_be_stored(broken: str) -> None:
    scripted = RecordedMatch(moves={A: moves(4, 0, 8), B: moves(1, 2)}, broken=broken)
    with pytest.raises(ConnectionError):
        await scripted.play()
    types = [one.type for one in scripted.sent]
    assert OVER not in types
    assert types.count(CALL) == (1 if broken == "moves" else 5)


@pytest.mark.parametrize("absent", [[SILENCE] * 4, [NOT_LISTENING] * 4])
async def test_a_technical_loss_before_the_first_move_is_sealed(absent: list[Any]) -> None:
    scripted = RecordedMatch(joins={B: absent})
    played = await scripted.play()
    assert [(what, value) for what, value, _, _ in scripted.records] == [("seal", played)]
    assert (played.winner, scripted.to(B, OVER)[-1].message["game_result"]["winner_player_id"]) == (A, A)


async def test_the_next_attempt_continues_from_the_recorded_moves() -> None:
    earlier = ((A, 4), (B, 1), (A, 0), (B, 2))
    scripted = RecordedMatch(moves={A: moves(8)}, brief=replace(brief(attempt=2), moves=earlier))
    played = await scripted.play()
    assert (played.winner, [one.player_id for one in scripted.to(A, CALL) + scripted.to(B, CALL)]) == (A, [A])
    assert scripted.records[-1][0] == "seal"


async def test_an_attempt_with_all_moves_on_record_asks_for_none() -> None:
    earlier = ((A, 4), (B, 1), (A, 0), (B, 2), (A, 8))
    scripted = RecordedMatch(brief=replace(brief(attempt=2), moves=earlier))
    assert (await scripted.play()).winner == A
    assert scripted.to(A, CALL) + scripted.to(B, CALL) == []


@pytest.mark.parametrize("ends", [[JOIN], [NOT_LISTENING] * 2, [SILENCE]])
async def test_a_sealed_verdict_is_announced_without_asking_anything(ends: list[Any]) -> None:
    sealed = Sealed(1, "conv-of-the-first", ResultStatus.WIN, "x", {"drawn_number": 3}, B)
    sealed_brief = replace(brief(attempt=3), seals=True, sealed=sealed, draw_seed=bytes(32))
    scripted = ScriptedMatch(brief=sealed_brief, ends={A: ends})
    played = await announce_sealed(scripted.talk())
    assert {one.type for one in scripted.sent} == {OVER}
    for player in (A, B):
        message = scripted.to(player, OVER)[0].message
        assert (message["attempt"], message["conversation_id"]) == (1, "conv-of-the-first")
        assert (message["game_result"]["winner_player_id"], message["game_result"]["drawn_number"]) == (B, 3)
    assert (played.status, played.winner) == ("WIN", B)


# -- what the league manager confirms -----------------------------------------------------------------------


@pytest.fixture
async def sealing() -> AsyncIterator[tuple[Link, RunningMatch, LeagueVerdictStore, asyncio.Event]]:
    """A link to the league manager, a match whose heartbeats go out at once, its store, and whether it was lost."""
    link, lost = Link(), asyncio.Event()
    running: dict[Any, RunningMatch] = {}
    heartbeat = Heartbeat(
        link,  # type: ignore[arg-type]
        running,
        Clock(),
        lost=lambda _: lost.set(),
        handed_back=running.pop,  # type: ignore[arg-type]
    )
    own_brief = read_brief(START | {"seals": True}, referee_id="REF01", referee_endpoint="http://localhost:8001/mcp")
    one = running[own_brief.key] = heartbeat.start_match(own_brief, EndpointPolicy())

    async def keep_sending() -> None:
        while True:
            await heartbeat.wait_until_due()
            try:
                await heartbeat.send()
            except TimedOut:
                # As in a referee: the heartbeat is repeated.
                heartbeat.mark_changed(own_brief.key)
            await asyncio.sleep(0)

    task = asyncio.create_task(keep_sending())
    yield link, one, LeagueVerdictStore(one, heartbeat), lost
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


Sealing = tuple[Link, RunningMatch, LeagueVerdictStore, asyncio.Event]


def answering(link: Link, *answers: str) -> None:
    """The league manager gives these answers in turn; for an empty one it does not answer."""
    remaining = list(answers)

    async def answer(matches: list[dict[str, Any]]) -> list[Any]:
        status = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        if not status:
            raise TimedOut("no answer", connected=True)
        return [
            {name: one[name] for name in ("league_id", "match_id", "attempt")} | {"status": status} for one in matches
        ]

    link.on_progress = answer


async def test_a_seal_is_sent_until_it_is_answered(sealing: Sealing) -> None:
    link, running, store, _ = sealing
    answering(link, "", "", "sealed")
    await asyncio.wait_for(store.seal(WIN), 10)
    seals = [one["seal"] for beat in link.heartbeats for one in beat if "seal" in one]
    assert (running.sealed, len(seals), seals[0]["conversation_id"]) == (True, 3, "conv-r1m1-001")
    assert (seals[0]["winner_player_id"], seals[0]["draw"]) == ("P01", 8)


async def test_a_refused_seal_raises_an_error(sealing: Sealing) -> None:
    link, running, store, _ = sealing
    answering(link, "refused")
    with pytest.raises(SealRefused):
        await asyncio.wait_for(store.seal(WIN), 10)
    assert not running.sealed


@pytest.mark.parametrize("what", ["seal", "moves"])
async def test_a_lost_match_is_never_confirmed(sealing: Sealing, what: str) -> None:
    link, running, store, lost = sealing
    answering(link, "lost")
    waiting = asyncio.create_task(store.seal(WIN) if what == "seal" else store.record_moves())
    await asyncio.wait_for(lost.wait(), 10)
    await settle()
    assert (waiting.done(), running.sealed) == (False, False)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_call_does_not_confirm_moves_made_after_it_was_sent(sealing: Sealing) -> None:
    link, running, store, _ = sealing
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(matches: list[dict[str, Any]]) -> list[Any]:
        begun.set()
        await go_on.wait()
        return []

    link.on_progress = slow
    running.log.set_state(running.log.state, some_moment())
    await asyncio.wait_for(begun.wait(), 10)
    running.log.moves.append(["P01", 4])
    waiting = asyncio.create_task(store.record_moves())
    await settle()
    go_on.set()
    await asyncio.wait_for(waiting, 10)
    assert [one.get("moves") for beat in link.heartbeats for one in beat][:2] == [None, [["P01", 4]]]


def some_moment() -> Any:
    """Any moment: the test does not depend on it."""
    return ScriptedMatch().clock.now()
