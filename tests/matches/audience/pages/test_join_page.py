"""The join page: the address another machine reaches, the requests that work, the kit; never a code."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from typing import Any

import pytest
from django.test import Client

from agents_registry import roster
from agents_registry.models import Agent, RosterEntry
from matches.audience.pages.join import base_url
from matches.league import lifecycle, opening
from tests import factories as make
from tests.matches.audience.looking import Tags

pytestmark = pytest.mark.django_db
PUBLIC = "http://192.0.2.7:8000"


def page(client: Client, path: str = "/leagues/fall/join/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def copied(text: str) -> list[str]:
    """The texts to copy."""
    found = re.findall(r"data-copy-text>(.*?)</pre>", text, re.S)
    marks = {"&quot;": '"', "&#x27;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
    return [re.sub("|".join(marks), lambda seen: marks[seen[0]], one) for one in found]


@pytest.mark.parametrize(
    ("asked", "public", "shown"),
    [
        ("http://127.0.0.1:8000", PUBLIC, PUBLIC),
        ("http://localhost:8000", PUBLIC, PUBLIC),
        ("http://[::1]:8000", PUBLIC, PUBLIC),
        ("http://10.0.0.5:8000", PUBLIC, "http://10.0.0.5:8000"),
        ("http://league.example.org", "https://league.example.org", "https://league.example.org"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_the_address_is_one_that_the_reader_reaches(asked: str, public: str, shown: str) -> None:
    assert base_url(asked, public) == shown


def test_a_local_site_says_so_in_words(client: Client, settings: Any) -> None:
    make.open_league()
    settings.LEAGUE_PUBLIC_URL = PUBLIC
    assert "right on this machine only" not in page(client)
    settings.LEAGUE_PUBLIC_URL = "http://127.0.0.1:8000"
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    text = client.get("/leagues/fall/join/", headers={"host": "127.0.0.1:8000"}).content.decode()
    assert "right on this machine only" in text


def test_the_curl_request_registers(client: Client) -> None:
    make.open_league()
    curl = next(text for text in copied(page(client)) if text.startswith("curl"))
    words = shlex.split(curl.replace("\\\n", ""))
    path = words[words.index("POST") + 1].partition("://")[2].partition("/")[2]
    answer = client.post(f"/{path}", words[-1], content_type="application/json")
    assert answer.json()["result"]["status"] == "ACCEPTED"
    assert Agent.objects.get().league_id == "fall"


def test_the_python_request_is_python(client: Client) -> None:
    make.open_league()
    for text in copied(page(client)):
        if text.startswith("import"):
            compile(text, "shown", "exec")
            return
    raise AssertionError("no Python on the page")


def test_codes_are_asked_for_and_never_shown(client: Client) -> None:
    make.open_league(registration_code="sesame-opens")
    text = page(client)
    assert "registration code" in text and "YOUR-CODE" in text and "sesame" not in text
    make.open_league("spring")
    roster.import_csv(league_id="spring", text="name,email,code\nDana,dana@example.org,dana-code\n")
    text = page(client, "/leagues/spring/join/")
    assert "personal code" in text and "YOUR-CODE" in text
    assert [word for word in ("dana", "Dana", RosterEntry.objects.get().code) if word in text] == []


def state(client: Client) -> str:
    [found] = re.findall(r'class="join-state" data-state="(\w+)"', page(client))
    return str(found)


def test_open_full_closed(client: Client) -> None:
    make.hire()
    make.open_league(max_players=2)
    seen = [state(client)]
    make.join("Ada", "fall")
    assert "1 of 2 places taken" in page(client)
    make.join("Blaise", "fall", port=8102)
    seen.append(state(client))
    lifecycle.start_league(league_id="fall")
    seen.append(state(client))
    assert seen == ["open", "full", "closed"]


def test_the_check_form_knows_the_game(client: Client) -> None:
    opening.create_league(league_id="ttt", display_name="T", game_type="tic_tac_toe", settings={})
    tags = Tags(page(client, "/leagues/ttt/join/")).found
    assert {"name": "game_type", "value": "tic_tac_toe", "type": "hidden"} in [dict(attrs) for _, attrs in tags]
    answer = client.post("/check", {"endpoint": "localhost:8101", "role": "player", "game_type": "tic_tac_toe"})
    assert answer.status_code == 303


def test_names_cannot_break_out(client: Client) -> None:
    opening.create_league(league_id="fall", display_name="<script>alert(1)</script>", settings={})
    tags = Tags(page(client)).found
    assert [tag for tag, attrs in tags if tag == "script" and "src" not in dict(attrs)] == []
    assert zipfile.ZipFile(io.BytesIO(client.get("/leagues/fall/join/kit.zip").content)).testzip() is None


@pytest.mark.parametrize("path", ["/leagues/none/join/", "/leagues/none/join/kit.zip"])
def test_no_such_league_is_a_404(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_page_costs_the_same_with_3_players_and_with_100(client: Client) -> None:
    make.open_league()
    costs = []
    for first, last in ((1, 4), (4, 100)):
        for number in range(first, last):
            make.join(f"P{number}", "fall", port=8100 + number)
        page(client)
        with make.counting(costs):
            page(client)
    assert costs[0] == costs[1]


def test_the_kit_is_whole_and_always_the_same(client: Client) -> None:
    make.open_league(registration_code="sesame-opens")
    first, second = (client.get("/leagues/fall/join/kit.zip") for _ in range(2))
    assert first.content == second.content and first["Content-Disposition"].endswith('"league-kit-fall.zip"')
    archive = zipfile.ZipFile(io.BytesIO(first.content))
    assert archive.namelist() == [
        f"league-kit/{name}" for name in ("README.md", "player.py", "player.mjs", "league.json")
    ]
    known = json.loads(archive.read("league-kit/league.json"))
    assert known["league"] == "http://testserver/leagues/fall/mcp" and known["game_types"] == ["even_odd"]
    readme = archive.read("league-kit/README.md").decode()
    assert known["league"] in readme and "{" not in readme and "--code" in readme
    assert b"sesame" not in b"".join(archive.read(name) for name in archive.namelist())
