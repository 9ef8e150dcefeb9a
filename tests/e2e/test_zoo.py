"""Every agent of the zoo in six leagues that were told no dialect: all are played, and what was tolerated is noted.

They play twice: once the site calls them, and once it cannot and bridges relay for them.
"""

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
from tests.bots.words import CHOOSE, INVITE, OVER
from tests.bots.zoo import entries, speech
from tests.bots.zoo.base import Bot
from tests.bots.zoo.cast import BOTS
from tests.bots.zoo.mixed import SEED, mixtures
from tests.e2e import bridges
from tests.e2e.ports import free_port
from tests.e2e.site import PASSWORD, UNHURRIED, Instructor, Site, bots, command_line, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]
PATIENCE_S = 400.0
ALL = BOTS | mixtures()
REGISTERING = [name for name, kind in ALL.items() if kind.enters is not entries.never]
# One league of all agents would have six times as many matches.
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
def cast_of(manager: Instructor, folder: Path, names: list[str], referee_port: int) -> Iterator[Cast]:
    """Bots in one process, which register one after the other at ``manager``: the site, or a bridge."""
    options = ("--log-folder", str(folder), "--bots", ",".join(names), "--referee-port", str(referee_port))
    with bots(manager, "zoo", *options) as lines:
        cast = Cast(folder, {}, {})
        for word, name, endpoint, rest in (line.split(" ", 3) for line in lines):
            if word == "READY":
                cast.ready[name] = (endpoint, rest)
            else:
                cast.unregistered[name] = rest
        yield cast


def first_referee_port(site: Site) -> int:
    """The lowest port of the site's referees, which is told to the agents that have one hard-coded."""
    lines = [command_line(pid) for pid in site.children()]
    ports = [int(port[1]) for line in lines if "referee" in line and (port := re.search(r"--port (\d+)", line))]
    return min(ports)


@dataclass(frozen=True)
class Played:
    """A league after its end."""

    cast: Cast
    league: dict[str, Any]
    matches: list[dict[str, Any]]
    agents: dict[str, str]
    """Player ids by display name."""

    def of(self, name: str) -> list[dict[str, Any]]:
        """A bot's matches with all their details."""
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
def started_league(site: Site, folder: Path, league_id: str, names: list[str], *, bridged: bool) -> Iterator[Cast]:
    """Register bots in a league and start it; the bots run until the block ends."""
    site.create(league_id, **UNHURRIED)
    folder = folder / league_id
    folder.mkdir()
    with ExitStack() as stack:
        manager, referee_port = site, first_referee_port(site)
        if bridged:
            # Agents with a hard-coded referee port find the bridge there.
            referee_port = free_port()
            manager, _log = stack.enter_context(bridges.bridged_manager(site, folder, "--listen", str(referee_port)))
        cast = stack.enter_context(cast_of(manager, folder, names, referee_port))
        for name in names:
            if name in REGISTERING:
                continue
            if bridged:
                (folder / name).mkdir()
                options = ("--agent", cast.ready[name][0], "--name", name)
                log = stack.enter_context(bridges.bridge(site, folder / name, *options))
                wait_for("the bridge registers", lambda log=log: "registered as" in log.read_text())
            else:
                add_by_hand(site, league_id, name, cast.ready[name][0])
        if bridged:
            assert bridges.count_relayed(folder) == len(names)
        site.post(f"/leagues/{league_id}/start", {"auto_advance": True})
        yield cast


def finished_league(site: Site, league_id: str, cast: Cast) -> Played:
    """Wait until a league is over; returns its matches and agents."""
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
    """Add an agent that never registers, as the instructor does in the admin."""
    with httpx.Client(base_url=site.url, timeout=20, trust_env=False, follow_redirects=True) as browser:
        page = browser.get("/admin/login/", params={"next": ADD_BY_HAND})
        who = {"username": INSTRUCTOR, "password": PASSWORD, "next": ADD_BY_HAND}
        page = browser.post("/admin/login/", data=who | csrf(page), headers={"Referer": str(page.url)})
        agent = {"league": league_id, "name": name, "endpoint": endpoint, "wanted_id": ""}
        page = browser.post(ADD_BY_HAND, data=agent | csrf(page), headers={"Referer": str(page.url)})
        assert page.url.path == f"/admin/matches/league/{league_id}/change/", page.text[:3000]


def csrf(page: httpx.Response) -> dict[str, str]:
    """The token that a form of this page needs."""
    matched = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert matched, page.text[:3000]
    return {"csrfmiddlewaretoken": matched[1]}


@pytest.fixture(scope="module", params=["called", "bridged"])
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    """The leagues after their end, by id."""
    folder = tmp_path_factory.mktemp("zoo")
    print(f"mixtures of seed {SEED}")
    site = Site(folder / "data", "--no-demo")
    try:
        # Otherwise the default league would take the agents that name no league.
        site.post("/leagues/league_2025_even_odd/stop")
        with ExitStack() as stack:
            casts = {
                league_id: stack.enter_context(
                    started_league(site, folder, league_id, names, bridged=request.param == "bridged")
                )
                for league_id, names in GROUPS.items()
            }
            played = {league_id: finished_league(site, league_id, cast) for league_id, cast in casts.items()}
        yield played
        assert site.stop() == 0
    finally:
        site.close()


@pytest.fixture
def played(zoo: dict[str, Played], name: str) -> Played:
    """The league of the bot of this test."""
    return next(zoo[league_id] for league_id, names in GROUPS.items() if name in names)


