"""Names are isolated in sentences of the other direction, on every page; data that leave the site have no isolates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from agents_registry.models import Agent, RosterEntry
from agents_registry.registering import registration
from leaguesite.api.routes import api
from matches.league import opening
from matches.league.errors import ActionRefused
from matches.models import Check, League
from matches.papers import tables
from tests import factories as make
from tests.leaguesite.skin import test_skin_hebrew as hebrew
from tests.leaguesite.skin.isolation import not_isolated
from tests.paths import ROOT

pytestmark = pytest.mark.django_db
made = hebrew.made
ISOLATES = re.compile("[\u2068\u2069]|\\\\u206[89]")

SENTENCES = (
    "why",
    "sentence",
    "problem",
    "note",
    "warning",
    "cause",
    "mend",
    "fate",
    "label",
    "took",
    "found",
    "remark",
)
"""The variables of templates that hold sentences of ours."""
AUTO = re.compile(rf'(?:<bdi>|dir="auto"[^>]*>)(?:{{% blocktrans|{{{{ (?:\w+\.)*(?:{"|".join(SENTENCES)})\b)')
"""A sentence of ours in an element that takes its direction from its first letter."""
NO_SENTENCES = (
    "Undone by <bdi>{{ by }}</bdi>: <bdi>{{ why",
    "</span> <bdi>{{ row.label",
    "<bdi>{% blocktranslate with ms=",
)
"""What :data:`AUTO` would find although it is none: an instructor's reason, a player's name, a number with its unit."""


def hebrew_script(api_key: str) -> Client:
    """A script of the instructor that asks for Hebrew."""
    return Client(headers={"accept-language": "he", "authorization": f"Bearer {api_key}"})


def rename_all() -> list[str]:
    """Rename everything so that a test recognizes the names (Zq at the beginning, a mark at the end); returns them."""
    for league in League.objects.all():
        League.objects.filter(pk=league.pk).update(display_name=f"Zq{league.pk} (2)!")
    for agent in Agent.objects.all():
        Agent.objects.filter(pk=agent.pk).update(display_name=f"Zq{agent.code}{agent.pk} +")
    for person in RosterEntry.objects.all():
        RosterEntry.objects.filter(pk=person.pk).update(name=f"Zq{person.pk} person.")
    rows = (League.objects.values_list("display_name"), Agent.objects.values_list("display_name"))
    return [name for these in (*rows, RosterEntry.objects.values_list("name")) for (name,) in these]


def pages(client: Client, addresses: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """The pages at these addresses, and each address."""
    for method, path in addresses:
        answer: Any = client.get(path) if method == "GET" else client.post(path)
        if answer.streaming:
            b"".join(answer.streaming_content)
        elif answer["Content-Type"].startswith("text/html"):
            yield path, answer.content.decode()


@pytest.mark.exhaustive
def test_names_are_isolated_on_every_page_in_hebrew(made: make.MadeLeague) -> None:
    names = rename_all()
    shown = hebrew.PAGES | {"check_report": tuple((check,) for check in Check.objects.values_list("pk", flat=True))}
    addresses = list(dict.fromkeys(hebrew.addresses_of_the_desk(made)))
    addresses += [("GET", reverse(name, args=args)) for name, every in shown.items() for args in every]
    found = {
        f"{text}   <- {path}"
        for path, page in pages(hebrew.instructor(), addresses)
        for text in not_isolated(page, names)
    }
    assert not found, "\n".join(sorted(found))


@pytest.mark.parametrize("language", ["he", "en"])
@pytest.mark.parametrize("name", ["סתיו", "Fall", "Fall\u2069\u202e!"])
def test_a_league_in_a_refusal_is_isolated_on_pages_only(language: str, name: str) -> None:
    make.open_league("fall")
    League.objects.update(display_name=name)
    with override(language), pytest.raises(ActionRefused) as refused:
        opening.close_registration(league_id="fall")
    bare = name.replace("\u2069\u202e", "")
    shown = bare if language == "en" and bare.isascii() else f"\u2068{bare}\u2069"
    assert shown in refused.value.sentence
    assert bare in str(refused.value) and ISOLATES.search(str(refused.value)) is None


def test_the_desk_shows_a_refusal_with_its_name_isolated() -> None:
    make.open_league("fall")
    answer = hebrew.instructor().post("/admin/matches/league/fall/do/close/", follow=True)
    assert "\u2068Fall\u2069" in answer.content.decode()


def test_what_leaves_as_data_has_no_isolates_in_hebrew(made: make.MadeLeague, api_key: str) -> None:
    client = hebrew_script(api_key)
    filled = {"league_id": "fall", "match_id": "R1M1", "player_id": "P01", "kind": "player", "agent_id": "P01"}
    filled |= {"name": "events.csv", "check_id": str(Check.objects.values_list("pk", flat=True)[0])}
    count, wrong = 0, []
    for path, methods in api.get_openapi_schema()["paths"].items():
        if "get" not in methods or set(re.findall(r"\{(\w+)\}", path)) - set(filled):
            continue
        answer: Any = client.get(path.format(**filled))
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        count += answer.status_code == 200
        if ISOLATES.search(body.decode(errors="replace")) and not answer["Content-Type"].startswith("text/html"):
            wrong.append(path)
    assert count > 10
    with override("he"):
        for name in tables.TABLES:
            rows = list(tables.TABLES[name](League.objects.get(pk="fall"), True))
            if ISOLATES.search(repr(rows)):
                wrong.append(name)
    assert wrong == []


def test_a_refusal_of_the_api_has_no_isolates_in_hebrew(api_key: str) -> None:
    make.open_league("fall")
    answer = hebrew_script(api_key).post("/api/leagues/fall/start", "{}", content_type="application/json")
    assert answer.status_code == 409
    assert "Fall" in answer.json()["error"] and "wait until" not in answer.json()["error"]
    assert ISOLATES.search(answer.content.decode()) is None


def test_no_sentence_of_ours_takes_its_direction_from_its_first_word() -> None:
    """A Hebrew sentence that begins with P02 would be laid out from left to right."""
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")}
    for allowed in NO_SENTENCES:
        pages = {path: page.replace(allowed, "") for path, page in pages.items()}
    found = [f"{path.name}: {match[0]}" for path, page in pages.items() for match in AUTO.finditer(page)]
    assert (len(pages) > 100, found) == (True, [])


def test_a_name_is_stored_without_characters_that_change_the_direction_of_text() -> None:
    """A name that opens an isolate and does not close it would affect the text after its ``<bdi>`` as well."""
    league = opening.create_league(league_id="fall", display_name="\u2066Fall\u202e")
    assert league.display_name == "Fall"
    edited = opening.edit_league(league_id="fall", display_name="\u2067Fall 2\u2068", settings={})
    assert (edited.display_name, League.objects.get().display_name) == ("Fall 2", "Fall 2")
    member = make.player("Alpha\u2066", "fall").fresh()
    member.display_name += "\u2067 B"
    registration.save_from_admin(member)
    assert Agent.objects.get().display_name == "Alpha B"
