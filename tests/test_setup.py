"""``make run`` installs what the site runs on, ``make test`` the tools as well; done again, they install nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

RUN = ["base.txt", "scale.txt"]
DEV = [*RUN, "telemetry.txt", "dev.txt"]
# Stands in for Python: `-m venv DIR` copies this script there, `-m pip install` logs the files it was given.
INTERPRETER = """#!/bin/sh
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip install "*) echo "$*" >>pip.log ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the script looks at, and an interpreter that installs nothing."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "setup-venv.sh", tmp_path / "deploy")
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    interpreter = tmp_path / "python"
    interpreter.write_text(INTERPRETER, encoding="utf-8")
    interpreter.chmod(0o755)
    return tmp_path


def installed(checkout: Path, requirements: str) -> list[str]:
    """Run the script; returns the requirements files that it installed."""
    log = checkout / "pip.log"
    log.unlink(missing_ok=True)
    command = [checkout / "deploy" / "setup-venv.sh", requirements]
    subprocess.run(command, env={"PATH": "/usr/bin:/bin", "PYTHON": str(checkout / "python")}, check=True)
    words = log.read_text(encoding="utf-8").split() if log.exists() else []
    return [word.removeprefix("requirements/") for word in words if word.endswith(".txt")]


def test_running_installs_no_tools_and_tools_are_added_once(checkout: Path) -> None:
    steps = [(wanted, installed(checkout, wanted)) for wanted in ("run", "run", "dev", "dev", "run")]
    assert steps == [("run", RUN), ("run", []), ("dev", DEV), ("dev", []), ("run", [])]


def test_the_command_line_of_the_checkout_is_installed(checkout: Path) -> None:
    installed(checkout, "run")
    command = checkout / ".venv" / "bin" / "league"
    (command.parent / "python").write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    done = subprocess.run([command, "local", "my file.py"], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == "-P -m league_sdk local my file.py\n"


def test_a_changed_requirements_file_is_installed_anew(checkout: Path) -> None:
    installed(checkout, "dev")
    (checkout / "requirements" / "base.txt").write_text("django==5.2.99\n", encoding="utf-8")
    assert [installed(checkout, wanted) for wanted in ("run", "run", "dev", "run")] == [RUN, [], DEV, []]


def test_an_environment_copied_from_elsewhere_is_made_again(checkout: Path) -> None:
    installed(checkout, "run")
    moved = checkout.parent / "moved"
    shutil.copytree(checkout, moved)
    assert installed(moved, "run") == RUN


def test_an_interrupted_installation_is_done_again(checkout: Path) -> None:
    installed(checkout, "run")
    (checkout / ".venv" / ".unfinished").touch()
    (checkout / ".venv" / ".installed").unlink()
    assert installed(checkout, "run") == RUN


def test_an_unknown_set_is_refused(checkout: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        installed(checkout, "everything")
    assert caught.value.returncode == 2


def test_the_site_runs_on_the_versions_that_are_tested() -> None:
    pins = {}
    for name in DEV:
        lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
        pins[name] = {line.split(" ")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}
    assert [pin for name in DEV[:-1] for pin in sorted(pins[name] - pins["dev.txt"])] == []
