"""Digests of events: making one, and walking along a chain to find the first event whose digest is wrong. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from league_sdk.ledger.canonical import canonical, plain
from league_sdk.ledger.kinds import private_part, public_part

BEGINNING = "0" * 64
"""Used as the predecessor's digest by the first event of a chain."""
SALT_BYTES = 16
_SALT = re.compile(r"[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{64}")


class Broken(Exception):
    """A ledger contradicts itself; the text is a sentence that names the place.

    Args:
        place: where, in words: an event with number, kind and match, or a line of the table.
        problem: a sentence.
        seen: the value in the ledger.
        expected: the value that follows from the rest of the ledger.
        seq: the number of the first wrong event; None when the problem is not in one event.
    """

    def __init__(self, place: str, *, problem: str, seen: object, expected: object, seq: int | None = None) -> None:
        super().__init__(f"{place}: {problem} Seen: {short(seen)}. Expected: {short(expected)}.")
        self.seq = seq


def require(place: str, seen: object, expected: object, problem: str = "the events say something else.") -> None:
    """Require that two values are the same JSON: 1, true and "1" are three values.

    Raises:
        Broken: they are not.
    """
    if canonical(plain(seen)) != canonical(plain(expected)):
        raise Broken(place, problem=problem, seen=seen, expected=expected)


class Link(NamedTuple):
    """One event as a public export carries it.

    Attributes:
        public: its public part.
        private_sha256: the salted hash of its private part, 64 hex digits.
        digest: its digest as the export has it.
    """

    public: Mapping[str, Any]
    private_sha256: str
    digest: str


def is_hash(value: object) -> bool:
    """Whether a value is a SHA-256 as 64 lower-case hex digits."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def short(value: object) -> str:
    """A value as text for a sentence: printable, cut at 120 characters."""
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= 120 else text[:120] + "…"


def hash_private(salt: str, kind: str, data: Mapping[str, Any]) -> str:
    """The salted hash of an event's private part.

    Args:
        salt: 32 hex digits. 64 hex digits are the hash itself, which replaces the salt of an event whose private part
            was erased or left out.
        kind: the event's kind.
        data: all stored fields of the event.

    Raises:
        ValueError: the salt has another length or other characters.
    """
    if _HASH.fullmatch(salt):
        return salt
    if not _SALT.fullmatch(salt):
        raise ValueError(f"a salt has 32 hex digits, not {short(salt)!r}")
    return hashlib.sha256(bytes.fromhex(salt) + canonical(private_part(kind, data))).hexdigest()


def digest_of(before: str, public: Mapping[str, Any], private_sha256: str) -> str:
    """The digest of an event: SHA-256 over its predecessor's digest, its public part and its private part's hash.

    Args:
        before: the predecessor's digest; empty for the first event.
        public: the public part.
        private_sha256: the salted hash of the private part.

    Returns 64 lower-case hex digits.

    Raises:
        ValueError: a hash has another form, or the public part has no canonical JSON.
    """
    before = before or BEGINNING
    if not is_hash(before) or not is_hash(private_sha256):
        raise ValueError("a hash has 64 lower-case hex digits")
    hashed = bytes.fromhex(before) + canonical(dict(public)) + bytes.fromhex(private_sha256)
    return hashlib.sha256(hashed).hexdigest()


def link(  # noqa: PLR0913 - every fact that enters the digest
    before: str, salt: str, *, league_id: str, seq: int, kind: str, at: datetime, data: Mapping[str, Any]
) -> Link:
    """Make an event with its digest. It has seven arguments, because each is a fact that enters the digest.

    Args:
        before: the predecessor's digest; empty for the first event.
        salt: as in :func:`hash_private`.
        league_id: the league's id.
        seq: the event's number.
        kind: its kind.
        at: when it happened, with a time zone.
        data: all its stored fields.

    Raises:
        ValueError: the salt or the predecessor's digest has another form.
    """
    public = public_part(league_id, seq, kind, at, data)
    private = hash_private(salt, kind, data)
    return Link(public, private, digest_of(before, public, private))


def describe(public: Mapping[str, Any]) -> str:
    """An event in words: its number, kind and match."""
    data = public.get("data")
    match_id = data.get("match_id") if isinstance(data, Mapping) else None
    about = f", match {short(match_id)}" if match_id else ""
    return f"event {short(public.get('seq'))} ({short(public.get('kind'))}{about})"


def walk(links: Iterable[Link], *, league_id: str, head: str) -> list[str]:
    """Check every digest of a chain, from its first event to its head.

    Args:
        links: the events in order.
        league_id: the league that all of them must belong to.
        head: the digest that the last event must have; empty for a league without events.

    Returns:
        The digests in order.

    Raises:
        Broken: names the first wrong event, or the head.
    """
    before, last_seq, digests = "", 0, []
    place = "the chain"
    for event in links:
        place = describe(event.public)
        last_seq = _next_seq(event, last_seq, league_id)
        try:
            expected = digest_of(before, event.public, event.private_sha256)
        except ValueError as error:
            raise Broken(
                place, seq=last_seq, problem=f"{error}.", seen="this event", expected="an event of a ledger"
            ) from None
        if event.digest != expected:
            problem = "its digest does not follow from what it says and from the event before it."
            raise Broken(place, seq=last_seq, problem=problem, seen=event.digest, expected=expected)
        before = expected
        digests.append(expected)
    if head != before:
        problem = "the last event's digest is not the head: events are missing at the end, or were added."
        raise Broken(f"the head after {place}", seq=last_seq or None, problem=problem, seen=head, expected=before)
    return digests


def _next_seq(event: Link, last_seq: int, league_id: str) -> int:
    """The number of an event, which must come after number ``last_seq`` and belong to the league."""
    place, seq = describe(event.public), event.public.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq <= last_seq:
        seen = seq if isinstance(seq, int) else None
        problem = "the number is out of order."
        raise Broken(place, seq=seen, problem=problem, seen=seq, expected=f"a number above {last_seq}")
    owner = event.public.get("league_id")
    if owner != league_id:
        raise Broken(place, seq=seq, problem="it belongs to another league.", seen=owner, expected=league_id)
    return seq
