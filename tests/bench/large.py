"""How long others wait while something is done to a whole league of 2,000 players.

``python -m tests.bench.large``. A league is filled, its schedule is made, and of its first rounds the results are
written straight into the database, with their events. Then each action is carried out through the API, and beside it
one caller each pings, opens a public page, registers in another league, and sends heartbeats as a referee. An action is
over when it was answered and nothing of it is left to do.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from league_sdk.formats.round_robin import planned_round, rounds_of
from league_sdk.ledger.documents import LEAGUE_FILE
from tests import wire
from tests.bench import rows
from tests.bench.part import command_line, in_words, percentiles, scratch, within
from tests.bench.processes import Bench, running_site
from tests.e2e.scaled import ENVIRONMENT
from tests.e2e.site import API_KEY

LEAGUE, MIDDLE, COPY = "large", "middle", "second"
QUIET, OPEN = "quiet", "open"
"""Leagues of others: the page is one of the first, newcomers register in the second."""
PLAYERS, ROUNDS = 2000, 20
MIDDLE_PLAYERS = 500
"""Players of the league that is exported and imported: the document of a larger one is too large for any import."""
"""Players, and rounds that have results when the measuring begins."""
AIM_MS = 250
GAP_S = {"ping": 0.05, "page": 0.1, "registration": 0.1, "heartbeat": 0.05}
"""The pause between two requests of one caller. A league of thousands of newcomers would be slow by itself."""
MEASURED_S = 15.0
"""The others are measured for at least this long: of fewer than a hundred answers the slowest would be the p99."""
PATIENCE_S = 1800.0

Client = httpx.AsyncClient
UNMADE = "SELECT count(*) FROM matches_league WHERE league_id = ? AND state = 'REGISTRATION'"
UNDELETED = "SELECT count(*) FROM matches_league WHERE league_id = ?"
LEFT = {
    "close middle": (UNMADE, MIDDLE),
    "delete": (UNDELETED, LEAGUE),
    "delete middle": (UNDELETED, MIDDLE),
}
"""For an action that is answered before all of it is done: counts, in one number, what is left."""


def written(bench: Bench) -> sqlite3.Connection:
    """The database of the site, to write rows that no site has to make for the measuring."""
    database = sqlite3.connect(bench.folder / "data" / "league.sqlite3", timeout=20, isolation_level=None)
    database.execute("PRAGMA synchronous=OFF")
    return database


def fill(bench: Bench, league: str, players: int) -> None:
    """Write the players of a league."""
    bench.create(league)
    first = wire.player_request("Player 1", port=20_001, league_id=league)
    answer = bench.http.post("/mcp", json=wire.request("register_player", first)).json()
    if answer["result"]["status"] != "ACCEPTED":
        raise RuntimeError(f"a player was not accepted: {answer}")
    with closing(written(bench)) as database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM agents_registry_agent WHERE league_id = ?", [league]).fetchone())
        del row["id"]
        database.execute("BEGIN IMMEDIATE")
        for number in range(2, players + 1):
            named = dict.fromkeys(("name", "display_name"), f"Player {number}")
            place = {"endpoint": f"http://localhost:{20_000 + number}/mcp", "endpoint_key": f"127.0.0.1|{number}/mcp"}
            values = row | named | place | {"code": f"P{number:02d}"}
            columns, marks = ", ".join(values), ", ".join("?" * len(values))
            insert = f"INSERT INTO agents_registry_agent ({columns}) VALUES ({marks})"  # noqa: S608 - names are ours
            database.execute(insert, list(values.values()))
        database.execute("COMMIT")


def schedule(bench: Bench, players: int) -> None:
    """Write the whole schedule of the league, in a few seconds; a match of another league is the pattern."""
    with closing(written(bench)) as database:
        database.execute("BEGIN IMMEDIATE")
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM matches_match LIMIT 1").fetchone()) | {"league_id": LEAGUE}
        del row["id"]
        seats = [pk for (pk,) in database.execute("SELECT id FROM agents_registry_agent WHERE league_id = ?", [LEAGUE])]
        seats.sort()
        columns, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        insert = f"INSERT INTO matches_match ({columns}) VALUES ({marks})"  # noqa: S608 - names are ours
        for number in range(1, rounds_of(players) + 1):
            plan = planned_round(players, number)
            made = database.execute(
                "INSERT INTO matches_round (league_id, number, state) VALUES (?, ?, 'PENDING')", [LEAGUE, number]
            ).lastrowid
            database.executemany(
                insert,
                (
                    row
                    | {"round_id": made, "match_id": one.match_id}
                    | {"player_a_id": seats[one.a], "player_b_id": seats[one.b]}
                    for one in plan.pairings
                ),
            )
        database.execute("UPDATE matches_league SET state = 'SCHEDULED' WHERE league_id = ?", [LEAGUE])
        database.execute("COMMIT")


def play(bench: Bench, rounds: int) -> None:
    """Write results, transcripts and events of the first rounds."""
    with closing(written(bench)) as database:
        database.execute("BEGIN IMMEDIATE")
        rows.play(database, LEAGUE, rounds)
        database.execute("COMMIT")


class Others:
    """The callers that wait: each asks again and again until :attr:`done`, and notes how long each answer took."""

    def __init__(self, bench: Bench) -> None:
        meta = wire.referee_request("Bench Referee", port=29_999, code=ENVIRONMENT["LEAGUE_REFEREE_KEY"], progress=True)
        answer = bench.http.post("/mcp", json=wire.request("register_referee", meta)).json()["result"]
        self._beat = {
            "protocol": "league.v2",
            "message_type": "report_progress",
            "sender": f"referee:{answer['referee_id']}",
            "timestamp": wire.STAMP,
            "conversation_id": "conv-bench",
            "auth_token": answer["auth_token"],
            "matches": [],
        }
        self._registered = 0
        self._url = bench.url
        self.done = False
        self.ms: dict[str, list[float]] = {}

    async def _loop(self, name: str, number: int, ask: Callable[[Client], Awaitable[httpx.Response]]) -> None:
        times = self.ms[name] = []
        transport = httpx.AsyncHTTPTransport(local_address=f"127.0.0.{number}", verify=False)
        async with Client(base_url=self._url, transport=transport, timeout=PATIENCE_S) as client:
            while not self.done:
                begun = time.perf_counter()
                answer = await ask(client)
                times.append(1000 * (time.perf_counter() - begun))
                if answer.status_code != 200 or '"error"' in answer.text[:300]:
                    raise RuntimeError(f"{name} was answered with {answer.status_code}: {answer.text[:300]}")
                await asyncio.sleep(GAP_S[name])

    def _register(self, client: Client) -> Awaitable[httpx.Response]:
        self._registered += 1
        name, port = f"Newcomer {self._registered}", 30_000 + self._registered % 30_000
        meta = wire.player_request(name, port=port, league_id=OPEN)
        return client.post("/mcp", json=wire.request("register_player", meta))

    async def beside(self, action: Awaitable[tuple[float, float]]) -> tuple[float, float]:
        """Run the callers while an action lasts; returns what it returns."""
        self.done, self.ms = False, {}
        loops = [
            self._loop("ping", 11, lambda client: client.post("/mcp", json=wire.request("ping", {}))),
            self._loop("page", 12, lambda client: client.get(f"/leagues/{QUIET}/")),
            self._loop("registration", 13, self._register),
            self._loop("heartbeat", 14, lambda one: one.post("/mcp", json=wire.request("report_progress", self._beat))),
        ]
        running = asyncio.gather(*loops)
        begun = time.perf_counter()
        try:
            took = await action
            await asyncio.sleep(max(0, MEASURED_S - (time.perf_counter() - begun)))
        finally:
            self.done = True
            await running
        return took


@contextmanager
def peak_memory(bench: Bench) -> Iterator[Callable[[], float]]:
    """Gives the most megabytes that the host has had in use since the block began."""
    pid = bench.host.pid
    Path(f"/proc/{pid}/clear_refs").write_text("5")

    def peak() -> float:
        line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) / 1000

    yield peak


async def carry_out(bench: Bench, name: str, ask: Callable[[Client], Awaitable[str]]) -> tuple[float, float]:
    """Carry out one action; returns the seconds until it was answered, and until nothing of it was left."""
    head = {"Authorization": f"Bearer {API_KEY}"}
    begun = time.perf_counter()
    async with Client(base_url=bench.url, headers=head, timeout=PATIENCE_S, trust_env=False) as client:
        said = await ask(client)
    answered_s = time.perf_counter() - begun
    if said:
        print(f"{name}: {said}", flush=True)
    if name in LEFT:
        await bench.until(*LEFT[name], row=(0,), limit_s=PATIENCE_S, tick_s=0.5)
    return answered_s, time.perf_counter() - begun


def post(path: str, **body: Any) -> Callable[[Client], Awaitable[str]]:
    """A POST under /api; gives what was refused."""

    async def ask(client: Client) -> str:
        answer = await client.post(f"/api{path}", json=body)
        return "" if answer.status_code in (200, 201) else f"{answer.status_code}: {answer.text[:300]}"

    return ask


def download(path: str, to: Path | None = None) -> Callable[[Client], Awaitable[str]]:
    """A GET under /api of a file, which is not kept in memory."""

    async def ask(client: Client) -> str:
        size = 0
        with (to or Path(os.devnull)).open("wb") as file:
            async with client.stream("GET", f"/api{path}") as answer:
                async for part in answer.aiter_bytes():
                    size += file.write(part)
        return f"{answer.status_code}, {size / 1e6:.0f} MB"

    return ask


def upload(file: Path) -> Callable[[Client], Awaitable[str]]:
    """The import of a league."""

    async def ask(client: Client) -> str:
        packed = file.with_suffix(".zip")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zip_file:
            zip_file.write(file, LEAGUE_FILE)
        answer = await client.post("/api/import", files={"file": (packed.name, packed.read_bytes())})
        return f"{answer.status_code}: {answer.text[:200]}"

    return ask


def backup(bench: Bench, file: Path) -> Callable[[Client], Awaitable[str]]:
    """A backup by its command, in a process of its own."""

    async def ask(client: Client) -> str:
        command = [sys.executable, "manage.py", "backup", str(file), "--data", str(bench.folder / "data")]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await process.communicate()
        return said.decode()[-200:].strip()

    return ask


def actions(bench: Bench, folder: Path) -> dict[str, Callable[[Client], Awaitable[str]]]:
    """Every action by its name, in the order in which they are measured."""
    league = f"/leagues/{LEAGUE}"
    wish = {"kind": "withdraw", "player_id": "P05", "matches_become": "void", "reason": "went home"}
    return {
        "nothing": post(f"{league}/notices", text="It begins."),
        "close middle": post(f"/leagues/{MIDDLE}/close"),
        "played": post(f"{league}/notices", text="The results are written."),
        "export json": download(f"{league}/export/league.json"),
        "export zip": download(f"{league}/export/league.zip"),
        "withdraw": post(f"{league}/corrections", **wish),
        "disqualify": post(f"{league}/corrections", **wish | {"kind": "disqualify", "player_id": "P07"}),
        "undo": post(f"{league}/corrections/1/undo", reason="came back"),
        "series": post(f"{league}/series", series_id="spring"),
        "clone": post(f"{league}/clone", wanted_id=COPY),
        "backup": backup(bench, folder / "backup.tar.gz"),
        "stop middle": post(f"/leagues/{MIDDLE}/stop"),
        "export middle": download(f"/leagues/{MIDDLE}/export/league.json?people=true", folder / "middle.json"),
        "delete middle": post(f"/leagues/{MIDDLE}/delete", typed=MIDDLE),
        "import middle": upload(folder / "middle.json"),
        "stop": post(f"{league}/stop"),
        "archive": post(f"{league}/archive"),
        "delete": post(f"{league}/delete", typed=LEAGUE),
    }


async def measure(bench: Bench, names: list[str], players: int, rounds: int) -> int:
    """Print a line for each action and caller; returns how many callers waited longer than the aim."""
    others, late = Others(bench), 0
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        for name, ask in actions(bench, Path(folder)).items():
            if name == "played":
                begun = time.perf_counter()
                schedule(bench, players)
                play(bench, rounds)
                print(
                    f"the schedule and the results of {rounds} rounds written in {time.perf_counter() - begun:.1f} s",
                    flush=True,
                )
            if name not in names and not name.startswith(("close", "played")):
                continue
            wal = bench.folder / "data" / "league.sqlite3-wal"
            with peak_memory(bench) as peak:
                answered_s, done_s = await others.beside(carry_out(bench, name, ask))
                mb, wal_mb = peak(), wal.stat().st_size / 1e6
            took = f"answered in {answered_s:.2f} s, done in {done_s:.1f} s"
            print(f"{name}: {took}, {mb:.0f} MB of memory, WAL of {wal_mb:.0f} MB", flush=True)
            for caller, ms in others.ms.items():
                figures = percentiles(ms)
                late += figures["p99"] > AIM_MS
                print(f"    {caller:13}{in_words(figures)}   ({len(ms)} answers)", flush=True)
    return late


def main() -> None:
    """Measure and print."""
    parser = command_line("large", __doc__)
    parser.add_argument("--players", type=within(4, 2000), default=PLAYERS)
    parser.add_argument("--rounds", type=within(0, 1999), default=ROUNDS, help="how many have results")
    parser.add_argument("actions", nargs="*", help="all by default")
    options = parser.parse_args()
    os.environ["LEAGUE_REGISTRATIONS_PER_ADDRESS"] = "1000000 per 1 second"
    with scratch() as folder, running_site(folder) as bench:
        bench.create(QUIET)
        bench.create(OPEN)
        fill(bench, LEAGUE, options.players)
        fill(bench, MIDDLE, min(options.players, MIDDLE_PLAYERS))
        wanted = options.actions or list(actions(bench, folder))
        late = asyncio.run(measure(bench, wanted, options.players, options.rounds))
        print(f"{late} callers waited for over {AIM_MS} ms (p99)")


if __name__ == "__main__":
    main()
