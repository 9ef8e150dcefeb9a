"""The starter kit: players without dependencies, with one league's address filled in, as a ZIP.

Made from ``examples/kit`` in memory. Two kits of one league and address are the same byte for byte.
"""

from __future__ import annotations

import io
import json
import zipfile
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kit"
FILES = ("README.md", "player.py", "player.mjs")
_WHEN = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP can hold: nothing in it says when it was made."""
_MODE = 0o644 << 16


@lru_cache(maxsize=64)
def make(*, address: str, league_id: str, name: str, game_type: str, code_wanted: bool) -> bytes:
    """A kit.

    Args:
        address: where to register, such as ``http://192.168.1.20:8000/leagues/fall/mcp``.
        league_id, name: of the league.
        game_type: what it plays.
        code_wanted: whether a code is asked for at registration.
    """
    out = io.BytesIO()
    settings = {"league": address, "league_id": league_id, "game_types": [game_type], "registration_code": ""}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in FILES:
            text = (FOLDER / file).read_text(encoding="utf-8")
            if file == "README.md":
                text = _filled(text, address, name, code_wanted)
            _add(archive, file, text)
        _add(archive, "league.json", json.dumps(settings, indent=2) + "\n")
    return out.getvalue()


def _filled(text: str, address: str, name: str, code_wanted: bool) -> str:
    code = (
        "This league asks for a code: put yours into `registration_code` in `league.json`, or add `--code YOUR-CODE`."
        if code_wanted
        else "This league asks for no code."
    )
    filled = {"LEAGUE_NAME": " ".join(name.split()), "LEAGUE_ADDRESS": address, "LEAGUE_CODE": code}
    for mark, value in filled.items():
        text = text.replace(f"{{{mark}}}", value)
    return text


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(f"league-kit/{name}", date_time=_WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _MODE
    entry.create_system = 3
    archive.writestr(entry, text)
