"""Trials: what is sent, how the answer is read, and that an agent has one trial at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from channels.layers import BaseChannelLayer, InMemoryChannelLayer
from django.utils.translation import override

from agents_registry.models import Agent
from league_sdk.dialects.answers import Understanding
from league_sdk.transport.client import Client
from league_sdk.transport.policy import EndpointPolicy
from leaguesite.environment import Json
from matches.audience.pages.trial import shown as shown_trial
from matches.conducting import trial_copies, trials
from matches.conducting.trials import State, Trial
from matches.inbox.hub import hub
from matches.league.errors import ActionRefused
from tests.matches.agent_server import PATIENCE_S, Agents, serving
from tests.matches.conftest import on_layer

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")

CALL = {
    "protocol": "league.v2",
    "message_type": "CHOOSE_PARITY_CALL",
    "sender": "referee:REF01",
    "timestamp": "2025-01-15T10:15:00Z",
    "conversation_id": "conv-r1m1-001",
    "auth_token": "tok_…",
    "match_id": "R1M1",
    "player_id": "P01",
    "deadline": "2025-01-15T10:15:30Z",
    "parity_context": {"deadline": "2025-01-15T10:15:30Z", "list": [{"deadline": 1}]},
}
MOVE = CALL | {"message_type": "GAME_MOVE_CALL", "valid_options": [3, 4]}
LOST_S = -trial_copies.LOST_AFTER_S - 1
"""The limit of a trial that counts as lost as soon as it is asked for."""
INVITATION = CALL | {"message_type": "GAME_INVITATION"}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Let each trial be known to this process only, also where the tests run with Redis."""
    trials._trials.clear()
    with on_layer(InMemoryChannelLayer()):
        yield
    trials._trials.clear()


def agent(endpoint: str = "http://127.0.0.1:9/mcp", pk: int = 1, **how: Any) -> Agent:
    return Agent(pk=pk, code="P01", endpoint=endpoint, **how)


def ask(of: Agent, message: dict[str, Any] | None = None, limit_s: float = 10) -> Trial:
    """Ask for the first exchange of a match's first attempt to be sent again."""
    return trials.ask(
        agent=of, exchange="1.0", message=message or CALL, choice_field="parity_choice", limit_s=limit_s
    )  # fmt: skip


@asynccontextmanager
async def sending(refused_ports: tuple[int, ...] = ()) -> AsyncIterator[Agents]:
    """The loop that sends trials, and agents."""
    client = Client(agent_type="league_manager", policy=EndpointPolicy(refused_ports=refused_ports))
    async with serving() as agents:
        task = asyncio.create_task(trials.keep_sending(client))
        try:
            yield agents
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await client.aclose()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, as a page that is loaded again and again does: nobody is told of an outcome."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - a trial has no event
            await asyncio.sleep(0.01)


async def outcome(pk: int = 1) -> Trial:
    """The trial when it is done."""
    await until(lambda: (known := trials.of(pk)) is not None and known.state == State.DONE)
    trial = trials.of(pk)
    assert trial is not None
    return trial


def test_a_trial_has_a_new_conversation_id_new_times_and_no_real_token() -> None:
    trial = ask(agent())
    message = dict(trial.message)
    assert message["conversation_id"].startswith("trial-") and message["conversation_id"] != CALL["conversation_id"]
    assert message["auth_token"] == "tok_trial"
    assert message["timestamp"] != CALL["timestamp"] and message["deadline"] > message["timestamp"]
    assert message["parity_context"] == {"deadline": message["deadline"], "list": [{"deadline": message["deadline"]}]}
    same = {"protocol", "message_type", "sender", "match_id", "player_id"}
    assert {name: message[name] for name in same} == {name: CALL[name] for name in same}


def test_trials_are_limited_per_agent_and_in_total() -> None:
    ask(agent())
    with pytest.raises(ActionRefused, match="on its way to P01"):
        ask(agent())
    for pk in range(2, trials.MAX_OPEN_TRIALS + 1):
        ask(agent(pk=pk))
    with pytest.raises(ActionRefused, match="in a minute"):
        ask(agent(pk=trials.MAX_OPEN_TRIALS + 1))


def test_a_trial_that_no_process_sends_counts_as_lost() -> None:
    ask(agent(), limit_s=LOST_S)
    lost = trials.of(1)
    assert lost is not None and shown_trial(lost).word == "bad"
    ask(agent())


