"""Runs inside the processes under test: counts their steps, and causes the planned faults at some of them.

The code under test is not changed. Its functions are wrapped when their modules are imported: the database's writes and
commits, the HTTP client, and what answers requests. This module itself imports only the standard library and
``tests.chaos.plan``, which needs nothing else.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos import plan

JOURNAL, CALM = "journal.jsonl", "calm"
_METHOD = re.compile(rb'"method"\s*:\s*"([^"]+)"')
_STEPS = {
    "choose_parity": "choice",
    "make_move": "choice",
    "notify_match_result": "end",
    "report_match_result": "report",
}
_WRITES = ("INSERT", "UPDATE", "DELETE")


def role_of(words: list[str]) -> str:
    """The kind of process that a command line starts; empty for those that get no faults."""
    if "league_sdk.judging" in words:
        return "referee"
    if "manage.py" in words:
        command = words[words.index("manage.py") + 1] if words[-1] != "manage.py" else ""
        # `manage.py referee` gets none: it replaces itself by league_sdk.judging at once.
        return command if command in ("host", "web", "conductor") else ""
    return ""


def note(folder: Path, **line: Any) -> None:
    """Append a line to the run's journal in one write, so that it is there even if this process is killed next."""
    raw = json.dumps({"at": time.time(), **line}).encode() + b"\n"
    file = os.open(folder / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, raw)
    finally:
        os.close(file)


class Injector:
    """Causes the faults of this process.

    Args:
        folder: the folder of the run.
        seed: the seed of the run.
        role: which kind of process this is.
    """

    def __init__(self, folder: Path, seed: int, role: str) -> None:
        self._folder, self._role = folder, role
        self._number = _claim(folder, role)
        self._faults = plan.faults_of(seed, role, self._number)
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.note(event="start", pid=os.getpid(), words=sys.orig_argv[1:])

    def note(self, **line: Any) -> None:
        note(self._folder, role=self._role, number=self._number, **line)

    def due(self, point: str, detail: str) -> plan.Fault | None:
        """Count a step; returns the fault to cause at it, already in the journal, or None."""
        with self._lock:
            self._seen[point] += 1
            due = (one for one in self._faults if one.point == point and one.nth <= self._seen[point])
            fault = next(due, None)
            if fault is None or (self._folder / CALM).exists():
                return None
            self._faults.remove(fault)
            nth = self._seen[point]
        self.note(event="fault", fault=fault.kind, point=point, detail=detail, nth=nth, seconds=fault.seconds)
        return fault

    def strike(self, point: str, detail: str) -> None:
        """Count a step in a thread, outside the event loop, and cause its fault."""
        fault = self.due(point, detail)
        if fault is not None:
            _hit(fault)
            if fault.kind == plan.DELAY:
                time.sleep(fault.seconds)

    async def strike_async(self, point: str, detail: str) -> plan.Fault | None:
        """Count a step on the event loop and cause its fault; returns the fault, as the caller causes some kinds."""
        fault = self.due(point, detail)
        if fault is None:
            return None
        _hit(fault)
        if fault.kind == plan.DELAY:
            await asyncio.sleep(fault.seconds)
        return fault


def _hit(fault: plan.Fault) -> None:
    if fault.kind == plan.KILL:
        os.kill(os.getpid(), signal.SIGKILL)
    if fault.kind == plan.STOP:
        # The run reads the journal, and sends SIGCONT later.
        os.kill(os.getpid(), signal.SIGSTOP)


