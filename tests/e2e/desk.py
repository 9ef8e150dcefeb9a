"""What the instructor's desk of a league says, without a browser."""

from __future__ import annotations

import re

import httpx

from tests.e2e.site import PASSWORD, Instructor


class Desk:
    """The instructor's desk of a league, at one web process, as text."""

    def __init__(self, web: Instructor, league_id: str) -> None:
        self._path = f"/admin/matches/league/{league_id}/now/"
        self._http = httpx.Client(base_url=web.url, timeout=20, trust_env=False, follow_redirects=True)
        form = {"username": "instructor", "password": PASSWORD, "next": "/admin/"}
        page = self._http.get("/admin/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token is not None
        self._http.post("/admin/login/", data={**form, "csrfmiddlewaretoken": token[1]}, headers={"Referer": web.url})

    def text(self) -> str:
        """What the desk shows of the present, without markup."""
        page = self._http.get(self._path)
        assert page.status_code == 200, page.text
        return " ".join(re.sub(r"<[^>]*>", " ", page.text).split())

    def close(self) -> None:
        """Close its connections."""
        self._http.close()
