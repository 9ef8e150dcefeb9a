"""The whole site in one command: web server and conductor in this process, referees and sample players as children."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from agents_registry.models import Agent, Kind
from league_sdk.log_files import FOLDER_VARIABLE
from league_sdk.protocol.states import AgentState, LeagueState
from league_sdk.repositories import replace_file
from leaguesite.environment import UnusableData
from leaguesite.hosting import shared_folder
from leaguesite.hosting.addresses import host_of, is_elsewhere, is_free, next_free
from leaguesite.hosting.children import Child
from leaguesite.hosting.place import ensure_league, local_url
from leaguesite.hosting.web import Web
from leaguesite.mcp import mounting
from leaguesite.observing import health
from leaguesite.serving.threads import conductor_thread
from matches.conducting.conductor import Conductor
from matches.league import demo, losses
from matches.models import League
from storage import clock

FIRST_DEMO_PORT = 18101
REFEREE_STOP_TIMEOUT_S = 4.2
PLAYER_STOP_TIMEOUT_S = 0.4
DEMO_THINKING_S = 2.0
"""How long a sample player thinks about a choice, so that the demo can be watched."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
_REFEREE_VARIABLES = (FOLDER_VARIABLE, "LEAGUE_METRICS_KEY", "LEAGUE_OTEL")
SAMPLE_PLAYERS = (("Ada", "random"), ("Blaise", "even"), ("Grace", "odd"), ("Kurt", "history"))


@dataclass(frozen=True, slots=True)
class Site:
    """The options of the command line."""

    host: str
    port: int
    public_url: str
    referees: int
    referee_port: int
    with_demo: bool
    with_shared: bool = True


class Host(Web):
    """Runs a whole site until it is told to stop."""

    def __init__(self, site: Site) -> None:
        super().__init__(host=site.host, port=site.port, public_url=site.public_url, keep_shared=site.with_shared)
        self._site = site
        self._is_elsewhere = is_elsewhere(site.public_url)
        self._begun_at = clock.now()
        self._referee_numbers = range(1, site.referees + 1)
        self._ports = _Ports(settings.DATA_DIR / "ports.json")
        self._referees: list[Child] = []
        self._players: list[Child] = []
        self._conductor: Conductor | None = None
        self._watching: asyncio.Task[None] | None = None
        self._with_demo = False

    def _prepare(self) -> None:
        ensure_league()
        losses.expect_again(names=[_referee_name(number) for number in self._referee_numbers])
        self._with_demo = self._site.with_demo and _demo_may_run()
        if self._with_demo:
            demo.open_demo()
        health.add_check("conductor", self._conductor_missing)
        health.add_check("referees", self._referees_missing)

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._conductor = Conductor(conductor_thread, alone=True)
        self._referees = [self._referee(number) for number in self._referee_numbers]
        self._players = [self._player(*sample) for sample in SAMPLE_PLAYERS] if self._with_demo else []
        for child in (*self._referees, *self._players):
            child.start()
        self._watching = loop.create_task(self._watch_demo())
        self._background = [loop.create_task(self._conductor.run())]
        if self._site.with_shared:
            self._background += [loop.create_task(shared_folder.keeper(self._writes_shared).keep())]

    # Children --------------------------------------------------------------------------------

    def _referee(self, number: int) -> Child:
        site = self._site
        league = f"{local_url(site.host, site.port)}/mcp"
        name = _referee_name(number)
        listen, public = site.host, host_of(site.public_url)
        options: tuple[str, ...] = ()
        if self._is_elsewhere:
            # A tunnel or a proxy leads to the site and not to the referees' ports: players answer through the site.
            listen = public = "127.0.0.1"
            options = ("--league-for-players", f"{site.public_url}/mcp")
        elif public not in _LOOPBACK and listen in _LOOPBACK:
            # Players are elsewhere.
            listen = "::" if public.startswith("[") else "0.0.0.0"  # noqa: S104

        def command() -> Sequence[str]:
            port = self._ports.choose(name, listen, self._site.referee_port)
            return [
                # The command that `manage.py referee` executes; it is called directly, because manage.py reads settings
                # and keys that a referee does not need.
                *(sys.executable, "-m", "league_sdk.judging", "--started-by", "manage.py", "referee"),
                *("--league", league, "--port", str(port), "--host", listen, *options),
                *("--endpoint", f"http://{public}:{port}/mcp", "--name", name, "--exit-with-parent"),
            ]

        # A referee needs its own key, that of its metrics, and where its traces and logs go.
        variables = {
            name: os.environ[name] for name in os.environ if name in _REFEREE_VARIABLES or name.startswith("OTEL_")
        }
        variables.setdefault(FOLDER_VARIABLE, str(settings.DATA_DIR / "logs"))
        return Child(name, command, variables | {"LEAGUE_REFEREE_KEY": settings.LEAGUE_REFEREE_KEY})

    def _player(self, name: str, strategy: str) -> Child:
        league = f"{local_url(self._site.host, self._site.port)}/mcp"

        def command() -> Sequence[str]:
            port = self._ports.choose(name, "127.0.0.1", FIRST_DEMO_PORT)
            return [
                *(sys.executable, "-m", "league_sdk.player", "--league", league, "--listen"),
                *("--name", name, "--port", str(port), "--strategy", strategy, "--think", str(DEMO_THINKING_S)),
                *("--league-id", settings.LEAGUE_DEMO_ID, "--code-from-stdin", "--exit-with-parent"),
            ]

        return Child(f"sample player {name}", command, {}, first_line=settings.LEAGUE_DEMO_KEY)

    async def _watch_demo(self) -> None:
        """Stop the sample players when the demo has been stopped."""
        loop = asyncio.get_running_loop()
        while self._players:
            await asyncio.sleep(1)
            if await loop.run_in_executor(conductor_thread, _demo_is_stopped):
                players, self._players = self._players, []
                # Nobody waits for them, so a busy machine may take its time.
                await asyncio.gather(*(player.stop(REFEREE_STOP_TIMEOUT_S) for player in players))

    def _writes_shared(self) -> bool:
        """Whether this process has to write SHARED: it conducts, and no sidecar does that work."""
        return self._conductor is not None and self._conductor.leads and not self._sidecar.keeps_shared

    # Health ----------------------------------------------------------------------------------

    def _conductor_missing(self) -> str:
        if self._conductor is None:
            return "the conductor is not running"
        return self._conductor.trouble or ("" if self._conductor.alive else "the conductor is not running")

    def _referees_missing(self) -> str:
        names = [child.name for child in self._referees]
        registered = Agent.objects.filter(
            kind=Kind.REFEREE,
            league__isnull=True,
            name__in=names,
            heard_at__gte=self._begun_at,
            state__in=[AgentState.REGISTERED, AgentState.ACTIVE],
        ).count()
        missing = self._site.referees - registered
        return f"{missing} of {self._site.referees} referees have not registered" if missing > 0 else ""

    # Stopping --------------------------------------------------------------------------------

    async def _drain(self) -> None:
        """No new match; referees finish or hand back; then everything stops, within five seconds."""
        sys.stderr.write("Stopping: matches near their end get 3 s, the others are handed back.\n")
        if self._watching is not None:
            self._watching.cancel()
        mounting.server.close()
        if self._conductor is not None:
            self._conductor.drain()
        for player in self._players:
            player.release()
        await asyncio.gather(*(referee.stop(REFEREE_STOP_TIMEOUT_S) for referee in self._referees))
        await asyncio.gather(*(player.stop(PLAYER_STOP_TIMEOUT_S, has_work=False) for player in self._players))
        await self._end_background()
        self._quit()

    def _quit(self) -> None:
        for child in (*self._referees, *self._players):
            child.release()
        super()._quit()


