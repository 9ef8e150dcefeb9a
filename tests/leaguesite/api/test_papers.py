"""Files by API: exports, evidence sheets, the roster, and the import of a league."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from matches.models import AuditEntry, League, RoleName
from tests import factories as make
from tests import rich

pytestmark = pytest.mark.django_db


class Files:
    """A script that reads files with the key.

    Args:
        key: the instructor's API key.
    """

    def __init__(self, key: str) -> None:
        self._client, self._headers = Client(), {"Authorization": f"Bearer {key}"}

    def get(self, path: str) -> tuple[int, str, bytes]:
        answer: Any = self._client.get(f"/api/leagues/fall/{path}", headers=self._headers)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return answer.status_code, answer.headers["Content-Type"].partition(";")[0], content

    def import_file(self, content: bytes) -> tuple[int, Any]:
        form = {"file": SimpleUploadedFile("league.json", content)}
        answer = self._client.post("/api/import", form, headers=self._headers)
        return answer.status_code, answer.json()


@pytest.fixture
def files(api_key: str) -> Files:
    return Files(api_key)


def test_a_league_is_exported_whole_or_as_a_table_and_this_is_on_record(files: Files) -> None:
    rich.begun()
    status, kind, content = files.get("export/league.zip")
    assert (status, kind) == (200, "application/zip")
    assert "league.json" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    status, kind, content = files.get("export/standings.csv")
    assert (status, kind, content.decode("utf-8-sig").splitlines()[0].split(",")[:2]) == (
        200,
        "text/csv",
        ["rank", "tied_rank"],
    )
    assert files.get("export/nothing.csv")[0] == 404
    assert files.get("export/evidence.csv?people=maybe")[0] == 422
    done = AuditEntry.objects.filter(action="league.export").order_by("id").values_list("target", "via")
    assert list(done) == [("league.zip", "api"), ("standings.csv", "api")]


def test_people_are_in_an_export_only_when_they_are_asked_for(files: Files) -> None:
    rich.begun()
    plain, whole = (files.get(f"export/league.json{ask}")[2].decode() for ask in ("", "?people=1"))
    assert ("dana-geheim-7" in plain, "dana-geheim-7" in whole) == (False, True)


def test_the_roster_and_an_evidence_sheet_are_read_with_the_key(files: Files) -> None:
    rich.begun()
    status, kind, content = files.get("roster.csv")
    assert (status, kind, content.decode("utf-8-sig").splitlines()[0]) == (200, "text/csv", "name,email,code")
    status, kind, page = files.get("evidence?player=P01")
    assert (status, kind, "P01" in page.decode()) == (200, "text/html", True)
    assert files.get("evidence?player=P99")[0] == 404
    done = AuditEntry.objects.filter(action="league.evidence").values_list("target", flat=True)
    assert list(done) == ["P01"]


def test_a_league_is_imported_from_its_export(files: Files) -> None:
    rich.over()
    document = json.loads(files.get("export/league.json?people=1")[2])
    assert files.import_file(json.dumps(document).encode())[0] == 409
    document["league"]["league_id"] = "winter"
    status, done = files.import_file(json.dumps(document).encode())
    assert (status, done["league"]["league_id"], done["matches"], done["stopped"]) == (201, "winter", 6, False)
    assert League.objects.get(pk="winter").roles.filter(name=RoleName.INSTRUCTOR).count() == 0
    status, refused = files.import_file(b"{}")
    assert (status, refused["field"]) == (422, "file")


def test_an_import_without_a_file_is_refused_by_the_name_of_the_field(api_key: str) -> None:
    refused = Client().post("/api/import", headers={"Authorization": f"Bearer {api_key}"})
    assert (refused.status_code, refused.json()) == (422, {"error": "file: Field required", "field": "file"})


def test_nothing_is_imported_without_the_key() -> None:
    make.open_league("fall")
    form = {"file": SimpleUploadedFile("league.json", b"{}")}
    assert Client().post("/api/import", form).status_code == 401
