"""An instructor's script, for tests of the API."""

from __future__ import annotations

from typing import Any

from django.test import Client

READS = [
    "/leagues",
    "/leagues/fall",
    *(f"/leagues/fall/{one}" for one in ("standings", "luck", "rounds", "matches", "agents", "events")),
]
ACTIONS = [
    "/leagues",
    *(f"/leagues/fall/{one}" for one in ("close", "start", "rounds/start", "pause", "resume", "stop")),
    *(f"/leagues/fall/matches/R1M1/{one}" for one in ("release", "cancel")),
]


class Script:
    """Calls the API as a script does, with a key or without; an answer is its status and its JSON."""

    def __init__(self, key: str) -> None:
        self._client = Client()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def get(self, path: str) -> tuple[int, Any]:
        answer = self._client.get(f"/api{path}", headers=self._headers)
        return answer.status_code, answer.json()

    def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        content = {"data": b"" if body is None else body, "content_type": "application/json"}
        answer = self._client.post(f"/api{path}", headers=self._headers, **content)
        return answer.status_code, answer.json()
