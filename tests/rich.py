"""A league with everything in it: people, checks, transcripts, faults, corrections, notices."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from agents_registry.models import Agent, Kind, RosterEntry
from agents_registry.requests.reading import read_request
from agents_registry.rosters import roster
from matches.league import entry, freeze, notices
from matches.league.corrections import applying
from matches.models import Check, CheckState, Match
from tests import factories as make
from tests import wire
from tests.matches.correcting import make_correction

PEOPLE = {
    "Dana Geheimnis": "dana.geheim@example.org",
    "נועה סודית": "noa.geheim@example.org",
    "=Evil()": "evil.geheim@example.org",
}
CODES = ["dana-geheim-7", "noa-geheim-8", "evil-geheim-9"]
ABSENT = ("Absent Geheimnis", "absent.geheim@example.org")
ADDRESS = "10.77.88."
HOSTILE = '<script>alert(1)</script>\u202e "=cmd|'
TO_ONE = "geheim: your agent answers too slowly"
TO_ROOM = "We begin in five minutes <b>here</b>"
STAFF = "ada.geheim"
REGISTRATION_CODE = "geheim-letmein"


def secrets() -> list[str]:
    """The texts of the league that only the instructor may read; no public page may contain one."""
    rows = RosterEntry.objects.values_list("name", "email", "code")
    values = [one for row in rows for one in row]
    return [*values, ADDRESS, TO_ONE, STAFF, REGISTRATION_CODE, "geheim", "GEHEIM"]


def begun(**settings: Any) -> make.MadeLeague:
    """Round 1 is played: people, checks, transcripts, a fault, notices; a correction takes two points."""
    make.referee("Referee 1", port=8001)
    league = make.open_league("fall", registration_code=REGISTRATION_CODE, **settings)
    lines = [f'"{name}",{email},{code}' for (name, email), code in zip(PEOPLE.items(), CODES, strict=True)]
    text = "\n".join(["name,email,code", *lines, ",".join([*ABSENT, "absent-geheim-1"])])
    roster.import_csv(league_id=league.pk, text=text)
    members = [enter(f"Player {number}", code, number) for number, code in enumerate(CODES, start=1)]
    members.append(enter(HOSTILE, CODES[0], 4))
    for member in members:
        check(member.agent, passed=member is not members[1])
    made = make.MadeLeague("fall", members, [make.RegisteredAgent(Agent.objects.get(kind=Kind.REFEREE), "")])
    notices.say(league_id="fall", text=TO_ROOM, by=STAFF)
    notices.say(league_id="fall", text=TO_ONE, by=STAFF, player_id="P01")
    make.next_round(made)
    play(made)
    make_correction("points", player_id="P01", points=-2, reason="late", by=STAFF)
    return made


def over(*, frozen: bool = False) -> make.MadeLeague:
    """The league played to its end, with a corrected result, a void match that was restored, and a withdrawn notice."""
    made = begun()
    if frozen:
        freeze.plan(league_id="fall", from_round=3)
    make_correction("set_result", match_id="R1M1", status="DRAW", winner=None, reason="both were right", by=STAFF)
    make_correction("void", match_id="R1M2", reason="wrong game", by=STAFF)
    applying.undo(league_id="fall", number=3, reason="it was the right one", by=STAFF)
    gone = notices.say(league_id="fall", text="Not so", by=STAFF)
    notices.withdraw(league_id="fall", number=gone.pk)
    while made.league.state == "RUNNING":
        make.next_round(made)
        play(made)
    return made


def enter(name: str, code: str, number: int) -> make.RegisteredAgent:
    """Register a player from an address of its own with a personal code."""
    address = f"{ADDRESS}{number}"
    params = wire.player_request(name, port=8101, code=code, endpoint=f"http://{address}:8101/mcp")
    request = read_request(params, kind=Kind.PLAYER, caller=address)
    done = entry.register_player(request=request, named="fall")
    assert done.agent is not None, done.reason
    return make.RegisteredAgent(done.agent, done.auth_token)


def check(agent: Agent, *, passed: bool) -> Check:
    """A check that has ended, whose report quotes the agent's address."""
    now = timezone.now() - timedelta(minutes=5)
    why = f"nobody listens at {agent.endpoint}"
    return Check.objects.create(
        role="player",
        endpoint=agent.endpoint,
        endpoint_key=agent.endpoint_key,
        address=agent.endpoint_key,
        agent=agent,
        state=CheckState.DONE,
        passed=passed,
        report={"summary": why, "next_step": "", "clauses": []},
        problem="" if passed else why,
        due_at=now,
        created_at=now,
        started_at=now,
        finished_at=now,
    )


def play(made: make.MadeLeague) -> None:
    """Play what is left of the running round: PLAYER_A wins each match, but in the last one PLAYER_B never answers."""
    while True:
        make.look()
        open_ = [match_id for match_id, state in made.states().items() if state == "ASSIGNED"]
        if not open_:
            return
        for match_id in open_:
            match = made.match(match_id)
            lines = transcript(match)
            if match_id == open_[-1]:
                make.report(match, None, transcript=lines, **make.no_answer_from(match, match.player_b.code))
            else:
                make.report(match, match.player_a.code, transcript=lines)


def transcript(match: Match) -> list[dict[str, Any]]:
    """The transcript of a match; its first answer also records in which way the player was called."""
    way = {
        "path": "/geheim-path/mcp",
        "shape": "canonical",
        "method": "m",
        "id": 1,
        "session": False,
        "status": 200,
        "content_type": "",
    }
    referee = match.referee.code if match.referee is not None else ""
    return [
        make.entry(0, sender=f"referee:{referee}", recipient=f"player:{match.player_a.code}"),
        make.entry(1, sender=f"player:{match.player_b.code}", body={"text": HOSTILE, "אות": [1.5, None]}, wire=[way]),
    ]
