"""Reads a question from standard input and writes the answer; a process of its own, which gives way to all others."""

from __future__ import annotations

import os
import sys

from league_sdk.ledger.luck.again import play_again
from league_sdk.ledger.luck.figures import Question

if hasattr(os, "nice"):
    os.nice(19)
answer = play_again(Question.read(sys.stdin.read()))
sys.stdout.write("null" if answer is None else answer.to_json())
