"""Notes on answers, failures and expected values: codes with arguments, shown as sentences (our choice).

:class:`Code` has every sentence with the names of the arguments that quote the agent; the public never sees those. The
sentences are English; the site translates them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, unique
from functools import cache, lru_cache
from typing import Any

WHOLE_SENTENCE = "*"
"""Used instead of an argument's name if the whole sentence describes the agent's program; the public never sees it."""
FREE = "sentence"
"""An argument of this name is a sentence of a game or a referee; other arguments that quote nothing are one word."""
MAX_DEPTH = 3
"""How deeply nested sentences are read: a student's referee may put as many into one another as it likes."""
_NAME = re.compile(r"%\((\w+)\)s")
_PART = re.compile(r"\[([^|\]]*)(?:\|([^\]]*))?\]")
_WORD = r"[\w./:-]{1,40}"
_SHORT_NAMES = frozenset(("field", "league", "name"))
_SHORT_QUOTATION = ".{1,200}?"
"""Matches an argument in ``_SHORT_NAMES``. If two arguments could be long, a hostile text would take long to match."""


def _(sentence: str) -> str:
    """Mark a sentence for the translators."""
    return sentence


@unique
class Code(Enum):
    """Every kind of note: its sentence, and the names of the arguments that quote the answer.

    A part in brackets is used if its arguments are given; a bar in it is followed by the text to use otherwise.
    """

    # The structure of a reply.
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
    # The fields of a message.
    MISSING = _("%(field)s was missing[, expected %(expected)s]")
    NOT_TEXT = _("%(field)s was not a text[, expected %(expected)s]")
    DIFFERS = _("%(field)s was %(seen)s, expected %(expected)s"), "seen"
    ELSEWHERE = _("%(field)s was missing, read from another field")
    NOT_UTC = _("%(field)s not UTC")
    TEXT_FOR_NUMBER = _("the move was text, read as a number")
    FOREIGN_TOKEN = _("auth_token was not its own"), WHOLE_SENTENCE
    # The HTTP response.
    OLD_HTTP = _("the answer came by an old HTTP, which takes a new connection for each call"), WHOLE_SENTENCE
    PACKED = _("the answer says that it is packed, which was not asked for"), WHOLE_SENTENCE
    ENCODING = _("the answer is %(seen)s text, expected utf-8"), "seen"
    CHARSET = _("the answer says that it is %(seen)s text, and was taken for utf-8"), "seen"
    LARGE = _("the answer has %(size)s bytes"), "size"
    MORE_BEHIND = _("something came behind the answer: it was not read"), WHOLE_SENTENCE
    # The hunt for the agent's dialect.
    ASKED_AS = _("asked as %(shape)s: [%(method)s|no method]")
    ASKED_TOOL = _("asked as %(shape)s: %(tool)s"), "tool"
    NOT_FILLED = _("the argument %(name)s of %(tool)s is none of our fields and was sent empty"), "name", "tool"
    FOUND_AT = _("found at %(path)s"), "path"
    NOT_UNDERSTOOD = _("%(request)s was not understood[ (error %(error)s)][ (HTTP %(status)s)]"), "request"
    NO_ANSWER_TO = _("%(request)s brought no answer[ (error %(error)s)][ (HTTP %(status)s)]"), "request"
    TOO_MANY = _("%(request)s was one request too many[ (error %(error)s)][ (HTTP %(status)s)]"), "request"
    BROKE = _("%(request)s broke the connection"), "request"
    REFUSED_AT_LENGTH = _("its refusals were so long that no other way of asking was tried")
    # Answers that a player posts to the referee.
    POSTED = _("answered by a POST of its own")
    SECOND = _("a second answer: the first stands")
    JOINED_AGAIN = _("joined by a POST of its own as well")
    SAID_READY = _("it knows no invitation, but has said that it is ready")
    AFTER_VERDICT = _("came after the verdict: it changes nothing")
    # Reasons for a missing or useless answer.
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
    NO_ROUTE = _("no way through the network to its address, as on guest Wi-Fi")
    NO_CONNECTION_IN_TIME = _("no connection in time, as behind a router or a firewall")
    WEB_PAGE = _("a web page is at its address (HTTP %(status)s)")
    NO_AGENT = _("a program that does not speak JSON (HTTP %(status)s)")
    OTHER_JSON = _("JSON that is no JSON-RPC reply (HTTP %(status)s)")
    ERROR_IN_REPLY = _("it answered with [the error %(said)s|an error]"), "said"
    ANSWERED_ERROR = _("the player answered with an error")
    NO_ANSWER_IN_REPLY = _("its reply [%(seen)s ]holds no answer, and none followed"), "seen"
    REFUSED_INVITATION = _("it refused the invitation")
    NOT_WANTED = _("%(sentence)s[ (seen: %(seen)s)]"), "seen"
    LACKS = _("%(sentence)s[ (it has %(names)s)]"), "names"
    REFUSED = _("%(sentence)s was refused[: %(said)s]"), "said"
    # Why an attempt or a trial ended without a result.
    REFEREE_LEAVING = _("the referee is leaving")
    NOT_REACHED = _("%(player)s could not be reached: a referee in another place plays the match")
    REFEREE_RESTARTED = _("the referee started again")
    SITE_RESTARTED = _("the site started again")
    NO_SIGN_OF_LIFE = _("no sign of life from the referee")
    NO_RESULT_IN_TIME = _("no result or no sign of life from the referee in time")
    NOT_DIALLED_IN = _("was not connected: it had no poll and no socket open in time")
    TAKEN_UNANSWERED = _("took the message and did not answer in time")
    NO_REFEREE_REPLY = _("no answer of a referee: HTTP %(status)s")
    NO_WAY_TO_START = _("it does not know how to start a match: tried %(sentence)s")
    VERDICT_NOT_TAKEN = _("the league manager did not take the verdict")
    RESULT_NOT_TAKEN = _("the league manager did not take the result: %(sentence)s")
    BROKEN_OFF_BY_US = _("broken off")
    TRIAL_FAILED = _("the trial itself failed; the site's log says why")
    ANSWER_NOT_READ = _("the site failed to read the answer; its log says why")
    REFEREE_ERROR = _("an error in the referee's own code (%(kind)s)")
    # What of the site's own was away while an agent was called, so that nobody knows whether the agent is there.
    REDIS_AWAY = _("Redis, which carries messages between the processes of this site, did not answer")
    DATABASE_AWAY = _("the database of this site did not answer")
    PROCESS_STALLED = _("a process of this site stood still: %(process)s")
    PROCESS_NEW = _("a process of this site had just started and did not know the others yet: %(process)s")
    # An address that was read in another way than it was written.
    HTTP_ADDED = _("address had no http://, http is used")
    CALLED_ELSEWHERE = _("address was %(host)s, called at %(caller)s"), "host", "caller"
    PATH_ADDED = _("address had no path, called at %(path)s")
    # What was odd about a registration; a field is named as the agent spells it.
    ASSUMED = _("%(field)s was missing, %(used)s is assumed"), "field"
    EVERY_GAME = _("%(field)s was missing, every game is assumed"), "field"
    GAMES_NO_LIST = _("%(field)s was not a list, every game is assumed"), "field"
    NO_GAME_NAMED = _("%(field)s named no game, every game is assumed"), "field"
    TEXT_FOR_LIST = _("%(field)s was a text, expected a list"), "field"
    NO_STRING = _("%(field)s was not a string"), "field"
    NO_SENDER = _("sender was %(seen)s, expected %(kind)s:<name>"), "seen"
    TIMESTAMP_NO_TEXT = _("timestamp was not a text, expected YYYY-MM-DDTHH:MM:SSZ, in UTC")
    NO_TIMESTAMP = _("timestamp was %(seen)s, expected YYYY-MM-DDTHH:MM:SSZ, in UTC"), "seen"
    NAMED_BY_SENDER = _("display_name was missing, the sender's name is used")
    NAMED_BY = _("display_name was missing, %(field)s is used"), "field"
    OTHER_ADDRESS = _("%(field)s could not be read, %(used)s is used"), "field", "used"
    ADDRESS_IN_PARTS = _("the address was given in parts, %(address)s is used"), "address"
    FOUND_ELSEWHERE = _("address was %(address)s, found at %(found)s"), "address", "found"
    MOVED = _("moved here from %(address)s"), "address"
    NAME_KEPT = _("asked for the name %(seen)s, but its auth_token is that of this player"), "seen"
    NO_ID = _("%(field)s was %(seen)s, which cannot be an id here"), "field", "seen"
    ID_TAKEN = _("asked for %(wanted)s, which is taken; is %(id)s")
    ID_KEPT = _("asked for %(wanted)s, but was known before; is %(id)s")
    STAYED_AS_TAKEN = _("stayed in the lobby: %(league)s has an agent of this id or name already"), "league"
    STAYED_AS_REPLACED = _("stayed in the lobby: %(name)s has registered at its address since"), "name"
    STAYED_AT_ANOTHERS = _("stayed in the lobby: its address is that of %(name)s"), "name"
    STAYED_AS_LIKE = (
        _("stayed in the lobby: in %(league)s, its name looks like that of %(name)s (%(id)s)"),
        "league",
        "name",
    )
    # The sentence that earlier versions stored in place of STAYED_AS_LIKE.
    STAYED_AS_NAMED_LIKE = (
        _(
            'stayed in the lobby: in %(league)s, The name "%(field)s" looks like "%(name)s" (%(id)s), who has '
            "registered already.[ %(said)s]"
        ),
        "field",
        "league",
        "name",
        "said",
    )
    # What became of a broadcast.
    UNFILLED = _("%(kind)s: no message has a value for %(names)s"), "names"
    TOOL_SILENT = _("%(kind)s: its tool failed: it gave no reason")
    TOOL_FAILED = _("%(kind)s: its tool failed: %(said)s"), "said"
    NOT_TOLD_AGAIN = _("%(kind)s was refused %(count)s times and is not sent any more until the agent registers again")
    # What a game says of a move, and the league of a match without play.
    NO_FIELD = _("The answer has no %(field)s")
    NO_PARITY = _('%(field)s must be exactly "even" or "odd"')
    NO_CELL = _("%(field)s must be a cell: an integer from %(lowest)s to %(highest)s")
    NO_COLUMN = _("%(field)s must be a column: an integer from %(lowest)s to %(highest)s")
    NO_NUMBER = _("%(field)s must be a number: an integer from %(lowest)s to %(highest)s")
    CELL_TAKEN = _("cell %(cell)s is taken")
    COLUMN_FULL = _("column %(column)s is full")
    NOT_TO_MOVE = _("%(player)s is not to move now")
    NO_CHOICE_NOW = _("%(player)s has no choice to make now")
    CANCELLED_BY_HAND = _("cancelled by the instructor")
    WITHDRAWN_UNCALLED = _("%(player)s was withdrawn: not called")
    WITHDRAWN = _("%(player)s was withdrawn: %(reason)s"), "reason"
    DISQUALIFIED_UNCALLED = _("%(player)s was disqualified: not called")
    SHUT_DOWN_UNCALLED = _("%(player)s shut down after too many silences: not called")
    BOTH_SHUT_DOWN = _("%(player)s and %(other)s shut down after too many silences: not called")
    BOTH_WITHDRAWN = _("%(player)s was withdrawn and %(other)s was withdrawn: not called")
    BOTH_DISQUALIFIED = _("%(player)s was disqualified and %(other)s was disqualified: not called")
    WITHDRAWN_DISQUALIFIED = _("%(player)s was withdrawn and %(other)s was disqualified: not called")
    DISQUALIFIED_WITHDRAWN = _("%(player)s was disqualified and %(other)s was withdrawn: not called")
    WITHDRAWN_SHUT_DOWN = _("%(player)s was withdrawn and %(other)s shut down after too many silences: not called")
    DISQUALIFIED_SHUT_DOWN = _(
        "%(player)s was disqualified and %(other)s shut down after too many silences: not called"
    )
    DISQUALIFIED = _("%(player)s was disqualified: %(reason)s"), "reason"
    HELD_TOO_LONG = _("held for %(limit)s s after %(count)s lost referees")
    # Why a player is silent: the sentences of ``protocol.faults``, as they are stored, followed by what was seen.
    SAID_AND = _("it said “%(said)s”; %(sentence)s"), "said"
    SILENT_IN_MATCH = _("no answer in %(match)s")
    UNREACHED = _("%(player)s could not be reached for %(message)s (tries: %(tries)s)[: %(sentence)s]")
    NO_JSON = _("%(player)s answered %(message)s with something that is not JSON (tries: %(tries)s)[: %(sentence)s]")
    WRONG_ANSWER = _("%(player)s gave no valid answer to %(message)s (tries: %(tries)s)[: %(sentence)s]")
    ILLEGAL_ANSWER = _("%(player)s answered %(message)s with no legal move (tries: %(tries)s)[: %(sentence)s]")
    LATE = _("%(player)s did not answer %(message)s in %(limit)s s (tries: %(tries)s)[: %(sentence)s]")
    BAD_STATUS = _("%(player)s answered %(message)s with %(sentence)s (tries: %(tries)s)")
    # Addresses that the policy refuses, and what cannot be registered by hand.
    NETWORK_NOT_CALLED = _("addresses in %(network)s are not called")
    NO_MACHINE = _("%(ip)s is the address of a whole network, not of one machine")
    OTHER_NETWORKS = _("only addresses in %(networks)s are called"), "networks"
    PLAIN_ONLY = _("only plain http and https addresses are called")
    OTHER_SCHEMES = _("only %(schemes)s addresses are called"), "schemes"
    LEADS_HERE = _("a name of the network that leads to this machine's loopback is not called")
    PORT_OF_SITE = _("port %(port)s belongs to the league site itself")
    PORT_NOT_CALLED = _("port %(port)s is not called")
    NOT_CALLED = _("%(field)s is not called: %(sentence)s")
    SITES_MACHINE = _(
        "%(field)s is this site's own machine: give the address of yours, or none and fetch your messages"
    )
    NO_ADDRESS = _("%(field)s is not an address that can be called")
    NAME_MISSING = _("The name is missing")
    CANNOT_BE_ID = _("This cannot be an id")
    THIS_ID_TAKEN = _("This id is taken")
    TAKEN_A_MOMENT_AGO = _("This name and address, or this id, was taken a moment ago")
    A_NAME = _("a name to show")
    AN_ID = _("at most 32 letters, digits, - and _, such as P07; or nothing")
    A_FREE_ID = _("a free id, or nothing")
    A_URL = _("a URL such as http://192.168.1.20:8101/mcp")
    ONCE_MORE = _("to be sent again")
    # The transcript itself.
    WIRE_LEFT_OUT = _("its requests were left out: it is too long")

    def __init__(self, sentence: str, *quotes: str) -> None:
        self.sentence = sentence
        self.quotes = frozenset(quotes)

    @property
    def names(self) -> frozenset[str]:
        """The names of all its arguments."""
        return frozenset(_NAME.findall(self.sentence))


