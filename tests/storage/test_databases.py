"""``DATABASE_URL``: what Django's settings make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.databases import CLIENT, SESSION, database


def test_the_parts_of_a_url_and_the_keywords_of_its_query_are_settings() -> None:
    settings = database(
        "postgres://ada:p%40ss@db.example:5433/le%2Fague?sslmode=verify-full&sslrootcert=%2Fca.pem", Path()
    )
    names = ("NAME", "USER", "PASSWORD", "HOST", "PORT")
    assert [settings[name] for name in names] == ["le/ague", "ada", "p@ss", "db.example", "5433"]
    options = settings["OPTIONS"]
    assert (options["sslmode"], options["sslrootcert"], "pool" in options) == ("verify-full", "/ca.pem", True)


def test_a_url_without_a_query_has_our_limits_alone() -> None:
    options = database("postgresql://db/league", Path())["OPTIONS"]
    assert options == CLIENT | {"options": SESSION, "pool": options["pool"]}


def test_the_keywords_of_a_url_override_our_limits() -> None:
    url = "postgres://db/league?connect_timeout=9&options=-c%20lock_timeout%3D1s"
    options = database(url, Path())["OPTIONS"]
    # PostgreSQL takes the last of two values of one setting.
    assert (options["connect_timeout"], options["options"]) == ("9", f"{SESSION} -c lock_timeout=1s")


def test_of_several_hosts_the_one_that_can_be_written_to_is_used() -> None:
    settings = database("postgres://ada:p%40ss@db1,db2:5433,[fd00::1]/league", Path())
    assert (settings["USER"], settings["PASSWORD"]) == ("ada", "p@ss")
    assert (settings["HOST"], settings["PORT"]) == ("db1,db2,fd00::1", "5432,5433,5432")
    assert settings["OPTIONS"]["target_session_attrs"] == "read-write"


def test_pgbouncer_is_sent_no_settings_and_no_cursors() -> None:
    settings = database("postgres://bouncer:6432/league?pgbouncer=true", Path())
    assert settings["DISABLE_SERVER_SIDE_CURSORS"]
    assert set(settings["OPTIONS"]) == {*CLIENT, "pool"}


@pytest.mark.parametrize("url", ["mysql://db/league", "postgres://db/league?sslmode"])
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"DATABASE_URL|bad query"):
        database(url, Path())
