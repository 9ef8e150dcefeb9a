"""What the documents name exists: files, links, modules, commands, make targets, variables and names in the code.

Only words in back quotes and in code blocks are checked. Decisions name what existed when they were written, so of
these only the links are checked.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
LINKING = [*PAGES, *sorted((ROOT / "docs" / "decisions").glob("*.md"))]

SUFFIXES = "py|md|toml|conf|cfg|html|js|mjs|yaml|yml|service|in|po"
MADE_LATER = ("data/", "dist/", "restored/", "keys/", "league/", "SHARED/", "requirements/…", "deploy/.env")
"""Beginnings of paths that exist only on a running site or after a build."""
ELSEWHERE = {
    "FILE.py",
    "bot.py",
    "league.json",
    "ledger.json",
    "league.zip",
    "ports.json",
    "figures.json",
    "prometheus.yml",
}
FOREIGN_NAMES = {"URL_OF_THE_BOARD", "HASH_THAT_YOU_KEPT", "my_games", "static_configs", "scrape_configs"}
FOREIGN_NAMES |= {
    "league_restored",
    "pg_restore",
    "pg_ctlcluster",
    "http_code",
    "reproduce_failure",
    "histogram_quantile",
    "TestRaceToTen",
    "race_to_ten",
}
"""Names that belong to other programs, or that a reader makes up; they need not be in the code."""
SOURCES = {
    ".py",
    ".html",
    ".js",
    ".mjs",
    ".toml",
    ".conf",
    ".cfg",
    ".yaml",
    ".yml",
    ".service",
    ".sh",
    ".example",
    ".txt",
    ".in",
    "",
}


def code_of(page: Path) -> list[str]:
    """The code of a page: in back quotes, in fenced blocks and in indented blocks."""
    text = page.read_text(encoding="utf-8")
    fenced = re.findall(r"^```.*?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return fenced + re.findall(r"`([^`\n]+)`", prose) + re.findall(r"^    \S.*$", prose, re.MULTILINE)


@cache
def repository_files() -> list[str]:
    """Every file of the repository: its path from the root, with a slash in front."""
    skipped = {".venv", ".git", "data", "build", "dist", "staticfiles", "__pycache__"}
    names = []
    for top in sorted(ROOT.iterdir()):
        if top.name in skipped or top.name.endswith("_cache"):
            continue
        paths = [top] if top.is_file() else top.rglob("*")
        below_root = [path.relative_to(ROOT) for path in paths]
        names += [f"/{path}" for path in below_root if not skipped & set(path.parts)]
    return names


@cache
def words_of_the_sources() -> set[str]:
    """Every word in the code, templates, and files of deployment."""
    words = {Path(name).stem for name in repository_files()}
    for name in repository_files():
        path = ROOT / name[1:]
        if path.suffix in SOURCES and path.is_file() and path != Path(__file__):
            words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="ignore")))
    return words


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_path_named_in_a_page_exists(page: Path) -> None:
    named = {
        path.removeprefix("./").rstrip("/.")
        for code in code_of(page)
        for path in re.findall(rf"(?<![\w/…}}.:-])(?:[\w.-]+/)*[\w.-]+\.(?:{SUFFIXES})\b(?![\w/(])", code)
        + re.findall(r"^(?:(?:tests|docs|deploy|matches|leaguesite|league_sdk|agents_registry)/[\w./-]*)$", code)
    }
    files = [f"{name}/" for name in repository_files()]
    missing = [
        path
        for path in named
        if path not in ELSEWHERE
        and not path.startswith(MADE_LATER)
        and not any(name.endswith(f"/{path}/") for name in files)
    ]
    assert sorted(missing) == []


@pytest.mark.parametrize("page", LINKING, ids=page_name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, heading = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in headings_of(target)):
            broken.append(link)
    assert broken == []


def headings_of(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_command_in_a_page_exists(page: Path) -> None:
    code = "\n".join(code_of(page))
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")} | {"check"}
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    missing = [f"manage.py {name}" for name in re.findall(r"manage\.py ([a-z_]+)", code) if name not in commands]
    missing += [f"make {name}" for name in re.findall(r"\bmake ([a-z0-9-]+)", code) if name not in targets]
    modules = set(re.findall(r"python3? -m ([\w.]*\w)", code)) | set(re.findall(r"… (tests\.[\w.]*\w)", code))
    modules -= {"venv", "pip"}
    missing += [f"python -m {name}" for name in modules if importlib.util.find_spec(name) is None]
    assert missing == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in ("ruling.md", "messages.md")], ids=page_name
)
def test_every_name_in_a_page_is_in_the_code(page: Path) -> None:
    """Settings, functions, classes, fields: words with an underscore, or with capitals inside."""
    words = {word for code in code_of(page) for word in re.findall(r"\b\w+\b", code)}
    names = {word for word in words if re.fullmatch(r"_?[A-Za-z]+(_[A-Za-z]+)+|_[a-z]+|[A-Z][a-z]+[A-Z]\w*", word)}
    unknown = names - words_of_the_sources() - FOREIGN_NAMES
    assert sorted(name for name in unknown if not is_a_metric(name)) == []


def is_a_metric(name: str) -> bool:
    """Whether the code has this metric, there without the prefix of referees and the ending of Prometheus."""
    bare = re.sub(r"^(league|process)_(referee_)?", "", name)
    short = re.sub(r"_(total|bucket)$", "", bare)
    return bool({bare, short, f"league_{short}"} & words_of_the_sources())
