"""Foreign agents with message formats, callbacks and validation of their own."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

from tests.bots.base import Call
from tests.bots.foreign_agents.base import ForeignAgent, Reply, error, result
from tests.bots.words import ANSWERS, CHOOSE, INVITE, OVER, rpc


class NestedResponse(ForeignAgent):
    """Answers ``{"response": {...}}``."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        return result({"response": self.message(kind, fields)}, call)


class ResultInResult(ForeignAgent):
    """A bot whose handler and server both add JSON-RPC: a result within a result."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        inner = {"jsonrpc": "2.0", "result": self.message(kind, fields), "id": 1}
        return result(inner, call)


class TypeAndPayload(ForeignAgent):
    """Answers ``{"type": ..., "payload": {...}}`` with nothing else in it."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        return result({"type": ANSWERS.get(kind, "ACK"), "payload": self.message(kind, fields)}, call)


class ResultIsText(ForeignAgent):
    """A bot whose ``result`` is a string that contains JSON."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        return result(json.dumps(self.message(kind, fields)), call)


class BareWords(ForeignAgent):
    """A bot whose ``result`` is a bare value: ``true`` for joining, ``"even"`` for a choice."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        message = self.message(kind, fields)
        return result(message.get("parity_choice", True), call)


class SuccessMessage(ForeignAgent):
    """Answers ``{"status": "success", "data": {"message": {...}}}``."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        return result({"status": "success", "data": {"message": self.message(kind, fields)}}, call)


class MoveData(ForeignAgent):
    """Answers the choice with 004 3.8.2's GAME_MOVE_RESPONSE."""

    def message(self, kind: str, fields: Any) -> dict[str, Any]:
        message = super().message(kind, fields)
        if kind == CHOOSE:
            move = {"move_type": "choose_parity", "choice": message.pop("parity_choice")}
            message |= {"message_type": "GAME_MOVE_RESPONSE", "game_type": "even_odd", "move_data": move}
        return message


class JoinStatus(ForeignAgent):
    """Joins by ``{"status": "JOINED"}`` and chooses by ``{"move": {"parity": "odd"}}``."""

    def message(self, kind: str, fields: Any) -> dict[str, Any]:
        message = super().message(kind, fields)
        if kind == INVITE:
            del message["accept"]
            message["status"] = "JOINED"
        elif kind == CHOOSE:
            message["move"] = {"parity": message.pop("parity_choice")}
        return message


class Batched(ForeignAgent):
    """Answers with a JSON-RPC batch of one response."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        return Reply([result(self.message(kind, fields), call).body])


class Camel(ForeignAgent):
    """Uses camelCase in its registration and answers, as in JavaScript."""

    def meta(self) -> dict[str, Any]:
        return {
            "displayName": self.name,
            "version": "1.0.0",
            "gameTypes": ["even_odd"],
            "contactEndpoint": self.address,
        }

    async def enter(self) -> None:
        request = {"protocol": "league.v2", "messageType": "LEAGUE_REGISTER_REQUEST", "playerMeta": self.meta()}
        answer = await self.rpc(self.league, "registerPlayer", request)
        response = answer["result"]
        self.player_id = response.get("playerId") or response["player_id"]
        self.token = response.get("authToken") or response["auth_token"]

    def message(self, kind: str, fields: Any) -> dict[str, Any]:
        message = super().message(kind, fields)
        return {re.sub(r"_(\w)", lambda match: match[1].upper(), name): value for name, value in message.items()}


class CallsBackByName(ForeignAgent):
    """Replies 202 with an empty body, then calls the referee by ``game_join_ack`` and ``submit_choice``."""

    methods = {INVITE: "game_join_ack", CHOOSE: "submit_choice"}

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        if kind == OVER:
            return Reply(b"", 204)
        to = self.invitations[fields["match_id"]]["referee_endpoint"]
        body = rpc(self.methods[kind], self.callback_fields(kind, fields), 7)
        self.later(to, body)
        return Reply(b"", 202)

    def callback_fields(self, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The params of its callback."""
        return self.message(kind, fields)


class CallsBackOtherNames(CallsBackByName):
    """Calls back by ``handle_join_ack`` and ``choose_parity_response``, with ``choice`` and no message_type."""

    methods = {INVITE: "handle_join_ack", CHOOSE: "choose_parity_response"}

    def callback_fields(self, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        message = self.message(kind, fields)
        del message["message_type"]
        if kind == CHOOSE:
            message["choice"] = message.pop("parity_choice")
        return message


class CallsBackFlat(CallsBackByName):
    """Replies ``{"status": "received"}``, then posts its answer to the referee without JSON-RPC."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        if kind != OVER:
            self.later(self.invitations[fields["match_id"]]["referee_endpoint"], self.message(kind, fields))
        return Reply({"status": "received"})


class CallsBackInTool(CallsBackByName):
    """Calls back by ``tools/call`` at the referee, with the message in ``arguments``."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        if kind != OVER:
            to = self.invitations[fields["match_id"]]["referee_endpoint"]
            tool_call = {"name": self.methods[kind], "arguments": self.message(kind, fields)}
            self.later(to, rpc("tools/call", tool_call, "c1"))
        return result({"acknowledged": True}, call)


class TokenInHeader(CallsBackByName):
    """Calls back with its token in ``Authorization: Bearer`` and not in the message."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        if kind != OVER:
            to = self.invitations[fields["match_id"]]["referee_endpoint"]
            message = self.message(kind, fields)
            del message["auth_token"]
            body = rpc(message["message_type"], message)
            self.later(to, body, json=body, headers={"Authorization": f"Bearer {self.token}"})
        return result({"status": "ok"}, call)


ENVELOPE = {"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "league_id", "round_id"}
TABLES = {
    INVITE: ENVELOPE | {"match_id", "game_type", "role_in_match", "opponent_id"},
    CHOOSE: ENVELOPE | {"match_id", "player_id", "game_type", "context", "deadline"},
    OVER: ENVELOPE | {"match_id", "game_type", "game_result"},
}


class ForbidsExtra(ForeignAgent):
    """Refuses fields that are not in the tables of 004 chapter 4, as FastAPI reports pydantic's ``extra="forbid"``."""

    async def answer_message(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        extra = sorted(set(fields) - TABLES[kind])
        if extra:
            detail = [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "params", name],
                    "msg": "Extra inputs are not permitted",
                    "input": fields[name],
                }
                for name in extra
            ]
            return Reply({"detail": detail}, 422)
        return await super().answer_message(kind, fields, call)


