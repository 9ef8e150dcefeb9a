"""What a server offers: tools, resources, prompts, each with the function that serves it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from league_sdk.mcp.kept import Encoded, KeptList

if TYPE_CHECKING:
    from league_sdk.mcp.context import Context

Content = dict[str, Any]
"""One item of ``content``: text, image, audio, or a resource."""
Contents = list[dict[str, Any]]
"""``contents`` of a resource that was read."""
Messages = list[dict[str, Any]]
"""``messages`` of a prompt."""
Completer = Callable[[str], Sequence[str]]
"""Returns the values that an argument may have, from its beginning as a user has typed it."""

MAX_URI_CHARS = 300
"""The limit for the address of a resource: sessions remember the addresses that they subscribe to."""
MAX_COMPLETIONS = 100
"""The most values of one answer (specification, "Completion")."""
_EMPTY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)


def text(value: str) -> Content:
    """An item of ``content`` that is text."""
    return {"type": "text", "text": value}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers.

    Attributes:
        content: for people and language models.
        structured: the same for programs, perhaps JSON already; None without.
        is_error: whether the tool could not do what was asked.
        extra_fields: more fields of the result, for clients that begin with ``initialize``
            (:mod:`league_sdk.mcp.handshake`), some of which look for them there; a value that is JSON already is
            :class:`~league_sdk.mcp.kept.Encoded`.
    """

    content: Sequence[Content]
    structured: Mapping[str, Any] | Encoded | None = None
    is_error: bool = False
    extra_fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that clients may call.

    Attributes:
        name: letters, digits, ``_``, ``.`` and ``-``.
        title: for people.
        description: for people and language models.
        call: the function; it may raise :class:`~league_sdk.mcp.errors.ToolError`.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of ``structuredContent``; None without.
        annotations: hints for clients, such as ``readOnlyHint``.
    """

    name: str
    title: str
    description: str
    call: Callable[[Context, dict[str, Any]], Awaitable[ToolResult]]
    input_schema: Mapping[str, Any] = field(default_factory=lambda: _EMPTY_OBJECT)
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The tool in ``tools/list``."""
        wire: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        if self.output_schema is not None:
            wire["outputSchema"] = self.output_schema
        return wire | ({"annotations": self.annotations} if self.annotations else {})


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that clients may read, at one address or at those of a template.

    Attributes:
        uri: the address; a template has names in braces, which match one step of the path each.
        name: short, for programs.
        title: for people.
        description: for people and language models.
        mime_type: of what is read.
        read: from the address, and the values of the names in it, to its contents; None if there is nothing there.
        complete: by the names of a template, what they could be.
        reports_changes: whether clients may subscribe to it.
    """

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[Context, str, dict[str, str]], Awaitable[Contents | None]]
    complete: Mapping[str, Completer] = field(default_factory=dict)
    reports_changes: bool = True

    @property
    def is_template(self) -> bool:
        """Whether the address has names in braces."""
        return "{" in self.uri

    def match(self, uri: str) -> dict[str, str] | None:
        """The values of the names in an address; None if it is another's."""
        if not self.is_template:
            return {} if uri == self.uri else None
        parts = re.split(r"\{(\w+)\}", self.uri)
        pattern = "".join(f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
        matched = re.fullmatch(pattern, uri)
        return {name: unquote(value) for name, value in matched.groupdict().items()} if matched else None

    def as_json(self) -> dict[str, Any]:
        """The resource in ``resources/list``, or the template in ``resources/templates/list``."""
        return {
            "uriTemplate" if self.is_template else "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
        }


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt; all are texts.

    Attributes:
        name: the name of the argument.
        description: for people.
        required: whether it must be given.
        complete: what it could be, from what was typed; None if that is not known.
    """

    name: str
    description: str
    required: bool = False
    complete: Completer | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages that a person may put before a language model.

    Attributes:
        name: the name of the prompt.
        title: for people.
        description: for people.
        get: from the arguments to the messages.
        arguments: what may be filled in.
    """

    name: str
    title: str
    description: str
    get: Callable[[Context, dict[str, str]], Awaitable[Messages]]
    arguments: Sequence[PromptArgument] = ()

    def as_json(self) -> dict[str, Any]:
        """The prompt in ``prompts/list``."""
        arguments = [
            {"name": argument.name, "description": argument.description, "required": argument.required}
            for argument in self.arguments
        ]
        return {"name": self.name, "title": self.title, "description": self.description, "arguments": arguments}


class Registry:
    """Everything that a server offers, in the order in which it was added.

    Args:
        name: the name of the server, for programs.
        title: for people.
        version: the version of the server.
        instructions: for language models: what this server is for, and with what to begin.
        changes: whether tools, prompts or resources come and go while it runs.
    """

    def __init__(self, *, name: str, title: str, version: str, instructions: str, changes: bool = False) -> None:
        self.server_info = {"name": name, "title": title, "version": version}
        self.instructions = instructions
        self.changes = changes
        self.tools: dict[str, Tool] = {}
        self.prompts: dict[str, Prompt] = {}
        self.resources: list[Resource] = []
        self._listed: tuple[tuple[Tool, ...], KeptList] = ((), KeptList(()))

    @property
    def tool_list(self) -> KeptList:
        """All tools as ``tools/list`` has them."""
        tools = tuple(self.tools.values())
        if self._listed[0] != tools:
            self._listed = tools, KeptList(tool.as_json() for tool in tools)
        return self._listed[1]

    def add(self, *offered: Tool | Prompt | Resource) -> None:
        """Offer these.

        Raises:
            ValueError: the name of a tool or prompt is not valid in MCP, or is taken.
        """
        for one in offered:
            if isinstance(one, Resource):
                self.resources.append(one)
                continue
            by_name: dict[str, Any] = self.tools if isinstance(one, Tool) else self.prompts
            if not _NAME.fullmatch(one.name) or one.name in by_name:
                raise ValueError(f"{one.name!r} is taken or not a valid name")
            by_name[one.name] = one

    def may_subscribe(self, uri: str) -> bool:
        """Whether clients may subscribe to this address."""
        return any(resource.reports_changes for resource, _ in self.resources_at(uri))

    def resources_at(self, uri: str) -> Iterator[tuple[Resource, dict[str, str]]]:
        """The resources whose address may be this one, with the values of the names in it; listed ones first."""
        if len(uri) > MAX_URI_CHARS:
            return
        for resource in sorted(self.resources, key=lambda one: one.is_template):
            values = resource.match(uri)
            if values is not None:
                yield resource, values
