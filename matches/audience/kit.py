"""The starter kits as ZIPs: a player in one language, set up for one league.

Built in memory. Two kits for the same league, language and address are identical byte for byte.
"""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache

from league_sdk.kits import DEFAULT_LANGUAGE, LANGUAGES, ForLeague, files

__all__ = ["DEFAULT_LANGUAGE", "LANGUAGES", "ForLeague", "make"]

_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a ZIP can hold, so that kits do not differ by when they are built."""
_FILE_MODE = 0o644 << 16


@lru_cache(maxsize=256)
def make(language: str, league: ForLeague) -> bytes:
    """Build the kit of a league; ``language`` is one of :data:`~league_sdk.kits.LANGUAGES`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for file, text in files(language, league).items():
            _add(zip_file, f"league-kit-{language}/{file}", text)
    return out.getvalue()


def _add(zip_file: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(name, date_time=_ZIP_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _FILE_MODE
    entry.create_system = 3
    zip_file.writestr(entry, text)
