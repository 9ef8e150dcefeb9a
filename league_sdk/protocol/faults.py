"""Why a point was lost: the closed list of causes, and the mapping from observations to causes (our choice). Pure.

The caller of an agent passes its observation (an error code, an HTTP answer, an error number of the operating system).
The sentences are English; the site translates them.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from league_sdk.protocol.notes import _


class Cause(StrEnum):
    """Why a point was lost. All but the last two causes are the player's fault."""

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
"""Causes that are not the player's fault: the attempt does not count, and the match is played again."""

UNREACHED = frozenset({Cause.CONNECT, Cause.NAME_LOOKUP})
"""Causes of a call that did not arrive: the way may be broken at its beginning, where only the caller stands."""

BY_ERROR_CODE: dict[str, Cause] = {
    "E001": Cause.DEADLINE,
    "E002": Cause.WRONG_MESSAGE,
    "E003": Cause.WRONG_MESSAGE,
    "E004": Cause.ILLEGAL_MOVE,
    # E005 stands for a player that is no longer called, because it was silent too often.
    "E005": Cause.DEADLINE,
    "E009": Cause.CONNECT,
    "E011": Cause.WRONG_MESSAGE,
    "E012": Cause.WRONG_MESSAGE,
    "E013": Cause.REFEREE,
    "E014": Cause.WRONG_MESSAGE,
    "E018": Cause.WRONG_MESSAGE,
    "E021": Cause.WRONG_MESSAGE,
    "G001": Cause.ILLEGAL_MOVE,
    "G002": Cause.DEADLINE,
    "G003": Cause.WRONG_MESSAGE,
    "G004": Cause.ILLEGAL_MOVE,
    "G005": Cause.WRONG_MESSAGE,
}
"""The cause if nothing but an error code (perhaps one of 002) is known, as in the reports of students' referees."""

# Looked up by name, because not every operating system has all of them.
_OWN_ERRNO_NAMES = ("EMFILE", "WSAEMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "ENETDOWN")
_OWN_ERRNOS = {getattr(errno, name, None) for name in _OWN_ERRNO_NAMES}
_NO_ROUTE_ERRNOS = {errno.ENETUNREACH, errno.EADDRNOTAVAIL}
_OWN_LOOKUPS = {getattr(socket, name, None) for name in ("EAI_SYSTEM", "EAI_MEMORY")}
SILENT_LOOKUPS = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL})
"""A name server did not answer or answered with a failure. The owner of the name can cause this."""


def of_error(error_code: object) -> Cause:
    """The cause that an error code stands for; REFEREE if the code is unknown.

    Args:
        error_code: such as ``E001``, or one of 002, such as ``G002``.
    """
    code = error_code if isinstance(error_code, str) else ""
    return BY_ERROR_CODE.get(code, Cause.REFEREE)


def of_answer(*, status: int, readable: bool) -> Cause:
    """The cause of an HTTP response that does not answer the request.

    Args:
        status: the HTTP status.
        readable: whether its body is JSON or empty.
    """
    if not 200 <= status < 300:
        return Cause.HTTP_STATUS
    return Cause.WRONG_MESSAGE if readable else Cause.NOT_JSON


def of_connecting(number: int | None, *, caller: Cause) -> Cause:
    """The cause of a failed connection attempt.

    Args:
        number: the error number of the operating system, if there is one.
        caller: the side that called the agent: REFEREE or LEAGUE.
    """
    return caller if number is not None and number in _OWN_ERRNOS else Cause.CONNECT


def of_lookup(number: int | None, *, caller: Cause) -> Cause:
    """The cause of a failed name lookup.

    Args:
        number: the error number of ``getaddrinfo``, if there is one.
        caller: the side that called the agent: REFEREE or LEAGUE.
    """
    return caller if number is not None and number in _OWN_LOOKUPS else Cause.NAME_LOOKUP


def maybe_offline(number: int | None) -> bool:
    """Whether a failed attempt suggests that the caller itself has no network; one agent alone does not prove it.

    A failed name lookup says nothing about this, because the owner of the name controls its name server.

    Args:
        number: the error number of a failed connection attempt.
    """
    return number in _NO_ROUTE_ERRNOS


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
    """Describe a fault in a sentence, such as "P02 did not answer CHOOSE_PARITY_CALL in 30 s (tries: 4)".

    Args:
        fault: the fault as in a MATCH_RESULT_REPORT, with ``cause`` and ``limit_s``.
        translate: translates a sentence of :data:`SENTENCES` for the reader.

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
