"""A referee that dials out answers messages of its inbox like those at a port."""

from __future__ import annotations

from typing import Any

import pytest

from league_sdk.judging.door.dialled import answer
from league_sdk.protocol import rpc
from league_sdk.protocol.errors import TokenInvalid


class Judge:
    """Records the calls that it gets."""

    referee_id = "REF01"

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def perform(self, name: str, message: dict[str, Any], sender_waits: Any) -> dict[str, Any]:
        assert await sender_waits()
        self.calls.append(name)
        if message.get("auth_token") != "ours":
            raise TokenInvalid("Not ours.", field="auth_token")
        return {"accepted": True}


@pytest.mark.parametrize("name", ["start_match", "CHOOSE_PARITY_RESPONSE", "ROUND_ANNOUNCEMENT", "get_match_state"])
async def test_calls_about_matches_and_rounds_are_passed_to_the_referee(name: str) -> None:
    judge = Judge()
    response = await answer(judge, rpc.call(name, {"auth_token": "ours", "match_id": "R1M1"}, 77))
    assert (response["id"], response["result"]["accepted"], judge.calls) == (77, True, [name])


async def test_a_refusal_is_an_error_with_the_id() -> None:
    response = await answer(Judge(), rpc.call("start_match", {"auth_token": "another's"}, 78))
    assert (response["id"], response["error"]["data"]["error_code"]) == (78, "E012")


@pytest.mark.parametrize(("name", "code"), [("ping", None), ("list_tools", None), ("no_such_method", -32601)])
async def test_other_calls_are_answered_without_the_referee(name: str, code: int | None) -> None:
    judge = Judge()
    response = await answer(judge, rpc.call(name, {}, 79))
    assert (response["id"], response.get("error", {}).get("code"), judge.calls) == (79, code, [])
