"""The package as it is built from inside its own folder (tests/e2e/test_wheels.py builds it)."""

from pathlib import Path

import league_sdk

FOLDER = Path(league_sdk.__file__).parent


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in FOLDER.rglob("*.py") if "build" not in path.relative_to(FOLDER).parts}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists()) == []
