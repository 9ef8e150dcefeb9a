"""Why a call brought no usable answer, and whose fault that is."""

from __future__ import annotations

import errno
import os
import socket

import aiohttp

from league_sdk.protocol import faults
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Code, Note, note
from league_sdk.transport.policy import NotCalled

FILES_OF_A_LOOKUP = 8
"""More than one search for a name needs at a time."""
_DETAILS = {
    errno.ECONNREFUSED: note(Code.NOBODY_LISTENS),
    # The system's answer to a connection to a broadcast address.
    errno.EACCES: note(Code.WHOLE_NETWORK),
}
NOT_CALLED = note(Code.NAME_NOT_CALLED)


class CallFailed(Exception):
    """No usable HTTP answer came.

    Attributes:
        problem: what happened.
        error_code: E001 (out of time) or E009 (everything else).
        connected: whether the request may have reached the agent.
        cause: whose fault it is; REFEREE or LEAGUE when this machine could not even try.
        detail: the same for the student whose agent it is; the problem unless something else is said.
        cut_off: it may be this machine that has no network: a second agent tells.
    """

    error_code = "E009"

    def __init__(
        self,
        problem: Note | str,
        *,
        connected: bool,
        cause: Cause | None = None,
        detail: Note | None = None,
        cut_off: bool = False,
    ) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.connected = connected
        self.cause = cause or faults.of_error(self.error_code)
        self.detail = detail or problem
        self.cut_off = cut_off


class TimedOut(CallFailed):
    """The time was over: for the answer, or already for the connection or the name (``cause``)."""

    error_code = "E001"


class NotReached(CallFailed):
    """Refused, unreachable, unknown name, or not allowed by the policy."""


class Broken(CallFailed):
    """The connection or the answer broke off, or the answer was too large."""


def out_of_time(waited_for: Cause, limit_s: float) -> TimedOut:
    """Say for what the time was not enough.

    Args:
        waited_for: NAME_LOOKUP, CONNECT or DEADLINE: how far the call had come; REFEREE or LEAGUE when it was not
            begun, as too many names were being looked up here.
        limit_s: the seconds it had.
    """
    what = {
        Cause.NAME_LOOKUP: "the name of the address was not found",
        Cause.CONNECT: "no connection",
        **dict.fromkeys(faults.OWN_SIDE, "this machine was busy with other names and did not look this one up"),
    }
    sentence = f"{what.get(waited_for, 'no answer')} within {limit_s:g} s"
    # That a name server is silent says nothing of our network: its owner can have it be silent.
    return TimedOut(sentence, connected=waited_for is Cause.DEADLINE, cause=waited_for)


def failure(error: Exception, caller: Cause) -> CallFailed:
    """Say what happened, and whose fault it is; what was before the connection stood is told from what came after.

    Args:
        error: what the HTTP library raised.
        caller: whose side we are: REFEREE or LEAGUE.
    """
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError)):
        return NotReached(note(Code.BAD_ADDRESS), connected=False)
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, NotCalled):
        return NotReached(NOT_CALLED, connected=False)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _no_name(error.os_error, caller)
    if isinstance(error, aiohttp.ClientSSLError):
        return NotReached(note(Code.NO_TLS, kind=type(error.os_error).__name__), connected=False)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _no_connection(error.os_error.errno, caller)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Broken(note(Code.CLOSED), connected=True)
    return Broken(note(Code.BROKEN_OFF, kind=type(error).__name__), connected=True)


def _no_name(error: OSError, caller: Cause) -> NotReached:
    number = error.errno if isinstance(error, socket.gaierror) else None
    # The system's own search for a name calls it unknown when it could not open a file for it.
    found = faults.of_lookup(number, caller=caller) if _can_open_files() else caller
    if found is caller:
        return NotReached(note(Code.NO_LOOKUPS), connected=False, cause=found)
    silent = number in faults.SILENT_LOOKUPS
    return NotReached(note(Code.SILENT_NAME_SERVER if silent else Code.UNKNOWN_NAME), connected=False, cause=found)


def _can_open_files() -> bool:
    opened: list[int] = []
    try:
        while len(opened) < FILES_OF_A_LOOKUP:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    finally:
        for one in opened:
            os.close(one)
    return True


def _no_connection(number: int | None, caller: Cause) -> NotReached:
    found = faults.of_connecting(number, caller=caller)
    if number and found is caller:
        return NotReached(f"this machine cannot call anyone: {os.strerror(number)}", connected=False, cause=found)
    return NotReached(
        # Without a number several addresses failed in several ways, and the text of that would show them.
        f"no connection: {os.strerror(number)}" if number else "no connection",
        connected=False,
        cause=found,
        detail=_DETAILS.get(number or 0),
        cut_off=faults.cut_off(number),
    )
