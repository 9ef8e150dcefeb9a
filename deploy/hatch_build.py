"""What the wheel of the site requires: the same lists that ``make lock`` takes, and this version of league_sdk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Requirements(MetadataHookInterface):
    """Fills ``dependencies`` and ``optional-dependencies`` of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["dependencies"] = [f"league-sdk=={metadata['version']}", *self._listed("base")]
        metadata["optional-dependencies"] = {name: self._listed(name) for name in ("scale", "telemetry")}

    def _listed(self, name: str) -> list[str]:
        lines = (Path(self.root) / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith(("#", "-"))]
