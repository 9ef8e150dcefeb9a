"""Mutants: bots of the zoo, each changed in one detail that no bot has yet. The same seed makes the same mutants."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from tests.bots.words import rpc_error, rpc_result
from tests.bots.zoo import speech
from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.speech import Incoming, Reply

SEED = 20261125
COUNT = 10
BASES = [name for name in BOTS if name not in ("StrictData", "Seed002", "Seed002InParams", "Whole002")]
"""The bots that may be changed; the others put an envelope of their own around an answer."""
CHOICE_KEYS = (
    *("my_choice", "pick", "parityChoice", "selected_parity", "bet", "guess", "value", "side", "myMove"),
    *("player_choice", "decision_made", "chosenParity", "call", "Choice", "answer_is"),
)
ACCEPT_KEYS = (
    *("accepts", "acceptance", "isAccepted", "will_join", "willJoin", "joining", "agree", "ready", "confirmed"),
    *("participate", "Accept", "accepted_invitation"),
)
FIELDS = {
    "match_id": ("matchId", "match", "game", "MatchID"),
    "player_id": ("playerId", "agent", "player", "PlayerID"),
    "message_type": ("type", "messageType", "kind", "msg_type"),
    "sender": ("from", "Sender", "source"),
    "timestamp": ("time", "sentAt", "ts"),
    "conversation_id": ("conversationId", "thread"),
}
META = {
    "display_name": ("displayName", "agentName", "playerName", "name", "DisplayName"),
    "contact_endpoint": ("contactEndpoint", "callbackUrl", "serverUrl", "uri", "webhookUrl", "ContactEndpoint"),
}
WRAPPERS = ("reply", "output", "response", "result", "data", "body", "value", "returned", "move_result", "Payload")


def camel(name: str) -> str:
    head, *words = name.split("_")
    return head + "".join(word.capitalize() for word in words)


def pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


CASES: dict[str, Callable[[str], str]] = {
    "camelCase": camel,
    "PascalCase": pascal,
    "UPPER_CASE": str.upper,
    "kebab-case": lambda name: name.replace("_", "-"),
}
VALUES: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "capital": str.capitalize,
    "spaced": lambda text: f" {text}\n",
}


def _plain(status: int, text: str) -> speech.Refusal:
    return lambda rpc_id, why: Reply(status, text=text)


ERRORS: dict[str, speech.Refusal] = {
    "501": _plain(501, "Not Implemented"),
    "404 page": _plain(404, "<!doctype html><title>404 Not Found</title>"),
    "400 text": _plain(400, "Bad Request"),
    "ok false": speech.success(ok=False, msg="no handler for this"),
    "bare ok false": speech.bare(ok=False, msg="no handler for this"),
    "code": speech.success(code="UNKNOWN_METHOD", detail="see the manual"),
    "status fail": speech.success(status="fail", reason="unsupported"),
    "-32000": lambda rpc_id, why: Reply(200, rpc_error(-32000, "Unsupported operation", rpc_id)),
    "text code": lambda rpc_id, why: Reply(200, {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": "E_METHOD"}}),
    "null": lambda rpc_id, why: Reply(200, rpc_result(None, rpc_id)),
    "empty": lambda rpc_id, why: Reply(200, rpc_result({}, rpc_id)),
    "problem": speech.bare(404, type="about:blank", title="Not Found"),
    "error text": lambda rpc_id, why: Reply(200, {"jsonrpc": "2.0", "id": rpc_id, "error": "method not supported"}),
    "nested": speech.success(data={"error": "unknown message type"}),
    "hangs up": lambda rpc_id, why: Reply(200, hangs_up=True),
}
Traits = dict[str, Any]


def _rename_a_field(rng: random.Random, base: type[Bot]) -> tuple[Traits, str]:
    if rng.random() < 0.3:
        field = rng.choice(list(META))
        new = rng.choice(META[field])
        if field == "contact_endpoint":
            return {"address_key": new}, f"{field} is {new}"

        def applicant(self: Bot) -> Any:
            made = base.applicant(self)
            meta = made.meta
            new_meta = {new if name == field else name: value for name, value in meta().items()}
            object.__setattr__(made, "meta", lambda: new_meta)
            return made

        return {"applicant": applicant}, f"{field} is {new}"
    field = rng.choice(list(FIELDS))
    new = rng.choice(FIELDS[field])

    def message(self: Bot, incoming: Incoming, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        answer = base.message(self, incoming, fields, conversation)
        return {new if name == field else name: value for name, value in answer.items()}

    return {"message": message}, f"{field} is {new}"


def _wrap_once_more(rng: random.Random, base: type[Bot]) -> tuple[Traits, str]:
    wrapper, as_text = rng.choice(WRAPPERS), rng.random() < 0.2

    def shaped(self: Bot, fields: dict[str, Any], incoming: Incoming) -> Any:
        inside: Any = json.dumps(fields) if as_text else fields
        return base.shaped(self, {wrapper: inside}, incoming)

    return {"shaped": shaped}, f"wrapped in {wrapper}{' as text' if as_text else ''}"


def _other_case(rng: random.Random, base: type[Bot]) -> tuple[Traits, str]:
    if rng.random() < 0.4:
        how = rng.choice(list(VALUES))

        def choice_fields(self: Bot, choice: str) -> dict[str, Any]:
            answer = base.choice_fields(self, choice)
            return {name: VALUES[how](value) if value == choice else value for name, value in answer.items()}

        return {"choice_fields": choice_fields}, f"choices are {how}"
    case = rng.choice(list(CASES))

    def message(self: Bot, incoming: Incoming, fields: Mapping[str, Any], conversation: Any) -> dict[str, Any]:
        return {CASES[case](name): value for name, value in base.message(self, incoming, fields, conversation).items()}

    return {"message": message}, f"names in {case}"


def _other_key(rng: random.Random, base: type[Bot]) -> tuple[Traits, str]:
    choice, accept = rng.choice(CHOICE_KEYS), rng.choice(ACCEPT_KEYS)

    def choice_fields(self: Bot, chosen: str) -> dict[str, Any]:
        return {choice: chosen}

    def join_fields(self: Bot, accepts: bool) -> dict[str, Any]:
        return {accept: accepts}

    return {"choice_fields": choice_fields, "join_fields": join_fields}, f"{accept} and {choice}"


def _other_errors(rng: random.Random, base: type[Bot]) -> tuple[Traits, str]:
    name = rng.choice(list(ERRORS))
    return {"refuses": ERRORS[name], "refuses_fields": None}, f"refuses by {name}"


KINDS = {
    "a field renamed": _rename_a_field,
    "wrapped once more": _wrap_once_more,
    "another case": _other_case,
    "another key": _other_key,
    "another error style": _other_errors,
}


def mutants(seed: int = SEED, count: int = COUNT) -> dict[str, type[Bot]]:
    """Mutants by name; the docstring of each says what was changed in which bot.

    Args:
        seed: the same seed gives the same mutants.
        count: how many, at most one for each of ``BASES``; each kind of change is used once before any is used again.
    """
    rng = random.Random(seed)
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += rng.sample(list(KINDS), len(KINDS))
    bases = rng.sample(BASES, min(count, len(BASES)))
    made = {}
    for number, (kind, base) in enumerate(zip(kinds, bases, strict=False), 1):
        name = f"Mutant{number:02d}"
        traits, what = KINDS[kind](rng, BOTS[base])
        made[name] = type(name, (BOTS[base],), {**traits, "__doc__": f"{base}, {kind}: {what}. Seed {seed}."})
    return made
