"""Writes the folder SHARED: files are replaced, logs grow, and nothing is written through a link of somebody else.

A file ``.written.json`` says how far the files are, so that after a crash the next pass goes on from there. Logs are
cut back to their sizes in it: what an interrupted pass appended is appended again.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from league_sdk.repositories import replace_file

LOGS = ("logs/league", "logs/agents")
WRITTEN = ".written.json"
LOCK = ".lock"
FORMAT = 1
"""The version of the files' format. If WRITTEN has another version, every file is written again."""
MAX_LOG_BYTES, OLD_LOGS = 10 * 1024 * 1024, 4
"""The size of a log, and the number of full logs that are kept beside it: at most 50 MiB for each league or agent."""
MIN_FREE_BYTES = 100 * 1024 * 1024
"""Room on the disk that is left to the database."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""A part of a path: ids may come from an imported file, which a stranger may have written."""


class Unwritable(OSError):
    """The folder must not be written to; the text says why."""


class Tree:
    """The folder SHARED.

    Args:
        root: the folder; it is made when something is written.
        max_log_bytes, min_free_bytes: as the constants, for tests.

    Attributes:
        written: what the owner of this object stored with :meth:`save`.
        restores: how often :meth:`writing` has read what was saved: the first time, after another writer, and after a
            failure.
    """

    def __init__(self, root: Path, *, max_log_bytes: int = MAX_LOG_BYTES, min_free_bytes: int = MIN_FREE_BYTES) -> None:
        self.root = root
        self.written: dict[str, Any] = {}
        self.restores = 0
        self._sizes: dict[str, int] = {}
        self._saved: tuple[int, ...] | None = None
        # Whether WRITTEN is valid: the files are at least as far as it says, and the logs can be cut back to its sizes.
        self._whole = False
        # Folders that were found to be no links during this pass.
        self._real: set[PurePosixPath] = set()
        self._max_log_bytes, self._min_free_bytes = max_log_bytes, min_free_bytes

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other processes from writing; the context begins with what was saved last, by whomever.

        Raises:
            OSError: the folder cannot be written to.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(self.root).free) < self._min_free_bytes:
            raise Unwritable(f"only {free // 2**20} MiB of the disk are free")
        self._real = set()
        descriptor = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if self._saved is None or self._saved != self._mark():
                self.restores += 1
                self._restore()
            yield
        except BaseException:
            # Logs may be longer than was saved.
            self._saved = None
            raise
        finally:
            os.close(descriptor)

    # What was written ------------------------------------------------------------------------

    def _mark(self) -> tuple[int, ...] | None:
        try:
            found = (self.root / WRITTEN).lstat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _restore(self) -> None:
        """Read what was saved, and cut the logs back to it; if that is not possible, :meth:`clear`."""
        stored = self._stored()
        if stored is None:
            self.clear()
            return
        self.written, self._sizes, self._whole = stored["written"], stored["logs"], True
        self._saved = self._mark()

    def _stored(self) -> dict[str, Any] | None:
        path = self.root / WRITTEN
        try:
            stored = json.loads(path.read_text(encoding="utf-8")) if not path.is_symlink() else None
            if not isinstance(stored, dict) or stored.get("format") != FORMAT or not stored["whole"]:
                return None
            for log, size in stored["logs"].items():
                found = self._checked(log).lstat()
                if found.st_size < size or not stat.S_ISREG(found.st_mode):
                    return None
            for log, size in stored["logs"].items():
                self._cut(log, size)
            self._drop_logs_but(stored["logs"])
        except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return stored

    def _cut(self, log: str, size: int) -> None:
        descriptor = os.open(self._checked(log), os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.ftruncate(descriptor, size)
        finally:
            os.close(descriptor)

    def _drop_logs_but(self, known: Collection[str]) -> None:
        """Delete the logs that an interrupted pass has begun."""
        for folder in LOGS:
            for file in self._checked(folder).rglob("*.jsonl"):
                if file.relative_to(self.root).as_posix() not in known:
                    file.unlink()

    def clear(self) -> None:
        """Delete the logs and forget what was written: everything has to be written again."""
        self.written, self._sizes, self._whole = {}, {}, True
        self._save(whole=False)
        for folder in LOGS:
            path = self._checked(folder)
            if path.is_dir():
                shutil.rmtree(path)
        self._real = set()

    def save(self, written: Mapping[str, Any]) -> None:
        """Store how far the files are, at the end of a pass."""
        self.written = dict(written)
        self._save(whole=True)

    def _save(self, *, whole: bool) -> None:
        stored = {"format": FORMAT, "whole": whole, "written": self.written, "logs": self._sizes}
        replace_file(self.root / WRITTEN, json.dumps(stored))
        self._whole, self._saved = whole, self._mark()

    # Files -----------------------------------------------------------------------------------

    def put(self, path: str, content: Mapping[str, Any]) -> None:
        """Replace a file.

        Raises:
            OSError: it cannot be written; the old file is unchanged.
        """
        replace_file(self._checked(path), lined(content))

    def keep_only(self, folder: str, names: Iterable[str]) -> None:
        """Delete the files and folders in a folder that have other names."""
        directory = self._checked(folder)
        self._refuse_link(PurePosixPath(folder))
        if not directory.is_dir():
            return
        keep = set(names)
        for path in directory.iterdir():
            if path.name in keep:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def append(self, path: str, lines: Iterable[str]) -> None:
        """Append lines to a log; a full one is renamed to ``….1`` and so on.

        Raises:
            OSError: they cannot be written. Some of them may be; the next pass cuts them off.
        """
        waiting: list[bytes] = []
        size = self._sizes.get(path, 0)
        for line in lines:
            data = line.encode("utf-8", "backslashreplace") + b"\n"
            if size and size + len(data) > self._max_log_bytes:
                self._write(path, waiting)
                self._rotate(path)
                waiting, size = [], 0
            waiting.append(data)
            size += len(data)
        self._write(path, waiting)

    def _write(self, path: str, waiting: list[bytes]) -> None:
        if not waiting:
            return
        data, file = b"".join(waiting), self._checked(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(file, flags, 0o600), "wb") as opened:
            opened.write(data)
        self._sizes[path] = self._sizes.get(path, 0) + len(data)

    def _rotate(self, path: str) -> None:
        if self._whole:
            # A crash from here on cannot be healed by cutting the log back.
            self._save(whole=False)
        file = self._checked(path)
        for number in range(OLD_LOGS - 1, 0, -1):
            older = file.with_name(f"{file.name}.{number}")
            if older.exists():
                older.replace(file.with_name(f"{file.name}.{number + 1}"))
        file.replace(file.with_name(f"{file.name}.1"))
        self._sizes[path] = 0

    def _checked(self, path: str) -> Path:
        """The path of a file; each folder on the way must be one of our own, not a link to somewhere else.

        Raises:
            ValueError: a part of the path is not a file name.
            Unwritable: one of the folders is a link.
        """
        relative = PurePosixPath(path)
        if not all(map(is_name, path.split("/"))):
            raise ValueError(f"{path!r} is no path of a file here")
        for folder in relative.parents:
            self._refuse_link(folder)
        return self.root / relative

    def _refuse_link(self, folder: PurePosixPath) -> None:
        # The site's folder itself may be a link: only the site's own user can have made it.
        if folder in self._real or not folder.parts:
            return
        if (self.root / folder).is_symlink():
            raise Unwritable(f"{self.root / folder} is a link to somewhere else: delete it")
        self._real.add(folder)


def is_name(part: str) -> bool:
    """Whether a text, such as an id, can be a part of a path."""
    return _PART.fullmatch(part) is not None


def line(value: Any) -> str:
    """JSON in one line."""
    return _ENCODER.encode(value)


def lined(content: Mapping[str, Any]) -> str:
    """JSON with a line for each member, and for each item of a member that is a list.

    Python's own indentation takes several times longer.
    """
    members = []
    for name, value in content.items():
        text = line(value)
        if isinstance(value, list) and value:
            text = "[\n" + ",\n".join(line(item) for item in value) + "\n]"
        members.append(f"{line(name)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"
