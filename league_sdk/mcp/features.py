"""The methods that both eras have: lists, calls, reads, prompts, completion."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from league_sdk.mcp.context import Context
from league_sdk.mcp.errors import InvalidParams, ToolError
from league_sdk.mcp.kept import Encoded
from league_sdk.mcp.registry import MAX_COMPLETIONS, Completer, Registry, ToolResult, text
from league_sdk.mcp.versions import Era
from league_sdk.protocol import rpc

logger = logging.getLogger(__name__)

Params = Mapping[str, Any]
Feature = Callable[[Registry, Context, Params], Awaitable[dict[str, Any]]]


async def _list_tools(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    _first_page_only(params)
    return {"tools": registry.tool_list}


async def _call_tool(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    name = _text(params, "name")
    tool = registry.tools.get(name)
    if tool is None:
        raise InvalidParams(f"There is no tool {name[:64]!r}.", {"tools": list(registry.tools)})
    arguments = _object(params, "arguments")
    try:
        result = await tool.call(context, arguments)
    except ToolError as error:
        result = ToolResult([text(error.message)], error.structured, is_error=True, extra_fields=error.structured or {})
    content = list(result.content)
    structured = result.structured
    if structured is not None and not content:
        # Clients of older versions read the text.
        content = [text((structured.encoded if isinstance(structured, Encoded) else rpc.dumps(structured)).decode())]
    extra_fields = result.extra_fields if context.era is Era.HANDSHAKE else {}
    wire: dict[str, Any] = {**extra_fields, "content": content, "isError": result.is_error}
    return wire if structured is None else wire | {"structuredContent": structured}


async def _list_resources(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    _first_page_only(params)
    return {"resources": [one.as_json() for one in registry.resources if not one.is_template]}


async def _list_templates(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    _first_page_only(params)
    return {"resourceTemplates": [one.as_json() for one in registry.resources if one.is_template]}


async def _read_resource(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    return {"contents": await read(registry, context, _text(params, "uri"))}


async def read(registry: Registry, context: Context, uri: str) -> list[dict[str, Any]]:
    """Read a resource.

    Args:
        registry: where it is.
        context: for whom.
        uri: its address.

    Raises:
        InvalidParams: there is nothing at this address.
    """
    for resource, values in registry.resources_at(uri):
        contents = await resource.read(context, uri, values)
        if contents is not None:
            return contents
    raise InvalidParams("There is no such resource.", {"uri": uri[:300]})


async def _list_prompts(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    _first_page_only(params)
    return {"prompts": [prompt.as_json() for prompt in registry.prompts.values()]}


async def _get_prompt(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    name = _text(params, "name")
    prompt = registry.prompts.get(name)
    if prompt is None:
        raise InvalidParams(f"There is no prompt {name[:64]!r}.", {"prompts": list(registry.prompts)})
    arguments = _object(params, "arguments")
    for argument in prompt.arguments:
        if argument.required and argument.name not in arguments:
            raise InvalidParams(f"The argument {argument.name} is missing.")
    if not all(isinstance(value, str) for value in arguments.values()):
        raise InvalidParams("The arguments of a prompt are texts.")
    return {"description": prompt.description, "messages": await prompt.get(context, arguments)}


async def _complete(registry: Registry, context: Context, params: Params) -> dict[str, Any]:
    reference, argument = _object(params, "ref"), _object(params, "argument")
    typed, name = _text(argument, "value"), _text(argument, "name")
    completer: Completer | None = None
    if reference.get("type") == "ref/prompt":
        prompt = registry.prompts.get(_text(reference, "name"))
        if prompt is None:
            raise InvalidParams("There is no such prompt.")
        completer = next((one.complete for one in prompt.arguments if one.name == name), None)
    elif reference.get("type") == "ref/resource":
        uri = _text(reference, "uri")
        template = next((one for one in registry.resources if one.uri == uri), None)
        if template is None:
            raise InvalidParams("There is no such template.")
        completer = template.complete.get(name)
    else:
        raise InvalidParams("ref.type must be ref/prompt or ref/resource.")
    values = list(completer(typed)) if completer is not None else []
    return {
        "completion": {
            "values": values[:MAX_COMPLETIONS],
            "total": len(values),
            "hasMore": len(values) > MAX_COMPLETIONS,
        }
    }


FEATURES: dict[str, Feature] = {
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
    "resources/read": _read_resource,
    "prompts/list": _list_prompts,
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
}
"""The features by method."""


def offers(registry: Registry, method: str) -> bool:
    """Whether a server with this registry has a method of both eras."""
    kind = method.partition("/")[0]
    offered = {"tools": registry.tools, "resources": registry.resources, "prompts": registry.prompts}
    return method in FEATURES and bool(offered.get(kind, True))


def capabilities(registry: Registry, *, logging_lines: bool) -> dict[str, Any]:
    """What a server with this registry declares.

    Args:
        registry: what it offers.
        logging_lines: whether clients may ask for lines of log.
    """
    declared: dict[str, Any] = {"completions": {}}
    if registry.tools:
        declared["tools"] = {"listChanged": registry.changes}
    if registry.resources:
        declared["resources"] = {"subscribe": True, "listChanged": registry.changes}
    if registry.prompts:
        declared["prompts"] = {"listChanged": registry.changes}
    return declared | ({"logging": {}} if logging_lines else {})


def _first_page_only(params: Params) -> None:
    # Lists have one page, so no cursor was ever given.
    if params.get("cursor") is not None:
        raise InvalidParams("There is no such cursor.")


def _text(params: Params, field: str) -> str:
    value = params.get(field)
    if not isinstance(value, str):
        raise InvalidParams(f"{field} must be a string.")
    return value


def _object(params: Params, field: str) -> dict[str, Any]:
    value = params.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidParams(f"{field} must be an object.")
    return value
