"""How an exception in a student's code is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from league_sdk.player.loading import load
from league_sdk.player.mistakes import Mistake, describe, line_of


def raised(tmp_path: Path, body: str) -> Exception:
    """The exception of a strategy whose choose() has this body."""
    path = tmp_path / "mine_of_mistakes.py"
    path.write_text(f"import json\ndef choose(options, context):\n    {body}\n", encoding="utf-8")
    try:
        load(str(path))().choose([], {})
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_an_exception_is_reported_with_the_line_in_the_students_code(tmp_path: Path) -> None:
    error = raised(tmp_path, "return context['deadline']")
    assert (describe(error), line_of(error)) == ("KeyError: 'deadline'", "mine_of_mistakes.py, line 3")


def test_the_line_is_the_students_and_not_a_librarys(tmp_path: Path) -> None:
    error = raised(tmp_path, "return json.loads('{')")
    assert isinstance(error, json.JSONDecodeError)
    assert line_of(error) == "mine_of_mistakes.py, line 3"


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_an_installed_package_is_a_library(tmp_path: Path, folder: str) -> None:
    """Debian's own Python has its packages in dist-packages."""
    library = tmp_path / folder / "library_of_mistakes.py"
    library.parent.mkdir()
    library.write_text("def fail():\n    raise KeyError(1)\n", encoding="utf-8")
    error = raised(tmp_path, f"import runpy; return runpy.run_path({str(library)!r})['fail']()")
    assert line_of(error) == "mine_of_mistakes.py, line 3"


def test_an_exception_without_a_traceback_has_no_line() -> None:
    assert (describe(ValueError()), line_of(ValueError())) == ("ValueError", "")
    assert str(Mistake("choose", "ValueError")) == "choose(): ValueError"
