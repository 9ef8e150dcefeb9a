"""Tools, resources and prompts that the official suite calls by name, on our core."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from league_sdk.mcp.asking import Question, elicitation
from league_sdk.mcp.context import Context
from league_sdk.mcp.errors import ToolError
from league_sdk.mcp.listening import Listeners
from league_sdk.mcp.registry import Content, Prompt, PromptArgument, Registry, Resource, Tool, ToolResult, text

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
STEP_S = 0.02
"""The pause between the steps of a slow tool."""

Work = Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]

_IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
_STATUS = ["active", "inactive", "pending"]
_OPTIONS = ["option1", "option2", "option3"]
_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _embedded(uri: str, value: str, mime_type: str = "text/plain") -> Content:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": value}}


def _constant(*content: Content) -> Work:
    async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content)

    return work


async def _logging(context: Context, arguments: dict[str, Any]) -> ToolResult:
    for sentence in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", sentence)
        await asyncio.sleep(STEP_S)
    return ToolResult([text("Logged three lines.")])


async def _progress(context: Context, arguments: dict[str, Any]) -> ToolResult:
    for done in (0, 50, 100):
        await context.progress(done, 100)
        await asyncio.sleep(STEP_S)
    return ToolResult([text("Done.")])


async def _error(context: Context, arguments: dict[str, Any]) -> ToolResult:
    raise ToolError("This tool intentionally returns an error for testing")


def _sample(prompt: str, max_tokens: int) -> Question:
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return Question("sampling/createMessage", {"messages": [message], "maxTokens": max_tokens})


async def _sampling(context: Context, arguments: dict[str, Any]) -> ToolResult:
    answers = await context.ask({"llm": _sample(str(arguments.get("prompt")), 100)})
    return ToolResult([text(f"LLM response: {answers['llm']['content'].get('text')}")])


async def _user(context: Context, arguments: dict[str, Any]) -> ToolResult:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answers = await context.ask({"user": elicitation(str(arguments.get("message")), fields, "username", "email")})
    return ToolResult([text(f"User response: {answers['user']}")])


def _form(**fields: Mapping[str, Any]) -> Work:
    async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
        answer = (await context.ask({"form": elicitation("Please fill in.", fields)}))["form"]
        return ToolResult([text(f"Elicitation completed: action={answer['action']}, content={answer.get('content')}")])

    return work


_DEFAULTS = _form(
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": _STATUS, "default": "active"},
    verified={"type": "boolean", "default": True},
)
_TITLED = [{"const": f"value{at}", "title": title} for at, title in enumerate(("First", "Second", "Third"), 1)]
_ENUMS = _form(
    untitledSingle={"type": "string", "enum": _OPTIONS},
    titledSingle={"type": "string", "oneOf": _TITLED},
    legacyEnum={"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
)

_NAME_FORM = elicitation("What is your name?", {"name": {"type": "string"}}, "name")
_CONFIRM = elicitation("Please confirm", {"ok": {"type": "boolean"}}, "ok")
_ROOTS = Question("roots/list", {})


def _tool_that_asks(heading: str, *rounds: Mapping[str, Question], bound: bool = True) -> Work:
    """A tool that asks one round of questions after the other, and then returns the client's answers."""

    async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
        answers: dict[str, Any] = {}
        for questions in rounds:
            answers |= await context.ask(questions, bound=bound)
        return ToolResult([text(f"{heading}: {answers}")])

    return work


async def _asks_what_the_client_can(context: Context, arguments: dict[str, Any]) -> ToolResult:
    """Asks those questions for which the client has the capability, and no others."""
    can = {"ask": _NAME_FORM, "sample": _sample("Say hello", 50)}
    questions = {name: one for name, one in can.items() if one.capability in context.capabilities}
    return ToolResult([text(f"Answers: {await context.ask(questions)}")])


