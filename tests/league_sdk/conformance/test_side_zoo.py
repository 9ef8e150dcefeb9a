"""A check says that an agent can play if, and only if, a referee plays it: the zoo, and mutants of its bots."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from league_sdk.conformance.player import check_player
from league_sdk.conformance.posts import Posts
from league_sdk.conformance.report import Report
from league_sdk.conformance.subject import Identity, Relayed, Subject
from league_sdk.protocol import rpc, tokens
from league_sdk.transport.client import Broken, Reply
from tests import leaping
from tests.bots.zoo.base import Bot, Callback
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import mixtures
from tests.bots.zoo.mutations import SEED, mutants
from tests.bots.zoo.registering import Chapter8
from tests.bots.zoo.speech import Incoming
from tests.bots.zoo.speech import Reply as Said
from tests.league_sdk.conformance.blamed import blamed
from tests.league_sdk.judging.zoo_match import dialect_of, meet, ready
from tests.sizes import sampled

ALL = BOTS | mixtures()
SEEDS = (SEED, *range(8))
LEAGUE_ID, LEAGUE_TOKEN = "league_2025_even_odd", tokens.new_token()


class Road:
    """Leads the check to a bot without a network, and the bot's own POSTs to the check, wherever it sends them."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._posts: Posts | None = None

    def listening(self, relayed: Relayed) -> None:
        """The check hears answers by POST."""
        posts = getattr(relayed, "__self__", None)
        assert isinstance(posts, Posts)
        self._posts = posts

    async def post(self, url: str, message: Any, *, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
        """Like :meth:`league_sdk.transport.client.Client.post`."""
        if isinstance(message, (bytes, Mapping, list)):
            raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        else:
            raw = b"".join([piece async for piece in message])
        try:
            reply = self._bot.serve(urlsplit(url).path or "/", raw)
        except Exception as error:
            # Some bots do not survive a message without match_id.
            return Reply(500, None, "The body is not JSON.", 0.0, {}, repr(error))
        for where, body in reply.posts:
            assert self._posts is not None
            await self._posts.hear(rpc.dumps(body), urlsplit(where).path)
        if reply.hangs_up:
            raise Broken("the connection broke off", connected=True)
        if reply.text is not None:
            problem = "The body is not JSON: not a value." if reply.text.strip() else ""
            return Reply(reply.status, None, problem, 0.0, {}, reply.text)
        return Reply(reply.status, reply.body, "", 0.0, {"content-type": "application/json"})

    async def delete(self, url: str, headers: Mapping[str, str], *, limit_s: float) -> None:
        """No session is kept that could be ended."""

    def under_same_policy(self, agent_type: str) -> Road:
        """Itself: it applies no policy."""
        return self

    async def aclose(self) -> None:
        """Nothing to close."""


async def checked(kind: type[Bot]) -> Report:
    """The report of a check of a bot that is registered."""
    _, (bot,) = meet(kind)
    bot.now = asyncio.get_running_loop().time
    road = Road(bot)
    subject = Subject(
        url=bot.address,
        listen="127.0.0.1",
        identity=Identity(bot.given_id, LEAGUE_ID, LEAGUE_TOKEN, known=True),
        dialect=dialect_of(bot),
        ready_in=ready(bot).get("spoken", {}).get("AGENT_READY_REQUEST", ""),
        tokens={tokens.digest(bot.auth_token)},
        own_tokens={tokens.digest(bot.auth_token)},
        on_posts=road.listening,
        send_league_completed=False,
    )
    return await check_player(subject, road)


async def faults(kind: type[Bot]) -> list[str]:
    """The faults for which a bot loses points in a match, in either role."""
    arena, (bot, other) = meet(kind, Chapter8)
    lost = []
    for number, roles in enumerate((("PLAYER_A", "PLAYER_B"), ("PLAYER_B", "PLAYER_A")), 1):
        seats = arena.seat(bot, roles[0], **ready(bot)), arena.seat(other, roles[1])
        verdict, _ = await arena.play(*(seats if number == 1 else seats[::-1]), number=number)
        lost += [f"{one.error_code} {one.message_type} {one.detail}" for one in verdict.faults]
    return lost


async def difference(kind: type[Bot]) -> str:
    """How the verdicts of check and matches, or the messages they blame, differ; empty if they agree."""
    report, lost = await checked(kind), await faults(kind)
    message = blamed(report)
    same_message = (message != "" and message in " ".join(lost)) if lost else message == ""
    if report.can_play is (not lost) and same_message:
        return ""
    return f"{kind.__name__}: {kind.__doc__}\n{report.summary}\n{lost}"


class FirstOnly(Chapter8):
    """Plays its first match and refuses every other."""

    def accepts(self, match: str, incoming: Incoming) -> bool:
        return super().accepts(match, incoming) and set(self.invited) == {next(iter(self.invited))}


class PlayerAOnly(Chapter8):
    """Refuses to be PLAYER_B."""

    def accepts(self, match: str, incoming: Incoming) -> bool:
        return super().accepts(match, incoming) and incoming.fields["role_in_match"] == "PLAYER_A"


class NeverTwice(Chapter8):
    """Chooses illegally in a match to which it was invited twice."""

    def accepts(self, match: str, incoming: Incoming) -> bool:
        self.chosen |= {match: "neither"} if match in self.invited else {}
        return super().accepts(match, incoming)


class WrongToken(Chapter8):
    """Answers by POST with a token that is not its own."""

    callback = Callback()
    says_token = "placeholder"


class NoToken(WrongToken):
    """Answers by POST without a token."""

    says_token = "none"


class HardCoded(Chapter8):
    """Posts its answers to an address that is written into its program, and names no match."""

    callback = Callback(to="hard_coded")

    def message(self, incoming: Incoming, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        message = super().message(incoming, fields, conversation)
        return {name: value for name, value in message.items() if name != "match_id"}


class HardCodedManager(HardCoded):
    """Posts its answers to the league manager, and names no match."""

    callback = Callback(to="manager")


class HardCodedWithoutToken(HardCoded):
    """Posts its answers to an address that is written into its program, and names neither match nor token."""

    says_token = "none"


class FailsFirst(Chapter8):
    """A bot whose server fails at the first invitation."""

    failed = False

    def act(self, incoming: Incoming) -> Said:
        if not self.failed:
            self.failed = True
            return Said(500, {"detail": "Internal Server Error"})
        return super().act(incoming)


UNUSUAL = {
    FirstOnly: False,
    PlayerAOnly: False,
    NeverTwice: True,
    WrongToken: False,
    NoToken: False,
    FailsFirst: True,
    HardCoded: True,
    HardCodedManager: True,
    HardCodedWithoutToken: False,
}
"""Bots, and whether they can play, as check and matches find."""


@pytest.mark.parametrize(("kind", "can_play"), UNUSUAL.items())
def test_the_check_agrees_with_matches_on_unusual_agents(kind: type[Bot], can_play: bool) -> None:
    assert leaping.run(difference(kind)) == ""
    assert leaping.run(checked(kind)).can_play is can_play


@pytest.mark.parametrize("name", sampled(ALL, every=8))
def test_the_check_agrees_with_matches_on_each_bot_of_the_zoo(name: str) -> None:
    assert leaping.run(difference(ALL[name])) == ""


@pytest.mark.parametrize("seed", sampled(SEEDS, every=8))
def test_the_check_agrees_with_matches_on_mutants(seed: int) -> None:
    found = [leaping.run(difference(kind)) for kind in mutants(seed).values()]
    assert [line for line in found if line] == []


def test_some_mutants_are_played_and_some_are_not() -> None:
    kinds = [kind for seed in SEEDS for kind in mutants(seed).values()]
    played = (not leaping.run(faults(kind)) for kind in kinds)
    # It stops at the first mutant that fares otherwise than the first one.
    assert (not next(played)) in played
