"""The folder SHARED of 004 chapter 9 in the data folder: kept up to date while the site runs, or written again."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from leaguesite.serving.threads import shared_thread
from matches.papers.shared import projection
from matches.papers.shared.keeping import PASS_INTERVAL_S, Keeper
from matches.papers.shared.projection import Projection
from matches.papers.shared.tree import Tree

SHARED = "SHARED"
SWITCH = "LEAGUE_SHARED"
"""The environment variable that switches the folder off if it is 0."""


def folder() -> Path:
    """The path of the folder SHARED."""
    return Path(settings.DATA_DIR) / SHARED


def is_wanted() -> bool:
    """Whether this site keeps SHARED up to date."""
    return os.environ.get(SWITCH, "1") != "0"


def kept_for() -> timedelta | None:
    """How long a league stays in SHARED after its end; None: as long as the site has it."""
    days = settings.LEAGUE_SHARED_DAYS
    return timedelta(days=days) if days else None


def keeper(leads: Callable[[], bool], pass_interval_s: float = PASS_INTERVAL_S) -> Keeper:
    """The keeper that keeps SHARED up to date (:class:`matches.papers.shared.keeping.Keeper`)."""
    return Keeper(Projection(Tree(folder()), kept_for()), shared_thread, leads=leads, pass_interval_s=pass_interval_s)


def rebuild() -> int:
    """Write the whole folder again; returns the number of files.

    Values that are not in the database, such as the public address, are those of the site's last run.

    Raises:
        OSError: the folder cannot be written to.
    """
    tree = Tree(folder())
    with tree.writing():
        _adopt(tree.written.get("site", {}))
    Projection(tree, kept_for()).rebuild()
    return sum(path.is_file() and not path.name.startswith(".") for path in folder().rglob("*"))


def _adopt(site: dict[str, Any]) -> None:
    """Put the values of the site's last run, as its files have them, into the settings."""
    if site and projection.site() != site:
        settings.LEAGUE_PUBLIC_URL = site["public_url"]
        settings.LEAGUE_DEFAULT_ID = site["default_league_id"]
        settings.LEAGUE_NEW_LEAGUES = site["new_leagues"]
        settings.LEAGUE_GAMES = None if site["games"] is None else tuple(site["games"])
