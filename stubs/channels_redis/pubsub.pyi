from collections.abc import Sequence
from typing import Any

from channels.layers import BaseChannelLayer

class RedisPubSubChannelLayer(BaseChannelLayer):
    def __init__(self, hosts: Sequence[Any] | None = ..., **kwargs: Any) -> None: ...
