"""The league of ``tests.rich``, exported and imported again."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from agents_registry.models import Agent
from matches.league.errors import ActionRefused
from matches.models import Check, League
from matches.papers import bundle, export_zip, importing
from matches.view import sight


def exported_json(*, people: bool = True) -> bytes:
    """The document league.json, with its people or without."""
    out = io.BytesIO()
    bundle.write(League.objects.get(pk="fall"), out, people=people)
    return out.getvalue()


def exported_zip(*, people: bool = True) -> bytes:
    """The ZIP file league.zip, with its people or without."""
    out = io.BytesIO()
    export_zip.write(League.objects.get(pk="fall"), out, people=people)
    return out.getvalue()


def empty_site() -> None:
    """Empty the database as on a new site, and forget the cached moments of leagues."""
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
    """The sentence with which an import is refused."""
    with pytest.raises(ActionRefused) as refused:
        import_of(data)
    assert not League.objects.filter(pk="fall").exists()
    return str(refused.value)


def zip_of(content: bytes, *names: str, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP file with the same content in each of its files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as zip_file:
        for name in names or ("league.json",):
            zip_file.writestr(name, content)
    return out.getvalue()


def files_of_zip(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as zip_file:
        return {info.filename: zip_file.read(info) for info in zip_file.infolist()}
