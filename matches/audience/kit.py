"""The starter kits as ZIPs: an example player in one language, configured for one league.

Built in memory from ``examples/kit`` and the bridge of ``league_sdk``. Two kits for the same
league, language and address are identical byte for byte.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings as site

from league_sdk import protocol


@dataclass(frozen=True, slots=True)
class Language:
    """A language that there is a kit in.

    Attributes:
        name: as people write it.
        needs: what has to be installed, and the oldest version that will do.
        start: the command that starts the player; its options follow.
        files: the files of its folder in ``examples/kit``, besides its part of the README.
    """

    name: str
    needs: str
    start: str
    files: tuple[str, ...]


LANGUAGES = {
    "python": Language("Python", "Python 3.9", "python3 player.py", ("player.py", "Dockerfile")),
    "javascript": Language("JavaScript", "Node 18", "node player.mjs", ("player.mjs", "Dockerfile")),
    "typescript": Language(
        "TypeScript", "Node 22.18", "node player.ts", ("player.ts", "package.json", "tsconfig.json", "Dockerfile")
    ),
    "java": Language("Java", "JDK 17", "java Player.java", ("Player.java", "Dockerfile")),
    "go": Language("Go", "Go 1.19", "go run .", ("player.go", "go.mod", "Dockerfile")),
    "rust": Language("Rust", "Rust 1.85", "cargo run --", ("player.rs", "Cargo.toml", "Dockerfile")),
}
"""By the name of the folder, in the order of the join page."""
DEFAULT_LANGUAGE = "python"
KEPT_FROM_GIT = "token-*\nleague_bridge.json\n"
"""The ``.gitignore`` of a kit: whoever publishes an agent must not publish its token."""
# Read, not imported: the site runs no bridge.
_BRIDGE = Path(protocol.__file__).parents[1] / "bridge.py"
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a ZIP can hold, so that kits do not differ by when they are built."""
_FILE_MODE = 0o644 << 16


@lru_cache(maxsize=256)
def make(*, language: str, address: str, league_id: str, name: str, game_type: str, code_wanted: bool) -> bytes:
    """Build the kit of a league.

    Args:
        language: of :data:`LANGUAGES`.
        address: of the league's MCP endpoint, such as ``http://192.168.1.20:8000/leagues/fall/mcp``.
        league_id, name: of the league.
        game_type: the game of the league.
        code_wanted: whether registration needs a code.
    """
    out = io.BytesIO()
    settings = {"league": address, "league_id": league_id, "game_types": [game_type], "registration_code": ""}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        folder = site.LEAGUE_KIT_DIR / language
        readme = (site.LEAGUE_KIT_DIR / "README.md").read_text(encoding="utf-8")
        part = (folder / "README.md").read_text(encoding="utf-8").strip()
        texts = {"README.md": _filled(readme, part, address, name, game_type, code_wanted)}
        texts |= {file: (folder / file).read_text(encoding="utf-8") for file in LANGUAGES[language].files}
        texts[_BRIDGE.name] = _BRIDGE.read_text(encoding="utf-8")
        texts["league.json"] = json.dumps(settings, indent=2) + "\n"
        texts[".gitignore"] = KEPT_FROM_GIT
        for file, text in texts.items():
            _add(archive, f"league-kit-{language}/{file}", text)
    return out.getvalue()


def _filled(text: str, part: str, address: str, name: str, game_type: str, code_wanted: bool) -> str:
    code = (
        "This league asks for a code: put yours into `registration_code` in `league.json`, or add `--code YOUR-CODE`."
        if code_wanted
        else "This league asks for no code."
    )
    values = {
        "KIT_LANGUAGE": part,
        "LEAGUE_NAME": " ".join(name.split()),
        "LEAGUE_ADDRESS": address,
        "LEAGUE_GAME": game_type,
        "LEAGUE_CODE": code,
    }
    for placeholder, value in values.items():
        text = text.replace(f"{{{placeholder}}}", value)
    return text


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    entry = zipfile.ZipInfo(name, date_time=_ZIP_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _FILE_MODE
    entry.create_system = 3
    archive.writestr(entry, text)
