"""CI runs a few failed tests once more: those that pass then are reported as flaky; if one fails again, CI fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

COUNTED = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range({tests}))
def test_it(number):
    runs = Path(__file__).with_name(f"runs-{{number}}")
    runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
    assert len(runs.read_text()) > {failures}, "not yet"

def test_another():
    pass
"""
"""The source of ``tests`` tests, each of which fails ``failures`` times and then passes, and of one that passes."""


def run(folder: Path, written: str) -> tuple[int, str]:
    """Run CI's pytest with a file of tests that is ``written`` so; returns its exit status and output."""
    (folder / "test_some.py").write_text(written, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [".ci/pytest", "-q", "-n", "0", "-c", str(folder / "pytest.ini"), "--rootdir", str(folder), str(folder)]
    # Only the plugins that the script itself needs are loaded: with all, each of its processes would set up Django.
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def runs(folder: Path) -> dict[str, int]:
    """How often each of the counted tests ran."""
    return {one.name: len(one.read_text(encoding="utf-8")) for one in sorted(folder.glob("runs-*"))}


def test_a_test_that_fails_once_passes_and_is_reported_as_flaky(tmp_path: Path) -> None:
    status, output = run(tmp_path, COUNTED.format(tests=2, failures=1))
    assert status == 0, output
    assert runs(tmp_path) == {"runs-0": 2, "runs-1": 2}
    flaky = output.partition("FLAKY: ")[2].splitlines()
    assert flaky[1:] == ["test_some.py::test_it[0]", "test_some.py::test_it[1]"]


def test_a_test_that_fails_twice_fails(tmp_path: Path) -> None:
    status, output = run(tmp_path, COUNTED.format(tests=1, failures=2))
    assert (status, runs(tmp_path)) == (1, {"runs-0": 2})
    assert "FLAKY" not in output


def test_a_test_that_is_skipped_the_second_time_fails(tmp_path: Path) -> None:
    skipping = COUNTED.replace("    assert len", "    if len(runs.read_text()) > 1: pytest.skip()\n    assert len")
    status, output = run(tmp_path, skipping.format(tests=1, failures=1))
    assert (status, runs(tmp_path)) == (1, {"runs-0": 2})
    assert "FLAKY" not in output


def test_no_test_is_run_again_when_many_fail(tmp_path: Path) -> None:
    status, output = run(tmp_path, COUNTED.format(tests=6, failures=1))
    assert status == 1
    assert set(runs(tmp_path).values()) == {1}
    assert "More than 5 tests failed" in output


@pytest.mark.parametrize(
    ("written", "expected"), [("import no_such_module", 2), ("", 5), (COUNTED.format(tests=1, failures=0), 0)]
)
def test_other_exit_codes_of_pytest_are_passed_on(tmp_path: Path, written: str, expected: int) -> None:
    status, output = run(tmp_path, written)
    assert status == expected, output
    assert "once more" not in output