@dataclass(frozen=True, slots=True)
class Voices:
    """How words of others are shown in our sentences.

    Attributes:
        quote: shows a name or a quotation, set apart from the sentence around it.
        other: shows a sentence of a game or a referee, perhaps translated or framed.
    """

    quote: Callable[[str], str]
    other: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Note:
    """A note, such as one about an answer.

    Attributes:
        code: the kind of note.
        args: words, numbers and quotations of the answer, by name.
    """

    code: Code
    args: Mapping[str, str | int]

    def __str__(self) -> str:
        """The English sentence, without a full stop."""
        return self.sentence(str)

    def sentence(self, translate: Callable[[str], str], depth: int = 0, *, voices: Voices | None = None) -> str:
        """The sentence in another language, without a full stop.

        Args:
            translate: translates a sentence of :class:`Code`.
            depth: the number of sentences around it.
            voices: how words of others are shown in it; unchanged by default.
        """
        args = dict(self.args)
        inner = read(args[FREE]) if FREE in args else ""
        if isinstance(inner, Note) and depth < MAX_DEPTH:
            args[FREE] = inner.sentence(translate, depth + 1, voices=voices)
        elif FREE in args and voices is not None:
            args[FREE] = voices.other(str(args[FREE]))
        if voices is not None:
            args |= {name: voices.quote(str(args[name])) for name in self.code.quotes & set(args)}
        return _chosen(translate(self.code.sentence), args) % args

    def to_json(self) -> dict[str, Any]:
        """The JSON that a transcript stores and :func:`read` reads."""
        return {"code": self.code.name, "args": dict(self.args)}

    @property
    def public(self) -> Note | None:
        """The note without quotations, for the public; None if no sentence is left."""
        unquoting = Note(self.code, {name: value for name, value in self.args.items() if name not in self.code.quotes})
        return unquoting if WHOLE_SENTENCE not in self.code.quotes and unquoting.is_complete else None

    @property
    def is_complete(self) -> bool:
        """Whether it has every argument that its sentence needs."""
        return set(_NAME.findall(_chosen(self.code.sentence, self.args))) <= set(self.args)


