"""What can go wrong, as one tree, and how each error is named on the wire.

::

    LeagueError                     an error that has an E-code
    ├── WireError                   the request itself is not usable
    │   ├── NotJson                 -32700 E002
    │   ├── NotARequest             -32600 E002   (batch, no object, wrong content type)
    │   │   └── TooLarge            -32600 E002   (HTTP 413)
    │   ├── UnknownMethod           -32601 E002
    │   ├── InvalidFormat           -32602 E002
    │   ├── MissingField            -32602 E003
    │   ├── IllegalMove             -32602 E004
    │   └── InvalidTimestamp        -32602 E021
    ├── AuthError
    │   ├── TokenMissing            -32001 E011
    │   └── TokenInvalid            -32001 E012
    └── RuleError                   -32000, the league says no
        ├── UnknownPlayer           E005
        ├── RefereeNotRegistered    E013
        ├── UnknownLeague           E014
        ├── VersionMismatch         E018
        ├── OutOfTime               E001: an answer that came after the verdict
        ├── TooOften                E009   (HTTP 429)
        └── InternalError           -32603 E009: our side failed, nothing changed

Raised anywhere, turned into a message in one place (:func:`league_error`).
Implements 004 2.9, 4.10 and the ruling on error codes.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from league_sdk.protocol.limits import MAX_SEEN_CHARS
from league_sdk.protocol.tokens import redact

NAMES: dict[str, str] = {
    "E001": "TIMEOUT_ERROR",
    "E002": "INVALID_MESSAGE_FORMAT",
    "E003": "MISSING_REQUIRED_FIELD",
    "E004": "INVALID_PARITY_CHOICE",
    "E005": "PLAYER_NOT_REGISTERED",
    "E009": "CONNECTION_ERROR",
    "E011": "AUTH_TOKEN_MISSING",
    "E012": "AUTH_TOKEN_INVALID",
    "E013": "REFEREE_NOT_REGISTERED",
    "E014": "LEAGUE_NOT_FOUND",
    "E018": "PROTOCOL_VERSION_MISMATCH",
    "E021": "INVALID_TIMESTAMP",
}
RETRYABLE = frozenset({"E001", "E009"})
LEGACY_NAMES: dict[str, str] = {
    "L001": "REGISTRATION_FAILED",
    "L002": "LEAGUE_FULL",
    "L003": "ALREADY_REGISTERED",
    "L004": "NOT_REGISTERED",
    "L005": "INVALID_LEAGUE",
    "G001": "INVALID_MOVE",
    "G002": "TIMEOUT",
    "G003": "GAME_NOT_FOUND",
    "G004": "NOT_YOUR_TURN",
    "G005": "GAME_ALREADY_STARTED",
}
"""002's codes."""
LEGACY_CODES: dict[str, str] = {"E001": "G002", "E004": "G001", "E005": "L004", "E013": "L004", "E014": "L005"}
"""The one of 002's codes that stands beside an E-code. The others name a situation: who raises the error gives it as
``legacy_code`` in the context (G003, G004, G005), or the answer to a registration carries it (L001, L002, L003)."""
SECRET_FIELDS = frozenset({"auth_token", "league_token", "registration_code", "auth_token_sha256"})


def seen_text(value: object) -> str:
    """A wrong value as an error may repeat it: JSON without tokens, at most ``MAX_SEEN_CHARS`` characters."""
    try:
        text = redact(json.dumps(value, ensure_ascii=True, default=repr))
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_SEEN_CHARS else text[: MAX_SEEN_CHARS - 1] + "…"


class LeagueError(Exception):
    """An error with an E-code (ruling, section 5).

    Args:
        message: a sentence for a person.
        field: the field that is wrong, if one is.
        seen: its value as it came (secrets are left out).
        expected: what would have been right.
        context: more facts for the error's ``context``; ``legacy_code`` among them is 002's code for the situation.
    """

    error_code: ClassVar[str] = "E002"
    rpc_code: ClassVar[int] = -32000
    http_status: ClassVar[int] = 200

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        seen: object = None,
        expected: str | None = None,
        **context: Any,
    ) -> None:
        self.message = redact(message)
        super().__init__(self.message)
        self.context: dict[str, Any] = dict(context)
        if field is not None:
            self.context["field"] = field
            if field.rpartition(".")[2] not in SECRET_FIELDS:
                self.context["seen"] = seen_text(seen)
        if expected is not None:
            self.context["expected"] = expected

    @property
    def error_name(self) -> str:
        """The documents' name of the code."""
        return NAMES[self.error_code]

    @property
    def legacy_code(self) -> str | None:
        """002's code beside ours: the one of the situation, else the usual one, if there is one."""
        given = self.context.get("legacy_code")
        return given if isinstance(given, str) else LEGACY_CODES.get(self.error_code)

    @property
    def retryable(self) -> bool:
        """Whether the documents let the sender try again (E001, E009)."""
        return self.error_code in RETRYABLE


