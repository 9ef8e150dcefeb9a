"""A small reverse proxy as a process of its own, which changes the headers of requests as common tunnels do.

    python -m tests.e2e.proxy --to http://127.0.0.1:8000 [--as ngrok] [--certificate FILE --name league.example.org]

Prints ``READY <port>`` once it listens at 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from tests.bots.base import bound, ending

MAX_HEAD_BYTES = 65_536
_CALLER_ADDED, _SCHEME_ADDED = "X-Forwarded-For: {before}{caller}", "X-Forwarded-Proto: {scheme}"
_HOST_ADDED = "X-Forwarded-Host: {name}"

KINDS: Mapping[str, tuple[str, ...]] = {
    "plain": (_CALLER_ADDED,),
    "silent": (),
    "caddy": ("X-Forwarded-For: {caller}", _SCHEME_ADDED, _HOST_ADDED),
    "cloudflared": (_CALLER_ADDED, _SCHEME_ADDED, "Cf-Connecting-Ip: {caller}", 'Cf-Visitor: {{"scheme":"{scheme}"}}'),
    "ngrok": (_CALLER_ADDED, "X-Forwarded-Proto: {before_scheme}{scheme}", _HOST_ADDED),
    "funnel": ("X-Forwarded-For: {caller}", _SCHEME_ADDED, _HOST_ADDED),
    "codespaces": (_CALLER_ADDED, _SCHEME_ADDED, _HOST_ADDED, "X-Original-Host: {name}"),
}
"""The headers that each kind of proxy adds to a request, according to its documentation and to reports of users."""
_REWRITES_HOST = ("codespaces",)
"""Kinds that replace Host by the address of the site's own machine; so they do with an Origin that names the proxy."""
_REPLACED = (
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-original-host",
    "cf-connecting-ip",
    "cf-visitor",
)


class Proxy:
    """Passes on one request of each connection; if it opens a WebSocket, everything that follows as well.

    Args:
        to: the site, such as ``http://127.0.0.1:8000``.
        kind: one of ``KINDS``.
        name: the host name that it reports to the site; empty: the one in the request.
        caller: the address that it reports as the caller's; empty: the real one.
        tls: whether callers use https.
    """

    def __init__(self, to: str, *, kind: str, name: str, caller: str, tls: bool) -> None:
        self._site, self._kind, self._name, self._caller = urlsplit(to), kind, name, caller
        self._scheme = "https" if tls else "http"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            site, site_writer = await asyncio.open_connection(self._site.hostname, self._site.port)
            site_writer.write(
                self._passed_on(head, self._caller or writer.get_extra_info("peername")[0]).encode("latin-1")
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, site_writer))
                tasks.create_task(_pump(site, writer))
        writer.close()

    def _passed_on(self, head: str, caller: str) -> str:
        """The head of a request as the site gets it."""
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        fields = [(name.strip(), value.strip()) for name, _colon, value in (line.partition(":") for line in lines)]
        headers = {name.lower(): value for name, value in fields}
        called = headers.get("host", "")
        values = {
            "caller": caller,
            "before": f"{headers['x-forwarded-for']}, " if "x-forwarded-for" in headers else "",
            "before_scheme": f"{headers['x-forwarded-proto']}, " if "x-forwarded-proto" in headers else "",
            "scheme": self._scheme,
            "name": self._name or called,
        }
        header_lines = []
        for name, value in fields:
            shown = value
            if name.lower() == "host":
                shown = f"localhost:{self._site.port}" if self._kind in _REWRITES_HOST else values["name"]
            elif name.lower() == "origin" and self._kind in _REWRITES_HOST and value.endswith(f"//{values['name']}"):
                shown = f"http://localhost:{self._site.port}"
            elif name.lower() in _REPLACED or (name.lower() == "connection" and "upgrade" not in headers):
                continue
            header_lines.append(f"{name}: {shown}")
        written = [line.format_map(values) for line in KINDS[self._kind]]
        # The site closes the connection, so that the next request comes on a new one and is changed here as well.
        end = [] if "upgrade" in headers else ["Connection: close"]
        return "\r\n".join([first, *header_lines, *written, *end, "", ""])


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes until the sender ends; then end the other side, too."""
    with contextlib.suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()


async def main(options: argparse.Namespace) -> None:
    """Listen until SIGTERM."""
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate)
    proxy = Proxy(options.to, kind=options.kind, name=options.name, caller=options.caller, tls=context is not None)
    ended, listener = ending(with_parent=False), bound()
    server = await asyncio.start_server(proxy.serve, sock=listener, ssl=context, limit=MAX_HEAD_BYTES)
    print("READY", listener.getsockname()[1], flush=True)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True)
    parser.add_argument("--as", dest="kind", choices=KINDS, default="plain")
    parser.add_argument("--name", default="")
    parser.add_argument("--caller", default="", help="the address to report as the caller's")
    parser.add_argument("--certificate", help="a PEM file with the key and the certificate; without it plain http")
    asyncio.run(main(parser.parse_args()))
