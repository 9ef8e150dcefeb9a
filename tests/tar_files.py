"""Tar files that tests unpack: backups, and data folders of older versions."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(file: Path, folder: Path) -> None:
    """Unpack a tar file.

    Python 3.12 and 3.13 warn without a filter; Debian 12 has 3.11.2, which knows no filters.
    """
    with tarfile.open(file) as tar_file:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar_file.extractall(folder, **safely)  # noqa: S202 - made by the site or by the tests
