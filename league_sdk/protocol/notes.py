"""What is said of an answer: codes with arguments, put into words when they are shown (our choice).

Every sentence stands once, in :class:`Code`, with the arguments that quote whoever answered: who may read these follows
from that alone. The sentences are English; the site translates them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, unique
from functools import cache, lru_cache
from typing import Any

WHOLE = "*"
"""Among what a sentence quotes: all of it tells what kind of program answered."""
FREE = "sentence"
"""An argument of this name is a sentence of a game or a referee; any other that does not quote is one word."""
_NAME = re.compile(r"%\((\w+)\)s")
_PART = re.compile(r"\[([^|\]]*)(?:\|([^\]]*))?\]")
_WORD = r"[\w./:-]{1,40}"


def _(sentence: str) -> str:
    """Mark a sentence for the translators."""
    return sentence


@unique
class Code(Enum):
    """What can be said of an answer, each in a sentence with the names of the arguments that quote the answer.

    What stands in brackets is said if its arguments are there, and what follows a bar there if they are not.
    """

    # How a reply was put together.
    LIST = _("a list around the reply")
    NO_OBJECT = _("the reply is not a JSON object")
    BARE_VALUE = _("a bare value in place of a message")
    ID = _("id was %(seen)s, expected %(expected)s"), "seen"
    ERROR_BESIDE_RESULT = _("error beside a result")
    REQUEST_FOR_REPLY = _("a request in place of a reply")
    NO_RPC = _("no JSON-RPC around the reply")
    BESIDE_RESULT = _("the message stood beside result, not in it")
    IN_TOOL_RESULT = _("the message was inside a tool result")
    NESTED = _("the message was nested")
    # What stood in its fields.
    MISSING = _("%(field)s was missing[, expected %(expected)s]")
    DIFFERS = _("%(field)s was %(seen)s, expected %(expected)s"), "seen"
    ELSEWHERE = _("%(field)s was missing, read from another field")
    NOT_UTC = _("%(field)s not UTC")
    TEXT_FOR_NUMBER = _("the move was text, read as a number")
    FOREIGN_TOKEN = _("auth_token was not its own"), WHOLE
    # How it travelled.
    OLD_HTTP = _("the answer came by an old HTTP, which takes a new connection for each call"), WHOLE
    PACKED = _("the answer says that it is packed, which was not asked for"), WHOLE
    ENCODING = _("the answer is %(seen)s text, expected utf-8"), "seen"
    CHARSET = _("the answer says that it is %(seen)s text, and was taken for utf-8"), "seen"
    LARGE = _("the answer has %(size)s bytes"), "size"
    MORE_BEHIND = _("something came behind the answer: it was not read"), WHOLE
    # The search for the agent's way of speaking.
    ASKED_AS = _("asked as %(shape)s: [%(method)s|no method]")
    ASKED_TOOL = _("asked as %(shape)s: %(tool)s"), "tool"
    FOUND_AT = _("found at %(path)s"), "path"
    NOT_UNDERSTOOD = _("%(request)s was not understood[ (error %(error)s)][ (HTTP %(status)s)]"), "request"
    NO_ANSWER_TO = _("%(request)s brought no answer[ (error %(error)s)][ (HTTP %(status)s)]"), "request"
    TOO_MANY = _("%(request)s was one request too many[ (error %(error)s)][ (HTTP %(status)s)]"), "request"
    BROKE = _("%(request)s broke the connection"), "request"
    # Answers by a POST of the player's own.
    POSTED = _("answered by a POST of its own")
    SECOND = _("a second answer: the first stands")
    JOINED_AGAIN = _("joined by a POST of its own as well")
    AFTER_VERDICT = _("came after the verdict: it changes nothing")
    # Why there was no answer, or none of use.
    BAD_ADDRESS = _("the address cannot be read")
    NAME_NOT_CALLED = _("the name of the address leads to one that is not called")
    NO_TLS = _("no secure connection (%(kind)s)")
    CLOSED = _("the connection was closed without an answer")
    BROKEN_OFF = _("the connection broke off (%(kind)s)")
    NO_LOOKUPS = _("this machine cannot look names up")
    SILENT_NAME_SERVER = _("the name server of the address gave no answer")
    UNKNOWN_NAME = _("the name of the address is not known")
    NOBODY_LISTENS = _("nobody listens at its address")
    WHOLE_NETWORK = _("its address is that of a whole network, not of one machine")
    NOT_IN_TIME = _("no answer in time")
    ERROR_IN_REPLY = _("it answered with [the error %(said)s|an error]"), "said"
    ANSWERED_ERROR = _("the player answered with an error")
    NO_ANSWER_IN_REPLY = _("its reply [%(seen)s ]holds no answer, and none followed"), "seen"
    REFUSED_INVITATION = _("it refused the invitation")
    NOT_WANTED = _("%(sentence)s[ (seen: %(seen)s)]"), "seen"
    LACKS = _("%(sentence)s[ (it has %(names)s)]"), "names"
    REFUSED = _("%(sentence)s was refused[: %(said)s]"), "said"
    # Of the transcript itself.
    WIRE_LEFT_OUT = _("its requests were left out: it is too long")

    def __init__(self, sentence: str, *quotes: str) -> None:
        self.sentence = sentence
        self.quotes = frozenset(quotes)

    @property
    def names(self) -> frozenset[str]:
        """Of all its arguments."""
        return frozenset(_NAME.findall(self.sentence))


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is said of an answer.

    Attributes:
        code: what.
        args: words, numbers, and quotations of the answer.
    """

    code: Code
    args: Mapping[str, str | int]

    def __str__(self) -> str:
        """The English sentence, without a full stop."""
        return self.sentence(str)

    def sentence(self, translate: Callable[[str], str]) -> str:
        """The sentence in another language, without a full stop.

        Args:
            translate: a sentence of :class:`Code` to the one that takes its place.
        """
        return _chosen(translate(self.code.sentence), self.args) % self.args

    def to_json(self) -> dict[str, Any]:
        """As a transcript keeps it and :func:`read` takes it."""
        return {"code": self.code.name, "args": dict(self.args)}

    @property
    def public(self) -> Note | None:
        """Without what it quotes, for everybody; None when nothing can be said then."""
        left = Note(self.code, {name: value for name, value in self.args.items() if name not in self.code.quotes})
        return left if WHOLE not in self.code.quotes and left.is_whole else None

    @property
    def is_whole(self) -> bool:
        """Whether every argument is there that its sentence needs."""
        return set(_NAME.findall(_chosen(self.code.sentence, self.args))) <= set(self.args)


