"""The files in deploy/ start commands that exist, with arguments and variables that these commands know."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class

from league_sdk import watchdog
from leaguesite.docs.sources import ELSEWHERE
from leaguesite.inbox.answering import MAX_WAIT_S
from leaguesite.serving import paths
from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
OURS = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "leaguesite"}
MEMORY = {
    "leaguesite": "4G",
    "leaguesite-conductor@": "1G",
    "leaguesite-referee@": "512M",
    "leaguesite-web@": "2G",
}
"""How much memory a process may need, by its unit; containers have the same limits."""
EXAMPLE = (DEPLOY / ".env.example").read_text(encoding="utf-8")
HAPROXY = (DEPLOY / "haproxy" / "leaguesite.cfg").read_text(encoding="utf-8")


def options_of(command: str) -> Any:
    """The parser of a ``manage.py`` command."""
    return load_command_class("leaguesite", command).create_parser("manage.py", command)


def options(words: list[str]) -> dict[str, Any]:
    """The options of a ``manage.py`` command line; raises CommandError if the command does not know them."""
    return vars(options_of(words[0]).parse_args(words[1:]))


def read_by_the_site() -> set[str]:
    """Every environment variable that the site's code names."""
    sources = [*(ROOT / "leaguesite").rglob("*.py"), *(ROOT / "league_sdk").rglob("*.py")]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    return set(re.findall(r"[\"'](LEAGUE_[A-Z_]+|DATABASE_URL|REDIS_URL)[\"']", text))


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_container_runs_a_command_that_exists(name: str) -> None:
    arguments = options(OURS[name]["command"])
    if name.startswith("referee"):
        # A referee must be reachable at its endpoint, which also fixes its id.
        port = arguments["port"]
        assert OURS[name]["ports"] == [f"{port}:{port}"]
        assert arguments["endpoint"].endswith(f":{port}/mcp")


def test_compose_runs_two_of_each_process_that_may_run_twice() -> None:
    kinds = [service["command"][0] for service in OURS.values() for _ in range(_replicas(service))]
    assert sorted(kinds) == ["conductor"] * 2 + ["prepare"] + ["referee"] * 2 + ["web"] * 2
    assert set(COMPOSE["services"]) - set(OURS) == {"postgres", "redis", "proxy"}


def _replicas(service: dict[str, Any]) -> int:
    return int(service.get("deploy", {}).get("replicas", 1))


def test_conductors_share_one_folder_shared_that_outlives_their_containers() -> None:
    """``/data`` lies in memory, so a volume of its own is mounted in it; the image says who owns that."""
    folder = "/data/SHARED"
    volumes = {name: service.get("volumes", []) for name, service in OURS.items()}
    assert {name for name, mounted in volumes.items() if mounted} == {"conductor"}
    (mounted,) = volumes["conductor"]
    name, _, where = mounted.partition(":")
    assert (name in COMPOSE["volumes"], where) == (True, folder)
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    made, declared = image.index(f"mkdir -p {folder} && chown -R league /data"), image.index("VOLUME /data")
    assert made < declared


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_container_has_few_rights(name: str) -> None:
    service = OURS[name]
    assert service["read_only"] is True
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])


def test_a_referees_container_gets_no_secret_but_its_key() -> None:
    for name, service in OURS.items():
        if name.startswith("referee"):
            assert set(service["environment"]) == {"LEAGUE_REFEREE_KEY", "LEAGUE_DATA"}


def test_a_referees_unit_reads_no_environment_but_its_own() -> None:
    """What the site's environment has, such as DATABASE_URL, is not for a program that calls strangers."""
    (unit,) = [one.read_text(encoding="utf-8") for one in UNITS if "referee" in one.stem]
    assert re.findall(r"^EnvironmentFile=(.*)$", unit, re.MULTILINE) == ["/etc/leaguesite/referee.env"]
    assert "\nInaccessiblePaths=-/etc/leaguesite -/var/lib/leaguesite\n" in unit
    example = (DEPLOY / "referee.env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#?(\w+)=", example, re.MULTILINE))
    assert named == {"LEAGUE_REFEREE_KEY", "LEAGUE_REFEREE_HOST", "LEAGUE_REFEREE_LEAGUE"}
    # Two machines have the same ports: only with the machine in its name is a referee known again.
    assert '--name "Referee ${LEAGUE_REFEREE_HOST}:%i"' in unit


