"""Answers that an agent sends by POST of its own count in a check as in a match: if they show the player's token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from league_sdk.asking.mailbox import MAX_UNREAD_ANSWERS
from league_sdk.conformance.posts import Posts
from league_sdk.protocol import rpc, tokens
from league_sdk.protocol.tokens import new_token
from league_sdk.simulated_league import Identity, Match
from tests.league_sdk.conformance.agents import SHORT_LIMITS, TOKEN, Agent, Params, checked, clause, post
from tests.paths import sample

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")
HERE, OTHERS_TOKEN = "127.0.0.1", new_token()
MADE_UP = "tok_" + "0" * 32
"""A token that nobody has. It is not random, because it is part of a test's id, and every process of pytest-xdist must
see the same ids."""
TOKEN_DIGESTS = {tokens.digest(TOKEN), tokens.digest(OTHERS_TOKEN)}
"""Digests of the agent's token, and of the token of another player that is registered at the same address."""
MATCH = Match(4711, "PLAYER_A", "conv-1", path_secret="tok_" + "1" * 32)
ACK = sample("GAME_JOIN_ACK") | {"match_id": MATCH.match_id}


class Posting(Agent):
    """Answers by POST to the port that the message names, but always at the path ``/mcp``; ``token`` goes with it."""

    def __init__(self, token: str | None) -> None:
        super().__init__()
        self.token = token
        self.sending: set[asyncio.Task[None]] = set()

    async def join(self, params: Params) -> Any:
        return self.later("GAME_JOIN_ACK", await super().join(params), params)

    async def choose(self, params: Params) -> Any:
        return self.later("CHOOSE_PARITY_RESPONSE", await super().choose(params), params)

    def later(self, method: str, message: Params, params: Params) -> Any:
        message = {name: value for name, value in message.items() if name != "auth_token"}
        message |= {} if self.token is None else {"auth_token": self.token}
        task = asyncio.create_task(self.send(method, message, params))
        self.sending.add(task)
        task.add_done_callback(self.sending.discard)
        return {"status": "RECEIVED"} if method != "GAME_JOIN_ACK" else {"status": "PENDING"}

    async def send(self, method: str, message: Params, params: Params) -> None:
        target = urlsplit(params["referee_endpoint"])._replace(path="/mcp").geturl()
        await post(target, rpc.call(method, message, 1))


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (TOKEN, ""),
        (MADE_UP, "A POST of its own was refused: This is not the token of a player of the match."),
        (None, "A POST of its own was refused: auth_token is missing."),
    ],
)
async def test_a_registered_player_has_to_show_its_token_as_in_a_match(token: str | None, why: str) -> None:
    limits = SHORT_LIMITS.model_copy(update={"max_retries": 1})
    report = await checked(
        Posting(token), listen=HERE, limits=limits, identity=Identity(known=True), tokens=TOKEN_DIGESTS
    )
    assert report.can_play is (not why), report.summary
    assert why in clause(report, "join.in_time").why


async def test_answers_to_the_league_manager_count() -> None:
    """The agent posts to the league manager, whatever address the referee named; the league manager passes that on."""
    relays: list[Any] = []

    class ToTheManager(Posting):
        async def send(self, method: str, message: Params, params: Params) -> None:
            relays[0](method, message)

    report = await checked(
        ToTheManager(TOKEN), listen=HERE, limits=SHORT_LIMITS, identity=Identity(known=True), on_posts=relays.append
    )
    assert report.can_play, report.summary


def opened(owns: bool = True) -> tuple[Posts, Any]:
    """What takes POSTs in a check, with one match in play; ``owns``: whether the agent's token is known."""
    posts = Posts(TOKEN_DIGESTS, {tokens.digest(TOKEN)}) if owns else Posts()
    return posts, posts.open(MATCH, Identity())


async def outcome_of(posts: Posts, message: Mapping[str, Any], path: str = "/mcp") -> int:
    """The HTTP status of the answer to a POST, or the code of its error."""
    reply = await posts.hear(rpc.dumps(rpc.call("GAME_JOIN_ACK", message, 1)), path)
    assert isinstance(reply.body, bytes)
    body = rpc.loads(reply.body)
    return body["error"]["code"] if "error" in body else reply.status


@pytest.mark.parametrize(
    ("message", "path", "code"),
    [
        (ACK | {"auth_token": MADE_UP}, f"/mcp/{MATCH.path_secret}", -32001),
        (ACK | {"auth_token": None}, f"/mcp/{MATCH.path_secret}", -32001),
        (ACK | {"auth_token": TOKEN, "match_id": "R4712M1"}, "/mcp", -32602),
        (ACK | {"auth_token": OTHERS_TOKEN, "match_id": None}, "/mcp", -32602),
        (ACK | {"auth_token": TOKEN, "match_id": None}, "/mcp", 200),
        (ACK | {"auth_token": MADE_UP, "match_id": None}, "/mcp", -32602),
        (ACK | {"auth_token": TOKEN, "match_id": None}, f"/mcp/{MATCH.path_secret}", 200),
        (ACK | {"auth_token": TOKEN}, "/mcp", 200),
    ],
)
async def test_nobody_answers_in_the_check_of_another_player(message: Params, path: str, code: int) -> None:
    posts, match = opened()
    with match.mailbox.expecting("P01", "GAME_JOIN_ACK") as box:
        assert await outcome_of(posts, message, path) == code
        assert len(box.messages) == (1 if code == 200 else 0)
        box.messages.clear()


async def test_a_post_has_to_name_its_match_if_it_is_not_certain_whose_token_it_shows() -> None:
    posts = Posts(TOKEN_DIGESTS)
    match = posts.open(MATCH, Identity())
    with match.mailbox.expecting("P01", "GAME_JOIN_ACK") as box:
        assert await outcome_of(posts, ACK | {"auth_token": TOKEN, "match_id": None}) == -32602
        assert list(box.messages) == []


@pytest.mark.parametrize(("path", "code"), [("/mcp", -32001), (f"/mcp/{MATCH.path_secret}", 200)])
async def test_a_player_without_a_token_is_known_by_the_path_that_it_was_told(path: str, code: int) -> None:
    posts, match = opened(owns=False)
    with match.mailbox.expecting("P01", "GAME_JOIN_ACK") as box:
        assert await outcome_of(posts, ACK | {"auth_token": MADE_UP}, path) == code
        box.messages.clear()


async def test_repeated_answers_and_a_flood_of_answers_fill_no_memory() -> None:
    posts, match = opened()
    with match.mailbox.expecting("P01", "GAME_JOIN_ACK") as box:
        for _ in range(50):
            await outcome_of(posts, ACK | {"auth_token": TOKEN})
        assert len(box.messages) == 1
        for number in range(50):
            posts.relayed("GAME_JOIN_ACK", ACK | {"number": number})
        assert len(box.messages) == MAX_UNREAD_ANSWERS
        box.messages.clear()
    # An answer to one match does not count in the next.
    later = posts.open(Match(4712, "PLAYER_A", "conv-2"), Identity())
    with later.mailbox.expecting("P01", "GAME_JOIN_ACK") as box:
        posts.relayed("GAME_JOIN_ACK", ACK)
        assert await outcome_of(posts, ACK | {"auth_token": TOKEN}) == -32602
        assert list(box.messages) == []
