"""The endpoints that are made from the table of actions."""

from __future__ import annotations

from leaguesite.api.routes import api
from matches.desk.actions import ROWS


def test_what_asks_for_the_key_and_changes_something_is_a_row_of_the_table() -> None:
    paths = api.get_openapi_schema()["paths"]
    found = {path for path, operations in paths.items() if operations.get("post", {}).get("security")}
    assert found == {f"/api{one.api.path}" for one in ROWS if one.api is not None}


def test_each_action_has_a_name_of_its_own() -> None:
    assert len({(one.subject, one.name) for one in ROWS}) == len(ROWS)
