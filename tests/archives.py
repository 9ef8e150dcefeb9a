"""Archives that tests unpack."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(file: Path, folder: Path) -> None:
    """Unpack a tar archive.

    Python 3.12 and 3.13 warn without a filter; Debian 12 has 3.11.2, which knows no filters.
    """
    with tarfile.open(file) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)  # noqa: S202 - made by the site or by the tests
