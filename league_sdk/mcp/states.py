"""``requestState`` of MCP without sessions: what a client sends back when it answers a server's questions.

A state holds the answers so far. It is signed, expires after :data:`TTL_S`, belongs to one call of one caller, and can
be used once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from league_sdk.mcp.errors import Busy, InvalidParams

TTL_S = 600.0
"""How long a person may take to answer."""
MAX_STATE_CHARS = 32 * 1024
MAX_SPENT = 20_000
"""How many used states are remembered until they expire; when they are too many, further states are refused."""
_REFUSAL = "requestState was not made for this call, was used before, or is too old: call again without it."


class States:
    """Signs states and checks those that come back.

    Args:
        key: signs the states; processes that serve the same clients need the same key.
        now: seconds of a clock that all these processes share.
        spend: marks a state as used, given its number and when it expires; returns whether it was unused until then.
            Without it, this process remembers the used ones by itself.
    """

    def __init__(self, key: bytes, now: Callable[[], float], spend: Callable[[str, float], bool] | None = None) -> None:
        self._key = key
        self._now = now
        self._spend = spend or self._spend_here
        self._spent: dict[str, float] = {}

    def seal(self, subject: str, answers: Mapping[str, Any]) -> str:
        """A new state.

        Args:
            subject: the call it belongs to, from :func:`subject_of`.
            answers: what the client has answered so far.
        """
        body = {"n": secrets.token_hex(12), "e": self._now() + TTL_S, "s": subject, "a": dict(answers)}
        payload = base64.urlsafe_b64encode(json.dumps(body, separators=(",", ":")).encode()).decode()
        return f"{payload}.{self._sign(payload)}"

    def open(self, state: Any, subject: str) -> dict[str, Any]:
        """Use a state up; returns the answers in it.

        Raises:
            InvalidParams: it was changed, used, is too old, or belongs to another call.
        """
        if not isinstance(state, str) or len(state) > MAX_STATE_CHARS:
            raise InvalidParams(_REFUSAL)
        payload, _dot, signature = state.rpartition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign(payload).encode()):
            raise InvalidParams(_REFUSAL)
        try:
            body = json.loads(base64.urlsafe_b64decode(payload))
        except (binascii.Error, ValueError):
            raise InvalidParams(_REFUSAL) from None
        if body["s"] != subject or body["e"] < self._now() or not self._spend(body["n"], body["e"]):
            raise InvalidParams(_REFUSAL)
        answers: dict[str, Any] = body["a"]
        return answers

    def _sign(self, payload: str) -> str:
        return hmac.new(
            self._key, b"mcp request state " + payload.encode("utf-8", "replace"), hashlib.sha256
        ).hexdigest()

    def _spend_here(self, number: str, ends: float) -> bool:
        if number in self._spent:
            return False
        if len(self._spent) >= MAX_SPENT:
            now = self._now()
            self._spent = {known: end for known, end in self._spent.items() if end >= now}
            if len(self._spent) >= MAX_SPENT:
                raise Busy("Too many questions are being answered: try again in a while.")
        self._spent[number] = ends
        return True


def subject_of(principal: str, method: str, name: str, arguments: Any) -> str:
    """What a state is bound to: who calls what with which arguments.

    Args:
        principal: who calls; empty for anybody.
        method: the MCP method.
        name: the name of the tool or prompt, or the address of the resource.
        arguments: the arguments of the call, JSON.
    """
    exact = json.dumps([principal, method, name, arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()
