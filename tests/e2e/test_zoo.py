"""Every agent of the zoo in one league, none of them configured: all are played, and what was tolerated is noted."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from leaguesite.login.accounts import INSTRUCTOR
from tests.bots.zoo import entries, speech
from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import SEED, mixtures
from tests.e2e.site import PASSWORD, Site, bots, command_line

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
SETTINGS = {"join_timeout_s": 3, "move_timeout_s": 5, "retry_base_s": 0.25, "auto_advance": True}
PATIENCE_S = 400.0
ALL = BOTS | mixtures()
REGISTERING = [name for name, kind in ALL.items() if kind.enters is not entries.never]
# One league of all would be six times as many matches.
GROUPS = {f"zoo{number}": list(ALL)[number::6] for number in range(6)}
ADD_BY_HAND = "/admin/matches/league/add-player/"


@dataclass(frozen=True)
class Cast:
    """The bots' process: where each listens, its id, and what it logged."""

    folder: Path
    ready: dict[str, tuple[str, str]]
    unregistered: dict[str, str]

    def log(self, name: str) -> list[dict[str, Any]]:
        """Everything that a bot received and sent, in order."""
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]

    def received(self, name: str) -> list[dict[str, Any]]:
        """The calls that a bot received."""
        return [line for line in self.log(name) if "in" in line]


@contextmanager
def cast_of(site: Site, folder: Path, names: list[str]) -> Iterator[Cast]:
    """These bots in one process, registered one after the other."""
    folder.mkdir()
    options = ("--log-folder", str(folder), "--bots", ",".join(names), "--referee-port", str(first_referee_port(site)))
    with bots(site, "zoo", *options) as lines:
        cast = Cast(folder, {}, {})
        for word, name, endpoint, rest in (line.split(" ", 3) for line in lines):
            if word == "READY":
                cast.ready[name] = (endpoint, rest)
            else:
                cast.unregistered[name] = rest
        yield cast


def first_referee_port(site: Site) -> int:
    """The port of the first referee worker, which some agents know by heart."""
    lines = [command_line(pid) for pid in site.children()]
    ports = [int(found[1]) for line in lines if "referee" in line and (found := re.search(r"--port (\d+)", line))]
    return min(ports)


@dataclass(frozen=True)
class Played:
    """A league after its end."""

    cast: Cast
    league: dict[str, Any]
    matches: list[dict[str, Any]]
    agents: dict[str, str]
    """player ids by display name"""

    def of(self, name: str) -> list[dict[str, Any]]:
        """A bot's matches, in full."""
        return [match for match in self.matches if self.agents[name] in (match["player_A_id"], match["player_B_id"])]

    def notes(self, name: str) -> set[str]:
        """What was tolerated of a bot's answers."""
        return {
            note
            for match in self.of(name)
            for entry in match["transcript"]
            if entry["sender"] == self.agents[name]
            for note in entry.get("notes") or ()
        }

    def exchange(self, name: str, match_id: str) -> str:
        """What a bot received in one match and what it replied, for the error message."""
        lines = [line for line in self.cast.log(name) if f'"{match_id}"' in json.dumps(line)]
        return "\n".join(
            f"{line.get('to', 'received')} {json.dumps(line.get('in', line.get('out')))[:260]}\n"
            f"    {line.get('verdict', '')[:120]} -> {line['status']} {json.dumps(line['reply'])[:260]}"
            for line in lines
            if "ROUND_" not in json.dumps(line)[:300]
        )


@contextmanager
def begun(site: Site, folder: Path, league_id: str, names: list[str]) -> Iterator[Cast]:
    """A league of these bots, from registration to its start; they stay while it is played."""
    site.create(league_id, **SETTINGS)
    with cast_of(site, folder / league_id, names) as cast:
        for name in names:
            if name not in REGISTERING:
                add_by_hand(site, league_id, name, cast.ready[name][0])
        site.post(f"/leagues/{league_id}/start", {"auto_advance": True})
        yield cast


