"""Hooks that hatch runs when it builds the wheels.

The wheel of the site requires the same lists that ``make lock`` reads, and this version of league_sdk. The wheel of
league_sdk must not include the files that a starter kit leaves behind when it is run in ``examples/kit``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LEFT_BY_KITS = ("token-*", "league.json", "node_modules", "player.js", "target")


class Requirements(MetadataHookInterface):
    """Fills ``dependencies`` and ``optional-dependencies`` of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["dependencies"] = [f"league-sdk=={metadata['version']}", *self._listed("base")]
        metadata["optional-dependencies"] = {name: self._listed(name) for name in ("scale", "telemetry")}

    def _listed(self, name: str) -> list[str]:
        lines = (Path(self.root) / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith(("#", "-"))]


class NoLeftovers(BuildHookInterface[Any]):
    """Refuses to build with files in ``examples/kit`` that belong to the person who started a kit there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is built.

        Raises:
            ValueError: a token, a code, or what a compiler made is there.
        """
        kits = Path(self.root).parent / "examples" / "kit"
        left = [str(path) for name in LEFT_BY_KITS for path in kits.glob(f"*/{name}")]
        if left:
            raise ValueError(f"Remove what a kit has left behind: {', '.join(sorted(left))}")
