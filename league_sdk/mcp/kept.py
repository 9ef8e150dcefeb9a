"""Values in results that are JSON already, such as a long list that goes out again and again: encoded once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from league_sdk.protocol import rpc

_PLACEHOLDER = f"<{secrets.token_hex(16)}>"
"""Stands for such a list while the message around it is encoded; no sender can guess it."""


class KeptList(list[Any]):
    """A list that nobody changes.

    Args:
        values: what is in it.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.encoded = rpc.dumps(list(self))
        """As JSON."""


class Encoded:
    """An object that is JSON already.

    Args:
        encoded: the object as JSON.
    """

    __slots__ = ("encoded",)

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded


_AS_IT_IS = (KeptList, Encoded)


def encoded(message: Mapping[str, Any]) -> bytes:
    """A JSON-RPC message as JSON; what is JSON already in the fields of its result goes in as it is."""
    result = message.get("result")
    fields = result.items() if isinstance(result, dict) else ()
    kept = {name: one for name, one in fields if isinstance(one, _AS_IT_IS)}
    if not kept:
        return rpc.dumps(message)
    places = {name: f"{_PLACEHOLDER}{name}" for name in kept}
    whole = rpc.dumps({**message, "result": {**message["result"], **places}})
    for name, one in kept.items():
        whole = whole.replace(rpc.dumps(places[name]), one.encoded, 1)
    return whole