class WireError(LeagueError):
    """The request is not usable as it came."""

    rpc_code = -32602


class NotJson(WireError):
    rpc_code = -32700


class NotARequest(WireError):
    rpc_code = -32600


class TooLarge(NotARequest):
    http_status = 413


class UnknownMethod(WireError):
    rpc_code = -32601


class InvalidFormat(WireError):
    """A field has the wrong type or an impossible value."""


class MissingField(WireError):
    error_code = "E003"


class IllegalMove(WireError):
    """A choice or move the game does not allow (E004 for every game)."""

    error_code = "E004"


class InvalidTimestamp(WireError):
    error_code = "E021"


class AuthError(LeagueError):
    """Who is asking could not be shown."""

    rpc_code = -32001


class TokenMissing(AuthError):
    error_code = "E011"


class TokenInvalid(AuthError):
    error_code = "E012"


class RuleError(LeagueError):
    """The request is well made; the league cannot grant it."""


class UnknownPlayer(RuleError):
    error_code = "E005"


class RefereeNotRegistered(RuleError):
    error_code = "E013"


class UnknownLeague(RuleError):
    error_code = "E014"


class VersionMismatch(RuleError):
    error_code = "E018"


class OutOfTime(RuleError):
    """An answer to a request that has its verdict."""

    error_code = "E001"


class TooOften(RuleError):
    """More came from one sender than anybody needs; it may try again after ``retry_after_s`` (in the context)."""

    error_code = "E009"
    http_status = 429


class InternalError(RuleError):
    """Our side failed; nothing was changed and the sender may try again."""

    error_code = "E009"
    rpc_code = -32603


def error_of(data: object, *, fallback: str) -> LeagueError:
    """The error that a LEAGUE_ERROR message stands for, to be passed on.

    Args:
        data: the message, as it was received.
        fallback: the sentence for one that has none.
    """
    message: dict[str, Any] = data if isinstance(data, dict) else {}
    found = message.get("context")
    context: dict[str, Any] = found if isinstance(found, dict) else {}
    kinds: list[type[LeagueError]] = [InvalidFormat, MissingField, TokenMissing, TokenInvalid, OutOfTime, UnknownLeague]
    kind = next((one for one in kinds if one.error_code == message.get("error_code")), InvalidFormat)
    kept: dict[str, Any] = {name: value for name, value in context.items() if name in ("field", "expected")}
    return kind(str(message.get("message", fallback)), legacy_code=message.get("legacy_code"), **kept)


def rpc_codes() -> dict[str, list[int]]:
    """The JSON-RPC codes that each E-code can come with (ruling, section 5)."""
    found: dict[str, set[int]] = {code: set() for code in NAMES}
    kinds: list[type[LeagueError]] = [LeagueError]
    for kind in kinds:
        kinds += [one for one in kind.__subclasses__() if one.__module__ == __name__]
        if kind not in _NEVER_RAISED:
            found[kind.error_code].add(kind.rpc_code)
    return {code: sorted(codes) for code, codes in found.items()}


_NEVER_RAISED = (LeagueError, WireError, AuthError, RuleError)
"""Branches of the tree; only what grows on them is sent."""


def league_error(error: LeagueError, *, original_message_type: str | None) -> dict[str, Any]:
    """The fields of a LEAGUE_ERROR message, without its envelope (ruling, section 5).

    002's code stands beside the E-code where one corresponds, and is left out elsewhere.

    Args:
        error: what was raised.
        original_message_type: the message that caused it, where it is known.
    """
    beside = {"legacy_code": error.legacy_code} if error.legacy_code else {}
    return {
        "message_type": "LEAGUE_ERROR",
        "error_code": error.error_code,
        "error_name": error.error_name,
        "error_description": error.error_name,
        **beside,
        "message": error.message,
        "context": error.context,
        "original_message_type": original_message_type,
        "retryable": error.retryable,
    }
