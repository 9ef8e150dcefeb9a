"""``play``: a person plays by clicking, in an MCP host that can ask its person (ruling, section 13; our choice).

While a call waits, it is a line of the player's inbox: invitations are accepted, and each move is a question to the
person, with the referee's time limit. In versions of MCP without sessions a question ends the call, and its answer
comes with the next call: the inbox then still holds the referee's request, so that the question is found again by the
id of the request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from league_sdk.mcp.asking import Question, elicitation
from league_sdk.mcp.context import Context
from league_sdk.protocol.envelope import envelope
from league_sdk.protocol.errors import InvalidFormat
from league_sdk.protocol.messages import MessageType
from league_sdk.rules.even_odd import CHOICES
from leaguesite.inbox.admission import OPEN_LINES
from leaguesite.inbox.answering import MAX_WAIT_S, InboxCaller, TakenOver, seconds_of
from leaguesite.mcp.calls import Call, Held
from leaguesite.mcp.inboxes import inbox_caller
from matches.inbox.hub import hub
from matches.inbox.lines import Line, Offer
from storage import clock

_CALLS = (MessageType.CHOOSE_PARITY_CALL, MessageType.GAME_MOVE_CALL)
_ENDS = (MessageType.GAME_OVER, MessageType.LEAGUE_COMPLETED)
"""Messages that end the call: its caller is told what has happened."""
_NOT_UNDERSTOOD = {"code": -32601, "message": "Method not found"}
_NO_MOVES = {"code": -32602, "message": "move_request.valid_options must be a list of moves."}
MAX_OPTIONS, MAX_NAME_CHARS, MAX_STATE_CHARS = 200, 64, 1000
"""How many moves a person may choose from, and how much of an id and of a game's state a question shows."""

_PASSED_ON = ("message_type", "match_id", "round_id", "game_result", "standings", "champion")
"""The fields of a message that are passed on to the caller."""
_SENTENCES = {
    "GAME_OVER": "The match is over.",
    "GAME_ERROR": "The referee reports a mistake.",
    "ROUND_ANNOUNCEMENT": "A round begins.",
    "ROUND_COMPLETED": "The round is over.",
    "LEAGUE_STANDINGS_UPDATE": "The table has changed.",
    "LEAGUE_COMPLETED": "The league is over.",
}


def play(call: Call) -> Held:
    """Play for a person: accept invitations and ask for each move, until a match or the time is over.

    Returns an answer that waits and then has ``events`` (what the league and referees said) and ``call_again``.

    Raises:
        InvalidFormat: the client cannot ask its person, or ``wait_s`` cannot be read; raised while the answer waits.
        TooOften, TakenOver: as for a poll; raised while the answer waits.
    """
    return Held(partial(_play, call, inbox_caller(call)))


async def _play(call: Call, caller: InboxCaller, context: Context | None) -> dict[str, Any]:
    if context is None or "elicitation" not in context.capabilities:
        raise InvalidFormat(
            "Your client cannot ask its person.",
            field="capabilities",
            seen="no MCP" if context is None else sorted(context.capabilities),
            expected="an MCP client with elicitation; a program plays with next_message and submit_response",
        )
    wait_s = seconds_of(call.params.get("wait_s"), name="wait_s", longest=MAX_WAIT_S)
    with OPEN_LINES.taken(caller.address), hub.line(caller.agent, "poll", token=caller.token) as line:
        game = _Game(call, context, line)
        await game.play(wait_s)
        if line.taken_over:
            raise TakenOver
        return call.message("PLAY_STATUS", events=game.events, call_again=not game.league_is_over)


