"""The join page: an address that other machines can reach, examples that work, the kit; never a code."""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
import subprocess
import zipfile
from typing import Any

import pytest
from django.test import Client

from agents_registry.models import Agent, AgentToken, RosterEntry
from agents_registry.registering import registration
from agents_registry.rosters import roster
from league_sdk import bridge
from matches.audience import kit
from matches.league import lifecycle, opening
from tests import factories as make
from tests.matches.audience.tags import Tags
from tests.paths import ROOT
from tests.sizes import MANY_ROWS

pytestmark = pytest.mark.django_db
PUBLIC = "http://192.0.2.7:8000"


def page(client: Client, path: str = "/leagues/fall/join/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def texts_to_copy(page_text: str) -> list[str]:
    """The texts of the page that have a copy button."""
    matched = re.findall(r"data-copy-text>(.*?)</pre>", page_text, re.S)
    marks = {"&quot;": '"', "&#x27;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
    return [re.sub("|".join(marks), lambda seen: marks[seen[0]], one) for one in matched]


def test_the_join_page_warns_of_a_local_address(client: Client, settings: Any) -> None:
    make.open_league()
    settings.LEAGUE_PUBLIC_URL = PUBLIC
    assert "right on this machine only" not in page(client)
    settings.LEAGUE_PUBLIC_URL = "http://127.0.0.1:8000"
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    text = client.get("/leagues/fall/join/", headers={"host": "127.0.0.1:8000"}).content.decode()
    assert "right on this machine only" in text


def test_the_curl_request_registers(client: Client) -> None:
    make.open_league()
    curl = next(text for text in texts_to_copy(page(client)) if text.startswith("curl"))
    words = shlex.split(curl.replace("\\\n", ""))
    path = words[words.index("POST") + 1].partition("://")[2].partition("/")[2]
    answer = client.post(f"/{path}", words[-1], content_type="application/json")
    assert answer.json()["result"]["status"] == "ACCEPTED"
    assert Agent.objects.get().league_id == "fall"


def test_the_python_example_compiles(client: Client) -> None:
    make.open_league()
    for text in texts_to_copy(page(client)):
        if text.startswith("import"):
            compile(text, "shown", "exec")
            return
    raise AssertionError("no Python on the page")


def test_the_join_page_shows_the_loops_of_the_protocol_with_the_address_of_the_site(client: Client) -> None:
    make.open_league()
    protocol, shown = client.get("/protocol.md").content.decode(), texts_to_copy(page(client))
    loops = [text for text in shown if "http://testserver/inbox" in text]
    assert len(loops) == 3
    for text in loops:
        assert f"\n{text.replace('http://testserver', 'http://localhost:8000')}```\n" in protocol


def test_the_bridge_accepts_the_command_on_the_join_page(client: Client) -> None:
    make.open_league(registration_code="sesame-opens")
    [command] = [text for text in texts_to_copy(page(client)) if "bridge.py" in text]
    parser = argparse.ArgumentParser()
    bridge.add_arguments(parser)
    options = parser.parse_args(shlex.split(command)[2:])
    assert (options.league, options.code) == ("http://testserver/leagues/fall/mcp", "YOUR-CODE")
    assert (options.agent, options.name, options.game) == ("http://localhost:8101/mcp", "My Agent", ["even_odd"])


def test_the_join_page_asks_for_a_code_and_never_shows_it(client: Client) -> None:
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


def test_the_join_page_says_whether_registration_is_open_full_or_closed(client: Client) -> None:
    make.referee()
    make.open_league(max_players=2)
    seen = [state(client)]
    make.player("Ada", "fall")
    assert "1 of 2 places taken" in page(client)
    make.player("Blaise", "fall", port=8102)
    seen.append(state(client))
    lifecycle.start_league(league_id="fall")
    seen.append(state(client))
    assert seen == ["open", "full", "closed"]


def test_the_check_form_sends_the_leagues_game(client: Client) -> None:
    opening.create_league(league_id="ttt", display_name="T", game_type="tic_tac_toe", settings={})
    tags = Tags(page(client, "/leagues/ttt/join/")).found
    assert {"name": "game_type", "value": "tic_tac_toe", "type": "hidden"} in [dict(attrs) for _, attrs in tags]
    answer = client.post("/check", {"endpoint": "localhost:8101", "role": "player", "game_type": "tic_tac_toe"})
    assert answer.status_code == 303


def test_the_page_makes_as_many_queries_with_few_players_as_with_many(client: Client) -> None:
    make.open_league()
    query_counts = []
    for first, last in ((1, 4), (4, min(100, MANY_ROWS))):
        for number in range(first, last):
            make.player(f"P{number}", "fall", port=8100 + number)
        page(client)
        with make.counting_queries(query_counts):
            page(client)
    assert query_counts[0] == query_counts[1]


@pytest.mark.parametrize("language", kit.LANGUAGES)
def test_the_starter_kit_is_complete_and_reproducible(client: Client, language: str) -> None:
    make.open_league(registration_code="sesame-opens")
    first, second = (client.get(f"/leagues/fall/join/kit-{language}.zip") for _ in range(2))
    assert first.content == second.content
    assert first["Content-Disposition"].endswith(f'"league-kit-fall-{language}.zip"')
    zip_file, folder = zipfile.ZipFile(io.BytesIO(first.content)), f"league-kit-{language}"
    files = ("README.md", *kit.LANGUAGES[language].files, "bridge.py", "league.json", ".gitignore")
    assert zip_file.namelist() == [f"{folder}/{name}" for name in files]
    known = json.loads(zip_file.read(f"{folder}/league.json"))
    assert known["league"] == "http://testserver/leagues/fall/mcp" and known["game_types"] == ["even_odd"]
    readme = zip_file.read(f"{folder}/README.md").decode()
    assert known["league"] in readme and "{" not in readme and "--code" in readme
    assert f'{kit.LANGUAGES[language].start} --name "My Agent"' in readme
    assert b"sesame" not in b"".join(zip_file.read(name) for name in zip_file.namelist())


@pytest.mark.parametrize("language", kit.LANGUAGES)
def test_a_kit_has_every_file_that_its_folder_has(language: str) -> None:
    folder = str(ROOT / "examples" / "kit" / language)
    tracked = subprocess.run(["git", "ls-files"], cwd=folder, capture_output=True, text=True, check=True)
    assert sorted(tracked.stdout.split()) == sorted(["README.md", *kit.LANGUAGES[language].files])


@pytest.mark.parametrize("language", kit.LANGUAGES)
def test_the_container_of_a_kit_copies_only_files_of_the_kit_and_the_league_file(language: str) -> None:
    text = (ROOT / "examples" / "kit" / language / "Dockerfile").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line.startswith("COPY") and "--from" not in line]
    copied = {name for words in lines for name in words[1:-1]}
    assert copied <= {*kit.LANGUAGES[language].files, "league.jso[n]"} and "league.jso[n]" in copied
    assert text.count("\nUSER player\n") == 1 and re.search(r'^ENTRYPOINT \["', text, re.M)


def test_the_join_page_offers_the_kit_in_every_language(client: Client) -> None:
    make.open_league(registration_code="sesame-opens")
    text = page(client)
    links = re.findall(r'href="(/leagues/fall/join/kit-(\w+)\.zip)"', text)
    assert [language for _link, language in links] == list(kit.LANGUAGES)
    assert {client.get(link).status_code for link, _language in links} == {200}
    starts = [f'{one.start} --name "My Agent" --code YOUR-CODE' for one in kit.LANGUAGES.values()]
    assert [start for start in texts_to_copy(text) if start in starts] == starts
    # The address of the only kit, before there was one for each language, leads to the first.
    assert client.get("/leagues/fall/join/kit.zip").content == client.get(links[0][0]).content
    assert client.get("/leagues/fall/join/kit-cobol.zip").status_code == 404


def test_the_join_page_says_how_the_agents_of_the_readers_machine_are_reached(client: Client) -> None:
    made = make.league(players=3)
    mine, fetching, other = (member.agent for member in made.players)
    Agent.objects.filter(pk__in=[mine.pk, fetching.pk]).update(registered_from="127.0.0.1")
    Agent.objects.filter(pk=other.pk).update(registered_from="203.0.113.9")
    AgentToken.objects.update(proven=True)
    call_found = "no connection in time, as behind a router or a firewall"
    registration.note_ping(agent_id=mine.pk, problem=call_found, found=call_found)
    registration.note_lines(opened={fetching.pk: "poll"}, closed=[], contested=[])
    whole, part = page(client, "/leagues/fall/join/"), page(client, "/leagues/fall/join/?part=1")
    for text in (whole, part):
        assert re.findall(r'id="arrived-(\w+)"', text) == [fetching.code, mine.code]
        assert "fetches its messages by long poll" in text
        assert f"The last call at its address found: {call_found}." in text
        assert "No call gets through: start it with --dial-out, or use the bridge." in text
    assert "<html" not in part
    assert mine.endpoint not in part
    # As long as an agent has not proved that its address is its own, the page does not say what a call found there.
    AgentToken.objects.update(proven=False)
    assert call_found not in page(client, "/leagues/fall/join/")
