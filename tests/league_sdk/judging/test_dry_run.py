"""A referee's dry run: scripted matches in the process, no network (003 section 7)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from league_sdk import match_messages
from league_sdk.judging import dry_run
from league_sdk.rules.registry import games


async def run_dry() -> tuple[int, str]:
    lines: list[str] = []
    code = await dry_run.run(lines.append)
    return code, "".join(lines)


async def test_a_dry_run_plays_every_game_and_one_absent_player() -> None:
    code, text = await run_dry()
    assert code == 0
    titles = re.findall(r"^== (.*)$", text, re.MULTILINE)
    assert titles == [*(game.display_name for game in games().values()), "Even/Odd, P02 is silent"]
    verdicts = re.findall(r"^(ok|WRONG) (\w+) (\w+): (.*)$", text, re.MULTILINE)
    assert [word for word, *_ in verdicts] == ["ok"] * len(titles)
    reason = "P02 did not answer GAME_INVITATION in 5 s (tries: 4). Technical loss"
    assert verdicts[-1] == ("ok", "TECHNICAL_LOSS", "P01", reason)
    first = text[: text.index("== ", 3)]
    messages = re.findall(r"^(REF01|P0\d) -> (REF01|P0\d): (\w+) ", first, re.MULTILINE)
    kinds = ("GAME_INVITATION", "GAME_JOIN_ACK", "CHOOSE_PARITY_CALL", "CHOOSE_PARITY_RESPONSE", "GAME_OVER")
    counts = {kind: sum(1 for *_, one in messages if one == kind) for kind in kinds}
    assert counts == dict.fromkeys(kinds, 2)
    assert "tok_0" not in text


async def test_a_dry_run_fails_over_a_message_that_violates_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    invitation = match_messages.invitation

    def odd(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return invitation(*args, **kwargs) | {"role_in_match": "REFEREE"}

    monkeypatch.setattr(match_messages, "invitation", odd)
    code, text = await run_dry()
    assert code == 1
    assert 'WRONG GAME_INVITATION.role_in_match: "REFEREE", expected' in text
