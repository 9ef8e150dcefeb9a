"""What every test of the site shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from agents_registry.attempts import attempts
from leaguesite.serving.turns import known_tokens
from matches.view import kept
from tests.leaguesite.script import Script

API_KEY = "key-of-the-tests"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """SQLite in a file: threads see each other's writes as on a real site, which a database in memory forbids."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        database.setdefault("TEST", {})["NAME"] = str(settings.DATA_DIR / "tests.sqlite3")


@pytest.fixture(autouse=True)
def nobody_has_tried_yet() -> None:
    """No test waits for what another did from the same address."""
    attempts.forget_all()
    known_tokens.forget_all()
    kept.forget_all()


@pytest.fixture
def back() -> Iterator[None]:
    """Whatever a test does to the tables, afterwards they are as the other tests expect them."""
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.fixture
def desk(client: Client) -> Client:
    """The browser of an instructor."""
    client.force_login(User.objects.create_superuser("instructor", password="x" * 12))
    return client


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The instructor's API key."""
    monkeypatch.setenv("LEAGUE_API_KEY", API_KEY)
    yield API_KEY


@pytest.fixture
def script(api_key: str) -> Script:
    """Someone with the instructor's API key."""
    return Script(api_key)


@pytest.fixture
def public() -> Script:
    """Someone without a key."""
    return Script("")
