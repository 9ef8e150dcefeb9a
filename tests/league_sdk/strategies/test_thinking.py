"""A house agent that thinks in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def test_a_house_agent_thinks_where_processes_have_no_niceness() -> None:
    program = "import os; del os.nice; from league_sdk.strategies.thinking import main; main()"
    question = '[["even", "odd"], null, {}]\n'
    ended = subprocess.run(
        [sys.executable, "-c", program, "hard", "even_odd"], input=question, capture_output=True, text=True, check=True
    )
    assert ended.stdout in ('"even"\n', '"odd"\n')