class _Ports:
    """The port of each child, kept in a file: the league knows a referee again by its name and port."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._chosen: dict[str, int] = {}
        self._known = _known_ports(path)

    def choose(self, name: str, host: str, first: int) -> int:
        """The port that the child had before if it is free, else the next free one from ``first`` on."""
        self._chosen.pop(name, None)
        used = set(self._chosen.values())
        port = self._known.get(name)
        if port is None or port in used or not is_free(host, port):
            reserved = used | {known for other, known in self._known.items() if other != name}
            port = next_free(host, first, reserved)
        self._chosen[name] = self._known[name] = port
        replace_file(self._path, json.dumps(self._known))
        return port


def _known_ports(path: Path) -> dict[str, int]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        known = None
    if isinstance(known, dict) and all(type(port) is int and 0 < port < 65536 for port in known.values()):
        return known
    # With other ports referees and sample players would not be the agents that the league knows.
    raise UnusableData(
        f"{path} is damaged: it must be an object of names and ports. Put it back from a backup; or delete it, "
        "and referees and sample players register again."
    )


def _referee_name(number: int) -> str:
    return f"Referee {number}"


def _demo_may_run() -> bool:
    """Whether the demo may be played: unless another league was started or has its id, or the demo was stopped."""
    if League.objects.filter(demo=True, state=LeagueState.STOPPED).exists():
        return False
    if League.objects.filter(pk=settings.LEAGUE_DEMO_ID, demo=False).exists():
        return False
    return not League.objects.filter(demo=False, started_at__isnull=False).exists()


def _demo_is_stopped() -> bool:
    return not League.objects.filter(demo=True).exclude(state=LeagueState.STOPPED).exists()
