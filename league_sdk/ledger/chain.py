"""Digests of events: how one is made, and a walk along the chain that names the first that does not hold. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from league_sdk.ledger.canonical import canonical
from league_sdk.ledger.parts import private_part, public_part

BEGINNING = "0" * 64
"""What stands for the predecessor's digest at the first event of a chain."""
SALT_BYTES = 16
_SALT = re.compile(r"[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{64}")


class Broken(Exception):
    """Something does not hold; the text is a sentence.

    Attributes:
        seq: the number of the first event that does not hold; None when it is not one event.
        what: the event in words: number, kind, match.
    """

    def __init__(self, what: str, *, problem: str, seen: object, expected: object, seq: int | None = None) -> None:
        super().__init__(f"{what}: {problem} Seen: {short(seen)}. Expected: {short(expected)}.")
        self.seq = seq
        self.what = what


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
    """A value for a sentence, cut at 120 characters."""
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= 120 else text[:120] + "…"


def hash_private(salt: str, kind: str, data: Mapping[str, Any]) -> str:
    """The salted hash of an event's private part.

    Args:
        salt: 32 hex digits; 64 are the hash itself, kept in place of the salt of an event whose private part was
            erased or is left out.
        kind: the event's kind.
        data: all that is stored of it.

    Raises:
        ValueError: the salt is neither.
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
        ValueError: a hash is not one, or the public part cannot be written in one way only.
    """
    seen = [bytes.fromhex(one) for one in (before or BEGINNING, private_sha256) if is_hash(one)]
    if len(seen) != 2:
        raise ValueError("a hash has 64 lower-case hex digits")
    return hashlib.sha256(seen[0] + canonical(dict(public)) + seen[1]).hexdigest()


def link(  # noqa: PLR0913 - all that a digest is made of
    before: str, salt: str, *, league_id: str, seq: int, kind: str, at: datetime, data: Mapping[str, Any]
) -> Link:
    """An event with its digest; what it is made of are seven things, each of another kind.

    Args:
        before: the predecessor's digest; empty for the first event.
        salt: as in :func:`hash_private`.
        league_id: the league's id.
        seq: the event's number.
        kind: its kind.
        at: when it happened, with a time zone.
        data: all that is stored of it.

    Raises:
        ValueError: the salt or the predecessor's digest is not one.
    """
    public = public_part(league_id, seq, kind, at, data)
    private = hash_private(salt, kind, data)
    return Link(public, private, digest_of(before, public, private))


def named(public: Mapping[str, Any]) -> str:
    """An event in words: number, kind and match."""
    data = public.get("data")
    match_id = data.get("match_id") if isinstance(data, Mapping) else None
    about = f", match {short(match_id)}" if match_id else ""
    return f"event {short(public.get('seq'))} ({short(public.get('kind'))}{about})"


def walk(links: Iterable[Link], *, league_id: str, head: str) -> list[str]:
    """Check every digest of a chain, from its first event to its head.

    Args:
        links: the events in order.
        league_id: the league that all of them must belong to.
        head: the digest that the last one must have; empty for a league without events.

    Returns:
        The digests in order.

    Raises:
        Broken: names the first event that does not hold.
    """
    before, last, found = "", 0, []
    what = "the chain"
    for one in links:
        what = named(one.public)
        last = _follows(one, last, league_id)
        try:
            expected = digest_of(before, one.public, one.private_sha256)
        except ValueError as error:
            raise Broken(what, seq=last, problem=f"{error}.", seen="that", expected="an event of a ledger") from None
        if one.digest != expected:
            raise Broken(
                what,
                seq=last,
                problem="its digest does not follow from what it says and from the event before it.",
                seen=one.digest,
                expected=expected,
            )
        before = expected
        found.append(expected)
    if head != before:
        raise Broken(
            f"the head after {what}",
            seq=last or None,
            problem="the last event's digest is not the head: events are missing at the end, or were added.",
            seen=head,
            expected=before,
        )
    return found


def _follows(one: Link, last: int, league_id: str) -> int:
    """The number of an event of this league that comes after number ``last``."""
    what, seq = named(one.public), one.public.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq <= last:
        seen = seq if isinstance(seq, int) else None
        raise Broken(what, seq=seen, problem="the number is out of order.", seen=seq, expected=f"a number above {last}")
    whose = one.public.get("league_id")
    if whose != league_id:
        raise Broken(what, seq=seq, problem="it belongs to another league.", seen=whose, expected=league_id)
    return seq