def test_compose_trusts_its_own_proxy_only() -> None:
    address = COMPOSE["services"]["proxy"]["networks"]["site"]["ipv4_address"]
    assert COMPOSE["x-site"]["LEAGUE_TRUSTED_PROXIES"] == f"{address}/32"


def test_every_variable_is_in_the_example_and_is_read() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    variables = set(re.findall(r"\$\{(\w+)", text))
    example = set(re.findall(r"^#?(\w+)=", EXAMPLE, re.MULTILINE))
    units = "\n".join(unit.read_text(encoding="utf-8") for unit in UNITS)
    known = read_by_the_site()
    assert variables <= example
    of_systemd = {"DATABASE_URL", "REDIS_URL", "LEAGUE_LISTEN", "LEAGUE_TRUSTED_PROXIES", "LEAGUE_REFUSED_PORTS"}
    assert example - variables == of_systemd
    only_here = {"POSTGRES_PASSWORD", "LEAGUE_PORT", "LEAGUE_LISTEN", "LEAGUE_REFEREE_HOST"}
    assert example - only_here <= known
    assert {name for service in OURS.values() for name in service["environment"]} <= known
    assert set(re.findall(r"Environment=(\w+)", units)) - {"LEAGUE_LISTEN", "LEAGUE_REFEREE_LEAGUE"} <= known
    assert not re.search(r"^(LEAGUE_\w*(KEY|PASSWORD)|POSTGRES_PASSWORD)=.", EXAMPLE, re.MULTILINE)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_that_exists(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8").replace("%i", "8001")
    lines = [shlex.split(line) for line in re.findall(r"^ExecStart(?:Pre)?=(.*)$", text, re.MULTILINE)]
    assert lines
    assert all(words[:2] == ["/opt/leaguesite/.venv/bin/python", "manage.py"] for words in lines)
    arguments = [options(words[2:]) for words in lines][-1]
    if "referee" in unit.stem:
        assert arguments["endpoint"].endswith(f":{arguments['port']}/mcp")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_started_again_if_it_stands_still_or_needs_too_much_memory(unit: Path) -> None:
    lines = unit.read_text(encoding="utf-8").splitlines()
    assert {"Type=notify", "Restart=always"} <= set(lines)
    assert [line for line in lines if line.startswith("MemoryMax=")] == [f"MemoryMax={MEMORY[unit.stem]}"]
    (limit_s,) = [int(line.partition("=")[2]) for line in lines if line.startswith("WatchdogSec=")]
    # The process itself is first: it says where it stood.
    assert limit_s >= watchdog.HUNG_AFTER_S * 1.5


@pytest.mark.parametrize("name", sorted(OURS))
def test_a_container_is_started_again_if_it_ends_or_needs_too_much_memory(name: str) -> None:
    assert OURS[name]["restart"] == ("no" if name == "migrate" else "unless-stopped")
    kind = OURS[name]["command"][0].replace("prepare", "web")
    assert OURS[name]["mem_limit"] == MEMORY[f"leaguesite-{kind}@"].lower()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_has_few_rights(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    for line in ("User=leaguesite", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "UMask=0077"):
        assert f"\n{line}\n" in text


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_understands_the_unit(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for other in UNITS:
        text = other.read_text(encoding="utf-8").replace("/opt/leaguesite/.venv/bin/python", "/bin/true")
        (tmp_path / other.name.replace("@", "@8001")).write_text(text, encoding="utf-8")
    path = tmp_path / unit.name.replace("@", "@8001")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    # systemd-analyze also reports units of this machine, which are not tested here.
    assert [line for line in done.stderr.splitlines() if "leaguesite" in line and "Failed to prepare" not in line] == []


def test_the_proxy_has_the_paths_and_the_limits_of_the_site() -> None:
    (page, page_s), (call, _), (league, league_s) = (
        paths.body_limits(path) for path in ("/", "/mcp", paths.IMPORTS[0])
    )
    assert f"acl agents path_reg -i ^/{paths.AGENTS_PATTERN}\n" in HAPROXY
    assert f"acl import path {' '.join(paths.IMPORTS)}\n" in HAPROXY
    limits = re.findall(r"status 413 .* if (.*) \{ req.hdr_val\(content-length\) gt (\d+) \}", HAPROXY)
    assert limits == [("agents", str(call)), ("!agents !import", str(page)), ("import", str(league))]
    assert f"wait-for-body time {league_s:.0f}s if import\n" in HAPROXY
    assert f"wait-for-body time {page_s:.0f}s if !import\n" in HAPROXY
    assert f"timeout http-request {page_s:.0f}s\n" in HAPROXY


def test_the_proxy_holds_a_long_poll_and_sends_no_call_twice() -> None:
    (server_s,) = re.findall(r"^    timeout server (\d+)s$", HAPROXY, re.MULTILINE)
    assert int(server_s) > MAX_WAIT_S
    assert re.findall(r"^    retry-on (.*)$", HAPROXY, re.MULTILINE) == ["conn-failure"]


@pytest.mark.parametrize("servers", ["servers-local.cfg", "servers-compose.cfg"])
def test_haproxy_accepts_its_configuration(servers: str) -> None:
    haproxy = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if haproxy is None:
        pytest.skip("haproxy is not installed")
    files = [word for name in ("leaguesite.cfg", servers) for word in ("-f", str(DEPLOY / "haproxy" / name))]
    done = subprocess.run([haproxy, "-c", *files], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    # HAProxy reads a folder in the order of names, and what is for all must come first.
    assert sorted([servers, "leaguesite.cfg"])[0] == "leaguesite.cfg"


def test_the_documented_command_puts_other_machines_into_the_proxy_s_file(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^    (sed -i 's/127.0.0.1:8000/.*) /etc/haproxy/league/(\S+)$", text, re.MULTILINE)
    file = tmp_path / command[1]
    shutil.copy(DEPLOY / "haproxy" / file.name, file)
    subprocess.run([*shlex.split(command[0]), str(file)], check=True, timeout=60)
    servers = re.findall(r"^    server \w+ (\S+) check$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert servers == ["10.66.0.11:8000", "10.66.0.12:8000"] * 2


def test_the_image_is_built_from_files_that_exist() -> None:
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    paths = re.findall(r"^!(\S+)$", ignore, re.MULTILINE)
    assert [path for path in paths if not (ROOT / path).exists()] == []
    # The image needs every package that the site imports, and the other files that it reads.
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    resources = set(wheel["force-include"])
    assert {*packages, "manage.py", "docs", *resources} - {"docs/protocol.md"} <= set(paths)
    # The stage that builds the documentation has the same context, so its files must be let in, too.
    assert {"mkdocs.yml", "deploy/docs", "requirements/docs.txt", *ELSEWHERE} <= set(paths)
    assert {*wheel["packages"], "league_sdk"} == packages
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes" in dockerfile
    assert "\nUSER league\n" in dockerfile


def test_files_that_a_started_kit_leaves_behind_get_into_neither_wheel_nor_image(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", DEPLOY / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook = module.NoLeftovers(str(tmp_path / "league_sdk"), {}, None, None, "", "wheel")
    folder = tmp_path / "examples" / "kit" / "go"
    folder.mkdir(parents=True)
    (folder / "player.go").touch()
    hook.initialize("standard", {})
    (folder / "token-0123456789abcdef").touch()
    with pytest.raises(ValueError, match="token-0123456789abcdef"):
        hook.initialize("standard", {})
    for file in (DEPLOY / "Dockerfile.dockerignore", ROOT / ".gitignore"):
        lines = [line.rstrip("/") for line in file.read_text(encoding="utf-8").splitlines()]
        assert {f"examples/kit/*/{name}" for name in module.LEFT_BY_KITS} <= set(lines)


def test_deployment_md_names_only_commands_and_files_that_exist() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"manage\.py (\w+)", text))
    assert {"web", "conductor", "referee", "prepare", "backup"} <= commands
    for command in commands:
        options_of(command)
    files = re.findall(r"deploy/[\w./-]*\w", text)
    assert [file for file in files if not (ROOT / file).exists() and file != "deploy/.env"] == []
    units = {unit.stem for unit in (DEPLOY / "systemd").iterdir()}
    assert {f"{name}@" for name in re.findall(r"(leaguesite-\w+)@\d", text)} <= units
