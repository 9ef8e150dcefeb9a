"""The starter kit as a ZIP: example players without dependencies, configured for one league.

Built in memory from ``examples/kit`` and the bridge of ``league_sdk``. Two kits for the same
league and address are identical byte for byte.
"""

from __future__ import annotations

import io
import json
import zipfile
from functools import lru_cache
from pathlib import Path

from django.conf import settings as site

from league_sdk import protocol

FILES = ("README.md", "player.py", "player.mjs")
# Read, not imported: the site runs no bridge.
_BRIDGE = Path(protocol.__file__).parents[1] / "bridge.py"
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a ZIP can hold, so that kits do not differ by when they are built."""
_FILE_MODE = 0o644 << 16


@lru_cache(maxsize=64)
def make(*, address: str, league_id: str, name: str, game_type: str, code_wanted: bool) -> bytes:
    """Build the kit of a league.

    Args:
        address: of the league's MCP endpoint, such as ``http://192.168.1.20:8000/leagues/fall/mcp``.
        league_id, name: of the league.
        game_type: the game of the league.
        code_wanted: whether registration needs a code.
    """
    out = io.BytesIO()
    settings = {"league": address, "league_id": league_id, "game_types": [game_type], "registration_code": ""}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in FILES:
            text = (site.LEAGUE_KIT_DIR / file).read_text(encoding="utf-8")
            if file == "README.md":
                text = _filled(text, address, name, game_type, code_wanted)
            _add(archive, file, text)
        _add(archive, _BRIDGE.name, _BRIDGE.read_text(encoding="utf-8"))
        _add(archive, "league.json", json.dumps(settings, indent=2) + "\n")
    return out.getvalue()


def _filled(text: str, address: str, name: str, game_type: str, code_wanted: bool) -> str:
    code = (
        "This league asks for a code: put yours into `registration_code` in `league.json`, or add `--code YOUR-CODE`."
        if code_wanted
        else "This league asks for no code."
    )
    values = {
        "LEAGUE_NAME": " ".join(name.split()),
        "LEAGUE_ADDRESS": address,
        "LEAGUE_GAME": game_type,
        "LEAGUE_CODE": code,
    }
    for placeholder, value in values.items():
        text = text.replace(f"{{{placeholder}}}", value)
    return text


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(f"league-kit/{name}", date_time=_ZIP_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _FILE_MODE
    entry.create_system = 3
    archive.writestr(entry, text)
