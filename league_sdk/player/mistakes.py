"""What went wrong in a student's strategy, in a sentence with its line."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

_SDK = Path(__file__).resolve().parents[1]
_STANDARD = Path(traceback.__file__).resolve().parent
_PACKAGES = frozenset({"site-packages", "dist-packages"})
MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Mistake:
    """A call of a strategy that failed or gave no legal move.

    Attributes:
        method: ``choose``, ``move`` or a hook.
        problem: what happened, such as ``KeyError: 'deadline'``.
        where: file and line, such as ``mine.py, line 12``; empty if no line is known.
        match_id: in which match; empty for a hook.
    """

    method: str
    problem: str
    where: str = ""
    match_id: str = ""

    def __str__(self) -> str:
        return f"{self.method}(): {self.problem}{f' ({self.where})' if self.where else ''}"

    @property
    def consequence(self) -> str:
        """What happened because of the mistake, to be put after its text; empty if no move was asked for."""
        return "; a random move was played instead" if self.method in ("choose", "move") else ""


class Raised(Exception):
    """Wraps an exception that cannot be passed on between threads.

    Args:
        error: the wrapped exception.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.original = error
        self.with_traceback(error.__traceback__)


def describe(error: BaseException) -> str:
    """An exception as Python ends a traceback with it."""
    if isinstance(error, Raised):
        error = error.original
    text = str(error).strip()
    name = type(error).__name__
    return f"{name}: {text:.{MAX_CHARS}}" if text else name


def line_of(error: BaseException) -> str:
    """The line of the student's code that raised an exception: the last one that is neither the SDK's nor a library's.

    Returns:
        Such as ``mine.py, line 12``; empty if no line is known.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_foreign(frame.filename)]
    # Frames of libraries may follow those of the student's file: the last of the file's own is what can be mended.
    for frame in reversed(own):
        return f"{Path(frame.filename).name}, line {frame.lineno}"
    return ""


def place_of(error: BaseException) -> str:
    """:func:`line_of` in parentheses, to be put after a sentence; empty if no line is known."""
    line = line_of(error)
    return f" ({line})" if line else ""


def _is_foreign(filename: str) -> bool:
    """Whether a frame is not the student's code."""
    if filename.startswith("<"):
        return True
    path = Path(filename).resolve()
    return path.is_relative_to(_SDK) or path.is_relative_to(_STANDARD) or not _PACKAGES.isdisjoint(path.parts)
