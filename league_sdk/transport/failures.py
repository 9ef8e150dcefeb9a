"""Why a call brought no usable reply, and whose fault that is."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack
from pathlib import Path

import aiohttp

from league_sdk.protocol import faults
from league_sdk.protocol.calls import Broken, CallFailed, NotReached, TimedOut
from league_sdk.protocol.faults import Cause
from league_sdk.protocol.notes import Code, note
from league_sdk.transport.policy import NotCalled

FILES_PER_LOOKUP = 8
"""How many files are opened to see if a lookup could open its own: more than one lookup opens at a time."""
_DETAILS = {
    errno.ECONNREFUSED: note(Code.NOBODY_LISTENS),
    errno.EHOSTUNREACH: note(Code.NO_ROUTE),
    # How the system refuses a connection to a broadcast address.
    errno.EACCES: note(Code.WHOLE_NETWORK),
}
NOT_CALLED = note(Code.NAME_NOT_CALLED)


def out_of_time(waited_for: Cause, limit_s: float) -> TimedOut:
    """The error of a call that ran out of its ``limit_s`` seconds.

    Args:
        waited_for: NAME_LOOKUP, CONNECT or DEADLINE: how far the call had come; REFEREE or LEAGUE if this machine
            was busy with other names.
    """
    missing = {
        Cause.NAME_LOOKUP: "the name of the address was not found",
        Cause.CONNECT: "no connection",
        **dict.fromkeys(faults.OWN_SIDE, "this machine was busy with other names and did not look this one up"),
    }
    sentence = f"{missing.get(waited_for, 'no answer')} within {round(limit_s, 2):g} s"
    # A silent name server is no sign that our network is down: its owner may keep it silent.
    return TimedOut(sentence, connected=waited_for is Cause.DEADLINE, cause=waited_for)


def failure(error: Exception, own_cause: Cause) -> CallFailed:
    """Turn an error of the HTTP library into one that says what happened and whose fault it is.

    Args:
        own_cause: the cause of a failure of our own side: REFEREE or LEAGUE.
    """
    if isinstance(error, (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError)):
        return NotReached(note(Code.BAD_ADDRESS), connected=False)
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, NotCalled):
        return NotReached(NOT_CALLED, connected=False)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return _no_name(error.os_error, own_cause)
    if isinstance(error, aiohttp.ClientSSLError):
        return NotReached(note(Code.NO_TLS, kind=type(error.os_error).__name__), connected=False)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _no_connection(error.os_error.errno, own_cause)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Broken(note(Code.CLOSED), connected=True)
    return Broken(note(Code.BROKEN_OFF, kind=type(error).__name__), connected=True)


def _no_name(error: OSError, own_cause: Cause) -> NotReached:
    number = error.errno if isinstance(error, socket.gaierror) else None
    # The system calls a name unknown also when it could not open a file to look it up.
    cause = faults.of_lookup(number, caller=own_cause) if _can_open_files() else own_cause
    if cause is own_cause:
        return NotReached(note(Code.NO_LOOKUPS), connected=False, cause=cause)
    silent = number in faults.SILENT_LOOKUPS
    return NotReached(note(Code.SILENT_NAME_SERVER if silent else Code.UNKNOWN_NAME), connected=False, cause=cause)


def _can_open_files() -> bool:
    try:
        with ExitStack() as files:
            for _ in range(FILES_PER_LOOKUP):
                files.enter_context(Path(os.devnull).open("rb"))
    except OSError:
        return False
    return True


def _no_connection(number: int | None, own_cause: Cause) -> NotReached:
    cause = faults.of_connecting(number, caller=own_cause)
    if number and cause is own_cause:
        return NotReached(f"this machine cannot call anyone: {os.strerror(number)}", connected=False, cause=cause)
    return NotReached(
        # Several addresses failed in several ways: the error has no number, and its text would show the addresses.
        f"no connection: {os.strerror(number)}" if number else "no connection",
        connected=False,
        cause=cause,
        detail=_DETAILS.get(number or 0),
        maybe_offline=faults.maybe_offline(number),
    )
