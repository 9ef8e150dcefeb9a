"""Everything in one command: web process and conductor here, referees and sample players as children."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from agents_registry.models import Agent, Kind
from league_sdk import collector
from league_sdk.log_files import FOLDER_VARIABLE
from league_sdk.protocol.states import AgentState, LeagueState
from leaguesite.environment import Unusable
from leaguesite.hosting.addresses import host_of, is_free, next_free
from leaguesite.hosting.children import Child
from leaguesite.hosting.place import ensure_league, migrations_checked, near_url, settle
from leaguesite.observing import health
from leaguesite.serving.daphne_server import CappedServer
from leaguesite.serving.threads import conductor_thread
from matches.conducting.conductor import Conductor
from matches.league import demo, losses
from matches.models import League
from matches.push import notify

FIRST_DEMO_PORT = 18101
REFEREE_PATIENCE_S = 4.2
PLAYER_PATIENCE_S = 0.4
WATCHABLE_S = 2.0
"""How long a sample player thinks about a choice."""
_OF_REFEREES = (FOLDER_VARIABLE, "LEAGUE_METRICS_KEY", "LEAGUE_OTEL")
SAMPLE_PLAYERS = (("Ada", "random"), ("Blaise", "even"), ("Grace", "odd"), ("Kurt", "history"))


@dataclass(frozen=True, slots=True)
class Site:
    """What the command line said."""

    host: str
    port: int
    public_url: str
    referees: int
    referee_port: int
    with_demo: bool

    @property
    def local_url(self) -> str:
        """The site as this machine reaches it."""
        return near_url(self.host, self.port)


class Host:
    """Runs a site until it is told to stop."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._begun = timezone.now()
        self._numbers = range(1, site.referees + 1)
        self._ports = _Ports(settings.DATA_DIR / "ports.json")
        self._referees: list[Child] = []
        self._players: list[Child] = []
        self._conductor: Conductor | None = None
        self._conducting: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._server: CappedServer | None = None
        self._with_demo = False

    def run(self) -> None:
        """Serve; returns when everything has stopped."""
        self._prepare()
        from leaguesite.asgi import application  # noqa: PLC0415 - reads the hosts that _prepare has set

        self._server = CappedServer(application, host=self._site.host, port=self._site.port, begin=self._begin)
        collector.settle()
        self._server.run()

    def _prepare(self) -> None:
        site = self._site
        settle(public_url=site.public_url, host=site.host, port=site.port)
        ensure_league()
        losses.expect_again(names=[_referee_name(number) for number in self._numbers])
        self._with_demo = site.with_demo and _demo_may_run()
        if self._with_demo:
            demo.open_demo()
        health.add_check("migrations", migrations_checked)
        health.add_check("database", health.database_missing)
        health.add_check("conductor", self._conductor_missing)
        health.add_check("referees", self._referees_missing)

    def _begin(self) -> None:
        loop = asyncio.get_running_loop()
        notify.attach(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        self._conductor = Conductor(conductor_thread, take_over=True)
        self._conducting = loop.create_task(self._conductor.run())
        self._referees = [self._referee(number) for number in self._numbers]
        self._players = [self._player(*sample) for sample in SAMPLE_PLAYERS] if self._with_demo else []
        for child in (*self._referees, *self._players):
            child.start()
        self._watching = loop.create_task(self._watch_demo())

    # Children --------------------------------------------------------------------------------

    def _referee(self, number: int) -> Child:
        site = self._site
        name = _referee_name(number)
        public = host_of(site.public_url)
        near = public in ("127.0.0.1", "localhost", "[::1]")
        listen = site.host if near or site.host != "127.0.0.1" else "0.0.0.0"  # noqa: S104 - players are elsewhere

        def command() -> Sequence[str]:
            port = self._ports.choose(name, listen, self._site.referee_port)
            return [
                # What manage.py referee becomes; without it, as that reads settings and keys no referee needs.
                *(sys.executable, "-m", "league_sdk.judging", "--started-by", "manage.py", "referee"),
                *("--league", f"{site.local_url}/mcp", "--port", str(port), "--host", listen),
                *("--endpoint", f"http://{public}:{port}/mcp", "--name", name, "--exit-with-parent"),
            ]

        # Its own key, that of its metrics, and where its traces and logs go.
        own = {name: os.environ[name] for name in os.environ if name in _OF_REFEREES or name.startswith("OTEL_")}
        own.setdefault(FOLDER_VARIABLE, str(settings.DATA_DIR / "logs"))
        return Child(name, command, own | {"LEAGUE_REFEREE_KEY": settings.LEAGUE_REFEREE_KEY})

    def _player(self, name: str, strategy: str) -> Child:
        def command() -> Sequence[str]:
            port = self._ports.choose(name, "127.0.0.1", FIRST_DEMO_PORT)
            return [
                *(sys.executable, "-m", "league_sdk.player", "--league", f"{self._site.local_url}/mcp"),
                *("--name", name, "--port", str(port), "--strategy", strategy, "--think", str(WATCHABLE_S)),
                *("--league-id", settings.LEAGUE_DEMO_ID, "--code-from-stdin", "--exit-with-parent"),
            ]

        return Child(f"sample player {name}", command, {}, told=settings.LEAGUE_DEMO_KEY)

    async def _watch_demo(self) -> None:
        """When the demo has been stopped, its players go home."""
        loop = asyncio.get_running_loop()
        while self._players:
            await asyncio.sleep(1)
            if await loop.run_in_executor(conductor_thread, _demo_is_stopped):
                players, self._players = self._players, []
                # Nobody waits for them now: a busy machine may take its time.
                await asyncio.gather(*(player.stop(REFEREE_PATIENCE_S) for player in players))

    # Health ----------------------------------------------------------------------------------

    def _conductor_missing(self) -> str:
        if self._conductor is None:
            return "the conductor is not running"
        return self._conductor.trouble or ("" if self._conductor.alive else "the conductor is not running")

    def _referees_missing(self) -> str:
        names = [child.name for child in self._referees]
        here = Agent.objects.filter(
            kind=Kind.REFEREE,
            league__isnull=True,
            name__in=names,
            heard_at__gte=self._begun,
            state__in=[AgentState.REGISTERED, AgentState.ACTIVE],
        ).count()
        missing = self._site.referees - here
        return f"{missing} of {self._site.referees} referees have not registered" if missing > 0 else ""

    # Stopping --------------------------------------------------------------------------------

    def _stop(self) -> None:
        if self._stopping is not None:
            # A second signal means now.
            for child in (*self._referees, *self._players):
                child.release()
            self._quit()
            return
        self._stopping = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        """No new match; referees finish or hand back; then everything stops, within five seconds."""
        sys.stderr.write("Stopping: matches near their end get 3 s, the others are handed back.\n")
        if self._watching is not None:
            self._watching.cancel()
        if self._conductor is not None:
            self._conductor.drain()
        for player in self._players:
            player.release()
        await asyncio.gather(*(referee.stop(REFEREE_PATIENCE_S) for referee in self._referees))
        await asyncio.gather(*(player.stop(PLAYER_PATIENCE_S) for player in self._players))
        if self._conducting is not None:
            self._conducting.cancel()
            await asyncio.gather(self._conducting, return_exceptions=True)
        self._quit()

    def _quit(self) -> None:
        if self._server is not None:
            self._server.stop()


class _Ports:
    """Which child had which port, so that REF01 is REF01 after a restart."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._chosen: dict[str, int] = {}
        self._known = _known_ports(path)

    def choose(self, name: str, host: str, first: int) -> int:
        """The port ``name`` had, if it is free, else the next free one from ``first`` on."""
        self._chosen.pop(name, None)
        taken = set(self._chosen.values())
        port = self._known.get(name)
        if port is None or port in taken or not is_free(host, port):
            reserved = taken | {known for other, known in self._known.items() if other != name}
            port = next_free(host, first, reserved)
        self._chosen[name] = self._known[name] = port
        scratch = self._path.with_suffix(".new")
        scratch.write_text(json.dumps(self._known), encoding="utf-8")
        scratch.replace(self._path)
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
    # With other ports, referees and sample players would be other agents than those that the league knows.
    raise Unusable(
        f"{path} is damaged: it must be an object of names and ports. Put it back from a backup; or delete it, "
        "and referees and sample players register anew."
    )


def _referee_name(number: int) -> str:
    return f"Referee {number}"


def _demo_may_run() -> bool:
    """The demo is for a site on which nothing has been played yet; once stopped it stays so."""
    if League.objects.filter(demo=True, state=LeagueState.STOPPED).exists():
        return False
    if League.objects.filter(pk=settings.LEAGUE_DEMO_ID, demo=False).exists():
        return False
    return not League.objects.filter(demo=False, started_at__isnull=False).exists()


def _demo_is_stopped() -> bool:
    return not League.objects.filter(demo=True).exclude(state=LeagueState.STOPPED).exists()
