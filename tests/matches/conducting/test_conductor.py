"""The conductor with real agents on a real port: what goes out, in which order, and how often."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents_registry.addresses.endpoints import endpoint_policy
from agents_registry.models import Agent
from agents_registry.registering import credentials, registration
from league_sdk.rules.draws import commitment
from league_sdk.transport.client import Client, NotReached
from matches.conducting import due
from matches.conducting.sender import Outcomes
from matches.inbox.keys import SeatKey
from matches.league import lifecycle
from matches.models import Delivery, Match
from matches.push.nudge import nudge
from tests import factories as make
from tests import wire
from tests.e2e.site import free_port
from tests.matches.agent_server import OK, Agents
from tests.matches.conftest import conducting, look_by

pytestmark = pytest.mark.django_db(transaction=True)


def make_league(agents: Agents, *, players: int = 2, referees: int = 1, **settings: Any) -> make.MadeLeague:
    """A league whose agents all listen at the test's server. It uses the database: call it by ``in_db``."""
    judges = [make.referee(f"Referee {n}", port=n, endpoint=agents.url(f"REF0{n}")) for n in range(1, referees + 1)]
    make.open_league("fall", **settings)
    members = [make.player(f"Player {n}", "fall", endpoint=agents.url(f"P0{n}")) for n in range(1, players + 1)]
    return make.MadeLeague("fall", members, judges)


def pending_deliveries() -> int:
    return Delivery.objects.filter(state="PENDING").count()


class WatchedClient(Client):
    """Calls ``inspect`` before each request, with the address, the body and the limit in seconds."""

    def __init__(self, inspect: Callable[[str, bytes, float], None]) -> None:
        super().__init__(agent_type="league_manager", policy=endpoint_policy())
        self._inspect = inspect

    async def post(self, url: str, message: Any, *, limit_s: float, **more: Any) -> Any:
        self._inspect(url, message, limit_s)
        return await super().post(url, message, limit_s=limit_s, **more)


async def test_the_messages_of_a_league_are_sent_in_order(agents: Agents) -> None:
    league = await agents.in_db(lambda: make_league(agents))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
        await agents.until_in_db(lambda: Match.objects.get().state == "ASSIGNED")
        await agents.in_db(lambda: make.report(league.match("R1M1"), "P01"))
        await agents.until_in_db(lambda: pending_deliveries() == 0)
    player_types = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    assert {name: agents.types(name) for name in ("P01", "P02", "REF01")} == {
        "P01": player_types,
        "P02": player_types,
        "REF01": ["ROUND_ANNOUNCEMENT", "START_MATCH", "LEAGUE_COMPLETED"],
    }
    ids = [body["id"] for name in ("P01", "P02") for body in agents.received[name]]
    assert len(set(ids)) == 8


async def test_start_match_for_a_referee_of_the_site_has_these_fields(agents: Agents) -> None:
    league = await agents.in_db(lambda: make_league(agents))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
    body = next(one for one in agents.received["REF01"] if one["method"] == "start_match")
    match = await agents.in_db(lambda: league.match("R1M1"))
    settings = body["params"].pop("settings")
    assert (settings["join_timeout_s"], "registration_code" in settings) == (5, False)
    digests = await agents.in_db(lambda: credentials.token_digests([one.agent.pk for one in league.players]))
    seats = {}
    for side, player in zip("AB", league.players, strict=True):
        seats[f"player_{side}_id"] = player.agent.code
        seats[f"player_{side}_endpoint"] = agents.url(player.agent.code)
        seats[f"player_{side}"] = {
            "id": player.agent.code,
            "endpoint": agents.url(player.agent.code),
            "dialect": "canonical",
            "spoken": {},
            "registration": f"{player.agent.pk}.1",
            "league_token": "<token>",
            "auth_token_sha256": list(digests[player.agent.pk]),
            "your_standings": {"wins": 0, "losses": 0, "draws": 0},
            "joined_before": False,
            "suspended": False,
            # The test's server, where all of them listen, is marked as a gateway.
            "stays": True,
            "inbox_key": SeatKey(match.pk, 1, player.agent.pk).text(),
            "connect_grace_s": 5,
        }
    assert wire.plain(body["params"]) == seats | {
        "protocol": "league.v2",
        "message_type": "START_MATCH",
        "sender": "league_manager:LM01",
        "timestamp": "<time>",
        "conversation_id": match.conversation_id,
        "auth_token": "<token>",
        "league_id": "fall",
        "round_id": 1,
        "match_id": "R1M1",
        "attempt": 1,
        "game_type": "even_odd",
        # A referee of the site seals verdicts, so it gets the seed of the draw; players get only the commitment.
        "seals": True,
        # It grows when a correction has the match played again.
        "play": 1,
        "draw_seed": match.draw_seed,
        "draw_commitment": commitment(bytes.fromhex(match.draw_seed)),
        # The whole policy; it also refuses the ports at which referees of the site listen.
        "endpoint_policy": endpoint_policy([agents.port]).to_params(),
    }
    assert body["params"]["auth_token"] == credentials.league_token(league.referees[0].agent)