@pytest.mark.parametrize("league_id", GROUPS)
def test_every_agent_is_ready_and_no_registration_fails(zoo: dict[str, Played], league_id: str) -> None:
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
def test_an_agent_is_played_without_a_fault(played: Played, name: str) -> None:
    faults = [
        (match["match_id"], fault)
        for match in played.of(name)
        for fault in match["result"]["faults"]
        if fault["player_id"] == played.agents[name]
    ]
    assert faults == [], f"{ALL[name].__doc__}\n{played.exchange(name, faults[0][0])}"


@pytest.mark.parametrize("name", list(ALL))
def test_an_agent_is_told_the_end_of_each_of_its_matches(played: Played, name: str) -> None:
    key = ALL[name].match_key
    over = {line_match(line, key) for line in played.cast.received(name) if line["kind"] == "GAME_OVER"}
    untold = sorted({match["match_id"] for match in played.of(name)} - over)
    assert untold == [], f"{ALL[name].__doc__}\n{played.exchange(name, untold[0]) or 'it received nothing'}"
    assert over == {match["match_id"] for match in played.of(name)}


def line_match(line: dict[str, Any], key: str) -> Any:
    """The id of the match that a received call is about, wherever it stands, and also if it is written in digits."""
    matched = re.search(rf'"{key}": "(?:M-(\d+)(\d{{4}})|([^"]+))"', json.dumps(line["in"]))
    return matched and (matched[3] or f"R{matched[1]}M{int(matched[2])}")


@pytest.mark.parametrize("name", list(ALL))
def test_the_site_remembers_the_dialect_of_an_agent(played: Played, name: str) -> None:
    """In all but its first two matches, an agent gets each message that it knows in a dialect that it understands."""
    calls = [line for line in played.cast.received(name) if about_a_match(line)]
    first = {match["match_id"] for match in played.of(name)[:2]}
    later = [line for line in calls if line_match(line, "match_id") not in first]
    # A message that an agent knows in no shape at all is sent in another shape in each match.
    known = {line["kind"] for line in calls}
    not_understood = [line for line in later if line["verdict"].startswith("not ") and kind_of(line) in known]
    assert not_understood == []


def kind_of(line: dict[str, Any]) -> str:
    """The message type of a received call, whatever the dialect calls it."""
    matched = re.search(r'"(?:message_type|type)": "([A-Z_]+)"', json.dumps(line["in"]))
    return OTHER_TYPE_NAMES.get(matched[1], matched[1]) if matched else ""


OTHER_TYPE_NAMES = {"GAME_INVITE": INVITE, "GAME_RESULT": OVER}
OTHER_TYPE_NAMES |= dict.fromkeys(("MOVE_REQUEST", "REQUEST_MOVE", "CHOOSE_PARITY"), CHOOSE)


def about_a_match(line: dict[str, Any]) -> bool:
    """Whether a received call belongs to a match, in any dialect."""
    return bool(re.search(r'"match_id"|"game_id"', json.dumps(line["in"]))) and "ROUND_" not in json.dumps(line["in"])


def deviates(kind: type[Bot]) -> bool:
    """Whether a bot's answers differ from 004 chapter 8 in a way that the site always notes; others it may not note."""
    if kind.stamp not in (Bot.stamp, speech.zulu_fractions, speech.zulu_millis, speech.offset):
        return True
    traits = ("shape", "minimal", "join", "reply_id", "callback", "message")
    return kind.says_id == "own" or any(getattr(kind, trait) != getattr(Bot, trait) for trait in traits)


@pytest.mark.parametrize("name", [name for name in ALL if deviates(ALL[name])])
def test_the_site_notes_what_it_tolerated_of_an_agent(played: Played, name: str) -> None:
    assert played.notes(name) != set()


NOTED = {
    "LeagueRegister": {"asked as parity_choose: parity_choose"},
    "ToolsAfterChapter8": {"the message was inside a tool result"},
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
def test_the_notes_say_what_a_student_can_mend(played: Played, name: str) -> None:
    assert NOTED[name] - played.notes(name) == set()


@pytest.mark.parametrize(
    ("name", "field"),
    [("TokenOnBroadcasts", "auth_token"), ("AddedByHand", "player_id"), ("TypeAsMethod", "parity_choice")],
)
def test_the_site_notes_a_missing_field(played: Played, name: str, field: str) -> None:
    assert [note for note in played.notes(name) if note.startswith(f"{field} was missing")] != []


def test_the_site_notes_a_wrong_player_id_with_the_right_one(zoo: dict[str, Played]) -> None:
    played = next(one for one in zoo.values() if "OwnId" in one.agents)
    player_id = played.agents["OwnId"]
    assert {note for note in played.notes("OwnId") if note.startswith(("player_id", "sender"))} == {
        f"player_id was 'P01', expected {player_id}",
        f"sender was 'player:P01', expected player:{player_id}",
    }


def test_a_match_shows_which_dialect_was_found(zoo: dict[str, Played]) -> None:
    """No agent was configured: the site found the dialect of each by asking."""
    for played in zoo.values():
        not_chapter_8 = {name for name in played.agents if not ALL[name].parser.parse(CHAPTER_8_INVITATION)}
        names = {name for name in played.agents if any(note.startswith("asked as ") for note in played.notes(name))}
        # For an agent that answers by callbacks only, the callback is noted instead of the dialect.
        posts = {name for name in played.agents if "answered by a POST of its own" in played.notes(name)}
        # An MCP server is found before its first match; its answers show what it is.
        tools = {name for name in played.agents if "the message was inside a tool result" in played.notes(name)}
        assert not_chapter_8 - names - posts - tools == set()


CHAPTER_8_INVITATION = {
    "jsonrpc": "2.0",
    "method": "handle_game_invitation",
    "params": {"message_type": "GAME_INVITATION", "match_id": "R1M1"},
    "id": 1,
}
