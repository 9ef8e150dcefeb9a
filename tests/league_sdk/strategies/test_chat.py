"""Asking a model's server that is slow, wrong, silent, streams or refuses."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from league_sdk.protocol import SDK_VERSION
from league_sdk.strategies.base import NotSetUp
from league_sdk.strategies.chat import MAX_BYTES, MAX_SHOWN_CHARS, Chat, NoAnswer, Settings, text_of
from tests.league_sdk.strategies.stub_model import (
    KEY,
    Model,
    Reply,
    answers,
    completion,
    event,
    says,
    streams,
    stub_model,
)
from tests.sizes import sampled

PATIENT_S, SHORT_S = 60.0, 0.2
"""Long enough for any answer; and how long to wait for one that never comes."""
DONE = b"data: [DONE]\n\n"
NOT_A_COMPLETION = "its answer is not a chat completion"


@pytest_asyncio.fixture
async def model() -> AsyncIterator[Model]:
    async with stub_model() as stub:
        yield stub


async def reason_and_detail(model: Model, limit_s: float = PATIENT_S) -> tuple[str, str]:
    """Why there is no answer, and what is shown of what the server said."""
    with pytest.raises(NoAnswer) as caught:
        await Chat(model.settings).ask("Your move?", limit_s)
    return str(caught.value), caught.value.detail


async def test_the_question_is_one_that_every_server_understands(model: Model) -> None:
    model.reply = says("odd")
    assert await Chat(model.settings).ask("Your move?", PATIENT_S) == "odd"
    ((path, headers, body),) = model.requests
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert (headers["Content-Type"], headers["User-Agent"]) == ("application/json", f"player/{SDK_VERSION}")
    assert headers["Accept-Encoding"] == "identity"
    assert body == {"model": "stub", "messages": [{"role": "user", "content": "Your move?"}], "stream": False}


async def test_without_a_key_none_is_sent(model: Model) -> None:
    await Chat(Settings(model.url, "stub")).ask("Your move?", PATIENT_S)
    assert "Authorization" not in model.requests[0][1]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (streams(event("I choose "), event("odd"), DONE), "I choose odd"),
        (streams(event("I choose "), event("odd"), DONE, then="silence"), "I choose odd"),
        (streams(event("o"), b": a comment\n\nevent: x\n\n", event("dd")), "odd"),
        (streams(*(bytes([one]) for one in event("odd") + DONE), then="silence"), "odd"),
        (streams(event("odd").replace(b"\n", b"\r\n"), b"data:[DONE]\r\n", then="silence"), "odd"),
        (streams(event("data: [DONE]\n"), event("odd"), DONE), "data: [DONE]\nodd"),
        (answers(b"\n " + json.dumps(completion("odd")).encode()), "odd"),
        (says([{"type": "text", "text": "o"}, {"type": "text", "text": "dd"}, 7, {}]), "odd"),
    ],
)
async def test_an_answer_is_read_whole_or_as_it_streams(model: Model, reply: Reply, expected: str) -> None:
    model.reply = reply
    assert await Chat(model.settings).ask("Your move?", PATIENT_S) == expected


@pytest.mark.parametrize(
    "body",
    sampled(
        [
            b"",
            b"odd",
            b"<html><body>odd</body></html>",
            b'"odd"',
            b"{",
            b"{}",
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'{"choices": [{"message": {"content": "o\\u0000dd"}}]}',
            b'{"choices": [{"message": {"content": "\\ud800"}}]}',
            b'{"choices": [{"message": {"content": "\xff"}}]}',
            b"data: {\n\n",
            b"data: [DONE]\n\n",
            *(json.dumps({"choices": one}).encode() for one in (None, [], {}, [None], [{}], [{"message": 7}], "odd")),
            *(json.dumps(completion(one)).encode() for one in (None, 7, {"text": "odd"})),
        ]
    ),
)
async def test_a_body_that_is_not_a_completion_gives_no_answer(model: Model, body: bytes) -> None:
    model.reply = answers(body)
    assert await reason_and_detail(model) == (NOT_A_COMPLETION, "")


@pytest.mark.parametrize("body", [b"{" + b" " * MAX_BYTES, b"\0" * (MAX_BYTES + 1)])
async def test_an_answer_that_is_too_long_counts_as_none(model: Model, body: bytes) -> None:
    model.reply = answers(body)
    assert await reason_and_detail(model) == (f"its answer is longer than {MAX_BYTES} bytes", "")


async def test_an_answer_without_an_end_counts_as_none(model: Model) -> None:
    model.reply = streams(event("odd " * 1000), then="repeat")
    assert await reason_and_detail(model) == (f"its answer is longer than {MAX_BYTES} bytes", "")


@pytest.mark.parametrize("parts", [(), (b"data: ",), (event("odd"),)])
async def test_a_server_that_stops_sending_is_given_up_in_time(model: Model, parts: tuple[bytes, ...]) -> None:
    model.reply = streams(*parts, then="silence")
    assert await reason_and_detail(model, SHORT_S) == ("it did not answer in time", "")


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
async def test_a_server_that_stops_within_its_head_or_body_is_given_up_in_time(sent: bytes) -> None:
    async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await released.wait()
        writer.close()

    released = asyncio.Event()
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        assert await reason_and_detail(Model(f"http://127.0.0.1:{port}/v1"), SHORT_S) == (
            "it did not answer in time",
            "",
        )
        released.set()


@pytest.mark.parametrize(
    "sent", [b"", b"220 smtp ready\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, b"\x15\x03\x01"]
)
async def test_a_server_without_http_gives_no_answer(sent: bytes) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    server = await asyncio.start_server(other, "127.0.0.1", 0)
    async with server:
        reason, _detail = await reason_and_detail(Model(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))
    assert reason in ("it cannot be reached (RemoteProtocolError)", "it cannot be reached (ReadError)")


async def test_an_unreachable_server_gives_no_answer() -> None:
    reason, _detail = await reason_and_detail(Model("http://127.0.0.1:9/v1"))
    assert reason == "it cannot be reached (ConnectError)"


@pytest.mark.parametrize("status", [401, 404, 429, 500, 204])
async def test_what_a_server_says_of_its_refusal_is_shown_without_the_key(model: Model, status: int) -> None:
    refusal = {"error": {"message": f"no such key: {KEY}\n\x1b[31m\u202ered"}}
    model.reply = answers(b"" if status == 204 else json.dumps(refusal).encode(), status)
    shown = "" if status == 204 else "no such key: [key]  [31m red"
    assert await reason_and_detail(model) == (f"it refused (HTTP {status})", shown)


async def test_a_redirect_is_not_followed(model: Model) -> None:
    async with stub_model() as other:
        for status in (301, 302, 307, 308):
            model.reply = answers(b"", status, Location=f"{other.url}/chat/completions")
            reason, _detail = await reason_and_detail(model)
            assert reason.startswith(f"HTTP {status}: it has moved")
        assert other.requests == []


async def test_nothing_of_the_environment_sends_the_key_elsewhere(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stub_model() as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        assert await Chat(model.settings).ask("Your move?", PATIENT_S) == "even"
        assert (len(model.requests), proxy.requests) == (1, [])


async def test_the_key_is_in_no_log_whatever_the_level(model: Model, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model.reply = answers(
        json.dumps({"error": f"Bearer {KEY}"}).encode(), 401, **{"X-Echo": KEY, "WWW-Authenticate": KEY}
    )
    chat = Chat(model.settings)
    with pytest.raises(NoAnswer) as caught:
        await chat.ask(KEY, PATIENT_S)
    assert KEY not in caplog.text
    assert KEY not in repr((chat, chat.settings, caught.value, str(chat.settings), caught.value.detail))


def test_what_is_shown_is_one_short_line() -> None:
    chat = Chat(Settings("http://127.0.0.1:9/v1", "stub", KEY))
    assert chat.showable(f"a\r\nb\x00\x1b{KEY}\u2028c") == "a  b  [key] c"
    # What is cut off must not leave a part of the key.
    assert chat.showable("x" * (MAX_SHOWN_CHARS - 5) + KEY) == "x" * (MAX_SHOWN_CHARS - 5) + "[key]"
    assert chat.showable("x" * 10_000) == "x" * MAX_SHOWN_CHARS + "…"


def test_a_stream_that_a_server_never_ended_is_read() -> None:
    assert text_of(event("ev") + event("en")) == "even"


# -- what is set up ---------------------------------------------------------------------------------------

SET_UP = {"LEAGUE_MODEL_URL": "http://127.0.0.1:11434/v1/", "LEAGUE_MODEL_NAME": "llama3.2"}


def test_settings_are_read_from_the_environment() -> None:
    assert Settings.from_environment(SET_UP) == Settings("http://127.0.0.1:11434/v1", "llama3.2")
    more = {"LEAGUE_MODEL_KEY": f" {KEY}\n", "LEAGUE_MODEL_BUDGET_S": "2.5"}
    more["LEAGUE_MODEL_URL"] = "https://models.example/v1/chat/completions"
    expected = Settings("https://models.example/v1", "llama3.2", KEY, 2.5)
    assert Settings.from_environment(SET_UP | more) == expected


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"LEAGUE_MODEL_URL": ""}, "LEAGUE_MODEL_URL is missing: the model's address, such as http://"),
        ({"LEAGUE_MODEL_NAME": " "}, "LEAGUE_MODEL_NAME is missing: the model's name"),
        ({"LEAGUE_MODEL_NAME": "a\nb"}, "LEAGUE_MODEL_NAME is not the name"),
        ({"LEAGUE_MODEL_NAME": "x" * 201}, "LEAGUE_MODEL_NAME is not the name"),
        *(
            ({"LEAGUE_MODEL_URL": url}, "LEAGUE_MODEL_URL is not an address")
            for url in (
                "127.0.0.1:11434/v1",
                "ftp://x/v1",
                "http://",
                "http://[::1",
                "http://x:99999/v1",
                "http://x:0/v1",
                "http://a\tb",
            )
        ),
        *(
            ({"LEAGUE_MODEL_URL": url}, "LEAGUE_MODEL_URL must have no password")
            for url in (
                f"http://me:{KEY}@x/v1",
                f"http://x/v1?key={KEY}",
                f"http://x/v1#{KEY}",
                "http://x/v1?",
                "http://x/v1#",
            )
        ),
        *(
            ({"LEAGUE_MODEL_KEY": key}, "LEAGUE_MODEL_KEY has a space")
            for key in (f"{KEY} x", f"{KEY}\r\nX-Evil: 1", f"{KEY}\0", f"{KEY}é")
        ),
        *(
            ({"LEAGUE_MODEL_BUDGET_S": seconds}, "LEAGUE_MODEL_BUDGET_S is not a number")
            for seconds in ("soon", "0", "-1", "nan", "inf", "1e9")
        ),
    ],
)
def test_what_is_missing_or_wrong_is_said_without_the_key(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NotSetUp) as caught:
        Settings.from_environment(SET_UP | {"LEAGUE_MODEL_KEY": KEY} | change)
    assert str(caught.value).startswith(sentence)
    assert KEY not in str(caught.value)