_WORKS: dict[str, Work] = {
    "test_simple_text": _constant(text("This is a simple text response for testing.")),
    "test_image_content": _constant(_IMAGE),
    "test_audio_content": _constant({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": _constant(_embedded("test://embedded-resource", "This is an embedded resource content.")),
    "test_multiple_content_types": _constant(
        text("Multiple content types test:"),
        _IMAGE,
        _embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ),
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_error_handling": _error,
    "test_sampling": _sampling,
    "test_missing_capability": _sampling,
    "test_elicitation": _user,
    "test_streaming_elicitation": _tool_that_asks("Streamed", {"user_name": _NAME_FORM}),
    "test_elicitation_sep1034_defaults": _DEFAULTS,
    "test_elicitation_sep1330_enums": _ENUMS,
    "test_input_required_result_elicitation": _tool_that_asks("Hello", {"user_name": _NAME_FORM}, bound=False),
    "test_input_required_result_sampling": _tool_that_asks(
        "Said", {"capital_question": _sample("What is the capital of France?", 100)}
    ),
    "test_input_required_result_list_roots": _tool_that_asks("Roots", {"client_roots": _ROOTS}),
    "test_input_required_result_request_state": _tool_that_asks("state-ok", {"confirm": _CONFIRM}),
    "test_input_required_result_tampered_state": _tool_that_asks("state-ok", {"confirm": _CONFIRM}),
    "test_input_required_result_multiple_inputs": _tool_that_asks(
        "All", {"user_name": _NAME_FORM, "greeting": _sample("Generate a greeting", 50), "client_roots": _ROOTS}
    ),
    "test_input_required_result_multi_round": _tool_that_asks(
        "Rounds",
        {"step1": elicitation("Step 1: What is your name?", {"name": {"type": "string"}}, "name")},
        {"step2": elicitation("Step 2: What is your favorite color?", {"color": {"type": "string"}}, "color")},
    ),
    "test_input_required_result_capabilities": _asks_what_the_client_can,
    "json_schema_2020_12_tool": _constant(text("The schema is what is tested.")),
    "test_header_param": _constant(text("The header is what is tested.")),
}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "json_schema_2020_12_tool": _SCHEMA_2020_12,
    "test_header_param": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}


def _resource(uri: str, **content: str) -> Resource:
    async def read(context: Context, at: str, values: dict[str, str]) -> list[dict[str, Any]]:
        filled = {name: value.format(**values) for name, value in content.items()}
        return [{"uri": at, **filled}]

    return Resource(uri, uri.partition("://")[2], uri, "For the suite.", content.get("mimeType", "text/plain"), read)


async def _simple(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
    return [_user_message(text("This is a simple prompt for testing."))]


async def _with_arguments(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
    return [_user_message(text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"))]


async def _with_resource(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
    embedded = _embedded(arguments["resourceUri"], "Embedded resource content for testing.")
    return [_user_message(embedded), _user_message(text("Please process the embedded resource above."))]


async def _with_image(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
    return [_user_message(_IMAGE), _user_message(text("Please analyze the image above."))]


async def _prompt_that_asks(context: Context, arguments: dict[str, str]) -> list[dict[str, Any]]:
    question = elicitation("What context should the prompt use?", {"context": {"type": "string"}}, "context")
    answer = await context.ask({"user_context": question})
    return [_user_message(text(f"Use this context: {answer['user_context'].get('content')}"))]


def _user_message(content: Content) -> dict[str, Any]:
    return {"role": "user", "content": content}


def fixture_registry() -> Registry:
    """Everything that the suite calls by name."""
    registry = Registry(
        name="fixtures", title="Fixtures", version="1.0", instructions="For the conformance suite.", changes=True
    )
    empty: dict[str, Any] = {"type": "object", "properties": {}}
    for name, work in _WORKS.items():
        registry.add(Tool(name, name, "For the suite.", work, _SCHEMAS.get(name, empty)))
    registry.add(
        _resource("test://static-text", mimeType="text/plain", text="This is the content of the static text resource."),
        _resource("test://static-binary", mimeType="image/png", blob=PNG),
        _resource("test://watched-resource", mimeType="text/plain", text="Watched."),
        _resource(
            "test://template/{id}/data",
            mimeType="application/json",
            text='{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}',
        ),
        Prompt("test_simple_prompt", "Simple", "For the suite.", _simple),
        Prompt(
            "test_prompt_with_arguments",
            "Arguments",
            "For the suite.",
            _with_arguments,
            [PromptArgument(name, "A text.", required=True) for name in ("arg1", "arg2")],
        ),
        Prompt(
            "test_prompt_with_embedded_resource",
            "Resource",
            "For the suite.",
            _with_resource,
            [PromptArgument("resourceUri", "An address.", required=True)],
        ),
        Prompt("test_prompt_with_image", "Image", "For the suite.", _with_image),
        Prompt("test_input_required_result_prompt", "Asking", "For the suite.", _prompt_that_asks),
    )
    return registry


def add_triggers(registry: Registry, listeners: Listeners) -> None:
    """Add the tools that make the server announce a changed list of tools or prompts."""

    def trigger(kind: Any) -> Work:
        async def work(context: Context, arguments: dict[str, Any]) -> ToolResult:
            listeners.list_changed(kind)
            return ToolResult([text("Told.")])

        return work

    for name, kind in (("test_trigger_tool_change", "tools"), ("test_trigger_prompt_change", "prompts")):
        registry.add(Tool(name, name, "For the suite.", trigger(kind)))
