"""Query strings with a NUL character, which PostgreSQL does not accept."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from leaguesite.serving.queries import WithoutNul


@pytest.mark.parametrize(("query", "read"), [("q=a%00b&q=%00", ["a\ufffdb", "\ufffd"]), ("q=100", ["100"]), ("", [])])
def test_a_nul_in_a_query_is_read_as_an_unknown_character(query: str, read: list[str]) -> None:
    request = RequestFactory().get(f"/?{query}")
    WithoutNul(lambda _: HttpResponse())(request)
    assert request.GET.getlist("q") == read


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page", ["/admin/auth/user/", "/admin/auth/group/", "/admin/matches/league/", "/admin/matches/match/"]
)
def test_lists_of_the_admin_take_a_nul_in_any_filter(desk: Client, page: str) -> None:
    for query in ("q=%00", "id__exact=%00", "state=%00", "status=%00", "name=%00", "pk=%00"):
        assert desk.get(f"{page}?{query}").status_code < 500
