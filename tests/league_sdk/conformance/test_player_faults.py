"""The check of players, with agents that have one fault each: the report has this fault and no other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.league_sdk.conformance.agents import NAMES, Agent, Params, Wrong, checked, failed_and_tolerated, stamp
from tests.sizes import sampled

pytestmark = pytest.mark.usefixtures("hunts_without_pauses")


class Changed(Agent):
    """Changes fields of "every" answer, of answers of one type, or of the JSON "around" results.

    None removes a field of an answer; around a result it is sent as null.
    """

    def __init__(self, **changes: Params) -> None:
        super().__init__()
        self.changes = changes

    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        whole = super().message(kind, params, **fields) | self.changes.get("every", {}) | self.changes.get(kind, {})
        return {name: value for name, value in whole.items() if value is not None}

    def reply(self, rpc_id: Any, result: Any) -> Any:
        return super().reply(rpc_id, result) | self.changes.get("around", {})


ACK, CHOICE = "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"
CHANGES: list[tuple[dict[str, Params], set[str], set[str]]] = [
    ({ACK: {"accept": None}}, set(), {"join.field"}),
    ({ACK: {"accept": False}}, {"join.accepts"}, set()),
    ({ACK: {"accept": None, "status": "ACCEPTED"}}, set(), {"join.field"}),
    ({ACK: {"arrival_timestamp": "2025-01-15T10:30:00+02:00"}}, set(), {"answer.timestamp"}),
    ({CHOICE: {"parity_choice": "NEITHER"}}, {"choice.legal", "second.choice"}, set()),
    ({CHOICE: {"parity_choice": None, "choice": "odd"}}, set(), {"choice.field"}),
    ({"every": {"timestamp": "2025-01-15T10:30:00.123456"}}, set(), {"answer.timestamp"}),
    ({"every": {"player_id": "alpha", "sender": "player:alpha"}}, set(), {"answer.player_id", "answer.sender"}),
    ({"every": {"sender": "player:Alpha"}}, set(), {"answer.sender"}),
    ({"every": {"conversation_id": "mine"}}, set(), {"answer.conversation_id"}),
    ({"every": {"message_type": None}}, set(), {"answer.message_type"}),
    ({"around": {"id": 1}}, set(), {"rpc.id"}),
    ({"around": {"error": None}}, set(), {"rpc.reply"}),
]


def named(value: Any) -> str:
    return str(value) if isinstance(value, dict) else getattr(value, "__name__", "")


@pytest.mark.parametrize(("changes", "fails", "tolerated"), sampled(CHANGES), ids=named)
async def test_a_wrong_field_in_an_answer_is_reported_and_nothing_else(
    changes: dict[str, Params], fails: set[str], tolerated: set[str]
) -> None:
    await check_reports(Changed(**changes), fails, tolerated)


class JoinsOnce(Agent):
    async def join(self, params: Params) -> Any:
        first = [one.get("match_id") for one in self.seen].count(params["match_id"]) == 1
        return await super().join(params) | {"accept": first}


class PlaysOnce(Agent):
    async def join(self, params: Params) -> Any:
        return await super().join(params) | {"accept": params["role_in_match"] == "PLAYER_A"}


class Wavers(Agent):
    async def choose(self, params: Params) -> Any:
        self.choices += 1
        parity = ("even", "odd")[self.choices % 2]
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice=parity)


class EchoesToken(Agent):
    def message(self, kind: str, params: Params, **fields: Any) -> Params:
        return super().message(kind, params, **fields) | {"auth_token": params["auth_token"]}


class ByType(Agent):
    names = {kind: kind for kind in NAMES.values()}


class ParityChoose(Agent):
    names = {"parity_choose" if name == "choose_parity" else name: kind for name, kind in NAMES.items()}


class Fragile(Agent):
    """Fails on unknown fields."""

    async def join(self, params: Params) -> Any:
        if any(name.startswith("x_") for name in params):
            raise KeyError("x_")
        return await super().join(params)


class TakesAll(Agent):
    """Accepts an invitation without a match id."""

    async def call(self, method: Any, params: Params) -> Any:
        if method == "handle_game_invitation":
            return self.message("GAME_JOIN_ACK", {"match_id": None} | params, arrival_timestamp=stamp(), accept=True)
        return await super().call(method, params)


class HelpfulWithUnknown(Agent):
    async def call(self, method: Any, params: Params) -> Any:
        try:
            return await super().call(method, params)
        except Wrong as wrong:
            if wrong.code == -32601:
                return {"status": "unknown_message_type"}
            raise


class Stumbles(Agent):
    """Refuses everything after an unknown method."""

    broken = False

    async def join(self, params: Params) -> Any:
        if self.broken:
            raise Wrong(-32000)
        return await super().join(params)

    async def call(self, method: Any, params: Params) -> Any:
        self.broken = self.broken or method == "no_such_method"
        return await super().call(method, params)


BEHAVIOURS: list[tuple[type[Agent], set[str], set[str]]] = [
    (JoinsOnce, set(), {"join.repeated"}),
    (PlaysOnce, {"second.join", "robust.slow_body", "robust.afterwards"}, set()),
    (Wavers, set(), {"choice.repeated"}),
    (EchoesToken, set(), {"answer.auth_token"}),
    (ByType, set(), {"method.names"}),
    (ParityChoose, set(), {"method.names"}),
    (Fragile, {"robust.extra_fields"}, set()),
    (TakesAll, set(), {"robust.missing_field", "robust.wrong_type"}),
    (HelpfulWithUnknown, set(), {"robust.unknown_method"}),
    (Stumbles, {"robust.afterwards"}, set()),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "fails", "tolerated"), sampled(BEHAVIOURS), ids=named)
async def test_wrong_behaviour_is_reported_and_nothing_else(
    kind: type[Agent], fails: set[str], tolerated: set[str]
) -> None:
    await check_reports(kind(), fails, tolerated)


async def check_reports(agent: Agent, fails: set[str], tolerated: set[str]) -> None:
    report = await checked(agent)
    assert failed_and_tolerated(report) == (fails, tolerated), [
        (c.id, c.why) for c in report.clauses if c.verdict == "fails"
    ]
    assert report.can_play is not (fails & {"join.accepts", "choice.legal", "second.join", "second.choice"} != set())
