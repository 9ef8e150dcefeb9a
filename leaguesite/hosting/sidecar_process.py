"""What the sidecar of a web process runs (:mod:`leaguesite.hosting.sidecar`).

``python -m leaguesite.hosting.sidecar_process DESCRIPTOR``, the number of an open connection to the web process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import django
from django.apps import apps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaguesite.settings")
if not apps.ready:
    django.setup()

# Everything below needs the apps to be loaded.
from django.conf import settings
from django.db import close_old_connections
from django.urls import reverse

from league_sdk import collector, watchdog
from leaguesite.hosting import shared_folder
from leaguesite.observing import logs
from matches.audience import pages
from matches.audience.pages import PageKey
from matches.view import luck

logger = logging.getLogger(__name__)

SHARED_INTERVAL_S = 1.0
"""How long the sidecar waits, after a pass and the pause that follows it, before the next pass. A pass begins with one
short statement, which asks the database whether a league has changed."""


def serve(connection: Connection[Any, Any]) -> NoReturn:
    """Render the fragments that the web process asks for.

    Each question is the arguments of :func:`matches.audience.pages.fragments`, the key as a plain tuple; each answer is
    what it returned and an empty text, or None and a traceback.

    Raises:
        EOFError, ConnectionError: the web process has ended.
    """
    while True:
        key, language, without = connection.recv()
        try:
            answer = _plain(pages.fragments(PageKey(*key), language, without)), ""
        except Exception:
            # The web process logs it.
            answer = None, traceback.format_exc()
        finally:
            close_old_connections()
        connection.send(answer)


def _keep_shared() -> None:
    try:
        asyncio.run(_keep())
    except Exception:
        logger.exception("SHARED cannot be kept up to date: the sidecar ends, and the host starts another one")
    finally:
        _end()


async def _keep() -> None:
    # The web process ends a sidecar that does not answer; while nobody looks at a page, it asks nothing.
    watching = watchdog.watch(asyncio.get_running_loop())
    try:
        # No message tells this process that a league has changed, so it asks the database.
        await shared_folder.keeper(leads=lambda: True, pass_interval_s=SHARED_INTERVAL_S).keep()
    finally:
        watching.cancel()


def _end() -> NoReturn:
    """End at once: the next process that writes SHARED repeats a pass that is interrupted here."""
    logging.shutdown()
    os._exit(0)


def _plain(fragments: dict[str, str] | None) -> dict[str, str] | None:
    """The fragments without the types of the template engine, which would have to be loaded to read the answer."""
    return None if fragments is None else {name: "".join(html) for name, html in fragments.items()}


def main() -> None:
    """Take over the web process's settings, report that the sidecar is ready, and serve until the web process ends."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    with suppress(EOFError, ConnectionError):
        changed, log_name, keep_shared = connection.recv()
        for name, value in changed.items():
            setattr(settings, name, value)
        logs.start("web", name=log_name)
        luck.keeper.start = luck.in_a_thread
        # Loads the views, which takes most of a second that the first browser would wait for.
        reverse("index")
        collector.exempt_loaded_objects()
        if keep_shared:
            threading.Thread(target=_keep_shared, name="keeper", daemon=True).start()
        connection.send("ready")
        serve(connection)
    _end()


if __name__ == "__main__":
    main()
