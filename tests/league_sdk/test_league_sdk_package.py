"""The package as pip builds it from inside its own folder."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import league_sdk

FOLDER = Path(league_sdk.__file__).parent


@pytest.fixture
def configuration() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_is_in_the_list(configuration: dict[str, Any]) -> None:
    """setuptools cannot find them by itself here; one that is missing is missing on the student's machine only."""
    built = {"build", "dist"}
    found = [
        ".".join(("league_sdk", *path.parent.relative_to(FOLDER).parts))
        for path in FOLDER.rglob("__init__.py")
        if not built.intersection(path.relative_to(FOLDER).parts)
    ]
    assert configuration["tool"]["setuptools"]["packages"] == sorted(found)


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in FOLDER.rglob("*.py") if "build" not in path.relative_to(FOLDER).parts}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists()) == []


def test_every_file_that_is_data_is_packed(configuration: dict[str, Any]) -> None:
    packed = {name for names in configuration["tool"]["setuptools"]["package-data"].values() for name in names}
    ours = {"README.md", "pyproject.toml"}
    data = [
        path.relative_to(FOLDER)
        for path in FOLDER.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.parts[-2] != "__pycache__"
    ]
    loose = [
        str(path)
        for path in data
        if path.name not in ours
        and not any(part == "build" or part.endswith(".egg-info") for part in path.parts)
        and not any(path.match(pattern) for pattern in packed)
    ]
    assert loose == []
