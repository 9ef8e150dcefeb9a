from collections.abc import Callable, Sequence
from typing import Any

from daphne.http_protocol import WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IListeningPort

class _HttpFactory:
    buildProtocol: Callable[[Any], Any]
    log: Callable[[Any], None]

class _SocketFactory:
    protocol: type[WebSocketProtocol]

class Server:
    connections: dict[WebRequest | WebSocketProtocol, dict[str, Any]]
    http_factory: _HttpFactory
    root_path: str
    listeners: list[Deferred[IListeningPort]]
    ws_factory: _SocketFactory
    def __init__(
        self,
        application: Callable[..., Any],
        *,
        endpoints: Sequence[str],
        ready_callable: Callable[[], None],
        signal_handlers: bool,
        server_name: str,
        websocket_max_message_size: int,
        websocket_max_frame_size: int,
        application_close_timeout: float,
    ) -> None: ...
    def create_application(self, protocol: WebRequest | WebSocketProtocol, scope: dict[str, Any]) -> Any: ...
    async def handle_reply(self, protocol: WebRequest | WebSocketProtocol, message: Any) -> None: ...
    def kill_all_applications(self) -> Deferred[list[Any] | None]: ...
    def run(self) -> None: ...
    def stop(self) -> None: ...
