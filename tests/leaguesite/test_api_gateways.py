"""The instructor marks a gateway by the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry import programs

pytestmark = pytest.mark.django_db


def test_a_gateway_is_marked_listed_and_taken_back(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(key: str, **body: Any) -> Any:
        more = {"Authorization": f"Bearer {key}"} if key else {}
        return client.post("/api/gateways", body, content_type="application/json", headers=more)

    monkeypatch.setattr("leaguesite.api_gateways.KEY._is_right", lambda key: key == "right")
    assert [post(key, host="192.0.2.7").status_code for key in ("", "wrong")] == [401, 401]
    assert programs.gateways() == frozenset()
    assert post("right", host="192.0.2.7").json() == {"host": "192.0.2.7", "gateway": True}
    assert client.get("/api/gateways", headers={"Authorization": "Bearer right"}).json() == ["192.0.2.7"]
    refused = post("right", host="http://x/y")
    assert (refused.status_code, refused.json()["field"]) == (422, "host")
    assert post("right", host="192.0.2.7", gateway=False).status_code == 200
    assert programs.gateways() == frozenset()
