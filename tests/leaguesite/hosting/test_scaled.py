"""The commands of a site of several processes, as far as they go without serving."""

from __future__ import annotations

import socket
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from leaguesite.hosting import place
from leaguesite.hosting.scaled import NO_REDIS
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


@pytest.mark.parametrize(
    ("user", "name", "words"),
    [("ada", "league", "--owner ada league"), ("", "league", "league"), ("a b", "x;y", "--owner 'a b' 'x;y'")],
)
def test_a_database_that_is_not_utf8_is_refused_with_the_words_that_make_one(
    monkeypatch: pytest.MonkeyPatch, user: str, name: str, words: str
) -> None:
    cursor = SimpleNamespace(execute=lambda sql: None, fetchone=lambda: ("LATIN1",))
    found = SimpleNamespace(
        vendor="postgresql", cursor=lambda: nullcontext(cursor), settings_dict={"USER": user, "NAME": name}
    )
    monkeypatch.setattr(place, "connection", found)
    with pytest.raises(CommandError) as refused:
        place.make_tables()
    assert str(refused.value).endswith(
        f"Make it anew: createdb --encoding UTF8 --locale C.UTF-8 --template template0 {words}"
    )
