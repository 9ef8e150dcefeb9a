"""What MCP demands of the form of a server's answers: the first difference, in words. No I/O.

Clients of MCP read answers strictly: one tool without ``inputSchema`` makes most of them refuse the whole list. What
the specification leaves open is not a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from league_sdk.conformance.exchange import CALL_TOOL
from league_sdk.dialects.arguments import read_schema
from league_sdk.dialects.discovery import DISCOVER
from league_sdk.dialects.mirrored import is_sound
from league_sdk.dialects.tools import LIST_TOOLS
from league_sdk.protocol.errors import seen_text
from league_sdk.protocol.sentences import Sentence, _, expectation, say

INITIALIZE = "initialize"
_MISSING = object()


class _Wanted(NamedTuple):
    """A field that MCP demands.

    Attributes:
        path: its name, and before it those of the objects around it.
        fits: whether a value will do.
        expected: the values that will do, in words.
    """

    path: tuple[str, ...]
    fits: Callable[[Any], bool]
    expected: str


def _text(*path: str) -> _Wanted:
    return _Wanted(path, lambda value: isinstance(value, str), _("a string"))


def _object(*path: str) -> _Wanted:
    return _Wanted(path, lambda value: isinstance(value, Mapping), _("an object"))


def _list(*path: str) -> _Wanted:
    return _Wanted(path, lambda value: isinstance(value, list), _("a list"))


def _number(*path: str) -> _Wanted:
    return _Wanted(path, lambda value: isinstance(value, int | float) and not isinstance(value, bool), _("a number"))


_STATELESS = (_text("resultType"),)
_CACHED = (*_STATELESS, _number("ttlMs"), _text("cacheScope"))
_GREETINGS = {
    DISCOVER: (_list("supportedVersions"), _object("capabilities"), _object("capabilities", "tools"), *_CACHED),
    INITIALIZE: (
        _text("protocolVersion"),
        _object("capabilities"),
        _object("capabilities", "tools"),
        _object("serverInfo"),
        _text("serverInfo", "name"),
        _text("serverInfo", "version"),
    ),
}
_TOOL = (
    _text("name"),
    _object("inputSchema"),
    _Wanted(("inputSchema", "type"), lambda value: value == "object", "object"),
)


def wrong_greeting(method: str, result: Mapping[str, Any]) -> Sentence | None:
    """What is not as MCP has it in the result of ``server/discover`` or ``initialize``; None if nothing is."""
    return _first(_differences(method, result, _GREETINGS[method]))


def wrong_list(result: Mapping[str, Any], *, stateless: bool) -> Sentence | None:
    """What is not as MCP has it in the result of ``tools/list``; None if nothing is."""
    return _first(_of_list(result, stateless))


def wrong_result(result: Any, tool: Mapping[str, Any], *, stateless: bool) -> Sentence | None:
    """What is not as MCP has it in the result of ``tools/call``; None if nothing is.

    Args:
        tool: as its server lists it; empty if it is not known.
    """
    return _first(_of_result(result, tool, stateless))


def _first(differences: Iterator[Sentence]) -> Sentence | None:
    return next(differences, None)


def _of_list(result: Mapping[str, Any], stateless: bool) -> Iterator[Sentence]:
    yield from _differences(LIST_TOOLS, result, (_list("tools"), *(_CACHED if stateless else ())))
    tools = result.get("tools")
    for number, tool in enumerate(tools if isinstance(tools, list) else ()):
        at = ("tools", str(number))
        if not isinstance(tool, Mapping):
            yield _difference(LIST_TOOLS, at, tool, _("an object"))
            continue
        yield from _differences(LIST_TOOLS, tool, _TOOL, at)
        if not is_sound(read_schema(tool.get("inputSchema")) or ()):
            why = _("{field} in {kind} has an x-mcp-header that MCP does not allow: its clients do not call this tool")
            yield say(why, field=".".join((*at, "inputSchema")), kind=LIST_TOOLS)


def _of_result(result: Any, tool: Mapping[str, Any], stateless: bool) -> Iterator[Sentence]:
    if not isinstance(result, Mapping):
        yield _difference(CALL_TOOL, ("result",), result, _("an object"))
        return
    yield from _differences(CALL_TOOL, result, (_list("content"), *(_STATELESS if stateless else ())))
    content = result.get("content")
    for number, block in enumerate(content if isinstance(content, list) else ()):
        at = ("content", str(number))
        if not isinstance(block, Mapping):
            yield _difference(CALL_TOOL, at, block, _("an object"))
            continue
        fields = (_text("type"), *((_text("text"),) if block.get("type") == "text" else ()))
        yield from _differences(CALL_TOOL, block, fields, at)
    if not isinstance(result.get("isError", False), bool):
        yield _difference(CALL_TOOL, ("isError",), result["isError"], "true or false")
    if isinstance(tool.get("outputSchema"), Mapping) and result.get("isError") is not True:
        yield from _differences(CALL_TOOL, result, (_object("structuredContent"),))


def _differences(
    method: str, holder: Mapping[str, Any], fields: tuple[_Wanted, ...], at: tuple[str, ...] = ()
) -> Iterator[Sentence]:
    for wanted in fields:
        value: Any = holder
        for name in wanted.path:
            value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
        if value is _MISSING or not wanted.fits(value):
            yield _difference(method, (*at, *wanted.path), value, wanted.expected)


def _difference(method: str, path: tuple[str, ...], value: Any, expected: str) -> Sentence:
    missing = _("{field} in {kind} was missing, expected {expected}")
    wrong = _("{field} in {kind} was {seen}, expected {expected}")
    facts: dict[str, Any] = {"field": ".".join(path), "kind": method, "expected": expectation(expected)}
    return say(missing, **facts) if value is _MISSING else say(wrong, seen=seen_text(value), **facts)