async def test_a_failed_connection_is_tried_once_more(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the agent was reached and closed the connection, it is not tried again: the message may have arrived."""
    calls: Counter[str] = Counter()

    def count(url: str, message: bytes, limit_s: float) -> None:
        calls[url] += 1

    nowhere = f"http://127.0.0.1:{free_port()}/mcp"
    agents.answers["P02"] = None
    league = await agents.in_db(lambda: make_league(agents))
    await agents.in_db(lambda: Agent.objects.filter(pk=league.players[0].agent.pk).update(endpoint=nowhere))
    async with conducting(client=WatchedClient(count)):
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until_in_db(lambda: pending_deliveries() == 0)
    assert (calls[nowhere], calls[agents.url("P02")]) == (2, 1)

    def outcomes() -> list[tuple[str, str]]:
        rows = Delivery.objects.order_by("pk").values_list("state", "problem")
        return [(state, problem.partition(":")[0]) for state, problem in rows]

    assert await agents.in_db(outcomes) == [
        ("FAILED", "no connection"),
        ("FAILED", "the connection was closed without an answer"),
        ("SETTLED", ""),
    ]


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        ({"error": "Unknown method"}, 1),
        pytest.param(
            {"error": {"code": -32001, "message": "…", "data": {"error_code": "E001"}}}, 1, marks=pytest.mark.exhaustive
        ),
        # E012: the referee has registered again meanwhile, so the match is not to blame.
        ({"error": {"code": -32001, "message": "…", "data": {"error_code": "E012"}}}, 0),
        pytest.param({"result": {"accepted": False}}, 0, marks=pytest.mark.exhaustive),
        ("no port", 1),
    ],
)
async def test_a_referee_that_cannot_be_started_is_suspended(agents: Agents, answer: Any, counted: int) -> None:
    league = await agents.in_db(lambda: make_league(agents, referees=2))
    failing = league.referees[0].agent
    agents.answers["REF01"] = answer
    if answer == "no port":
        endpoint = f"http://127.0.0.1:{free_port()}/mcp"
        await agents.in_db(lambda: Agent.objects.filter(pk=failing.pk).update(endpoint=endpoint))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF02"))
    start = next(one["params"] for one in agents.received["REF02"] if one["method"] == "start_match")
    assert (start["match_id"], start["attempt"]) == ("R1M1", 2)
    row = await agents.in_db(league.referees[0].fresh)
    assert (row.state, row.problem == "") == ("SUSPENDED", False)
    match = await agents.in_db(lambda: league.match("R1M1"))
    assert (match.state, match.lost_attempts, match.referee_id) == ("ASSIGNED", counted, league.referees[1].agent.pk)


@pytest.mark.parametrize("second_accepted", [False, True])
async def test_a_start_whose_answer_was_lost_is_sent_again_and_to_no_other_referee_while_it_may_be_played(
    agents: Agents, second_accepted: bool
) -> None:
    """Two referees of one match would tell its players two results."""
    starts: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Any:
        if body["method"] == "start_match":
            starts.append(body["params"])
        return OK if body["method"] != "start_match" or (second_accepted and len(starts) > 1) else None

    league = await agents.in_db(lambda: make_league(agents, referees=2))
    agents.answers["REF01"] = answer
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: len(starts) >= 2)
        match = await agents.in_db(lambda: league.match("R1M1"))
        assert (match.state, match.attempt, match.lost_attempts) == ("ASSIGNED", 1, 0)
        assert (starts[0]["attempt"], starts[0]["conversation_id"]) == (1, match.conversation_id)
        if not second_accepted:
            # A match without progress goes to another referee after its lease.
            await agents.in_db(lambda: Match.objects.update(lease_until=timezone.now() - timedelta(seconds=1)))
            await agents.until(lambda: "START_MATCH" in agents.types("REF02"))
    # A start is also sent again when a kept connection breaks, so it may arrive twice (ruling, section 10).
    assert {one["attempt"] for one in starts} == {1}
    assert ("START_MATCH" in agents.types("REF02")) == (not second_accepted)


async def test_a_start_that_another_conductor_may_have_sent_goes_to_no_other_referee(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier conductor was killed after the referee took the start; the new one cannot reach the referee."""
    league = await agents.in_db(lambda: make_league(agents, referees=2))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
    tried: list[str] = []

    def unreached(url: str, message: bytes, limit_s: float) -> None:
        if b'"start_match"' in message and url == agents.url("REF01"):
            tried.append(url)
            agents.news.set()
            raise NotReached("no connection", connected=False)

    async with conducting(client=WatchedClient(unreached)):
        await agents.until(lambda: len(tried) == 2)
    match = await agents.in_db(lambda: league.match("R1M1"))
    assert (match.state, match.attempt, match.referee.code) == ("ASSIGNED", 1, "REF01")
    assert (await agents.in_db(league.referees[0].fresh)).problem == ""


async def test_a_start_may_be_accepted_in_the_first_part_of_a_lease_only(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A referee stops calling players a fixed time after the start was sent, which must be before the lease ends."""
    limits: dict[str, float] = {}

    def note(url: str, message: bytes, limit_s: float) -> None:
        if b'"start_match"' in message:
            limits[url] = limit_s

    league = await agents.in_db(lambda: make_league(agents, referee_lease_s=8, generic_timeout_s=10))
    async with conducting(client=WatchedClient(note)):
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
    rules = (await agents.in_db(lambda: league.match("R1M1").league)).rules
    assert rules.fence_s() + rules.start_limit_s() == rules.referee_lease_s
    assert 0 < limits[agents.url("REF01")] < rules.start_limit_s() == 2


async def test_nothing_is_delivered_twice_when_looks_overlap(agents: Agents) -> None:
    agents.gates["P01"] = asyncio.Event()
    league = await agents.in_db(lambda: make_league(agents, announce_wait_s=0))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
        await agents.in_db(lambda: make.report(league.match("R1M1"), "P01"))
        await agents.until(lambda: agents.types("P02")[-1:] == ["LEAGUE_COMPLETED"])
        for _ in range(5):
            # Each look sees P01's messages still pending; ``news`` is also set when a look has ended.
            agents.news.clear()
            nudge()
            await agents.news.wait()
        assert agents.types("P01") == ["ROUND_ANNOUNCEMENT"]
        agents.gates["P01"].set()
        await agents.until_in_db(lambda: pending_deliveries() == 0)
    # The announcement was sent before its round ended, so it is not dropped; the others follow in order.
    assert agents.types("P01") == [
        "ROUND_ANNOUNCEMENT",
        "LEAGUE_STANDINGS_UPDATE",
        "ROUND_COMPLETED",
        "LEAGUE_COMPLETED",
    ]


async def test_a_wanted_ping_is_sent_once_and_its_outcome_is_stored(agents: Agents) -> None:
    league = await agents.in_db(lambda: make_league(agents))
    keys = [one.agent.pk for one in league.players]
    nowhere = f"http://127.0.0.1:{free_port()}/mcp"
    await agents.in_db(lambda: Agent.objects.filter(pk=keys[1]).update(endpoint=nowhere))
    await agents.in_db(lambda: registration.want_ping(agent_ids=keys))
    async with conducting():
        await agents.until_in_db(lambda: not Agent.objects.filter(ping_wanted=True).exists())
    assert agents.types("P01") == ["PING"]
    rows = await agents.in_db(lambda: [one.fresh() for one in league.players])
    problems = [(one.problem.partition(":")[0], one.pinged_at is None) for one in rows]
    assert problems == [("", False), ("no connection", False)]
    # What the call found at the address is kept apart: it stays known when the agent dials out.
    assert [one.call_found for one in rows] == ["", "nobody listens at its address"]


async def test_a_plan_from_before_a_long_stop_is_made_again(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another conductor may have sent the messages meanwhile; a start is sent with a renewed lease."""
    look, old = due.look, set()

    def looked_long_ago(**how: Any) -> due.Plan:
        plan = look(**how)
        # Make every plan with starts look old: the matches are started all the same.
        if plan.starts or (plan.parcels and "parcels" not in old):
            old.add("starts" if plan.starts else "parcels")
            plan.made_at = float("-inf")
        return plan

    look_by(monkeypatch, looked_long_ago)
    league = await agents.in_db(lambda: make_league(agents))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until(lambda: "START_MATCH" in agents.types("REF01"))
    assert old == {"parcels", "starts"}
    assert agents.types("REF01") == ["ROUND_ANNOUNCEMENT", "START_MATCH"]
    assert agents.types("P01") == agents.types("P02") == ["ROUND_ANNOUNCEMENT"]
    match = await agents.in_db(lambda: league.match("R1M1"))
    assert (match.state, match.attempt, match.lost_attempts) == ("ASSIGNED", 1, 0)


async def test_an_agent_is_not_pinged_by_a_look_that_sends_it_a_message(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the end of the ping would free the agent while a broadcast is still being sent to it."""
    league = await agents.in_db(lambda: make_league(agents))
    await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
    await agents.in_db(lambda: Agent.objects.filter(pk=league.players[0].agent.pk).update(ping_wanted=True))
    plan = await agents.in_db(lambda: due.look(busy_agents=(), draining=False))
    assert (league.players[0].agent.pk in plan.parcels, plan.pings) == (True, [])


async def test_the_next_look_does_what_a_failed_look_left_undone(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_down, failures = Outcomes.write_down, []

    def failing(outcomes: Outcomes) -> None:
        if not failures:
            failures.append(outcomes)
            raise OSError("database is locked")
        write_down(outcomes)

    monkeypatch.setattr(Outcomes, "write_down", failing)
    await agents.in_db(lambda: make_league(agents))
    async with conducting():
        await agents.in_db(lambda: lifecycle.start_league(league_id="fall"))
        await agents.until_in_db(lambda: pending_deliveries() == 0)
    assert (agents.types("P01"), agents.types("P02")) == (["ROUND_ANNOUNCEMENT"], ["ROUND_ANNOUNCEMENT"])
    failed = [record.message for record in caplog.records if record.name == "matches.conducting.conductor"]
    assert failed == ["a look failed; the next one tries again"]