def over(site: Site, league_id: str, cast: Cast) -> Played:
    """A league at its end."""
    league = site.wait_until(league_id, "COMPLETED", PATIENCE_S)
    matches = site.get(f"/leagues/{league_id}/matches")
    agents = site.get(f"/leagues/{league_id}/agents")
    return Played(
        cast,
        league,
        [site.get(f"/leagues/{league_id}/matches/{match['match_id']}") for match in matches],
        {agent["display_name"]: agent["agent_id"] for agent in agents if agent["kind"] == "player"},
    )


def add_by_hand(site: Site, league_id: str, name: str, endpoint: str) -> None:
    """What the instructor does for an agent that never registers: name and address in the admin."""
    with httpx.Client(base_url=site.url, timeout=20, trust_env=False, follow_redirects=True) as browser:
        page = browser.get("/admin/login/", params={"next": ADD_BY_HAND})
        who = {"username": INSTRUCTOR, "password": PASSWORD, "next": ADD_BY_HAND}
        page = browser.post("/admin/login/", data=who | csrf(page), headers={"Referer": str(page.url)})
        agent = {"league": league_id, "name": name, "endpoint": endpoint, "wanted_id": ""}
        page = browser.post(ADD_BY_HAND, data=agent | csrf(page), headers={"Referer": str(page.url)})
        assert page.url.path == f"/admin/matches/league/{league_id}/change/", page.text[:3000]


