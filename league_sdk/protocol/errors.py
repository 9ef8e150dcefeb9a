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
SECRET_FIELDS = frozenset({"auth_token", "league_token", "registration_code", "auth_token_sha256"})


def seen_text(value: object) -> str:
    """A wrong value as an error may repeat it: JSON without tokens, at most ``MAX_SEEN_CHARS`` characters."""
    try:
        text = redact(json.dumps(value, ensure_ascii=True, default=repr))
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_SEEN_CHARS else text[: MAX_SEEN_CHARS - 1] + "…"


class LeagueError(Exception):
    """An error with an E-code (004 table 6).

    Args:
        message: a sentence for a person.
        field: the field that is wrong, if one is.
        seen: its value as it came (secrets are left out).
        expected: what would have been right.
        context: more facts for the error's ``context``.
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


class InternalError(RuleError):
    """Our side failed; nothing was changed and the sender may try again."""

    error_code = "E009"
    rpc_code = -32603


def league_error(error: LeagueError, *, original_message_type: str | None) -> dict[str, Any]:
    """The fields of a LEAGUE_ERROR message, without its envelope (004 2.9.1, 4.10.1).

    Args:
        error: what was raised.
        original_message_type: the message that caused it, where it is known.
    """
    return {
        "message_type": "LEAGUE_ERROR",
        "error_code": error.error_code,
        "error_name": error.error_name,
        "error_description": error.error_name,
        "message": error.message,
        "context": error.context,
        "original_message_type": original_message_type,
        "retryable": error.retryable,
    }
