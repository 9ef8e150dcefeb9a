from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from django.urls import URLPattern

_Application = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]

class ProtocolTypeRouter:
    def __init__(self, application_mapping: Mapping[str, _Application]) -> None: ...
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

class URLRouter:
    def __init__(self, routes: Sequence[URLPattern]) -> None: ...
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...
