"""How bots of the zoo play a match: repeated requests, callbacks, and the shapes of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bots.words import CHOOSE, ERROR, INVITE, OVER
from tests.bots.zoo.asking import (
    LEAGUE,
    STYLES,
    bot_of,
    call,
    everything_in,
    fields_in,
    message,
    speak,
    tell,
    understands,
)
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import mixtures
from tests.paths import SAMPLES

REFEREE_URL = SAMPLES["CHOOSE_PARITY_CALL"]["referee_endpoint"]


def test_a_bot_that_changes_its_mind_answers_a_repeated_choice_request_otherwise() -> None:
    for name in ("PortLater", "OnceInvited"):
        bot = bot_of(BOTS[name])
        choices = [dict(fields_in(tell(bot, CHOOSE)))["parity_choice"] for _ in range(3)]
        assert (choices[0] != choices[1], choices[0]) == (True, choices[2])
    bot = bot_of(BOTS["Chapter8"])
    assert len({dict(fields_in(tell(bot, CHOOSE)))["parity_choice"] for _ in range(5)}) == 1


def test_a_bot_refuses_a_repeated_invitation() -> None:
    bot = bot_of(BOTS["OnceInvited"])
    assert [dict(fields_in(tell(bot, INVITE)))["accept"] for _ in range(2)] == [True, False]
    other = {"match_id": "R2M1"}
    assert dict(fields_in(tell(bot, INVITE, **other)))["accept"] is True


def test_a_bot_stays_busy_until_a_game_over_it_can_read() -> None:
    bot = bot_of(BOTS["BusyUntilOver"])
    assert [dict(fields_in(tell(bot, INVITE)))["accepted"] for _ in range(2)] == [True, False]
    call(bot, speak("chapter 8", OVER, message(OVER)))
    assert dict(fields_in(tell(bot, INVITE, match_id="R2M1")))["accepted"] is False
    tell(bot, OVER)
    assert dict(fields_in(tell(bot, INVITE, match_id="R2M1")))["accepted"] is True


def test_a_hesitant_bot_makes_no_choice_before_a_game_error_it_can_read() -> None:
    bot = bot_of(BOTS["Hesitant"])
    assert dict(fields_in(tell(bot, CHOOSE)))["parity_choice"] == "neither"
    tell(bot, ERROR, retry_info=None)
    assert dict(fields_in(tell(bot, CHOOSE)))["parity_choice"] == "neither"
    tell(bot, ERROR)
    assert dict(fields_in(tell(bot, CHOOSE)))["parity_choice"] in ("even", "odd")


@pytest.mark.parametrize(
    ("name", "join_to", "choice_to", "ack"),
    [
        ("SmallBody", REFEREE_URL, REFEREE_URL, "RECEIVED"),
        ("PortByHeart", "http://127.0.0.1:8099/mcp", "http://127.0.0.1:8099/mcp", "RECEIVED"),
        ("ToTheManager", LEAGUE, LEAGUE, "RECEIVED"),
        ("OkThenCallback", None, REFEREE_URL, "ok"),
        ("FlatAfterRegister", None, REFEREE_URL, "ACK"),
    ],
)
def test_a_bot_posts_its_callbacks_to_the_address_of_its_kind(
    name: str, join_to: str | None, choice_to: str, ack: str
) -> None:
    bot = bot_of(BOTS[name])
    bot.referee_port = 8099
    joined, chosen = tell(bot, INVITE), tell(bot, CHOOSE)
    assert [url for url, _ in joined.posts] == ([join_to] if join_to else [])
    assert [url for url, _ in chosen.posts] == [choice_to]
    assert dict(everything_in(chosen.body))["status"] == ack
    sent = dict(fields_in(chosen))
    question = message(CHOOSE)
    assert chosen.posts[0][1].get("method") == (None if name == "FlatAfterRegister" else "CHOOSE_PARITY_RESPONSE")
    assert (sent["auth_token"], sent["sender"], sent["match_id"]) == ("tok_own", "player:P01", question["match_id"])
    assert sent["conversation_id"] not in ("", question["conversation_id"])


def test_bots_answer_in_the_shapes_of_their_kinds() -> None:
    def chosen(name: str) -> Any:
        return tell(bot_of(BOTS[name]), CHOOSE).body

    assert sorted(chosen("Sparse")["result"]) == ["choice"]
    assert chosen("IdFromEachMessage")["error"] is None
    assert [chosen(name)["id"] for name in ("Chapter8", "LeagueRegister", "OwnId")] == [7, 1, 1]
    assert sorted(chosen("RequestForReply")) == ["id", "jsonrpc", "method", "params"]
    assert sorted(chosen("OwnEnvelope")["result"]) == ["data", "status"]
    assert sorted(chosen("LeagueHandle")["result"]) == ["envelope", "payload"]
    assert sorted(chosen("Seed002")) == [
        "auth_token", "correlation_id", "message_id", "payload", "protocol", "sender", "timestamp", "type",
    ]  # fmt: skip
    assert sorted(chosen("Sample004")) == ["match_id", "message_type", "parity_choice", "player_id"]
    assert sorted(chosen("HandshakeFirst")["result"]) == ["move", "parity_choice", "success"]
    tokens = {
        name: dict(fields_in(tell(bot_of(BOTS[name]), CHOOSE))).get("auth_token") for name in ("Chapter8", "OwnId")
    }
    assert tokens == {"Chapter8": "tok_own", "OwnId": "tok_ownid_temp"}
    assert (
        dict(fields_in(tell(bot_of(BOTS["IdFromEachMessage"]), CHOOSE)))["auth_token"] == message(CHOOSE)["auth_token"]
    )


def test_the_same_seed_makes_the_same_mixtures() -> None:
    made = {name: kind.__doc__ for name, kind in mixtures(5, 7).items()}
    assert made == {name: kind.__doc__ for name, kind in mixtures(5, 7).items()}
    assert made != {name: kind.__doc__ for name, kind in mixtures(6, 7).items()}
    assert list(made) == [f"Mixed{number:02d}" for number in range(1, 8)]


@pytest.mark.parametrize("seed", range(6))
def test_every_mixture_understands_some_style_and_chooses_in_it(seed: int) -> None:
    for kind in mixtures(seed).values():
        understood = [style for style in STYLES if understands(kind, style)]
        assert understood, kind.__doc__
        for style in understood:
            bot = bot_of(kind)
            call(bot, speak(style, INVITE, message(INVITE)))
            chosen = call(bot, speak(style, CHOOSE, message(CHOOSE)))
            assert [value in ("even", "odd") for name, value in fields_in(chosen) if name == kind.choice] == [True]
