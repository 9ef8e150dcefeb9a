"""The starter kits: a player in one language, in a few files, set up for one league.

The join page has them as ZIPs, and ``league new`` writes them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
PYTHON_SDK = "python-sdk"
"""The kit with the SDK: a class with one method, for ``league play``. The kits of :data:`LANGUAGES` are programs."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language that there is a kit in.

    Attributes:
        name: as people write it.
        needs: what has to be installed, and the oldest version that will do.
        start: the command that starts the player; its options follow.
        files: the files of its folder, besides its part of the README.
    """

    name: str
    needs: str
    start: str
    files: tuple[str, ...]


LANGUAGES = {
    "python": Language("Python", "Python 3.9", "python3 player.py", ("player.py", "Dockerfile")),
    "javascript": Language("JavaScript", "Node 18.3", "node player.mjs", ("player.mjs", "Dockerfile")),
    "typescript": Language(
        "TypeScript", "Node 22.18", "node player.ts", ("player.ts", "package.json", "tsconfig.json", "Dockerfile")
    ),
    "java": Language("Java", "JDK 17", "java Player.java", ("Player.java", "Dockerfile")),
    "go": Language("Go", "Go 1.19", "go run .", ("player.go", "go.mod", "Dockerfile")),
    "rust": Language("Rust", "Rust 1.85", "cargo run --", ("player.rs", "Cargo.toml", "Dockerfile")),
}
"""The kits by the name of their folder, in the order of the join page."""
DEFAULT_LANGUAGE = "python"
KEPT_FROM_GIT = "token-*\nleague_bridge.json\n"
"""The ``.gitignore`` of a kit: a student who publishes an agent must not publish its token."""
_CODE_WANTED = (
    "This league asks for a code: put yours into `registration_code` in `league.json`, or add `--code YOUR-CODE`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForLeague:
    """What a kit is set up for.

    Attributes:
        address: the address of the league's MCP endpoint, such as ``http://192.168.1.20:8000/leagues/fall/mcp``.
        name: the name of the league.
        game_type: its game.
        league_id: its id; empty if it is not known.
        code: whether registration needs a code; None if that is not known.
    """

    address: str
    name: str
    game_type: str
    league_id: str = ""
    code: bool | None = None


def folder(what: str) -> Path:
    """A folder of ``examples``: ``kit`` or ``starter``; a wheel carries them inside the package."""
    packed = _PACKAGE / what
    return packed if packed.is_dir() else _PACKAGE.parent / "examples" / what


def starter() -> Path:
    """The file that a player of the SDK starts from."""
    return folder("starter") / "mine.py"


def files(language: str, league: ForLeague) -> dict[str, str]:
    """The kit of a league: the texts of its files by name.

    Args:
        language: a key of :data:`LANGUAGES`.
        league: what it is set up for.
    """
    kit = folder("kit")
    language_folder = kit / language
    language_readme = (language_folder / "README.md").read_text(encoding="utf-8").strip()
    settings = {
        "league": league.address,
        "league_id": league.league_id,
        "game_types": [league.game_type],
        "registration_code": "",
    }
    return {
        "README.md": _filled((kit / "README.md").read_text(encoding="utf-8"), language_readme, league),
        **{name: (language_folder / name).read_text(encoding="utf-8") for name in LANGUAGES[language].files},
        # The bridge, which fetches messages for an agent that the league cannot call, runs without this package.
        "bridge.py": (_PACKAGE / "bridge.py").read_text(encoding="utf-8"),
        "league.json": json.dumps(settings, indent=2) + "\n",
        ".gitignore": KEPT_FROM_GIT,
    }


def _filled(text: str, language_readme: str, league: ForLeague) -> str:
    codes = {True: _CODE_WANTED, False: "This league asks for no code.", None: "If it asks for a code: `--code CODE`."}
    values = {
        "KIT_LANGUAGE": language_readme,
        "LEAGUE_NAME": " ".join(league.name.split()),
        "LEAGUE_ADDRESS": league.address,
        "LEAGUE_GAME": league.game_type,
        "LEAGUE_CODE": codes[league.code],
    }
    for placeholder, value in values.items():
        text = text.replace(f"{{{placeholder}}}", value)
    return text
