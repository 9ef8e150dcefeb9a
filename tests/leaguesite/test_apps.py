"""Django's own check of a deployment, and ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from leaguesite.environment import BASE_DIR


def run_check(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LEAGUE_") and name != "DJANGO_SETTINGS_MODULE"
    }
    own |= {"LEAGUE_DATA": str(folder)} | environment
    return subprocess.run(command, cwd=BASE_DIR, env=own, capture_output=True, text=True, timeout=100, check=False)


def test_djangos_check_of_a_deployment_finds_nothing(tmp_path: Path) -> None:
    done = run_check(tmp_path, LEAGUE_PUBLIC_URL="https://league.example.org", LEAGUE_TRUSTED_PROXIES="127.0.0.1")
    assert (done.returncode, done.stdout.strip()) == (0, "System check identified no issues (3 silenced).")


def test_the_check_of_a_deployment_warns_of_a_site_without_https_and_of_keys_that_could_be_guessed(
    tmp_path: Path,
) -> None:
    """The check says what is missing at a plain http address, although such a site may be wanted."""
    done = run_check(
        tmp_path,
        LEAGUE_API_KEY="cs101",
        LEAGUE_METRICS_KEY="471123",
        LEAGUE_REFEREE_KEY="5tLxv0W3mQe8RkYb",
        LEAGUE_ADMIN_PASSWORD="",
    )
    assert [word for word in ("W004", "W012", "W016") if f"security.{word}" in done.stderr] == ["W004", "W012", "W016"]
    warnings = [line for line in done.stderr.splitlines() if "leaguesite.W001" in line]
    assert (done.returncode, warnings) == (
        1,
        [
            "?: (leaguesite.W001) LEAGUE_API_KEY could be found by trying.",
            "?: (leaguesite.W001) LEAGUE_METRICS_KEY could be found by trying.",
        ],
    )
    hints = [" ".join(line.split()) for line in done.stderr.splitlines() if "HINT: Leave it out" in line]
    assert hints == [
        "HINT: Leave it out, and the site makes one; or take one of letters and digits, 16 or more.",
        "HINT: Leave it out, and /metrics takes the API key only, or a referee's the referee key; "
        "or take one of letters and digits, 16 or more.",
    ]
