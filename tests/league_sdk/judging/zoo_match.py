"""A match between two bots of the zoo in this process: the referee's own code, no ports and no site."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from league_sdk.asking.callbacks import find_seat
from league_sdk.dialects import inbound
from league_sdk.judging.calls.canary import Canary
from league_sdk.judging.calls.player_caller import PlayerCaller
from league_sdk.judging.match.brief import Brief, Seat, Standings
from league_sdk.judging.match.conversation import Conversation
from league_sdk.judging.match.ending import Verdict
from league_sdk.judging.match.log import MatchLog
from league_sdk.judging.match.play import play_match
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import LeagueError
from league_sdk.protocol.league_settings import LeagueSettings
from league_sdk.rules.registry import games
from league_sdk.transport.breaker import Breaker
from league_sdk.transport.client import Broken, Reply
from league_sdk.transport.policy import EndpointPolicy
from tests.bots.zoo import entries, speech
from tests.bots.zoo.base import Bot
from tests.league_sdk.judging.scripted import Clock

LEAGUE = "http://127.0.0.1:9/mcp"
REFEREE_PORT = 8001


@dataclass(frozen=True)
class Taken:
    """A request that reached a bot, or a callback that the referee refused: port, time, body, and the reply."""

    port: int
    at: float
    body: Any
    reply: speech.Reply


@dataclass
class Arena:
    """A referee and its bots, match after match.

    Attributes:
        taken: every request that reached a bot, and every callback that the referee refused.
        seconds: for how long a bot thinks about each.
    """

    taken: list[Taken] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    seconds: float = 0.01

    def __post_init__(self) -> None:
        self._bots: dict[int, Bot] = {}
        self._talk: Conversation | None = None
        self.caller = self.new_caller()

    def new_caller(self) -> PlayerCaller:
        """The caller of a referee that has met nobody yet."""
        canary = Canary(self.clock)
        policy, breaker = EndpointPolicy(), Breaker(self.clock.monotonic)
        return PlayerCaller(policy, self.clock, breaker, canary, probe=lambda: "", client=self)  # type: ignore[arg-type]

    def enter(self, bot: Bot, number: int) -> Bot:
        """A bot that has been registered, and listens at its port from now on."""
        bot.given_id, bot.auth_token, bot.registered = f"P{number:02d}", f"tok_{number:032x}", True
        bot.referee_port, bot.now = REFEREE_PORT, self.clock.monotonic
        self._bots[bot.port] = bot
        return bot

    def seat(self, bot: Bot, role: str, **facts: Any) -> Seat:
        """The bot's seat in a match."""
        return Seat(
            player_id=bot.given_id,
            role=role,
            endpoint=bot.address,
            league_token=f"tok_{'f' * 24}{bot.port:08x}",
            token_digests=(tokens.digest(bot.auth_token),),
            standings=Standings(),
            **{"dialect": dialect_of(bot), **facts},
        )

    async def play(
        self, first: Seat, second: Seat, *, number: int = 1, game: str = "even_odd"
    ) -> tuple[Verdict, MatchLog]:
        """Play one match; the result and what was noted on the way."""
        brief = Brief(
            league_id="league_2025_even_odd",
            round_id=number,
            match_id=f"R{number}M1",
            attempt=1,
            game_type=game,
            conversation_id=f"conv-r{number}m1-001",
            player_a=first,
            player_b=second,
            settings=LeagueSettings(),
            referee_id="REF01",
            referee_endpoint=f"http://127.0.0.1:{REFEREE_PORT}/mcp",
        )
        log = MatchLog()
        rules = games()[game]
        ask, tell = self.caller.for_match(brief.settings, rules.choice_field)
        self._talk = Conversation(brief, ask, tell, self.clock, log)
        verdict = await play_match(self._talk, rules, rng=random.Random(number))
        return verdict, log

    async def post(self, url: str, body: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Replaces the HTTP client: the answer of a bot."""
        parts = urlsplit(url)
        bot = self._bots[parts.port or 80]
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = bot.serve(parts.path or "/", raw)
        self.taken.append(Taken(bot.port, self.clock.monotonic(), json.loads(raw), reply))
        for _, posted in reply.posts:
            self._deliver(posted)
        await self.clock.sleep(self.seconds)
        if reply.hangs_up:
            raise Broken("the connection broke off", connected=True)
        if reply.text is not None:
            problem = "The body is not JSON: not a value." if reply.text.strip() else ""
            return Reply(reply.status, None, problem, self.seconds, {}, reply.text)
        return Reply(reply.status, reply.body, "", self.seconds, {"content-type": "application/json"})

    def _deliver(self, body: Any) -> None:
        assert self._talk is not None
        incoming = inbound.read(json.loads(json.dumps(body)))
        pairs = [(self._talk.brief, self._talk.mailbox)]
        try:
            seat_found = find_seat(pairs, incoming.message, trusted_token="")
            if seat_found is not None:
                seat_found[1].deliver(seat_found[0].player_id, incoming.name, incoming.message)
        except LeagueError as error:
            self.taken.append(Taken(REFEREE_PORT, self.clock.monotonic(), body, speech.Reply(200, error.message)))

    def messages_to(self, bot: Bot, kind: str = "") -> list[Taken]:
        """The messages that a bot was sent, or only those that it understood as this kind."""
        return [one for one in self.taken if one.port == bot.port and (not kind or one.reply.kind == kind)]


def dialect_of(bot: Bot) -> str:
    """The shape in which a bot registers, as the league manager reads it."""
    talk = bot.enters(bot.applicant())
    try:
        post = next(talk)
    except StopIteration:
        return "canonical"
    if str(post.body.get("method", "")) == "initialize":
        return "tools_call"
    return inbound.outbound_shape(inbound.read(post.body, register=post.at == "register"))


def meet(*kinds: type[Bot]) -> tuple[Arena, list[Bot]]:
    """An arena with a bot of each kind."""
    arena = Arena()
    return arena, [arena.enter(kind(LEAGUE, 8100 + n), n) for n, kind in enumerate(kinds, 1)]


def ready(bot: Bot) -> dict[str, Any]:
    """The fields of a start about a bot that has declared itself ready."""
    return {"spoken": {"AGENT_READY_REQUEST": "league_handle"}} if bot.enters is entries.ready else {}
