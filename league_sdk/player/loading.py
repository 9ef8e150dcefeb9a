"""Finds the strategy in a student's file: a class with ``choose`` or ``move``, or these as plain functions."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from league_sdk.player.mistakes import describe, place_of
from league_sdk.strategies import STRATEGIES
from league_sdk.strategies.base import NotSetUp, Strategy

METHODS = {"choose": ("options", "context"), "move": ("options", "state", "context")}
"""The methods by which a strategy chooses a move, each with its arguments."""


class NotLoaded(Exception):
    """A strategy cannot be loaded; the text says why, and where in the file."""


def load(source: str) -> Callable[[], Strategy]:
    """Find a strategy.

    Args:
        source: the name of one of :data:`~league_sdk.strategies.STRATEGIES`, or a Python file, such as
            ``mine.py`` or, if it has several classes, ``mine.py:Second``.

    Returns:
        A function that makes a strategy; call it once for every player.

    Raises:
        NotLoaded: there is no such strategy or file, or the file cannot be used.
    """
    if source in STRATEGIES:
        return _tried(STRATEGIES[source], source)
    path, _colon, class_name = source.rpartition(":") if ".py:" in source else (source, "", "")
    if not path.endswith(".py"):
        raise NotLoaded(f"{source!r:.100} is neither a Python file nor a strategy; these are: {', '.join(STRATEGIES)}.")
    file = Path(path)
    if not file.is_file():
        raise NotLoaded(f"There is no file {path} in {Path.cwd()}.")
    module = _imported(file)
    made = _chosen(module, file, class_name)
    return _tried(made, f"{file.name}: {made.__name__}()")


def _tried(made: type[Strategy], name: str) -> type[Strategy]:
    """Make a strategy, to see that it can be made; returns the class.

    Raises:
        NotLoaded: it cannot.
    """
    try:
        made()
    except NotSetUp as error:
        raise NotLoaded(f"{name} cannot be used: {error}.") from None
    except Exception as error:
        raise NotLoaded(f"{name} cannot be made: {describe(error)}{place_of(error)}.") from error
    return made


def _imported(file: Path) -> ModuleType:
    """Run a student's file as a module that can import its neighbours."""
    # The name of the module contains a hash of the path: two files of the same name in two folders are two modules.
    spec = importlib.util.spec_from_file_location(f"{file.stem}_{abs(hash(file.resolve())):x}", file)
    if spec is None or spec.loader is None:
        raise NotLoaded(f"{file} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # Registered before it runs, as dataclasses look their module up in sys.modules.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise NotLoaded(f"{Path(error.filename or file).name}{line}: {error.msg}.") from error
    except SystemExit as error:
        raise NotLoaded(
            f"{file.name} ends the program when it is imported: put what runs under `if __name__ == "
            f'"__main__":`{place_of(error)}.'
        ) from error
    except Exception as error:
        raise NotLoaded(f"{file.name} cannot be imported: {describe(error)}{place_of(error)}.") from error
    return module


def _chosen(module: ModuleType, file: Path, class_name: str) -> type[Strategy]:
    """The one class that is meant, or the functions of the module as a class."""
    own = {name: item for name, item in vars(module).items() if getattr(item, "__module__", "") == module.__name__}
    classes = {name: item for name, item in own.items() if inspect.isclass(item) and _plays(item)}
    if class_name:
        if class_name not in classes:
            known = ", ".join(classes) or "none"
            raise NotLoaded(
                f"{file.name} has no class {class_name} with choose() or move(); its classes with them: {known}."
            )
        return _checked(classes[class_name], file)
    # A class that another one extends is a part of that one, not a strategy to choose.
    most_derived = {
        name: item
        for name, item in classes.items()
        if not any(other is not item and issubclass(other, item) for other in classes.values())
    }
    if len(most_derived) > 1:
        names, first = ", ".join(most_derived), next(iter(most_derived))
        raise NotLoaded(f"{file.name} has several classes that play: {names}. Say which: {file}:{first}")
    if most_derived:
        return _checked(next(iter(most_derived.values())), file)
    functions = {name: item for name, item in own.items() if name in METHODS and inspect.isfunction(item)}
    if not functions:
        raise NotLoaded(
            f"{file.name} has nothing that plays: write a class with a method choose(self, options, context), for"
            " Even/Odd, or move(self, options, state, context), for other games."
        )
    methods: dict[str, Any] = {name: staticmethod(item) for name, item in functions.items()}
    return _checked(type(file.stem, (object,), methods | {"__module__": module.__name__}), file)


def _plays(item: type) -> bool:
    """Whether a class chooses moves by a method that is not the one of :class:`Strategy`."""
    return any(
        callable(getattr(item, name, None)) and getattr(item, name) is not getattr(Strategy, name) for name in METHODS
    )


def _checked(item: type, file: Path) -> type[Strategy]:
    """A student's class as a subclass of :class:`Strategy`, which has every method that the class lacks.

    Raises:
        NotLoaded: a method takes other arguments.
    """
    made = (
        item if issubclass(item, Strategy) else type(item.__name__, (item, Strategy), {"__module__": item.__module__})
    )
    for name, arguments in METHODS.items():
        method = getattr(item, name, None)
        if not callable(method) or method is getattr(Strategy, name):
            continue
        is_static = isinstance(inspect.getattr_static(item, name), staticmethod)
        parameters = arguments if is_static else ("self", *arguments)
        try:
            inspect.signature(method).bind(*parameters)
        except TypeError:
            line = inspect.unwrap(method).__code__.co_firstlineno if hasattr(method, "__code__") else 0
            where = f", line {line}" if line else ""
            raise NotLoaded(f"{file.name}{where}: {name} must take ({', '.join(parameters)}).") from None
    return made
