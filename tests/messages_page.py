"""Writes ``docs/messages.md`` from the models and samples of the messages: ``python -m tests.messages_page``."""

from __future__ import annotations

import json
from typing import Any

from league_sdk.protocol import schemas
from tests.league_sdk.protocol.wire_messages import MESSAGES, OURS
from tests.paths import ROOT

PAGE = ROOT / "docs" / "messages.md"
WIDTH = 110
HEAD = """# Every message, with a sample

For authors of agents: what each message of the protocol looks like on the wire. What the fields mean and what is
tolerated is in [protocol.md](protocol.md#messages); the site has the JSON Schema of each at `/api/protocol/NAME`.

A message with a *method* is the `params` of a JSON-RPC request; one without is the `result` of the answer:

    POST /mcp    {"jsonrpc": "2.0", "id": 1, "method": "choose_parity", "params": {…}}
    answer       {"jsonrpc": "2.0", "id": 1, "result": {…}}

A LEAGUE_ERROR is not a `result` but the `error.data` of the answer, unless the league's `error_style` is `result`
([protocol.md](protocol.md#errors)).

Our tests compare the samples with the schemas, and those of the course's messages with what league manager and
referee send and understand; this page is written from them. If your agent does not understand a message, send it the
sample with `curl`, or have your agent checked (`league check`).
"""
OF_OURS = """
## Between league manager and referee

The [documents of the course](sources.md) have none of these; players never see them.
"""


def text() -> str:
    """The text of the whole page."""
    course = [name for name in schemas.MODELS if name not in OURS]
    parts = [HEAD, *(section(name) for name in course), OF_OURS, *(section(name, "###") for name in OURS)]
    return "".join(parts)


def section(name: str, level: str = "##") -> str:
    """The section of a message: from whom to whom it goes, and its sample."""
    model = schemas.MODELS[name]
    way = f"{' or '.join(model.sent_by)} → {' or '.join(model.sent_to)}".replace("_", " ")
    facts = [way, f"method `{model.method}`" if model.method else "an answer"]
    facts += [f"answered by {model.answer}"] if model.answer else []
    return f"\n{level} {name}\n\n{'; '.join(facts)} ({model.clause}).\n\n```json\n{written(MESSAGES[name])}\n```\n"


def written(value: Any, indent: int = 0) -> str:
    """The value as JSON, with as much in each line as there is room for."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or not isinstance(value, (dict, list)):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, list):
        lines = [f"{inner}{written(item, indent + 2)}" for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{' ' * indent}]"
    lines, line = [], inner
    for name, item in value.items():
        part = f"{json.dumps(name)}: {written(item, indent + 2)}"
        if line.strip() and ("\n" in part or len(line) + len(part) > WIDTH):
            lines.append(line.rstrip())
            line = inner
        line += f"{part}, "
    lines.append(line.rstrip().removesuffix(","))
    return "{\n" + "\n".join(lines) + f"\n{' ' * indent}}}"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