@dataclass(slots=True)
class _Game:
    """One call of the tool.

    Attributes:
        call: whose player it is.
        context: the request, through which the person is asked.
        line: the line of the player's inbox.
        events: what was said and done, in order.
        is_over: a match or the league has ended, or the person did not choose: the call ends.
        league_is_over: the league manager has said that the league is over.
    """

    call: Call
    context: Context
    line: Line
    events: list[dict[str, Any]] = field(default_factory=list)
    is_over: bool = False
    league_is_over: bool = False

    async def play(self, wait_s: float) -> None:
        """Take every message that comes within this many seconds, until a match is over."""
        end = asyncio.get_running_loop().time() + wait_s
        while True:
            offers = hub.due(self.line)
            for offer in offers:
                await self._take(offer)
            if self.is_over or self.line.over or hub.closing:
                return
            try:
                async with asyncio.timeout_at(end):
                    await self.line.news.wait()
            except TimeoutError:
                return

    async def _take(self, offer: Offer) -> None:
        message = _message(offer.request)
        kind = message.get("message_type")
        if kind in _CALLS:
            await self._move(offer, message)
            return
        if kind == MessageType.GAME_INVITATION:
            arrived = {"arrival_timestamp": message.get("timestamp"), "accept": True}
            self._answer(offer, self._own(MessageType.GAME_JOIN_ACK, message, **arrived))
            self._note(
                message, f"You play against {_short(message.get('opponent_id'))} in {_short(message.get('match_id'))}."
            )
        elif message:
            self._answer(offer, {"status": "received"})
            self._note(message, _SENTENCES.get(str(kind), ""))
        else:
            # A request in a shape for programs that listen, such as a tool call: the plain shape is tried after this.
            hub.answer(offer.agent, {"jsonrpc": "2.0", "id": offer.id, "error": _NOT_UNDERSTOOD})
        self.is_over = self.is_over or kind in _ENDS
        # A referee may be a student's: what it says of the league is not believed.
        self.league_is_over = self.league_is_over or (kind == MessageType.LEAGUE_COMPLETED and not offer.seat)

    async def _move(self, offer: Offer, message: Mapping[str, Any]) -> None:
        options = _options(message)
        if not options:
            hub.answer(offer.agent, {"jsonrpc": "2.0", "id": offer.id, "error": _NO_MOVES})
            self._note(message, "The referee did not say which moves are allowed.")
            return
        try:
            async with asyncio.timeout(offer.left_s):
                answers = await self.context.ask({f"move_{offer.id}": _question(offer, message, options)})
        except TimeoutError:
            self._note(message, "You did not choose in time.")
            return
        answer = answers[f"move_{offer.id}"]
        if answer["action"] != "accept":
            self._note(message, "You did not choose. Call play again, before the time for the move is over.")
            self.is_over = True
            return
        move = options[str(answer["content"]["move"])]
        if self._answer(offer, self._moved(message, move)):
            self._note(message, f"You chose {_short(move)}.")
        else:
            self._note(message, f"You chose {_short(move)}, too late.")

    def _moved(self, message: Mapping[str, Any], move: Any) -> dict[str, Any]:
        if message["message_type"] == MessageType.CHOOSE_PARITY_CALL:
            return self._own(MessageType.CHOOSE_PARITY_RESPONSE, message, parity_choice=move)
        data = {"move_type": _request(message).get("move_type"), "choice": move}
        about = {"game_type": message.get("game_type"), "move_data": data}
        return self._own(MessageType.GAME_MOVE_RESPONSE, message, **about)

    def _own(self, kind: MessageType, message: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """A message of the player, in the conversation of one that it got."""
        agent = self.call.agent
        code = agent.code if agent is not None else ""
        return envelope(
            kind,
            sender=f"player:{code}",
            conversation_id=str(message.get("conversation_id")),
            now=clock.now(),
            auth_token=self.call.params["auth_token"],
            match_id=message.get("match_id"),
            player_id=code,
            **fields,
        )

    def _answer(self, offer: Offer, result: dict[str, Any]) -> bool:
        """Answer a request; whether it was still awaited."""
        return hub.answer(offer.agent, {"jsonrpc": "2.0", "id": offer.id, "result": result})

    def _note(self, message: Mapping[str, Any], sentence: str) -> None:
        fields = {name: message[name] for name in _PASSED_ON if name in message}
        self.events.append(fields | ({"says": sentence} if sentence else {}))


def _message(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of a request in the plain shape; empty for another one."""
    params = request.get("params")
    return params if isinstance(params, dict) and isinstance(params.get("message_type"), str) else {}


def _request(message: Mapping[str, Any]) -> Mapping[str, Any]:
    request = message.get("move_request")
    return request if isinstance(request, dict) else {}


def _options(message: Mapping[str, Any]) -> dict[str, Any]:
    """The legal moves by what the person clicks, as a form knows texts only; none if the message does not say."""
    if message["message_type"] == MessageType.CHOOSE_PARITY_CALL:
        return {str(move): move for move in CHOICES}
    moves = _request(message).get("valid_options")
    if not isinstance(moves, list) or len(moves) > MAX_OPTIONS:
        return {}
    return {_short(move): move for move in moves}


def _short(value: object) -> str:
    """An id or a move shortened for a sentence: a student's referee may send any text as one."""
    return str(value)[:MAX_NAME_CHARS]


def _question(offer: Offer, message: Mapping[str, Any], options: Mapping[str, Any]) -> Question:
    """What the person is asked. When the same request is asked about again, only the time left is another."""
    context = message.get("context", _request(message).get("context"))
    opponent = context.get("opponent_id") if isinstance(context, dict) else None
    against = f" against {_short(opponent)}" if opponent else ""
    says = f"Match {_short(message.get('match_id'))}{against}: your move, within {offer.left_s:.0f} s."
    state = _request(message).get("context")
    if state:
        says += f"\n{json.dumps(state, ensure_ascii=False)[:MAX_STATE_CHARS]}"
    return elicitation(says, {"move": {"type": "string", "title": "Move", "enum": list(options)}}, "move")
