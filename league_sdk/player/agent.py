"""A player's answers to the messages of 004 chapter 8. No sockets here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from league_sdk.dialling import Inbox
from league_sdk.player.deciding import Decider
from league_sdk.player.journal import Journal
from league_sdk.player.memory import Memory, read_result
from league_sdk.player.mistakes import Mistake, describe, line_of
from league_sdk.player.tools import list_tools
from league_sdk.protocol.envelope import check_protocol, envelope, stamp
from league_sdk.protocol.errors import (
    InvalidFormat,
    LeagueError,
    MissingField,
    TokenInvalid,
    TokenMissing,
    UnknownMethod,
)
from league_sdk.protocol.messages import METHODS, WRAPPER_METHOD, MessageType
from league_sdk.protocol.own_tools import LIST_NAMES
from league_sdk.protocol.tokens import same
from league_sdk.rules import even_odd
from league_sdk.rules.registry import games
from league_sdk.strategies import Random
from league_sdk.strategies.base import Strategy
from league_sdk.strategies.language_model import LanguageModel

logger = logging.getLogger("league_sdk.player")

REGISTRATION_GRACE_S = 3.0
"""How long to delay a call that arrives before the answer to our registration."""
MAX_INVITATIONS = 256
CONTEXT_FIELDS = (
    "match_id", "game_type", "league_id", "round_id", "opponent_id", "role_in_match", "deadline",
)  # fmt: skip

Params = dict[str, Any]
_RECEIVED = {"status": "received"}


@dataclass
class Player:
    """A player's identity, memory and answers.

    Attributes:
        name: the display name it registers under.
        journal: its log.
        think_s: seconds that every choice takes at least, so that people can watch.
        game_types: the games it registers for, instead of its strategy's.
        player_id: given by the league; empty before.
        auth_token: our token.
        league_token: the token in the league's messages to us.
        registering: whether our registration has not been answered yet.
        inbox: where its messages can be fetched; None if the league has no inboxes.
        called: set as soon as the league has called it where it listens.
        watchers: called when what it knows of itself, its matches or the table has changed.
        on_played: called after each match with its row of the history.
    """

    name: str
    strategy: Strategy = field(default_factory=Random)
    memory: Memory = field(default_factory=Memory)
    think_s: float = 0.0
    journal: Journal = field(default_factory=Journal)
    game_types: tuple[str, ...] = ()
    league_id: str | None = None
    player_id: str = ""
    auth_token: str = ""
    league_token: str = ""
    registering: bool = False
    registered: asyncio.Event = field(default_factory=asyncio.Event)
    inbox: Inbox | None = None
    called: asyncio.Event = field(default_factory=asyncio.Event)
    watchers: list[Callable[[], None]] = field(default_factory=list)
    on_played: Callable[[Params], None] = lambda row: None

    def __post_init__(self) -> None:
        self.decider = Decider(self.name, self.strategy, self.think_s)
        if isinstance(self.strategy, LanguageModel):
            self.strategy.note = self._note
        self._invitations: dict[str, Params] = {}
        self._standings: list[Any] = []
        by_type: dict[MessageType, Callable[[Params], Awaitable[Any]]] = {
            MessageType.GAME_INVITATION: self._invited,
            MessageType.CHOOSE_PARITY_CALL: self._choose_parity,
            MessageType.GAME_MOVE_CALL: self._make_move,
            MessageType.GAME_OVER: self._game_over,
            MessageType.GAME_ERROR: self._take_note,
            MessageType.ROUND_ANNOUNCEMENT: self._take_note,
            MessageType.LEAGUE_STANDINGS_UPDATE: self._standings_update,
            MessageType.ROUND_COMPLETED: self._take_note,
            MessageType.LEAGUE_COMPLETED: self._take_note,
        }
        self._messages = frozenset(by_type)
        self.tools = {METHODS[kind]: tool for kind, tool in by_type.items()}
        self.tools |= {"ping": self._ping, "get_player_state": self._state, "list_tools": self._list_tools}
        self._by_name = self.tools | dict.fromkeys(LIST_NAMES, self._list_tools)
        self._by_name |= {str(kind): tool for kind, tool in by_type.items()}

    @property
    def plays(self) -> tuple[str, ...]:
        """The games it registers for: its own list, its strategy's, or every game that is installed."""
        return self.game_types or self.strategy.game_types or tuple(games())

    def _note(self, event_type: str, details: Mapping[str, Any]) -> bool:
        # self.journal is read at each note, as another journal may be set after the player was made.
        return self.journal.note(event_type, details)

    # -- the one entry ------------------------------------------------------------------------------------

    async def call(self, method: str, params: Params) -> Any:
        """Answer one call.

        Args:
            method: a tool (``choose_parity``), a message type (``CHOOSE_PARITY_CALL``), or ``mcp_message``,
                which leaves it to ``params["message_type"]`` (ruling, section 3).
            params: the message.

        Returns:
            The JSON-RPC ``result``.

        Raises:
            LeagueError: the call is not usable; it says what was expected.
        """
        name: object = params.get("message_type") if method == WRAPPER_METHOD else method
        tool = self._by_name.get(name) if isinstance(name, str) else None
        if tool is None:
            raise UnknownMethod(f"Method not found: {name!s:.80}.", field="method", seen=name)
        check_protocol(params)
        kind = params.get("message_type")
        if not isinstance(kind, str) or kind not in self._messages:
            return await tool(params)
        self.journal.received(params)
        try:
            answered = await tool(params)
        except LeagueError as error:
            self.journal.refused(params, error)
            raise
        if answered is not _RECEIVED:
            self.journal.sent(answered, params.get("sender"))
        return answered

    async def note_call(self, params: Params) -> None:
        """Note that the league has called where we listen: only its messages carry our league_token."""
        if self.called.is_set():
            return
        await self._wait_until_registered()
        if self.league_token and self._is_from_league(params):
            self.called.set()

    def is_own(self, token: str) -> bool:
        """Whether a token is ours, or the league's in its messages to us."""
        return any(own and same(token, own) for own in (self.auth_token, self.league_token))

    def accept(self, response: Params) -> None:
        """Store what LEAGUE_REGISTER_RESPONSE gave us (ruling, section 3)."""
        self.player_id = str(response.get("player_id") or "")
        self.auth_token = str(response.get("auth_token") or "")
        self.league_token = str(response.get("league_token") or "")
        self.league_id = str(response["league_id"]) if response.get("league_id") else self.league_id
        try:
            self.memory.load(self.player_id)
        except (OSError, ValueError) as error:
            logger.warning("%s: starting without the history: %s", self.name, error)
        self.journal.open(self.player_id)
        self.journal.received(response)
        self.registering = False
        self.registered.set()
        self._changed()

    # -- tools --------------------------------------------------------------------------------------------

    async def _invited(self, params: Params) -> Params:
        match_id = _text(params, "match_id")
        await self._wait_until_registered()
        if len(self._invitations) >= MAX_INVITATIONS:
            self._invitations.clear()
        self._invitations[match_id] = params
        arrived = stamp(datetime.now(UTC))
        return self._answer(MessageType.GAME_JOIN_ACK, params, arrival_timestamp=arrived, accept=True)

    async def _choose_parity(self, params: Params) -> Params:
        _text(params, "match_id")
        await self._wait_until_registered()
        choice = await self._move(params, list(even_odd.CHOICES), None)
        return self._answer(MessageType.CHOOSE_PARITY_RESPONSE, params, parity_choice=choice)

    async def _make_move(self, params: Params) -> Params:
        """The generic move of 004 3.8.2."""
        if params.get("message_type") == MessageType.CHOOSE_PARITY_CALL:
            return await self._choose_parity(params)
        _text(params, "match_id")
        request = params.get("move_request")
        request = request if isinstance(request, dict) else {}
        options = request.get("valid_options")
        if not isinstance(options, list) or not options:
            raise InvalidFormat(
                "The call does not say which moves are allowed.",
                field="move_request.valid_options",
                seen=options,
                expected="an array with at least one move",
            )
        await self._wait_until_registered()
        game_type = params.get("game_type")
        parity = game_type == even_odd.EvenOdd.game_type
        choice = await self._move(params, options, None if parity else _state(params, request))
        move = {"move_type": request.get("move_type"), "choice": choice}
        return self._answer(MessageType.GAME_MOVE_RESPONSE, params, game_type=game_type, move_data=move)

    async def _game_over(self, params: Params) -> Params:
        match_id = _text(params, "match_id")
        await self._wait_until_registered()
        invitation = self._invitations.get(match_id, {})
        # GAME_OVER of chapter 8 has neither league nor round; take them from the invitation.
        place = {name: params.get(name, invitation.get(name)) for name in ("league_id", "round_id")}
        row = read_result(params | place, player_id=self.player_id)
        self._invitations.pop(match_id, None)
        if row["opponent_id"] is None:
            row["opponent_id"] = invitation.get("opponent_id")
        self.decider.forget(match_id)
        try:
            self.memory.remember(row, player_id=self.player_id)
        except OSError as error:
            logger.warning("%s: the history could not be saved: %s", self.name, error)
        self._changed()
        self.on_played(row)
        self._hook(self.strategy.on_result, row)
        return _RECEIVED

    async def _standings_update(self, params: Params) -> Params:
        rows = params.get("standings")
        self._standings = rows if isinstance(rows, list) else []
        self._changed()
        return await self._take_note(params)

    async def _take_note(self, params: Params) -> Params:
        self._hook(self.strategy.on_message, params)
        return _RECEIVED

    async def _ping(self, params: Params) -> Params:
        return {"status": "ok"}

    async def _list_tools(self, params: Params) -> Params:
        return list_tools()

    async def _state(self, params: Params) -> Params:
        """The games history (004 8.11.2), for callers with one of our tokens."""
        token = params.get("auth_token")
        if not isinstance(token, str) or not token:
            raise TokenMissing("get_player_state needs auth_token.", field="auth_token")
        if not self.is_own(token):
            raise TokenInvalid("That token is not this player's.", field="auth_token")
        about = {"display_name": self.name, "league_id": self.league_id, "standings": self._standings}
        return self.memory.as_dict(self.player_id) | about

    # -- deciding -----------------------------------------------------------------------------------------

    async def _move(self, params: Params, options: list[Any], state: Params | None) -> Any:
        """Decide a move. Without a state it is the choice of even_odd, which stays the same for the whole attempt."""
        # The opponent knows the conversation and may call here, too: with another token it is told another choice.
        key: tuple[str, ...] = (params["match_id"], str(params.get("conversation_id")), str(params.get("auth_token")))
        once = state is None
        if not once:
            # A game in turns asks many times in one conversation: the position is part of the key.
            key += (json.dumps(params["move_request"], sort_keys=True),)
        return await self.decider.decide(key, options, self._context(params), once=once, state=state)

    def _context(self, params: Params) -> Params:
        request = params.get("move_request")
        sent = params.get("context")
        if not isinstance(sent, dict):
            sent = request.get("context") if isinstance(request, dict) else None
        context = dict(sent) if isinstance(sent, dict) else {}
        invitation = self._invitations.get(params["match_id"], {})
        for name in CONTEXT_FIELDS:
            context[name] = params.get(name, context.get(name, invitation.get(name)))
        context["timestamp"] = params.get("timestamp")
        context["player_id"] = self.player_id
        context["numbers_drawn"] = self.memory.numbers_drawn
        context["history"] = self.memory.matches
        return context

    # -- helpers ------------------------------------------------------------------------------------------

    def _answer(self, kind: MessageType, params: Params, **fields: Any) -> Params:
        conversation = params.get("conversation_id")
        return envelope(
            kind,
            sender=f"player:{self.player_id or self.name}",
            conversation_id=conversation if isinstance(conversation, str) else "conv-unknown",
            now=datetime.now(UTC),
            # Every caller that reaches the port gets an answer, but only the league, which sends its token, gets ours.
            auth_token=self.auth_token if self._is_from_league(params) else None,
            match_id=params["match_id"],
            player_id=self.player_id or str(params.get("player_id") or ""),
            **fields,
        )

    def _is_from_league(self, params: Params) -> bool:
        """Whether a message has the league's token; true in a league that has given us none."""
        token = params.get("auth_token")
        return not self.league_token or (isinstance(token, str) and same(token, self.league_token))

    async def _wait_until_registered(self) -> None:
        """Wait a little for our id if a call arrives before the answer to our registration."""
        if self.registering:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.registered.wait(), REGISTRATION_GRACE_S)

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()

    def _hook(self, hook: Callable[[Params], None], argument: Params) -> None:
        try:
            hook(argument)
        except Exception as error:
            self.decider.tell(Mistake(hook.__name__, describe(error), line_of(error)), error)


def _state(params: Params, request: Params) -> Params:
    """The state of the game in a request: in its context, or beside it; an empty dict when there is none."""
    context = request.get("context")
    for holder in (context if isinstance(context, dict) else {}, request, params):
        for name in ("state", "game_state"):
            if isinstance(holder.get(name), dict):
                return dict(holder[name])
    return {}


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if value is None:
        raise MissingField(f"{name} is missing.", field=name, expected="a string")
    if not isinstance(value, str) or not value:
        raise InvalidFormat(f"{name} is not usable.", field=name, seen=value, expected="a string")
    return value
