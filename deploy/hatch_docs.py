"""Which documentation the wheel of the site includes: the built pages, or else the Markdown files for `/docs/`.

``make wheels`` builds the pages first. Pages that were built from other sources than those that are here are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "leaguesite/resources"


class Documentation(BuildHookInterface[Any]):
    """Adds these files to those that the wheel includes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built."""
        root = Path(self.root)
        sys.path.insert(0, str(root))
        from leaguesite.docs import sources  # noqa: PLC0415 - found only from here on

        built = root / "build" / "docs-site"
        mark = built / sources.DIGEST
        if mark.is_file() and mark.read_text(encoding="ascii") == sources.digest(root):
            build_data["force_include"][str(built)] = f"{INSIDE}/docs-site"
            return
        # pyproject.toml includes protocol.md, with built pages and without.
        files = {*sources.pages(root).values(), *sources.pictures(root).values()} - {root / "docs" / "protocol.md"}
        build_data["force_include"] |= {str(file): f"{INSIDE}/{file.relative_to(root)}" for file in sorted(files)}