def test_the_number_of_kept_trials_is_limited() -> None:
    last = trials.MAX_KEPT_TRIALS + 1
    for pk in range(1, last + 1):
        ask(agent(pk=pk), limit_s=LOST_S)
    assert [trials.of(pk) is not None for pk in (1, 2, last)] == [False, True, True]


def reply_with(**result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 9001, "result": result}


ANSWERS = [
    (CALL, reply_with(parity_choice="odd"), Understanding.ANSWERED, "good"),
    (CALL, reply_with(choice="even"), Understanding.ANSWERED, "good"),
    (CALL, reply_with(parity_choice="maybe"), Understanding.ANSWERED, "bad"),
    (CALL, reply_with(status="received"), Understanding.RECEIPT, "vague"),
    (CALL, reply_with(), Understanding.VAGUE, "vague"),
    (CALL, {"error": "unknown"}, Understanding.NOT_UNDERSTOOD, "bad"),
    (INVITATION, reply_with(accept=True), Understanding.ANSWERED, "good"),
    (INVITATION, reply_with(accept=False), Understanding.ANSWERED, "bad"),
    (CALL | {"message_type": "GAME_OVER"}, reply_with(status="ok"), Understanding.ANSWERED, "good"),
    (MOVE, reply_with(move="4"), Understanding.ANSWERED, "good"),
    (MOVE, reply_with(move=5), Understanding.VAGUE, "vague"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "answer", "understanding", "word"), ANSWERS)
async def test_the_answer_to_a_trial_is_read_as_a_referee_reads_it(
    message: dict[str, Any], answer: Any, understanding: Understanding, word: str
) -> None:
    async with sending() as agents:
        agents.answers["ada"] = answer
        ask(agent(agents.url("ada")), message)
        trial = await outcome()
    assert (trial.understanding, shown_trial(trial).word) == (understanding, word)
    first = agents.received["ada"][0]
    assert first["params"] == trial.message and first["id"] == 9001
    assert trial.wire[0]["status"] == 200 and trial.wire[0]["path"] == "/ada/mcp"


async def test_a_trial_is_sent_in_the_dialect_of_the_agent() -> None:
    async with sending() as agents:
        agents.answers["ada"] = reply_with(parity_choice="odd")
        ask(agent(agents.url("ada"), spoken={"CHOOSE_PARITY_CALL": "tools_call"}))
        trial = await outcome()
    assert [body["method"] for body in agents.received["ada"]] == ["tools/call"]
    assert trial.wire[trial.shown]["shape"] == "tools_call" and '"tools/call"' in shown_trial(trial).sent


async def test_a_trial_of_an_agent_behind_a_gateway_tries_no_other_path() -> None:
    """Another path is somebody else's program."""
    async with sending() as agents:
        agents.answers["ada"] = lambda _: web.Response(status=404)
        ask(agent(agents.url("ada"), program="127.0.0.1|8101/ada"))
        trial = await outcome()
    assert {one["path"] for one in trial.wire} == {"/ada/mcp"}


async def test_of_an_answer_that_is_not_json_the_beginning_is_shown_without_tokens() -> None:
    async with sending() as agents:
        agents.answers["ada"] = lambda _: web.Response(text="<h1>Oops</h1> tok_" + "a" * 32)
        ask(agent(agents.url("ada")))
        shown = shown_trial(await outcome())
    assert shown.word == "bad" and shown.text == "<h1>Oops</h1> tok_…"


async def test_a_trial_says_that_nobody_listens_or_that_the_address_is_refused() -> None:
    async with sending(refused_ports=(9,)):
        ask(agent("http://127.0.0.1:1/mcp"))
        ask(agent(pk=2))
        first, second = await outcome(1), await outcome(2)
    assert (first.problem, first.understanding) == ("no connection: Connection refused", None)
    assert second.understanding is None and second.problem != ""
    assert [shown_trial(one).word for one in (first, second)] == ["bad", "bad"]


async def test_the_time_of_a_trial_is_limited_and_a_slow_agent_delays_no_other() -> None:
    async with sending() as agents:
        agents.gates["slow"] = asyncio.Event()
        agents.answers["ada"] = reply_with(parity_choice="odd")
        ask(agent(agents.url("slow")), limit_s=0.2)
        ask(agent(agents.url("ada"), pk=2))
        assert (await outcome(2)).understanding is Understanding.ANSWERED
        slow = await outcome(1)
    assert slow.problem == "no answer within 0.2 s"


