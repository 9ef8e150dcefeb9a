"""The exchange of servers that understand every dialect: a request is answered in the shape it came in."""

from __future__ import annotations

from typing import Any

from league_sdk.dialects import inbound
from league_sdk.protocol.dispatch import Exchange, Post


class AnyDialect(Exchange[inbound.Inbound]):
    """One request in any shape, and its reply in the same (ruling, sections 2 and 3)."""

    registers = False
    """Whether a body with a name and an address counts as a registration, as at ``/register``."""

    def understand(self, body: Any, post: Post) -> inbound.Inbound:
        """See :class:`Exchange`; a token in the header Authorization counts as one in the message."""
        request = inbound.read(body, register=self.registers)
        inbound.with_bearer(request, post.authorization)
        return request

    def dress(self, request: inbound.Inbound, message: Any) -> Any:
        """See :class:`Exchange`; an answer has the shape of its question."""
        return inbound.reply(request, message)