def note(code: Code, /, **args: str | int) -> Note:
    """Say something of an answer.

    Args:
        code: what.
        args: the arguments of its sentence.
    """
    return Note(code, args)


def _chosen(sentence: str, args: Mapping[str, object]) -> str:
    """A sentence with, of each pair of brackets, what can be said."""
    return _PART.sub(lambda part: part[1] if set(_NAME.findall(part[1])) <= set(args) else part[2] or "", sentence)


def read(value: object) -> Note | str:
    """Read what a transcript or a report says of an answer.

    Args:
        value: the JSON of a note, or a text. A sentence of ours, as earlier versions wrote them, is its note again;
            that of a referee of another kind stays a text, for the owner of the agent and the staff.
    """
    if isinstance(value, str):
        return _of_sentence(value)
    if isinstance(value, Mapping) and isinstance(given := value.get("args"), Mapping):
        code = Code.__members__.get(str(value.get("code")))
        if code is not None:
            found = Note(code, {name: given[name] for name in sorted(code.names) if _fits(code, name, given.get(name))})
            if found.is_whole:
                return found
    return str(value)


def _fits(code: Code, name: str, value: object) -> bool:
    if isinstance(value, str):
        return name in code.quotes or name == FREE or re.fullmatch(_WORD, value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


@lru_cache(maxsize=1000)
def _of_sentence(text: str) -> Note | str:
    for code in Code:
        found = _pattern(code).fullmatch(text)
        if found is not None:
            return Note(code, {name: value for name, value in found.groupdict().items() if value is not None})
    return text


@cache
def _pattern(code: Code) -> re.Pattern[str]:
    """How earlier versions wrote a sentence: with what it quotes, and cut when it was long."""

    def part(found: re.Match[str]) -> str:
        said, instead = found.groups()
        quotes = not code.quotes.isdisjoint(_NAME.findall(said))
        said += "?" if quotes and said.endswith(")") else ""
        return f"(?:{said}|{instead})" if instead else f"(?:{said}){'' if quotes else '?'}"

    def argument(found: re.Match[str]) -> str:
        any_words = found[1] in code.quotes or found[1] == FREE
        return f"(?P<{found[1]}>{'.+?' if any_words else _WORD})"

    literal = re.sub(r"(?<!%)\(|\)(?!s)", r"\\\g<0>", code.sentence)
    return re.compile(_NAME.sub(argument, _PART.sub(part, literal)), re.DOTALL)


def public(value: object) -> str | dict[str, Any]:
    """What everybody may read of what was said: a text as it is, a note without what it quotes, or nothing.

    Args:
        value: the JSON of a note, or a text.
    """
    found = read(value)
    if isinstance(found, str):
        return found
    shown = found.public
    return shown.to_json() if shown is not None else ""


def in_words(value: object, translate: Callable[[str], str] = str) -> str:
    """What was said in a sentence.

    Args:
        value: the JSON of a note, or a text, which stays as it is.
        translate: a sentence of :class:`Code` to the one that takes its place.
    """
    found = read(value or "")
    return found if isinstance(found, str) else found.sentence(translate)


def told(entry: Mapping[str, Any], translate: Callable[[str], str] = str) -> dict[str, Any]:
    """An entry of a transcript with its problem and its notes in sentences.

    Args:
        entry: as it is kept; a referee of another kind may have left either out.
        translate: a sentence of :class:`Code` to the one that takes its place.
    """
    said = {"problem": in_words(entry["problem"], translate)} if "problem" in entry else {}
    given = entry.get("notes")
    notes = {"notes": [in_words(one, translate) for one in given]} if isinstance(given, list) else {}
    return {**entry, **said, **notes}
