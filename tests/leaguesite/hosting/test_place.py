"""What commands check before they serve: Redis, the port, the database."""

from __future__ import annotations

import socket
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from leaguesite import environment
from leaguesite.hosting import place
from matches.models import League

MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
REDIS = {"default": {"BACKEND": "storage.redis_links.Layer"}}


@pytest.mark.parametrize("command", ["web", "conductor"])
def test_web_and_conductor_refuse_to_run_without_redis(settings: Any, command: str) -> None:
    settings.CHANNEL_LAYERS = MEMORY
    with pytest.raises(CommandError) as refused:
        call_command(command)
    assert str(refused.value) == place.NO_REDIS


def test_web_refuses_a_port_that_is_in_use(settings: Any) -> None:
    settings.CHANNEL_LAYERS = REDIS
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CommandError, match=f"^Port {port} at 127.0.0.1 is in use"):
            call_command("web", port=port)


def test_a_number_that_no_port_has_is_refused() -> None:
    with pytest.raises(CommandError, match=r"^--port 65536 cannot be used: choose a port from 1 to 65535\.$"):
        call_command("host", port=65536)
    # Port 0 would be a free port that neither the public address nor a referee knows.
    with pytest.raises(CommandError, match=r"^--port 0 cannot be used: choose a port from 1 to 65535\.$"):
        place.require_port("127.0.0.1", 0)


@pytest.mark.django_db(transaction=True)
def test_prepare_may_run_twice_and_opens_one_league(
    api_key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEAGUE_ADMIN_PASSWORD", "password-of-the-tests")
    for _ in range(2):
        call_command("prepare")
    assert capsys.readouterr().out == "The database is ready.\n" * 2
    assert [league.pk for league in League.objects.all()] == [settings.LEAGUE_DEFAULT_ID]


@pytest.mark.parametrize(
    ("user", "name", "arguments"),
    [("ada", "league", "--owner ada league"), ("", "league", "league"), ("a b", "x;y", "--owner 'a b' 'x;y'")],
)
def test_a_database_that_is_not_utf8_is_refused_with_the_command_that_makes_one(
    monkeypatch: pytest.MonkeyPatch, user: str, name: str, arguments: str
) -> None:
    cursor = SimpleNamespace(execute=lambda sql: None, fetchone=lambda: ("LATIN1",))
    database = SimpleNamespace(
        vendor="postgresql", cursor=lambda: nullcontext(cursor), settings_dict={"USER": user, "NAME": name}
    )
    monkeypatch.setattr(place, "connection", database)
    with pytest.raises(CommandError) as refused:
        place.migrate_database()
    assert str(refused.value).endswith(
        f"Create it again: createdb --encoding UTF8 --locale C.UTF-8 --template template0 {arguments}"
    )


# Public URL, trusted proxies -----------------------------------------------------------------------


@pytest.fixture
def own_settings(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings that apply_addresses() writes, restored afterwards."""
    monkeypatch.delenv("LEAGUE_TRUSTED_PROXIES", raising=False)
    names = ("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "LEAGUE_PUBLIC_URL", "LEAGUE_REFUSED_PORTS")
    for name in (*names, "LEAGUE_TRUSTED_PROXIES", *environment.security("", ())):
        setattr(settings, name, getattr(settings, name))
    settings.LEAGUE_TRUSTED_PROXIES = ()
    return settings


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("https://league.example.invalid", environment.LOOPBACK),
        ("http://league.example.invalid:8000", environment.LOOPBACK),
        ("http://127.0.0.1:8000", ()),
        ("http://localhost:8000", ()),
    ],
)
def test_a_public_url_elsewhere_makes_a_proxy_on_this_machine_trusted(
    own_settings: Any, url: str, trusted: tuple[environment.Network, ...]
) -> None:
    place.apply_addresses(public_url=url, host="127.0.0.1", port=8000)
    assert trusted == own_settings.LEAGUE_TRUSTED_PROXIES
    secure = url.startswith("https")
    assert own_settings.SESSION_COOKIE_SECURE is own_settings.CSRF_COOKIE_SECURE is secure
    assert url in own_settings.CSRF_TRUSTED_ORIGINS
    assert ("https://localhost:8000" in own_settings.CSRF_TRUSTED_ORIGINS) is secure


def test_no_proxy_is_trusted_if_the_variable_is_empty(own_settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_TRUSTED_PROXIES", "")
    place.apply_addresses(public_url="https://league.example.invalid", host="127.0.0.1", port=8000)
    assert own_settings.LEAGUE_TRUSTED_PROXIES == ()
