"""The commands of a site of several processes, as far as they go without serving."""

from __future__ import annotations

import socket

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from leaguesite.scaled import NO_REDIS
from matches.models import League

MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
REDIS = {"default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer"}}


@pytest.mark.parametrize("command", ["web", "conductor"])
def test_without_redis_they_say_what_to_run_instead(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(settings, "CHANNEL_LAYERS", MEMORY)
    with pytest.raises(CommandError) as refused:
        call_command(command)
    assert str(refused.value) == NO_REDIS


def test_a_taken_port_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "CHANNEL_LAYERS", REDIS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"^Port {port} at 127.0.0.1 is in use"):
            call_command("web", port=port)


@pytest.mark.django_db(transaction=True)
def test_a_site_is_prepared_as_often_as_one_likes(
    api_key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEAGUE_ADMIN_PASSWORD", "password-of-the-tests")
    for _ in range(2):
        call_command("prepare")
    assert capsys.readouterr().out == "The database is ready.\n" * 2
    assert [league.pk for league in League.objects.all()] == [settings.LEAGUE_DEFAULT_ID]
