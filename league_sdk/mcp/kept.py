"""A list that is long, goes out again and again and stays the same: it is encoded once, whoever asks however often."""

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


def encoded(message: Mapping[str, Any]) -> bytes:
    """A JSON-RPC message as JSON; a :class:`KeptList` in its result goes in as it was encoded."""
    result = message.get("result")
    kept = {name: one for name, one in result.items() if isinstance(one, KeptList)} if isinstance(result, dict) else {}
    if not kept:
        return rpc.dumps(message)
    places = {name: f"{_PLACEHOLDER}{name}" for name in kept}
    whole = rpc.dumps({**message, "result": {**message["result"], **places}})
    for name, one in kept.items():
        whole = whole.replace(rpc.dumps(places[name]), one.encoded, 1)
    return whole
