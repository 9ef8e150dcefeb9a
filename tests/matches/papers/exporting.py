"""The league of ``tests.rich`` going out, and coming in again."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from agents_registry.models import Agent
from matches.league.errors import ActionRefused
from matches.models import Check, League
from matches.papers import archive, bundle, importing
from matches.view import sight


def exported(*, people: bool = True) -> bytes:
    out = io.BytesIO()
    bundle.write(League.objects.get(pk="fall"), out, people=people)
    return out.getvalue()


def archived(*, people: bool = True) -> bytes:
    out = io.BytesIO()
    archive.write(League.objects.get(pk="fall"), out, people=people)
    return out.getvalue()


def emptied() -> None:
    """Empty the database as on a new site; the memory of this process stays."""
    League.objects.all().delete()
    Agent.objects.all().delete()
    Check.objects.all().delete()
    sight._latest.clear()
    sight._pasts.clear()


def import_of(data: bytes | dict[str, Any]) -> importing.Imported:
    """Import a file or a document."""
    written = data if isinstance(data, bytes) else json.dumps(data).encode()
    return importing.import_league(file=io.BytesIO(written))


def refusal(data: bytes | dict[str, Any]) -> str:
    """Why it is not taken."""
    with pytest.raises(ActionRefused) as refused:
        import_of(data)
    assert not League.objects.filter(pk="fall").exists()
    return str(refused.value)


def packed(content: bytes, *names: str, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive with the same in each of its files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name in names or ("league.json",):
            archive.writestr(name, content)
    return out.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}
