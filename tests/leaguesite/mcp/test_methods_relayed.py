"""Answers sent to the league manager instead of a referee: each is the sender's own, and their number is limited."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from league_sdk.dialects import inbound
from league_sdk.protocol import rpc
from matches.conducting import parcels
from matches.league import outbox
from matches.models import Delivery
from tests import factories as make
from tests import wire
from tests.sizes import sampled

pytestmark = pytest.mark.django_db

PICK = {"match_id": "R1M1", "parity_choice": "odd"}


def post(client: Client, who: make.RegisteredAgent, **fields: Any) -> Any:
    return wire.ask(client, "CHOOSE_PARITY_RESPONSE", PICK | {"auth_token": who.token} | fields)


def arrived(referee: make.RegisteredAgent) -> list[inbound.Inbound]:
    """The relayed answers, as the referee reads them."""
    parcels_there = parcels.parcels_of([], timezone.now())[referee.agent.pk]
    read = [inbound.read(rpc.loads(one.body)) for one in parcels_there]
    return [one for one in read if one.name == "CHOOSE_PARITY_RESPONSE"]


def rows() -> int:
    return Delivery.objects.filter(broadcast__message_type="CHOOSE_PARITY_RESPONSE").count()


@pytest.mark.parametrize("container", ["message", "envelope", "payload"])
@pytest.mark.parametrize("depth", sampled([1, 4, 5, 12]))
def test_no_wrapping_lets_a_player_answer_for_another(client: Client, container: str, depth: int) -> None:
    made = make.running_league(players=2)
    inner: dict[str, Any] = {"relayed_for": "P02", "parity_choice": "even"}
    for _ in range(depth):
        inner = {container: inner}
    post(client, made.players[0], **inner)
    (found,) = arrived(made.referees[0])
    assert (found.message["relayed_for"], found.message["match_id"]) == ("P01", "R1M1")


def test_more_relayed_answers_than_may_wait_are_refused(client: Client) -> None:
    made = make.running_league(players=2)
    statuses = [post(client, made.players[0], n=number)["status"] for number in range(outbox.MAX_RELAYED_ANSWERS)]
    assert statuses == ["RECEIVED"] * outbox.MAX_RELAYED_ANSWERS
    refused = wire.refused(client, "CHOOSE_PARITY_RESPONSE", PICK | {"auth_token": made.players[0].token})
    assert (refused["error_code"], rows()) == ("E002", outbox.MAX_RELAYED_ANSWERS)
    assert post(client, made.players[1])["status"] == "RECEIVED"


def test_a_delivered_answer_makes_room_and_is_deleted(client: Client) -> None:
    made = make.running_league(players=2)
    for _ in range(outbox.MAX_RELAYED_ANSWERS + 2):
        post(client, made.players[0])
        sent = parcels.parcels_of([], timezone.now())[made.referees[0].agent.pk]
        outbox.settle([(one.delivery_pk, "") for one in sent])
    assert rows() == 1


def test_an_answer_that_is_too_long_to_be_passed_on_is_refused(client: Client) -> None:
    made = make.running_league(players=2)
    long = PICK | {"auth_token": made.players[0].token, "why": "x" * 20_000}
    refused = wire.refused(client, "CHOOSE_PARITY_RESPONSE", long)
    assert (refused["error_code"], rows()) == ("E002", 0)


def test_the_receipt_names_the_match_and_repeats_no_token(client: Client) -> None:
    made = make.running_league(players=2)
    token = made.players[0].token
    reply = post(client, made.players[0], match_id={"id": token})
    assert reply["match_id"] == "R1M1"
    assert token not in str(reply)