HUNT_CODES = frozenset(
    {Code.ASKED_AS, Code.ASKED_TOOL, Code.FOUND_AT, Code.NOT_UNDERSTOOD, Code.NO_ANSWER_TO, Code.TOO_MANY, Code.BROKE}
)
"""Notes about the requests that searched for the agent's dialect; pages fold them away."""


def apart(values: Iterable[object]) -> tuple[list[Note | str], list[Note | str]]:
    """Read notes, and split them into those about an answer and those about the search for the agent's dialect."""
    parsed = [read(value) for value in values]
    are_of_hunt = [isinstance(one, Note) and one.code in HUNT_CODES for one in parsed]
    return (
        [one for one, of_hunt in zip(parsed, are_of_hunt, strict=True) if not of_hunt],
        [one for one, of_hunt in zip(parsed, are_of_hunt, strict=True) if of_hunt],
    )


def note(code: Code, /, **args: str | int) -> Note:
    """Make a note about an answer.

    Args:
        code: the kind of note.
        args: the arguments of its sentence.
    """
    return Note(code, args)


def _chosen(sentence: str, args: Mapping[str, object]) -> str:
    """Resolve the brackets of a sentence by the arguments that are given."""
    return _PART.sub(lambda part: part[1] if set(_NAME.findall(part[1])) <= set(args) else part[2] or "", sentence)


