"""The check of locked packages: a known vulnerability or a broken pip-audit fails it, an unreachable list does not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

FINE = {"name": "django", "version": "5.2", "vulns": []}
BAD = {"name": "django", "version": "5.2", "vulns": [{"id": "CVE-1", "fix_versions": ["5.2.1"]}]}
UNKNOWN = {"name": "redis", "skip_reason": "not found"}


def audited(folder: Path, report: list[dict[str, Any]] | None, status: int, errors: str = "") -> tuple[int, str]:
    """Run the check with this report of pip-audit; returns its exit status and output."""
    tool = folder / "pip-audit"
    written = "" if report is None else json.dumps({"dependencies": report})
    (folder / "report").write_text(written, encoding="utf-8")
    tool.write_text(
        f"""#!/bin/sh
while [ $# -gt 0 ]; do
    if [ "$1" = --output ]; then cp {folder}/report "$2"; fi
    if [ "$1" = --requirement ]; then cp "$2" {folder}/asked; fi
    shift
done
echo '{errors}' >&2
exit {status}
""",
        encoding="utf-8",
    )
    tool.chmod(0o755)
    environment = os.environ | {"PIP_AUDIT": str(tool)}
    done = subprocess.run([".ci/audit"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


@pytest.mark.parametrize(
    ("report", "status", "errors", "expected"),
    [
        ([FINE], 0, "", (0, "1 locked packages checked.")),
        (
            [FINE, BAD],
            1,
            "",
            (1, "2 locked packages checked.\ndjango 5.2: CVE-1, mended in 5.2.1\n1 known holes."),
        ),
        ([FINE, UNKNOWN], 0, "", (0, "1 locked packages checked; not known to the list: redis")),
        ([UNKNOWN], 0, "", (0, "NOT CHECKED: the list that answers here knows none of the 1 locked packages.")),
        (
            None,
            1,
            "ConnectionError: refused",
            (0, "NOT CHECKED: the list of vulnerabilities cannot be reached from here."),
        ),
        (None, 2, "bad option", (1, "bad option\n\npip-audit failed.")),
    ],
    ids=["none", "a vulnerability", "some unknown", "all unknown", "away", "broken"],
)
def test_the_audit_fails_for_a_vulnerability_or_a_broken_tool_and_prints_what_it_found(
    tmp_path: Path, report: list[dict[str, Any]] | None, status: int, errors: str, expected: tuple[int, str]
) -> None:
    assert audited(tmp_path, report, status, errors) == expected
    requirements = (tmp_path / "asked").read_text(encoding="utf-8")
    assert (
        requirements.count("\ndjango=="),
        requirements.count("psycopg-pool=="),
        "--hash=sha256:" in requirements,
    ) == (1, 1, True)
