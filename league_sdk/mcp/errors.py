"""What ends a request of MCP other than a result.

::

    McpError                    a JSON-RPC error with its HTTP status in the stateless era
    ├── BadRequest              -32600, 400 in both eras
    ├── InvalidParams           -32602, 400
    ├── HeaderMismatch          -32020, 400
    ├── CapabilityMissing       -32021, 400
    ├── VersionUnsupported      -32022, 400
    ├── MethodNotFound          -32601, 404
    ├── SessionGone             -32001, 404 in both eras
    ├── Busy                    -32000, 503 in both eras
    └── Failed                  -32603, 500
    ToolError                   a result with ``isError``: the tool was called, and says what was wrong

Where nothing else is said, an error comes with HTTP 200 in the handshake era.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from league_sdk.mcp.versions import STATELESS_VERSIONS


class McpError(Exception):
    """A request that is answered with a JSON-RPC error.

    Args:
        message: a sentence for a person.
        data: more of the error; left out if None.
    """

    code: ClassVar[int]
    status: ClassVar[int] = 400
    """The HTTP status in the stateless era."""
    handshake_status: ClassVar[int] = 200
    """The HTTP status in the handshake era."""

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """The error object of JSON-RPC."""
        wire: dict[str, Any] = {"code": self.code, "message": self.message}
        return wire if self.data is None else wire | {"data": self.data}


class BadRequest(McpError):
    """The body is not a request."""

    code = -32600
    handshake_status = 400


class InvalidParams(McpError):
    """The parameters are wrong, or name a tool, prompt or resource that there is not."""

    code = -32602


class HeaderMismatch(McpError):
    """A header that repeats a part of the body is missing or says something else."""

    code = -32020


class CapabilityMissing(McpError):
    """The request needs something of the client that it has not declared.

    Args:
        capabilities: the names, such as ``elicitation``.
    """

    code = -32021

    def __init__(self, capabilities: Iterable[str]) -> None:
        names = sorted(capabilities)
        super().__init__(
            f"This needs a client with: {', '.join(names)}.", {"requiredCapabilities": {name: {} for name in names}}
        )


class VersionUnsupported(McpError):
    """The request is of a version that is not spoken here.

    Args:
        requested: the version as sent.
    """

    code = -32022

    def __init__(self, requested: str) -> None:
        super().__init__(
            "This version of MCP is not spoken here.",
            {"supported": list(STATELESS_VERSIONS), "requested": requested[:64]},
        )


class MethodNotFound(McpError):
    """The method does not exist in this era.

    Args:
        method: as sent.
    """

    code = -32601
    status = 404

    def __init__(self, method: str) -> None:
        super().__init__(f"There is no method {method[:64]!r}.")


class SessionGone(McpError):
    """The session has ended, or never was: the client initialises again."""

    code = -32001
    status = handshake_status = 404

    def __init__(self) -> None:
        super().__init__("There is no such session: call initialize again.")


class Busy(McpError):
    """The server is doing as much at once as it allows."""

    code = -32000
    status = handshake_status = 503


class Failed(McpError):
    """The server's own code failed."""

    code = -32603
    status = 500


class ToolError(Exception):
    """A tool cannot do what was asked; its caller reads why, and may try again with other arguments.

    Args:
        message: for the caller, perhaps a language model: what was wrong, what was seen, what is expected.
        structured: the same for programs; None if there is no more to say.
    """

    def __init__(self, message: str, structured: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.structured = structured