def read(value: object) -> Note | str:
    """Read a note from a transcript or a report.

    Args:
        value: a note, the JSON of one, or a text. Earlier versions stored the sentences of :class:`Code`; such a text
            becomes a note again. Any other text, such as a sentence of a student's referee, stays a text.
    """
    if isinstance(value, Note):
        return value
    if isinstance(value, str):
        return _of_sentence(value)
    if isinstance(value, Mapping) and isinstance(args := value.get("args"), Mapping):
        code = Code.__members__.get(str(value.get("code")))
        if code is not None:
            parsed = Note(code, {name: args[name] for name in sorted(code.names) if _fits(code, name, args.get(name))})
            if parsed.is_complete:
                return parsed
    return str(value)


def _fits(code: Code, name: str, value: object) -> bool:
    if isinstance(value, str):
        return name in code.quotes or name == FREE or re.fullmatch(_WORD, value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


@lru_cache(maxsize=1000)
def _of_sentence(text: str) -> Note | str:
    for code in Code:
        match = _pattern(code).fullmatch(text)
        if match is not None:
            return Note(code, {name: value for name, value in match.groupdict().items() if value is not None})
    return text


@cache
def _pattern(code: Code) -> re.Pattern[str]:
    """Matches a sentence as earlier versions stored it: with its quotations, perhaps cut at the end."""

    def part(brackets: re.Match[str]) -> str:
        text, otherwise = brackets.groups()
        quotes = not code.quotes.isdisjoint(_NAME.findall(text))
        text += "?" if quotes and text.endswith(")") else ""
        return f"(?:{text}|{otherwise})" if otherwise else f"(?:{text}){'' if quotes else '?'}"

    def argument(name: re.Match[str]) -> str:
        if name[1] not in code.quotes and name[1] != FREE:
            return f"(?P<{name[1]}>{_WORD})"
        return f"(?P<{name[1]}>{_SHORT_QUOTATION if name[1] in _SHORT_NAMES else '.+?'})"

    literal = re.sub(r"(?<!%)\(|\)(?!s)", r"\\\g<0>", code.sentence)
    return re.compile(_NAME.sub(argument, _PART.sub(part, literal)), re.DOTALL)


def public(value: object) -> str | dict[str, Any]:
    """The part of a note that the public may read: a text as it is, a note without quotations, or an empty text.

    Args:
        value: the JSON of a note, or a text.
    """
    note_or_text = read(value)
    if isinstance(note_or_text, str):
        return note_or_text
    return note_or_text.public.to_json() if note_or_text.public is not None else ""


def in_words(value: object, translate: Callable[[str], str] = str, *, voices: Voices | None = None) -> str:
    """A note as a sentence.

    Args:
        value: the JSON of a note, or a text, which stays as it is unless ``voices`` say otherwise.
        translate: translates a sentence of :class:`Code`.
        voices: how words of others are shown in it.
    """
    note_or_text = read(value or "")
    if isinstance(note_or_text, Note):
        return note_or_text.sentence(translate, voices=voices)
    return voices.other(note_or_text) if voices is not None and note_or_text else note_or_text


def entry_in_words(entry: Mapping[str, Any], translate: Callable[[str], str] = str) -> dict[str, Any]:
    """An entry of a transcript with its problem and its notes as sentences.

    Args:
        entry: the entry as stored; a student's referee may have left either out.
        translate: translates a sentence of :class:`Code`.
    """
    sentences: dict[str, Any] = {}
    if "problem" in entry:
        sentences["problem"] = in_words(entry["problem"], translate)
    if isinstance(entry.get("notes"), list):
        sentences["notes"] = [in_words(one, translate) for one in entry["notes"]]
    return {**entry, **sentences}