async def test_a_trial_that_is_cancelled_says_so() -> None:
    async with sending() as agents:
        agents.gates["ada"] = asyncio.Event()
        ask(agent(agents.url("ada")))
        await until(lambda: bool(agents.received["ada"]))
    assert (await outcome()).problem == "broken off"


# Several web processes --------------------------------------------------------------------------


class Cache(dict[str, bytes]):
    """Replaces Redis; while ``gone`` is set it cannot be reached."""

    gone = False

    def get(self, name: str) -> Any:  # type: ignore[override]
        self._connect()
        return Json().loads(self[name]) if name in self else None

    def set(self, name: str, value: Any, timeout: int) -> None:
        self._connect()
        self[name] = Json().dumps(value)

    def _connect(self) -> None:
        if self.gone:
            raise ConnectionError("Redis is gone")


@pytest.fixture
def shared_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cache]:
    """Several web processes, which share this cache."""
    cache = Cache()
    monkeypatch.setattr(trial_copies, "cache", cache)
    with on_layer(BaseChannelLayer()):
        yield cache


async def test_another_web_process_shows_what_became_of_a_trial(shared_cache: Cache) -> None:
    async with sending() as agents:
        trial = ask(agent(agents.url("P01")))
        await until(
            lambda: len(shared_cache) == 1 and Json().loads(next(iter(shared_cache.values())))["state"] == "done"
        )
    own_trial = trials.of(1)
    assert own_trial is not None
    trials._trials.clear()
    trial_elsewhere = trials.of(1)
    assert trial_elsewhere is not None
    assert trial_elsewhere == own_trial
    assert (trial_elsewhere.message, trial_elsewhere.state) == (trial.message, State.DONE)


def test_a_trial_that_another_web_process_sends_is_waited_for(shared_cache: Cache) -> None:
    ask(agent())
    trials._trials.clear()
    with pytest.raises(ActionRefused, match="on its way"):
        ask(agent())
    shared_cache.clear()
    ask(agent())


def test_the_newer_trial_is_shown_wherever_it_was_sent(shared_cache: Cache) -> None:
    old = ask(agent())
    trials._trials.clear()
    shared_cache.clear()
    new = ask(agent())
    trials._trials[1] = old
    trial = trials.of(1)
    assert trial is not None
    assert trial.asked_at == new.asked_at


def test_without_redis_a_trial_is_shown_by_the_process_that_was_asked_for_it(shared_cache: Cache) -> None:
    shared_cache.gone = True
    assert trials.of(1) is None
    assert ask(agent()) == trials.of(1)


def test_the_copy_that_another_version_of_the_site_stored_is_read(shared_cache: Cache) -> None:
    trial = ask(agent())
    [(name, stored)] = shared_cache.items()
    shared_cache[name] = Json().dumps({**Json().loads(stored), "begun": 12.5})
    trials._trials.clear()
    assert trials.of(1) == trial


@pytest.mark.parametrize("changes", [{"asked_at": "yesterday"}, {"state": "asleep"}, {"understanding": "guessed"}])
def test_a_copy_that_this_version_cannot_read_is_no_trial(shared_cache: Cache, changes: dict[str, str]) -> None:
    ask(agent())
    [(name, stored)] = shared_cache.items()
    shared_cache[name] = Json().dumps(Json().loads(stored) | changes)
    trials._trials.clear()
    assert trials.of(1) is None
    shared_cache[name] = Json().dumps({})
    assert trials.of(1) is None


async def test_a_trial_goes_over_the_line_of_an_agent_that_dials_out() -> None:
    dialler = agent("inbox://77", pk=77)
    async with sending():
        with hub.line(77, "poll", token="t") as line:
            ask(dialler)
            await until(lambda: hub.waiting(77))
            [offer] = hub.due(line)
            assert offer.request["params"]["conversation_id"].startswith("trial-")
            hub.answer(77, reply_with(parity_choice="odd") | {"id": offer.id})
            done = await outcome(77)
        shown = shown_trial(done)
        assert (shown.word, shown.way) == ("good", "inbox")
        assert done.body["id"] == done.wire[0]["id"] != offer.id
        # Now the agent has no line.
        ask(dialler, limit_s=0.2)
        sentence = shown_trial(await outcome(77)).sentence
        assert sentence == "No answer: was not connected: it had no poll and no socket open in time."
        with override("he"):
            assert "לא היה מחובר" in shown_trial(await outcome(77)).sentence
