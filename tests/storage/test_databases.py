"""``DATABASE_URL``: what Django's settings make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.databases import database


def test_the_parts_of_a_url_and_the_keywords_of_its_query_are_settings() -> None:
    settings = database(
        "postgres://ada:p%40ss@db.example:5433/le%2Fague?sslmode=verify-full&sslrootcert=%2Fca.pem", Path()
    )
    names = ("NAME", "USER", "PASSWORD", "HOST", "PORT")
    assert [settings[name] for name in names] == ["le/ague", "ada", "p@ss", "db.example", "5433"]
    options = settings["OPTIONS"]
    assert (options["sslmode"], options["sslrootcert"], "pool" in options) == ("verify-full", "/ca.pem", True)


def test_a_url_without_a_query_has_no_keywords() -> None:
    assert list(database("postgresql://db/league", Path())["OPTIONS"]) == ["pool"]


@pytest.mark.parametrize("url", ["mysql://db/league", "postgres://db/league?sslmode"])
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"DATABASE_URL|bad query"):
        database(url, Path())
