"""The instructor marks a gateway by the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents_registry import programs
from matches.models import Event
from matches.push import nudge
from tests import factories as make

pytestmark = pytest.mark.django_db


def test_a_gateway_is_marked_listed_and_taken_back(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def post(key: str, **body: Any) -> Any:
        more = {"Authorization": f"Bearer {key}"} if key else {}
        return client.post("/api/gateways", body, content_type="application/json", headers=more)

    monkeypatch.setattr("leaguesite.api.gateways.KEY._is_right", lambda key: key == "right")
    assert [post(key, host="192.0.2.7").status_code for key in ("", "wrong")] == [401, 401]
    assert programs.gateways() == frozenset()
    assert post("right", host="192.0.2.7").json() == {"host": "192.0.2.7", "gateway": True}
    assert client.get("/api/gateways", headers={"Authorization": "Bearer right"}).json() == ["192.0.2.7"]
    refused = post("right", host="http://x/y")
    assert (refused.status_code, refused.json()["field"]) == (422, "host")
    assert post("right", host="192.0.2.7", gateway=False).status_code == 200
    assert programs.gateways() == frozenset()


def test_a_mark_by_script_is_on_record_where_it_counts_and_wakes_the_conductor(
    client: Client, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.setattr("leaguesite.api.gateways.KEY._is_right", lambda key: True)
    for league_id, host in (("fall", "192.0.2.7"), ("spring", "192.0.2.8")):
        make.open_league(league_id)
        make.join("Alpha", league_id, endpoint=f"http://{host}:8101/mcp")
    woken: list[bool] = []
    detach = nudge.attach(woken.append)
    headers = {"Authorization": "Bearer key"}
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            client.post("/api/gateways", {"host": "192.0.2.7"}, content_type="application/json", headers=headers)
    detach()
    events = Event.objects.filter(kind="gateway_changed").values_list("league_id", "data")
    assert list(events) == [("fall", {"host": "192.0.2.7", "gateway": True, "user": "api"})]
    assert True in woken
