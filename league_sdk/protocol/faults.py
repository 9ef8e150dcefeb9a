"""Whose fault a lost point is: one closed list of causes, and the one mapping from what is seen to a cause.

All of it is our choice. Pure: the caller of an agent says what it saw (an error code, an HTTP answer, a number of the
operating system), and this module says what that means. The sentences are English; the site translates them.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from league_sdk.protocol.notes import _


class Cause(StrEnum):
    """Why a point was lost. All but the last two are the player's own."""

    NAME_LOOKUP = "NAME_LOOKUP"
    CONNECT = "CONNECT"
    HTTP_STATUS = "HTTP_STATUS"
    NOT_JSON = "NOT_JSON"
    WRONG_MESSAGE = "WRONG_MESSAGE"
    ILLEGAL_MOVE = "ILLEGAL_MOVE"
    DEADLINE = "DEADLINE"
    REFEREE = "REFEREE"
    LEAGUE = "LEAGUE"


OWN_SIDE = frozenset({Cause.REFEREE, Cause.LEAGUE})
"""Not the player's: what failed through these is void and played again."""

BY_ERROR_CODE: dict[str, Cause] = {
    "E001": Cause.DEADLINE,
    "E002": Cause.WRONG_MESSAGE,
    "E003": Cause.WRONG_MESSAGE,
    "E004": Cause.ILLEGAL_MOVE,
    # A player that is not called any more, because it has been silent too often.
    "E005": Cause.DEADLINE,
    "E009": Cause.CONNECT,
    "E011": Cause.WRONG_MESSAGE,
    "E012": Cause.WRONG_MESSAGE,
    "E013": Cause.REFEREE,
    "E014": Cause.WRONG_MESSAGE,
    "E018": Cause.WRONG_MESSAGE,
    "E021": Cause.WRONG_MESSAGE,
}
"""Where nothing more is known than an error code, as in the reports of students' referees."""

_BY_LEGACY_CODE = {
    "G001": Cause.ILLEGAL_MOVE,
    "G002": Cause.DEADLINE,
    "G003": Cause.WRONG_MESSAGE,
    "G004": Cause.ILLEGAL_MOVE,
    "G005": Cause.WRONG_MESSAGE,
}

# By name: not every system has every one of them.
_OUT_OF = ("EMFILE", "WSAEMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "ENETDOWN")
_OWN_ERRNOS = {getattr(errno, name, None) for name in _OUT_OF}
_NO_WAY_ERRNOS = {errno.ENETUNREACH, errno.EADDRNOTAVAIL}
_OWN_LOOKUPS = {getattr(socket, name, None) for name in ("EAI_SYSTEM", "EAI_MEMORY")}
SILENT_LOOKUPS = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL})
"""A name server gave no answer, or none of use: whoever owns the name can bring this about."""


def of_error(error_code: object) -> Cause:
    """The cause that an error code stands for (also one of 002's); REFEREE when the code says nothing.

    Args:
        error_code: such as ``E001`` or ``G002``.
    """
    code = error_code if isinstance(error_code, str) else ""
    return (BY_ERROR_CODE | _BY_LEGACY_CODE).get(code, Cause.REFEREE)


def of_answer(*, status: int, readable: bool) -> Cause:
    """The cause behind an HTTP answer that is no answer to what was asked.

    Args:
        status: the HTTP status.
        readable: whether its body is JSON, or empty.
    """
    if not 200 <= status < 300:
        return Cause.HTTP_STATUS
    return Cause.WRONG_MESSAGE if readable else Cause.NOT_JSON


def of_connecting(number: int | None, *, caller: Cause) -> Cause:
    """The cause of a connection that was not made.

    Args:
        number: the operating system's error number, where there is one.
        caller: who was calling: REFEREE or LEAGUE.
    """
    return caller if number is not None and number in _OWN_ERRNOS else Cause.CONNECT


def of_lookup(number: int | None, *, caller: Cause) -> Cause:
    """The cause of a name that was not found.

    Args:
        number: of ``getaddrinfo``, where there is one.
        caller: who was calling: REFEREE or LEAGUE.
    """
    return caller if number is not None and number in _OWN_LOOKUPS else Cause.NAME_LOOKUP


def cut_off(number: int | None) -> bool:
    """Whether it may be the caller that has no network: one agent alone does not tell.

    Of a name that is not found nothing is told: its owner's name server says what it likes, or nothing.

    Args:
        number: the error number of a connection that was not made.
    """
    return number in _NO_WAY_ERRNOS


_UNREACHED = _("%(player)s could not be reached for %(message)s (tries: %(tries)s)")
SENTENCES: dict[Cause, str] = {
    Cause.NAME_LOOKUP: _UNREACHED,
    Cause.CONNECT: _UNREACHED,
    Cause.HTTP_STATUS: _("%(player)s answered %(message)s with %(detail)s (tries: %(tries)s)"),
    Cause.NOT_JSON: _("%(player)s answered %(message)s with something that is not JSON (tries: %(tries)s)"),
    Cause.WRONG_MESSAGE: _("%(player)s gave no valid answer to %(message)s (tries: %(tries)s)"),
    Cause.ILLEGAL_MOVE: _("%(player)s answered %(message)s with no legal move (tries: %(tries)s)"),
    Cause.DEADLINE: _("%(player)s did not answer %(message)s in %(limit)s s (tries: %(tries)s)"),
    Cause.REFEREE: _("the referee failed while %(player)s was asked for an answer to %(message)s (tries: %(tries)s)"),
    Cause.LEAGUE: _("the league failed while %(player)s was asked for an answer to %(message)s (tries: %(tries)s)"),
}


def describe(fault: Mapping[str, Any], translate: Callable[[str], str] = str) -> str:
    """A fault in a sentence, such as "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4)".

    Args:
        fault: as a MATCH_RESULT_REPORT carries it, with ``cause`` and ``limit_s``.
        translate: a sentence of :data:`SENTENCES` to the one in the reader's language.

    Returns the sentence without a full stop.
    """
    sentence, detail = translate(SENTENCES[Cause(fault["cause"])]), str(fault.get("detail") or "")
    text = sentence % {
        "player": fault["player_id"],
        "message": fault["message_type"],
        "tries": fault["tries"],
        "limit": f"{fault['limit_s']:g}",
        "detail": detail,
    }
    return text if not detail or "%(detail)s" in sentence else f"{text}: {detail}"