class ForbidsExtraBriefly(ForeignAgent):
    """Refuses the first unknown field by -32602, as a dataclass filled with ``**params`` does."""

    async def answer_message(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        extra = [name for name in fields if name not in TABLES[kind]]
        if extra:
            why = f"GameInvitation.__init__() got an unexpected keyword argument '{extra[0]}'"
            return error(-32602, why, call)
        return await super().answer_message(kind, fields, call)


class StringIds(ForeignAgent):
    """Takes only strings as JSON-RPC ids: 422 for a number."""

    async def answer_call(self, call: Call) -> Reply:
        rpc_id = call.id
        if not isinstance(rpc_id, str):
            wrong = {"type": "string_type", "loc": ["body", "id"], "msg": "Input should be a valid string"}
            return Reply({"detail": [wrong | {"input": rpc_id}]}, 422)
        return await super().answer_call(call)


class StrictEnvelope(ForeignAgent):
    """Requires the fields of tables 2 and 4, integer round_ids, and senders in the form of 2.4.4."""

    async def answer_message(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        needed = {"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "league_id"}
        missing = sorted(name for name in needed | {"match_id", "round_id"} if fields.get(name) in (None, ""))
        if missing:
            return error(-32602, f"E003 MISSING_REQUIRED_FIELD {missing}", call)
        if not isinstance(fields["round_id"], int) or not re.fullmatch(r"referee:REF\d\d", fields["sender"]):
            return error(-32602, "E002", call)
        return await super().answer_message(kind, fields, call)


class NotMyself(ForeignAgent):
    """Refuses an invitation whose opponent is itself or missing, and messages for another player_id."""

    async def answer_message(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        if kind == INVITE and fields.get("opponent_id") in (None, "", self.player_id):
            return result({"message_type": "GAME_JOIN_ACK", "accept": False, "reason": "opponent is me"}, call)
        if fields.get("player_id", self.player_id) != self.player_id:
            return error(-32602, "not my id", call)
        return await super().answer_message(kind, fields, call)


class DottedMethods(ForeignAgent):
    """Knows the methods ``player.invite``, ``player.choose`` and ``player.result``, which no document names."""

    async def answer_call(self, call: Call) -> Reply:
        body = call.body
        kind = {"player.invite": INVITE, "player.choose": CHOOSE, "player.result": OVER}.get(body.get("method", ""))
        if kind is None:
            return error(-32601, f"Method not found: {body.get('method')}", call)
        return await self.answer_message(kind, body.get("params", {}), call)


class ByTypeAnywhere(ForeignAgent):
    """Tells messages apart by ``params.message_type``, whatever the method."""

    async def answer_call(self, call: Call) -> Reply:
        params = call.body.get("params", {})
        kind = params.get("message_type")
        if kind in (INVITE, CHOOSE, OVER):
            return await self.answer_message(kind, params, call)
        return result({"status": "error", "message": f"Unsupported message type {kind}"}, call)


class ParamsMessage(ForeignAgent):
    """Wants the message in ``params.message``, whatever the method; else answers with a page of status 500."""

    async def answer_call(self, call: Call) -> Reply:
        message = call.body.get("params", {}).get("message")
        if not isinstance(message, dict):
            page = b"<!doctype html><title>500 Internal Server Error</title>"
            return Reply(page, 500, {"Content-Type": "text/html"})
        if message["message_type"] not in (INVITE, CHOOSE, OVER):
            return result({"status": "ok"}, call)
        return await self.answer_message(message["message_type"], message, call)


class CamelMethods(ForeignAgent):
    """Knows the methods ``handleGameInvitation``, ``chooseParity`` and ``notifyMatchResult``."""

    async def answer_call(self, call: Call) -> Reply:
        methods = {"handleGameInvitation": INVITE, "chooseParity": CHOOSE, "notifyMatchResult": OVER}
        kind = methods.get(call.method)
        if kind is None:
            return error(-32601, "Method not found", call)
        return await self.answer_message(kind, call.body["params"], call)


class Talker(ForeignAgent):
    """Answers like a language model: the choice is a text with its JSON in a code block."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        message = self.message(kind, fields)
        if kind == CHOOSE:
            return result(f"I think:\n```json\n{json.dumps(message)}\n```", call)
        return result(message, call)


class IdsAsText(ForeignAgent):
    """Repeats the JSON-RPC id as a string, and answers under a new conversation_id."""

    def answer(self, kind: str, fields: dict[str, Any], call: Call) -> Reply:
        message = self.message(kind, fields) | {"conversation_id": str(uuid4())}
        return Reply({"jsonrpc": "2.0", "id": str(call.id), "result": message, "error": ""})
