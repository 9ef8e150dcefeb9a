"""Asks a language model one question, at any address that speaks OpenAI's chat completions (004 3.6.3).

Many programs do, also on a machine of one's own: Ollama, llama.cpp, vLLM, LM Studio. What is set up is read from the
environment; the key goes to the address that was set up and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from league_sdk.protocol import SDK_VERSION, rpc
from league_sdk.protocol.errors import NotJson
from league_sdk.strategies.base import NotSetUp

URL_VARIABLE, NAME_VARIABLE = "LEAGUE_MODEL_URL", "LEAGUE_MODEL_NAME"
KEY_VARIABLE, BUDGET_VARIABLE = "LEAGUE_MODEL_KEY", "LEAGUE_MODEL_BUDGET_S"
BUDGET_S = 10.0
"""Seconds for an answer, unless set up otherwise: a third of the 30 s that a league gives for a move."""
MAX_BYTES = 1024 * 1024
"""The longest answer that is read: enough for thousands of words of reasoning, each in an event of its own."""
MAX_SHOWN_CHARS = 2000
PATH = "/chat/completions"
_DONE = re.compile(rb"(?:^|\n)data: ?\[DONE\]\r?\n")
_DONE_BYTES = 20


class NoAnswer(Exception):
    """The model gave no usable answer; the text says why, and is always the same for the same cause.

    Attributes:
        detail: what the server said about it, if anything, as it may be shown.
    """

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Settings:
    """Which model is asked.

    Attributes:
        url: the base address, such as ``http://127.0.0.1:11434/v1``.
        name: the model's name, as the server knows it.
        key: sent as ``Authorization: Bearer``; empty for servers that want none.
        budget_s: seconds for a move.
    """

    url: str
    name: str
    key: str = field(default="", repr=False)
    budget_s: float = BUDGET_S

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings.

        Raises:
            NotSetUp: something is missing or cannot be right; the text never contains the key.
        """
        url, name = environment.get(URL_VARIABLE, "").strip(), environment.get(NAME_VARIABLE, "").strip()
        key, budget = environment.get(KEY_VARIABLE, "").strip(), environment.get(BUDGET_VARIABLE, "").strip()
        if not url:
            raise NotSetUp(f"{URL_VARIABLE} is missing: the model's address, such as http://127.0.0.1:11434/v1")
        if not name:
            raise NotSetUp(f"{NAME_VARIABLE} is missing: the model's name, as its server knows it, such as llama3.2")
        if not name.isprintable() or len(name) > 200:
            raise NotSetUp(f"{NAME_VARIABLE} is not the name of a model: up to 200 printable characters")
        # A header with anything else could not be sent, and the error would show the key.
        if not re.fullmatch(r"[!-~]*", key):
            raise NotSetUp(f"{KEY_VARIABLE} has a space, a line break or a letter in it that no key has")
        return cls(_base_address(url), name, key, _seconds(budget))


def _base_address(value: str) -> str:
    try:
        url = httpx.URL(value)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.userinfo or "?" in value or "#" in value:
        # Not shown: it may be a secret.
        raise NotSetUp(f"{URL_VARIABLE} must have no password, ? or # in it: a key belongs in {KEY_VARIABLE}")
    port = 80 if url.port is None else url.port
    if url.scheme not in ("http", "https") or not url.host or not 0 < port < 65536:
        raise NotSetUp(f"{URL_VARIABLE} is not an address such as http://127.0.0.1:11434/v1")
    return value.rstrip("/").removesuffix(PATH)


def _seconds(value: str) -> float:
    try:
        seconds = float(value or BUDGET_S)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 600:
        raise NotSetUp(f"{BUDGET_VARIABLE} is not a number of seconds above 0 and up to 600")
    return seconds


