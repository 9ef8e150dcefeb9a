"""One match of a hostile agent against a correct one: a whole referee, real sockets, and a recording league manager."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from league_sdk.asking.clock import Clock
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.calls.player_caller import PlayerCaller
from league_sdk.judging.worker.league_link import LeagueLink
from league_sdk.judging.worker.match_runner import Dependencies
from league_sdk.judging.worker.referee import Referee
from league_sdk.protocol import tokens
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.protocol.notes import entry_in_words
from league_sdk.serving import AT_ONCE_S
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import Client
from league_sdk.transport.lookups import LOOKUPS, Lookups
from league_sdk.transport.policy import EndpointPolicy
from tests.bots.hostile.base import OVER, OWN, Agent, Behaviour
from tests.league_sdk.judging.at_door import application
from tests.league_sdk.judging.starts import START, Link

A, B = "P01", "P02"
STOLEN = "tok_" + "5" * 32
"""The auth_token of the agent that behaves."""
PATIENT = {"join_timeout_s": 60, "move_timeout_s": 60, "max_retries": 1, "retry_base_s": 0, "request_patience_s": 200}
HASTY_S = 1.0
"""The timeout for agents that let the time run out."""


class Leaping(Clock):
    """A clock that goes forward when the referee waits between two tries, so that the test need not wait.

    It needs a canary that watches nothing: the real one would report the jumps as stalls.
    """

    def __init__(self) -> None:
        self._leapt_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._leapt_s

    async def sleep(self, seconds: float) -> None:
        self._leapt_s += seconds
        await asyncio.sleep(0)


@dataclass
class Ended:
    """How a match with a hostile agent ended.

    Attributes:
        report: MATCH_RESULT_REPORT; empty when the match was handed back.
        handed_back: the item of report_progress that handed it back; empty when there is a report.
        entries: the whole transcript.
        hostile, behaved: the two agents.
        inner: an agent that nobody may call.
    """

    report: dict[str, Any]
    handed_back: dict[str, Any]
    entries: list[dict[str, Any]]
    hostile: Agent
    behaved: Agent
    inner: Agent

    @property
    def verdict(self) -> tuple[str, str | None, list[tuple[str, str, str, int]]]:
        """Status, winner, and of each fault the player, code, cause and tries."""
        faults = [
            (one["player_id"], one["error_code"], str(one["cause"]), one["tries"]) for one in self.report["faults"]
        ]
        return str(self.report["status"]), self.report["result"]["winner"], faults

    def notes(self, message_type: str) -> list[str]:
        """What was tolerated of the hostile agent's answers of a type."""
        own = [one for one in self.entries if one["sender"] == A and one["message_type"] == message_type]
        return [note for one in own for note in entry_in_words(one)["notes"]]

    @property
    def game_overs(self) -> list[int]:
        """How many GAME_OVER messages each of the two agents received."""
        return [agent.methods.count(OVER) for agent in (self.hostile, self.behaved)]


def handed_back(link: Link) -> dict[str, Any]:
    """The match that a referee handed back, if it did."""
    returned = [one for heartbeat in link.heartbeats for one in heartbeat if one["state"] == "HANDED_BACK"]
    return returned[0] if returned else {}


def caller_maker(lookups: Lookups, **options: Any) -> Any:
    """A function that makes callers of players, which look up names in this way."""

    def new_caller(policy: EndpointPolicy, clock: Clock, breaker: Breaker, canary: Canary) -> PlayerCaller:
        client = Client(agent_type="referee", policy=policy, lookups=lookups)
        return PlayerCaller(policy, clock, breaker, canary, client=client, **options)

    return new_caller


async def play(
    behaviour: Behaviour | None,
    *,
    host: str = "127.0.0.1",
    canary: Canary | None = None,
    agent: type[Agent] = Agent,
    lookups: Lookups = LOOKUPS,
    clock: Clock | None = None,
    **settings: Any,
) -> Ended:
    """Play R1M1 between P01, which does harm, and P02, which does not.

    Args:
        behaviour: what P01 does; None: it behaves like P02.
        host: under which name P01 is called.
        canary: the referee's; None for the real one.
        agent: the kind of P01.
        lookups: look up the names of agents.
        clock: the referee's; None for the real one.
        settings: the settings of the league.
    """
    link = Link()
    hostile, behaved, inner = agent(behaviour, stolen=STOLEN), Agent(token=STOLEN), Agent()
    for one in (hostile, behaved, inner):
        await one.start()
    hostile.inner = inner.url
    sock = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
    uses = Dependencies(clock=clock or Clock(), canary=canary, new_caller=caller_maker(lookups))
    referee = Referee(link, endpoint=address, max_concurrent=2, uses=uses)  # type: ignore[arg-type]
    typed_link: LeagueLink = link  # type: ignore[assignment]
    runner = web.AppRunner(application(referee, typed_link), access_log=None, shutdown_timeout=AT_ONCE_S)
    await runner.setup()
    await web.SockSite(runner, sock).start()
    reporting = asyncio.create_task(referee.keep_reporting())
    try:
        rules = LeagueSettings(**(PATIENT | settings)).for_referee()
        seats = {
            "player_A": START["player_A"]
            | {
                "endpoint": hostile.url.replace("127.0.0.1", host),
                "auth_token_sha256": [tokens.digest(OWN)],
            },
            "player_B": START["player_B"] | {"endpoint": behaved.url, "auth_token_sha256": [tokens.digest(STOLEN)]},
        }
        answer = referee.start_match(START | seats | {"settings": rules, "endpoint_policy": {"refused_ports": []}})
        assert answer["accepted"], answer
        while not link.reports and not handed_back(link):
            link.changed.clear()
            await link.changed.wait()
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)
        await referee.drain(0)
        await referee.aclose()
        await runner.cleanup()
        for one in (hostile, behaved, inner):
            await one.stop()
    report = link.reports[0] if link.reports else {}
    heartbeat_entries = [entry for beat in link.heartbeats for one in beat for entry in one["transcript"]]
    entries = sorted([*heartbeat_entries, *report.get("transcript", [])], key=lambda entry: entry["n"])
    return Ended(report, handed_back(link), entries, hostile, behaved, inner)