def _claim(folder: Path, role: str) -> int:
    for number in itertools.count(1):
        try:
            os.close(os.open(folder / "numbers" / f"{role}-{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return number
    raise AssertionError


# Wrapping what is imported --------------------------------------------------------------------


class _Watcher(importlib.abc.MetaPathFinder):
    """An import hook that changes modules as soon as they have been imported."""

    def __init__(self, changes: dict[str, Callable[[Any], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        change = self._changes.pop(name, None)
        if change is None:
            return None
        # The change is removed above, so this call does not come back here.
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Called at the start of every Python process that inherits the run's environment."""
    role = role_of(sys.orig_argv)
    if not role:
        return
    injector = Injector(Path(os.environ["CHAOS_FOLDER"]), int(os.environ["CHAOS_SEED"]), role)
    changes: dict[str, Callable[[Any], None]] = {
        "league_sdk.transport.client": functools.partial(_wrap_client, injector),
        "league_sdk.judging.door.server": functools.partial(_wrap_referee_server, injector),
        "django.db.backends.base.base": functools.partial(_wrap_database, injector),
        "leaguesite.serving.handler": functools.partial(_wrap_handler, injector),
    }
    sys.meta_path.insert(0, _Watcher(changes))


def _wrap_database(injector: Injector, module: Any) -> None:
    wrapper = module.BaseDatabaseWrapper
    begin, commit = wrapper.__init__, wrapper._commit

    def execute(run: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(_WRITES):
            return run(sql, params, many, context)
        detail = " ".join(sql.split(maxsplit=3)[: 2 if sql.startswith("UPDATE") else 3]).replace('"', "")
        injector.strike(plan.BEFORE_WRITE, detail)
        result = run(sql, params, many, context)
        injector.strike(plan.AFTER_WRITE, detail)
        return result

    @functools.wraps(begin)
    def init(self: Any, *args: Any, **more: Any) -> None:
        begin(self, *args, **more)
        self.execute_wrappers.append(execute)

    @functools.wraps(commit)
    def commit_(self: Any) -> Any:
        injector.strike(plan.BEFORE_COMMIT, "")
        result = commit(self)
        injector.strike(plan.AFTER_COMMIT, "")
        return result

    wrapper.__init__, wrapper._commit = init, commit_


def _wrap_client(injector: Injector, module: Any) -> None:
    post = module.Client.post

    @functools.wraps(post)
    async def post_(self: Any, url: str, message: Any, *, limit_s: float, **more: Any) -> Any:
        match = _METHOD.search(message) if isinstance(message, bytes) else None
        method = match[1].decode() if match else str(message.get("method", "")) if isinstance(message, dict) else ""
        step = _step_of(method, message)
        if step in ("seal", "end", "report"):
            await injector.strike_async(f"before {step}", method)
        fault = await injector.strike_async(plan.BEFORE_CALL, method)
        if fault is not None and fault.kind == plan.REFUSE:
            raise module.NotReached("chaos: the connection was refused", connected=False)
        reply = await post(self, url, message, limit_s=limit_s, **more)
        if method == "report_match_result":
            _note_accepted(injector, message, reply.body)
        if step:
            await injector.strike_async(f"after {step}", method)
        fault = await injector.strike_async(plan.AFTER_CALL, method)
        if fault is not None and fault.kind == plan.BREAK:
            raise module.Broken("chaos: the answer was cut off", connected=True)
        if fault is not None and fault.kind == plan.LOSE:
            await asyncio.sleep(max(0.0, limit_s - reply.elapsed_s))
            raise module.TimedOut(f"chaos: no answer within {limit_s:g} s", connected=True)
        return reply

    module.Client.post = post_


def _step_of(method: str, message: Any) -> str:
    """The step between the choices and the result that this call is, as the plan names it; empty for other calls."""
    if method == "report_progress":
        if isinstance(message, bytes):
            return "seal" if b'"seal"' in message else ""
        matches = message.get("params", {}).get("matches", []) if isinstance(message, dict) else []
        return "seal" if any("seal" in one for one in matches) else ""
    return _STEPS.get(method, "")


def _note_accepted(injector: Injector, message: Any, body: Any) -> None:
    """Write to the journal that a result was accepted: the database must have it in the end."""
    result = body.get("result") if isinstance(body, dict) else None
    if not isinstance(result, dict) or result.get("status") != "ACCEPTED" or result.get("duplicate"):
        return
    params = message["params"]
    who = {name: params[name] for name in ("league_id", "match_id", "attempt")}
    injector.note(event="accepted", **who, status=params["status"], winner=params["result"]["winner"])


def _wrap_referee_server(injector: Injector, module: Any) -> None:
    answer = module.RefereeServer.perform

    @functools.wraps(answer)
    async def perform(self: Any, name: str, message: Any, there: Any) -> Any:
        reply = await answer(self, name, message, there)
        await injector.strike_async(plan.BEFORE_ANSWER, "/mcp")
        return reply

    module.RefereeServer.perform = perform


def _wrap_handler(injector: Injector, module: Any) -> None:
    respond = module.OneHopHandler._respond

    @functools.wraps(respond)
    def respond_(self: Any, scope: Any, body: Any) -> Any:
        response = respond(self, scope, body)
        # Monitoring calls /health all the time; a fault there would test nothing.
        if scope["path"] != "/health":
            injector.strike(plan.BEFORE_ANSWER, scope["path"])
        return response

    module.OneHopHandler._respond = respond_
