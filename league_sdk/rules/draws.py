"""The committed draw of a number: it follows from a seed fixed beforehand and both choices (ruling, section 12).

The league manager makes a seed of 32 random bytes for a match and publishes its SHA-256, the commitment, before anyone
chooses. The number then follows from the seed, the match and both choices, so anyone can check it once the seed is
revealed. This proves that nobody picked the number after the choices were known. It does not prevent a referee or
operator from colluding with a player or exploiting its habits.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Iterator

SEED_BYTES = 32
SEPARATOR = "|"
BYTE_VALUES = 256


def commitment(seed: bytes) -> str:
    """The SHA-256 of a seed, as 64 lower-case hex digits.

    Raises:
        ValueError: the seed does not have 32 bytes.
    """
    return hashlib.sha256(_check_length(seed)).hexdigest()


class CommittedDraw:
    """The source of random numbers of one match, derived from its seed (a :class:`league_sdk.rules.game.Random`).

    The bytes are HMACs of ``league_id|match_id|play|choice_a|choice_b`` with the seed as key. The number of the match
    is the first ``randint(1, 10)``; later calls use the following bytes.
    """

    def __init__(self, seed: bytes, league_id: str, match_id: str, play: int, choices: tuple[str, str]) -> None:
        """
        Args:
            seed: the 32 bytes that the league manager committed to.
            league_id: the league's id.
            match_id: the match's id.
            play: 1, and one more for each replay that an instructor ordered.
            choices: both choices, PLAYER_A's first, normalised as ``Game.drawn_from`` returns them.

        Raises:
            ValueError: the seed does not have 32 bytes, or ``play`` is not a number from 1 on.
        """
        if play < 1:
            raise ValueError(f"play must be a number from 1 on, not {play!r}")
        message = SEPARATOR.join((league_id, match_id, str(int(play)), *choices))
        self._bytes = (byte for digest in _blocks(_check_length(seed), message) for byte in digest)

    def randint(self, a: int, b: int, /) -> int:
        """A number from ``a`` to ``b``, both included, each equally likely.

        Raises:
            ValueError: the range is empty or has more than 256 numbers.
        """
        values = b - a + 1
        if not 1 <= values <= BYTE_VALUES:
            raise ValueError(f"a range must have 1 to {BYTE_VALUES} numbers; {a} to {b} has {values}")
        # Skip bytes from this limit on: they would make some values more likely than others.
        limit = BYTE_VALUES - BYTE_VALUES % values
        return a + next(byte for byte in self._bytes if byte < limit) % values


def _check_length(seed: bytes) -> bytes:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    return seed


def _blocks(seed: bytes, message: str) -> Iterator[bytes]:
    """An endless sequence of HMACs: of the message, then of the message with ``|1``, ``|2``, … appended."""
    yield hmac.digest(seed, message.encode(), "sha256")
    for number in itertools.count(1):
        yield hmac.digest(seed, f"{message}{SEPARATOR}{number}".encode(), "sha256")
