"""The bots of the zoo that register do so at the real dispatcher, as they would over the network."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent
from tests import factories as make
from tests.bots.zoo import entries
from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.entries import Post, Received
from tests.bots.zoo.mixed import mixtures
from tests.sizes import sampled

pytestmark = pytest.mark.django_db
ALL = BOTS | mixtures()


def send(client: Client, post: Post) -> Received:
    """POST a request of a bot to the league manager."""
    response = client.post(f"/{post.at}", json.dumps(post.body), content_type="application/json")
    return Received(response.status_code, json.loads(response.content) if response.content else None)


def register(client: Client, kind: type[Bot]) -> Bot:
    bot = kind("http://127.0.0.1:9/mcp", 8101)
    exchange = bot.enters(bot.applicant())
    received: Any = None
    try:
        while True:
            received = send(client, next(exchange) if received is None else exchange.send(received))
    except StopIteration as end:
        bot.read_registration(end.value)
    return bot


@pytest.mark.parametrize(
    "name", sampled((name for name, kind in ALL.items() if kind.enters is not entries.never), every=8)
)
def test_a_bot_of_the_zoo_registers(client: Client, name: str) -> None:
    make.open_league()
    bot = register(client, ALL[name])
    agent = Agent.objects.get(code=bot.given_id)
    assert (agent.display_name, bot.registered) == (name, True)


def test_that_an_agent_said_it_is_ready_is_stored(client: Client) -> None:
    make.open_league()
    register(client, BOTS["Ready"])
    assert Agent.objects.get().spoken == {"AGENT_READY_REQUEST": "league_handle"}


def test_nobody_else_can_say_that_an_agent_is_ready(client: Client) -> None:
    make.open_league()
    register(client, BOTS["Chapter8"])
    message = {"message_type": "AGENT_READY_REQUEST", "player_id": "P01", "auth_token": f"tok_{'0' * 32}"}
    received = send(client, Post({"jsonrpc": "2.0", "method": "agent_ready", "params": message, "id": 1}))
    assert received.body["error"]["data"]["error_code"] == "E012"
    assert Agent.objects.get().spoken == {}
