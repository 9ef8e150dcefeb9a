"""Fixtures of all tests of the site."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import timedelta

import hypothesis
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.utils import timezone, translation
from pytest_django import DjangoDbBlocker

from agents_registry.rate_limits.attempts import attempts
from league_sdk.dialects import memory
from league_sdk.transport import machine
from leaguesite.inbox.quick import VISITS
from leaguesite.serving.known_tokens import known_tokens
from matches.inbox.hub import hub
from matches.models import ConductorLease
from matches.view import compatibility, kept, luck
from tests.leaguesite.script import Script
from tests.paths import ROOT
from tests.sizes import examples

API_KEY = "key-of-the-tests"

# By default hypothesis fails an example that takes longer than 200 ms, or that is slow to draw. Both depend on
# the speed of the machine, so a busy one would fail correct code. Settings of a single test override these.
hypothesis.settings.register_profile(
    "tests", deadline=None, max_examples=examples(100), suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse end-to-end tests that `make test` would not run: it looks for them in ``tests/e2e`` only."""
    folder = ROOT / "tests" / "e2e"
    outside = [
        item.nodeid
        for item in items
        if item.get_closest_marker("e2e") and not item.get_closest_marker("long") and folder not in item.path.parents
    ]
    if outside:
        raise pytest.UsageError(f"move these end-to-end tests into tests/e2e, or mark them long: {', '.join(outside)}")


def pytest_collection() -> None:
    """Turn the garbage collector off while tests are collected, because hardly anything becomes garbage then."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt the tests from the collector of garbage, which would look through hundreds of thousands of objects."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """SQLite in a file: threads see each other's writes as on a real site, which a database in memory forbids.

    On PostgreSQL a test may rest longer in its transaction than a request may: most tests are one transaction each.
    """
    database = settings.DATABASES["default"]
    if "options" in database.get("OPTIONS", {}):
        database["OPTIONS"]["options"] += " -c idle_in_transaction_session_timeout=0"
    if database["ENGINE"].endswith("sqlite3"):
        database.setdefault("TEST", {})["NAME"] = str(settings.DATA_DIR / "tests.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Make the tests' database, and end every connection to it before it is dropped.

    PostgreSQL drops no database that is in use, and the connection of a thread that has ended stays open until the
    garbage collector finds it.
    """
    yield
    if connection.vendor != "postgresql":
        return
    gc.collect()
    with django_db_blocker.unblock():
        connection.close()
        connection.close_pool()
        # A new pool of this process would be in use itself, so another database is asked.
        with connection._nodb_cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [connection.settings_dict["NAME"]],
            )


@pytest.fixture(autouse=True)
def forget_what_other_tests_left() -> None:
    """Clear what the product keeps in memory, such as rate limits by address: tests of one process share it."""
    attempts.forget_all()
    known_tokens.bearers.clear()
    VISITS.known.clear()
    kept.forget_all()
    # Agents of the next test have the same primary keys, and would be expected to open their lines again.
    hub.forget_old(after_s=0.0)
    hub.revoke((), (), at=0.0)
    hub.closing = False
    luck.keeper.kept.clear()
    compatibility.kept_most.forget_all()
    # An imported ``leaguesite.asgi`` sets this; a page that a test requests must not start a process.
    luck.keeper.start = None


@pytest.fixture(autouse=True)
def language_of_the_site() -> None:
    """Undo the language that a page asked for in another test: Django leaves it active in the thread."""
    translation.deactivate()


@pytest.fixture
def hunts_without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make hunts for a dialect send their requests without pauses, in tests with agents on real sockets."""
    monkeypatch.setattr(memory, "BURST_S", 0.0)
    monkeypatch.setattr(memory, "HUNT_GAP_S", 0.0)


@pytest.fixture
def migrations_restored() -> Iterator[None]:
    """For tests that migrate backwards: after the test all migrations are applied again."""
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.fixture
def desk(client: Client) -> Client:
    """The browser of an instructor of a site whose conductor runs."""
    ConductorLease.objects.create(name="running", holder="here:1", until=timezone.now() + timedelta(hours=1))
    client.force_login(User.objects.create_superuser("instructor", password="x" * 12))
    return client


@pytest.fixture
def own_addresses(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The addresses of this machine besides its loopback, whatever machine the tests run on; a test adds its own."""
    addresses: set[str] = set()
    monkeypatch.setattr(machine, "is_own", lambda address: address.is_loopback or str(address) in addresses)
    return addresses


@pytest.fixture
def api_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The instructor's API key."""
    monkeypatch.setenv("LEAGUE_API_KEY", API_KEY)
    yield API_KEY


@pytest.fixture
def script(api_key: str) -> Script:
    """A caller of the API who sends the instructor's API key."""
    return Script(api_key)


@pytest.fixture
def public() -> Script:
    """A caller of the API who sends no key."""
    return Script("")
