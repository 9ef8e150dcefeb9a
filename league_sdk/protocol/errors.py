"""All errors of the protocol as one tree, and their codes on the wire.

::

    LeagueError                     an error that has an E-code
    ├── WireError                   the request itself cannot be used
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
    └── RuleError                   -32000, the league refuses the request; E002 if it has no code of its own
        ├── UnknownPlayer           E005
        ├── RefereeNotRegistered    E013
        ├── UnknownLeague           E014
        ├── VersionMismatch         E018
        ├── OutOfTime               E001: an answer after the verdict
        ├── TooOften                E009   (HTTP 429)
        └── InternalError           -32603 E009: the server failed, nothing changed

They are raised anywhere and turned into LEAGUE_ERROR messages in one place, :func:`league_error` (004 2.9, 4.10;
ruling, section 5).
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
"""The error codes of document 002."""
LEGACY_CODES: dict[str, str] = {"E001": "G002", "E004": "G001", "E005": "L004", "E013": "L004", "E014": "L005"}
"""The code of 002 that corresponds to an E-code. The other codes describe a situation: they are passed as
``legacy_code`` in the context of an error (G003 to G005) or stand in the answer to a registration (L001 to L003)."""
SECRET_FIELDS = frozenset({"auth_token", "league_token", "registration_code", "auth_token_sha256"})


def seen_text(value: object) -> str:
    """A wrong value as an error quotes it: JSON without tokens, at most ``MAX_SEEN_CHARS`` characters."""
    try:
        text = redact(json.dumps(value, ensure_ascii=True, default=repr))
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_SEEN_CHARS else text[: MAX_SEEN_CHARS - 1] + "…"


class LeagueError(Exception):
    """An error with an E-code (ruling, section 5).

    Args:
        message: a sentence for a person.
        field: the wrong field, if there is one.
        seen: its value as received; the value of a secret field is left out.
        expected: a correct value, in words.
        context: more fields of the error's ``context``, such as ``legacy_code``, the code of 002 for this case.
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
        """The name of the code in the documents."""
        return NAMES[self.error_code]

    @property
    def legacy_code(self) -> str | None:
        """The code of 002: the one passed for the situation, or else the one that corresponds to the E-code."""
        code = self.context.get("legacy_code")
        return code if isinstance(code, str) else LEGACY_CODES.get(self.error_code)

    @property
    def retryable(self) -> bool:
        """Whether the documents allow the sender to retry (E001, E009)."""
        return self.error_code in RETRYABLE


class WireError(LeagueError):
    """The request cannot be used as it was received."""

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
    """The caller could not be authenticated."""

    rpc_code = -32001


class TokenMissing(AuthError):
    error_code = "E011"


class TokenInvalid(AuthError):
    error_code = "E012"


class RuleError(LeagueError):
    """The request is well formed, but the league refuses it."""


class UnknownPlayer(RuleError):
    error_code = "E005"


class RefereeNotRegistered(RuleError):
    error_code = "E013"


class UnknownLeague(RuleError):
    error_code = "E014"


class VersionMismatch(RuleError):
    error_code = "E018"


class OutOfTime(RuleError):
    """An answer that arrived after the verdict."""

    error_code = "E001"


class TooOften(RuleError):
    """The sender exceeded a rate limit; it may retry after ``retry_after_s`` (in the context)."""

    error_code = "E009"
    http_status = 429


class InternalError(RuleError):
    """The server failed; nothing was changed and the sender may retry."""

    error_code = "E009"
    rpc_code = -32603


def error_of(data: object, *, fallback: str) -> LeagueError:
    """The error that a received LEAGUE_ERROR message describes; InvalidFormat if it is of none of these ``kinds``.

    Args:
        data: the message as received.
        fallback: the sentence if the message has none.
    """
    message: dict[str, Any] = data if isinstance(data, dict) else {}
    context = message.get("context")
    facts = (
        {name: context[name] for name in ("field", "expected") if name in context} if isinstance(context, dict) else {}
    )
    kinds: list[type[LeagueError]] = [InvalidFormat, MissingField, TokenMissing, TokenInvalid, OutOfTime, UnknownLeague]
    kind = next((candidate for candidate in kinds if candidate.error_code == message.get("error_code")), InvalidFormat)
    return kind(str(message.get("message", fallback)), legacy_code=message.get("legacy_code"), **facts)


def rpc_codes() -> dict[str, list[int]]:
    """The JSON-RPC codes that each E-code can come with (ruling, section 5)."""
    rpc_codes_of: dict[str, set[int]] = {code: set() for code in NAMES}
    kinds: list[type[LeagueError]] = [LeagueError]
    for kind in kinds:
        kinds += [child for child in kind.__subclasses__() if child.__module__ == __name__]
        if kind not in _NEVER_RAISED:
            rpc_codes_of[kind.error_code].add(kind.rpc_code)
    return {code: sorted(codes) for code, codes in rpc_codes_of.items()}


_NEVER_RAISED = (LeagueError, WireError, AuthError)
"""Inner nodes of the tree that are not raised themselves; RuleError and NotARequest are."""


def league_error(error: LeagueError, *, original_message_type: str | None) -> dict[str, Any]:
    """The fields of a LEAGUE_ERROR message, without its envelope (ruling, section 5).

    ``legacy_code``, the code of 002, is left out if none corresponds.

    Args:
        error: the error that was raised.
        original_message_type: the type of the message that caused it, if known.
    """
    legacy_fields = {"legacy_code": error.legacy_code} if error.legacy_code else {}
    context = dict(error.context)
    # 004 4.10.1 and 8.10.1 have these facts under other names. The token in their examples is never repeated.
    if "expected" in context:
        context["expected_format"] = context["expected"]
    if original_message_type:
        context["action"] = original_message_type
    return {
        "message_type": "LEAGUE_ERROR",
        "error_code": error.error_code,
        "error_name": error.error_name,
        "error_description": error.error_name,
        **legacy_fields,
        "message": error.message,
        "context": context,
        "original_message_type": original_message_type,
        "retryable": error.retryable,
    }
