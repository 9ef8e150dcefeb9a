"""Values in results that are encoded as JSON once and sent many times, such as a long list."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from league_sdk.protocol import rpc

_PLACEHOLDER = f"<{secrets.token_hex(16)}>"
"""A placeholder for such a value while the message around it is encoded; no sender of a message can guess it."""


class KeptList(list[Any]):
    """A list that must not change: its JSON is made once.

    Args:
        values: the items.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.encoded = rpc.dumps(list(self))
        """The list as JSON."""


class Encoded:
    """An object that has been encoded as JSON.

    Args:
        encoded: the object as JSON.
    """

    __slots__ = ("encoded",)

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded


_PRE_ENCODED = (KeptList, Encoded)


def encoded(message: Mapping[str, Any]) -> bytes:
    """A JSON-RPC message as JSON; fields of its result that have been encoded are inserted unchanged."""
    result = message.get("result")
    fields = result.items() if isinstance(result, dict) else ()
    pre_encoded = {name: one for name, one in fields if isinstance(one, _PRE_ENCODED)}
    if not pre_encoded:
        return rpc.dumps(message)
    placeholders = {name: f"{_PLACEHOLDER}{name}" for name in pre_encoded}
    whole = rpc.dumps({**message, "result": {**message["result"], **placeholders}})
    for name, one in pre_encoded.items():
        whole = whole.replace(rpc.dumps(placeholders[name]), one.encoded, 1)
    return whole
