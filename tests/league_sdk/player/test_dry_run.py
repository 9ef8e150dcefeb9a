"""``--dry-run``: matches without a league, a port or a file (003 section 7)."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from league_sdk.player import Memory, Player, Random, Strategy, run
from league_sdk.player.dry_run import dry_run
from league_sdk.player.journal import Journal
from league_sdk.protocol.tokens import REDACTED
from league_sdk.rules.registry import games


def text_of(lines: list[str]) -> str:
    return "".join(lines)


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def rehearse(strategy: Strategy, **how: Any) -> tuple[int, str]:
    lines: list[str] = []
    code = await dry_run(Player("Alpha", strategy, **how), lines.append)
    return code, text_of(lines)


@pytest.mark.parametrize("game_type", sorted(games()))
async def test_a_dry_run_of_a_correct_player_succeeds_in_every_game(game_type: str) -> None:
    code, text = await rehearse(Random(), game_types=(game_type,))
    assert (code, text.splitlines()[-1], "WRONG" in text) == (0, "every reply is a valid answer", False)
    moves = "choose_parity" if game_type == "even_odd" else "make_move"
    sent = [
        "notify_round",
        "handle_game_invitation",
        moves,
        "notify_game_error",
        "mcp_message",
        "notify_match_result",
        "update_standings",
        "notify_round_completed",
        "notify_league_completed",
        "get_player_state",
    ]
    positions = [text.index(f'"method":"{method}"') for method in sent]
    assert positions == sorted(positions)
    assert (REDACTED in text, "tok_0" in text) == (True, False)


async def test_a_dry_run_plays_every_game_of_the_player() -> None:
    code, text = await rehearse(Random(), game_types=("even_odd", "tic_tac_toe"))
    assert (code, text.count('"method":"handle_game_invitation"')) == (0, 2)


async def test_a_dry_run_reports_a_game_without_rules() -> None:
    code, text = await rehearse(Random(), game_types=("chess",))
    assert (code, "WRONG there are no rules for chess here" in text) == (1, True)


class Wrong(Player):
    """A player whose answers a function changes."""

    change: Any = None

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        answer = await super().call(method, params)
        return self.change(answer) if method in ("handle_game_invitation", "choose_parity") else answer


def without(name: str) -> Any:
    return lambda answer: {key: value for key, value in answer.items() if key != name}


def fail(answer: Any) -> NoReturn:
    raise RuntimeError("a mistake of mine")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda answer: "joined", "WRONG the result is a str, expected an object"),
        (lambda answer: answer | {"accept": False}, "WRONG the invitation was not accepted"),
        (lambda answer: answer | {"match_id": "R9M9"}, "WRONG match_id: 'R9M9', expected R1M1"),
        (lambda answer: answer | {"player_id": "P77"}, "WRONG player_id: 'P77', expected P01"),
        (lambda answer: answer | {"parity_choice": "both"}, 'WRONG parity_choice: "both", expected'),
        (without("conversation_id"), "WRONG conversation_id: nothing, expected"),
        (fail, "WRONG RuntimeError: a mistake of mine"),
    ],
)
async def test_a_dry_run_names_what_is_wrong_in_an_answer(change: Any, complaint: str) -> None:
    lines: list[str] = []
    player = Wrong("Alpha", Random(), game_types=("even_odd",))
    player.change = change
    assert await dry_run(player, lines.append) == 1
    assert complaint in text_of(lines)
    assert lines[-1].endswith(" wrong\n")


async def test_a_dry_run_writes_no_file_and_opens_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    player = Player("Alpha", Random(), Memory(tmp_path), journal=Journal(tmp_path), game_types=("even_odd",))
    assert await dry_run(player, lambda _: None) == 0
    assert files_in(tmp_path) == []


def test_a_students_program_has_a_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    class Mine(Strategy):
        quick = True
        game_types = ("even_odd",)

        def choose(self, options: list[Any], context: dict[str, Any]) -> Any:
            return "odd"

    assert run(Mine, ["--dry-run"]) == 0
    assert '"parity_choice":"odd"' in capsys.readouterr().out


def test_a_dry_run_starts_from_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "league_sdk.player", "--dry-run", "--strategy", "even", "--game", "even_odd"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "every reply is a valid answer")


def test_without_dry_run_the_command_line_has_to_name_a_league(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(None, ["--name", "Alpha"])
    assert ended.value.code == 2
    assert "required: --league" in capsys.readouterr().err
