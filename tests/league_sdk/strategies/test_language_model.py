"""A player whose strategy is a language model, or a plain one when that gives no move in time."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from league_sdk.player import Player
from league_sdk.player.app import run
from league_sdk.player.dry_run import dry_run
from league_sdk.player.journal import Journal
from league_sdk.strategies import LanguageModel
from league_sdk.strategies.chat import Settings
from tests.league_sdk.player.positions import after, ask, call_for
from tests.league_sdk.player.samples import ACCEPTED, CHOICE
from tests.league_sdk.strategies.stub_model import KEY, Model, Reply, answers, says, streams, stub_model

PARITIES = ["even", "odd"]
NAMES_NONE = "its answer names no move that is allowed"


@pytest_asyncio.fixture
async def model() -> AsyncIterator[Model]:
    async with stub_model() as stub:
        yield stub


def strategy_of(model: Model, **settings: Any) -> LanguageModel:
    fields = {"url": model.url, "name": "stub", "key": KEY, "budget_s": 60.0} | settings
    return LanguageModel(random.Random(1), settings=Settings(**fields))


async def test_the_model_chooses_and_the_log_says_how(model: Model, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "league_sdk.player")
    model.reply = says(f"<think>even?</think>\nI choose **odd**. {KEY}")
    player = Player("Alpha", strategy_of(model))
    player.accept(ACCEPTED)
    assert (await player.call("choose_parity", dict(CHOICE)))["parity_choice"] == "odd"
    question, answer = (record.getMessage() for record in caplog.records if record.name == "league_sdk.player")
    assert question == f"stub is asked:\n{model.prompts[0]}"
    assert answer == "stub answers: <think>even?</think> I choose **odd**. [key]"
    assert KEY not in caplog.text


async def test_a_player_with_a_log_has_prompts_and_answers_in_it(
    model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "league_sdk.player")
    model.reply = says(f"odd {KEY}")
    player = Player("Alpha", strategy_of(model))
    player.journal = Journal(tmp_path)
    player.accept(ACCEPTED)
    assert (await player.call("choose_parity", dict(CHOICE)))["parity_choice"] == "odd"
    model.reply = says("neither")
    await player.call("choose_parity", CHOICE | {"match_id": "R2M1", "conversation_id": "conv-r2m1"})
    text = (tmp_path / "logs" / "agents" / "P01.log.jsonl").read_text(encoding="utf-8")
    noted = [line for line in map(json.loads, text.splitlines()) if line["event_type"].startswith("MODEL_")]
    about = [{"model": "stub", "match_id": match_id} for match_id in ("R1M1", "R2M1")]
    assert [(line["event_type"], line["details"]) for line in noted] == [
        ("MODEL_ASKED", about[0] | {"prompt": model.prompts[0]}),
        ("MODEL_ANSWERED", about[0] | {"answer": "odd [key]"}),
        ("MODEL_ASKED", about[1] | {"prompt": model.prompts[1]}),
        ("MODEL_ANSWERED", about[1] | {"answer": "neither"}),
        ("MODEL_NOT_USED", about[1] | {"problem": "its answer names no move that is allowed", "detail": ""}),
    ]
    assert KEY not in text + caplog.text
    assert [record.levelname for record in caplog.records if record.name == "league_sdk.player"] == ["WARNING"]


async def test_the_model_is_asked_for_a_move_on_a_board(model: Model) -> None:
    model.reply = says("Cell 8, to keep 5 and 2 for later? No: 7")
    player = Player("Alpha", strategy_of(model))
    move = (await player.call("make_move", call_for(*after("tic_tac_toe", "40"), "P01")))["move_data"]
    assert move == {"move_type": "place_mark", "choice": 7}
    assert ". X ." in model.prompts[0]


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (says("9"), NAMES_NONE),
        (says("<think>8"), NAMES_NONE),
        (says(""), NAMES_NONE),
        (answers(b"<html>8</html>"), "its answer is not a chat completion"),
        (answers(b"{}", 500), "it refused (HTTP 500)"),
        (streams(then="silence"), "it did not answer in time"),
    ],
)
async def test_a_plain_strategy_decides_when_the_model_does_not(
    model: Model, reply: Reply, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    model.reply = reply
    strategy = strategy_of(model, budget_s=0.1 if "time" in cause else 60.0)
    game, state = after("tic_tac_toe", "014")
    # The careful one blocks the diagonal; each cause is said once.
    for _ in range(2):
        assert await ask(strategy, game, state) == 8
        assert await strategy.choose(PARITIES, {"game_type": "even_odd"}) in PARITIES
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == [f"stub: {cause}; a plain strategy decides (reported only once)"]


async def test_the_model_is_not_asked_if_the_deadline_is_too_near(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    context = {"timestamp": "2025-01-15T10:15:00Z", "deadline": "2025-01-15T10:15:01Z", "game_type": "even_odd"}
    assert await strategy_of(model).choose(PARITIES, context) in PARITIES
    assert model.requests == []
    assert "the deadline of the move is too near" in caplog.text


async def test_a_refusal_that_repeats_the_key_is_logged_without_it(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model.reply = answers(json.dumps({"error": {"message": f"Incorrect key: {KEY}"}}).encode(), 401, Echo=KEY)
    strategy = strategy_of(model)
    await strategy.choose(PARITIES, {"game_type": "even_odd"})
    assert "stub: it refused (HTTP 401): Incorrect key: [key]; a plain strategy decides" in caplog.text
    assert KEY not in caplog.text + repr(strategy)


async def test_a_language_model_plays_a_whole_dry_run(model: Model) -> None:
    model.reply = says("0, 1, 2, 3, 4, 5, 6, 7, 8, even")
    lines: list[str] = []
    assert await dry_run(Player("Alpha", strategy_of(model)), lines.append) == 0
    assert len(model.requests) > 8
    assert KEY not in "".join(lines)


def test_without_an_address_the_command_line_says_so_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LEAGUE_MODEL_URL", raising=False)
    with pytest.raises(SystemExit) as stopped:
        run(None, ["--dry-run", "--strategy", "model"])
    assert stopped.value.code == 2
    assert "error: LEAGUE_MODEL_URL is missing: the model's address" in capsys.readouterr().err
