from typing import Any

class WebsocketDenier:
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...