class Chat:
    """Asks the model.

    Args:
        settings: the model's address, name and key.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # At DEBUG httpcore would log the headers of replies, in which a server may repeat the key.
        logging.getLogger("httpcore").setLevel(logging.WARNING)
        # The system's certificates, among which a school may have its own; reading them takes too long for every move.
        self._certificates = ssl.create_default_context()
        self._headers = {
            "User-Agent": f"player/{SDK_VERSION}",
            "Accept": "application/json, text/event-stream",
            # The limit is for the bytes that arrive: a small compressed answer could unpack to gigabytes.
            "Accept-Encoding": "identity",
        }
        if settings.key:
            self._headers["Authorization"] = f"Bearer {settings.key}"

    async def ask(self, prompt: str, limit_s: float) -> str:
        """The model's answer to a question.

        Args:
            limit_s: seconds for all of it: connecting, asking, waiting and reading.

        Raises:
            NoAnswer: it is of no use; the text says why.
        """
        message = {"role": "user", "content": prompt}
        question = {"model": self.settings.name, "messages": [message], "stream": False}
        try:
            # httpx's own limit is for each step of a request, this one for all of them.
            async with asyncio.timeout(limit_s):
                status, raw = await self._post(question)
        except TimeoutError:
            raise NoAnswer("it did not answer in time") from None
        except (httpx.HTTPError, OSError) as error:
            raise NoAnswer(f"it cannot be reached ({type(error).__name__})", self.showable(str(error))) from None
        if 300 <= status < 400:
            raise NoAnswer(
                f"HTTP {status}: it has moved, and the key is sent to no other address; set {URL_VARIABLE} to it"
            )
        if status != 200:
            raise NoAnswer(f"it refused (HTTP {status})", self.showable(_error_in(raw)))
        try:
            return text_of(raw)
        except (NotJson, ValueError):
            raise NoAnswer("its answer is not a chat completion", self.showable(_error_in(raw))) from None

    async def _post(self, question: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body of the reply; a body that streams is read until it says that it is done."""
        raw = bytearray()
        # It uses no proxy or password of the environment, and follows no redirect: both could send the key elsewhere.
        client = httpx.AsyncClient(headers=self._headers, verify=self._certificates, trust_env=False, timeout=None)  # noqa: S113
        async with client, client.stream("POST", self.settings.url + PATH, json=question) as reply:
            async for part in reply.aiter_raw():
                raw += part
                if len(raw) > MAX_BYTES:
                    raise NoAnswer(f"its answer is longer than {MAX_BYTES} bytes")
                if _DONE.search(raw, max(0, len(raw) - len(part) - _DONE_BYTES)):
                    break
        return reply.status_code, bytes(raw)

    def showable(self, text: str) -> str:
        """A text of the server as one line for the log: shortened, without the key and without control characters."""
        if self.settings.key:
            text = text.replace(self.settings.key, "[key]")
        line = "".join(letter if letter.isprintable() else " " for letter in text[: MAX_SHOWN_CHARS + 1])
        return line if len(line) <= MAX_SHOWN_CHARS else line[:MAX_SHOWN_CHARS] + "…"


def text_of(raw: bytes) -> str:
    """The model's text in the body of a reply: one JSON object, or the events of a stream.

    Raises:
        NotJson, ValueError: it is neither.
    """
    if raw.lstrip().startswith(b"{"):
        candidates = [_text_in(rpc.loads(raw))]
    else:
        events = [line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:")]
        candidates = [_text_in(rpc.loads(event)) for event in events if event not in (b"", b"[DONE]")]
    texts = [text for text in candidates if text is not None]
    if not texts:
        raise ValueError("nothing was said")
    return "".join(texts)


def _text_in(completion: Any) -> str | None:
    """The text of a completion, or of one event of a stream; None without any."""
    choices = completion.get("choices") if isinstance(completion, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = (first.get("message") or first.get("delta")) if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else None


def _error_in(raw: bytes) -> str:
    """A server's error message: {"error": {"message": …}}; empty if there is none."""
    try:
        body = rpc.loads(raw)
    except NotJson:
        return ""
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else ""