def csrf(page: httpx.Response) -> dict[str, str]:
    """The token that a form of this page needs."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert found, page.text[:3000]
    return {"csrfmiddlewaretoken": found[1]}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    """The leagues played, by id."""
    folder = tmp_path_factory.mktemp("zoo")
    print(f"mixtures of seed {SEED}")
    site = Site(folder / "data", "--no-demo")
    try:
        # The one league that is open takes all who name none.
        site.post("/leagues/league_2025_even_odd/stop")
        with ExitStack() as stack:
            casts = {
                league_id: stack.enter_context(begun(site, folder, league_id, names))
                for league_id, names in GROUPS.items()
            }
            played = {league_id: over(site, league_id, cast) for league_id, cast in casts.items()}
        yield played
        assert site.stop() == 0
    finally:
        site.close()


@pytest.fixture
def played(zoo: dict[str, Played], name: str) -> Played:
    """The league of the bot of this test."""
    return next(zoo[league_id] for league_id, names in GROUPS.items() if name in names)


@pytest.mark.parametrize("league_id", GROUPS)
def test_everyone_registers(zoo: dict[str, Played], league_id: str) -> None:
    assert zoo[league_id].cast.unregistered == {}
    assert sorted(zoo[league_id].cast.ready) == sorted(GROUPS[league_id])


@pytest.mark.parametrize("league_id", GROUPS)
def test_every_match_is_played(zoo: dict[str, Played], league_id: str) -> None:
    played, count = zoo[league_id], len(GROUPS[league_id])
    assert (played.league["players"], played.league["matches"]) == (count, count * (count - 1) // 2)
    assert Counter(match["state"] for match in played.matches) == {"FINISHED": played.league["matches"]}
    assert {match["status"] for match in played.matches} <= {"WIN", "DRAW"}
    assert {match["attempt"] for match in played.matches} == {1}


@pytest.mark.parametrize("name", ALL)
def test_it_is_played_without_a_fault(played: Played, name: str) -> None:
    faults = [
        (match["match_id"], fault)
        for match in played.of(name)
        for fault in match["result"]["faults"]
        if fault["player_id"] == played.agents[name]
    ]
    assert faults == [], f"{ALL[name].__doc__}\n{played.exchange(name, faults[0][0])}"


@pytest.mark.parametrize("name", list(ALL))
def test_it_was_told_the_end_of_every_match(played: Played, name: str) -> None:
    key = ALL[name].match_key
    over = {line_match(line, key) for line in played.cast.received(name) if line["kind"] == "GAME_OVER"}
    assert over == {match["match_id"] for match in played.of(name)}


def line_match(line: dict[str, Any], key: str) -> Any:
    """The match that a received call is about, wherever it stands."""
    found = re.search(rf'"{key}": "([^"]+)"', json.dumps(line["in"]))
    return found and found[1]


@pytest.mark.parametrize("name", list(ALL))
def test_once_known_its_dialect_is_remembered(played: Played, name: str) -> None:
    """In all but its first matches, each message of a match comes once, and in a way it understands."""
    calls = [line for line in played.cast.received(name) if about_a_match(line)]
    first = {match["match_id"] for match in played.of(name)[:2]}
    later = [line for line in calls if line_match(line, "match_id") not in first]
    strange = [line for line in later if not line["verdict"].startswith(("understood", "refused"))]
    assert strange == []


def about_a_match(line: dict[str, Any]) -> bool:
    """Whether a received call is one of a match, in any way of speaking."""
    return bool(re.search(r'"match_id"|"game_id"', json.dumps(line["in"]))) and "ROUND_" not in json.dumps(line["in"])


def deviates(kind: type[Bot]) -> bool:
    """Whether what a bot answers differs from chapter 8, in more than fractions of a second or a field left out."""
    if kind.stamp not in (Bot.stamp, speech.zulu_fractions, speech.zulu_millis, speech.offset):
        return True
    traits = ("shape", "minimal", "join", "reply_id", "callback", "message")
    return kind.says_id == "own" or any(getattr(kind, trait) != getattr(Bot, trait) for trait in traits)


@pytest.mark.parametrize("name", [name for name in ALL if deviates(ALL[name])])
def test_what_was_tolerated_is_noted(played: Played, name: str) -> None:
    assert played.notes(name) != set()


NOTED = {
    "LeagueRegister": {"asked as parity_choose: parity_choose"},
    "ToolsAfterChapter8": {"asked as tools_call: tools/call", "the message was inside a tool result"},
    "NestedMessage": {"asked as handle_message: handle_message"},
    "LeagueHandle": {"asked as league_handle: league.handle", "the message was nested"},
    "FlatOnMcp": {"asked as flat: no method", "no JSON-RPC around the reply"},
    "SmallBody": {"answered by a POST of its own"},
    "OwnId": {"timestamp not UTC"},
    "IdFromEachMessage": {"error beside a result"},
    "ToTheManager": {"answered by a POST of its own"},
    "RequestForReply": {"a request in place of a reply"},
    "Sparse": {"accept was missing, read from another field", "timestamp was missing"},
    "LocalTime": {"no JSON-RPC around the reply", "timestamp not UTC"},
    "Sample004": {"no JSON-RPC around the reply", "timestamp was missing"},
    "Seed001": {"asked as message_type: GAME_INVITATION"},
    "BusyUntilOver": {"accept was missing, read from another field"},
}


@pytest.mark.parametrize("name", NOTED)
def test_the_note_says_what_to_mend(played: Played, name: str) -> None:
    assert NOTED[name] - played.notes(name) == set()


@pytest.mark.parametrize(
    ("name", "field"),
    [("TokenOnBroadcasts", "auth_token"), ("AddedByHand", "player_id"), ("TypeAsMethod", "parity_choice")],
)
def test_a_field_that_was_missing_is_noted(played: Played, name: str, field: str) -> None:
    assert [note for note in played.notes(name) if note.startswith(f"{field} was missing")] != []


def test_an_id_of_its_own_is_noted_beside_the_one_it_was_given(zoo: dict[str, Played]) -> None:
    played = next(one for one in zoo.values() if "OwnId" in one.agents)
    given = played.agents["OwnId"]
    assert {note for note in played.notes("OwnId") if note.startswith(("player_id", "sender"))} == {
        f"player_id was 'P01', expected {given}",
        f"sender was 'player:P01', expected player:{given}",
    }


def test_a_match_shows_which_way_of_speaking_was_found(zoo: dict[str, Played]) -> None:
    """Nobody was configured: what an agent listens to was found by asking."""
    for played in zoo.values():
        strangers = {name for name in played.agents if not ALL[name].ear.hear(CHAPTER_8_INVITATION)}
        asked = {name for name in played.agents if any(note.startswith("asked as ") for note in played.notes(name))}
        # Who answers by callbacks alone is told so instead.
        posts = {name for name in played.agents if "answered by a POST of its own" in played.notes(name)}
        assert strangers - asked - posts == set()


CHAPTER_8_INVITATION = {
    "jsonrpc": "2.0",
    "method": "handle_game_invitation",
    "params": {"message_type": "GAME_INVITATION", "match_id": "R1M1"},
    "id": 1,
}
