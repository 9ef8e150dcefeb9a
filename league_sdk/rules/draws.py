"""The committed draw (ruling, section 12): the number follows from a seed fixed beforehand and from both choices. Pure.

The league manager makes a seed of 32 random bytes for a match and publishes its SHA-256, the commitment, before anyone
chooses. Each number then follows from the seed, the match and both choices, so that anyone can check it once the seed
is revealed. This shows that no number was chosen after the choices. It does not bind a referee or operator that
colludes with a player or knows its habits.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

SEED_BYTES = 32
LOWEST, HIGHEST = 1, 10
"""What :func:`draw` draws from."""
SEPARATOR = "|"
BYTE_VALUES = 256


def commitment(seed: bytes) -> str:
    """The SHA-256 of a seed, as 64 lower-case hex digits.

    Raises:
        ValueError: the seed has not 32 bytes.
    """
    return hashlib.sha256(_whole(seed)).hexdigest()


def message_of(*, league_id: str, match_id: str, play: int, choice_a: str, choice_b: str) -> str:
    """What the HMAC is taken over first: ``league_id|match_id|play|choice_a|choice_b``.

    Args:
        league_id: the league's id.
        match_id: the match's id.
        play: how often the match was opened; the first is 1, an instructor's replay adds one.
        choice_a: PLAYER_A's choice, normalised; a number in decimal.
        choice_b: PLAYER_B's choice, likewise.

    Raises:
        ValueError: ``play`` is no number from 1 on.
    """
    if play < 1:
        raise ValueError(f"play must be a number from 1 on, not {play!r}")
    return SEPARATOR.join((league_id, match_id, str(int(play)), choice_a, choice_b))


def draw(seed: bytes, *, league_id: str, match_id: str, play: int, choice_a: str, choice_b: str) -> int:
    """The number from 1 to 10 that follows from a seed and both choices.

    Arguments are those of :func:`message_of`.

    Raises:
        ValueError: the seed has not 32 bytes, or ``play`` is no number from 1 on.
    """
    drawn = CommittedDraw(seed, league_id, match_id, play, (choice_a, choice_b))
    return drawn.randint(LOWEST, HIGHEST)


class CommittedDraw:
    """The chance of one match: what :class:`league_sdk.rules.game.Random` asks for, out of the committed seed.

    The first ``randint(1, 10)`` gives what :func:`draw` gives; each later call goes on in the same bytes.
    """

    def __init__(self, seed: bytes, league_id: str, match_id: str, play: int, choices: tuple[str, str]) -> None:
        """
        Args:
            seed: the 32 bytes that the league manager committed to.
            league_id: the league's id.
            match_id: the match's id.
            play: how often the match was opened, from 1 on.
            choices: both choices, normalised, PLAYER_A's first, as ``Game.drawn_from`` gives them.

        Raises:
            ValueError: as :func:`draw`.
        """
        first, second = choices
        stated = message_of(league_id=league_id, match_id=match_id, play=play, choice_a=first, choice_b=second)
        self._bytes = (byte for digest in _blocks(_whole(seed), stated) for byte in digest)

    def randint(self, a: int, b: int, /) -> int:
        """A number from ``a`` to ``b``, both included, each equally likely.

        Raises:
            ValueError: the range is empty or has more than 256 numbers.
        """
        values = b - a + 1
        if not 1 <= values <= BYTE_VALUES:
            raise ValueError(f"a range must have 1 to {BYTE_VALUES} numbers; {a} to {b} has {values}")
        # Bytes from here on are passed over: with them, some values would come more often than others.
        limit = BYTE_VALUES - BYTE_VALUES % values
        return a + next(byte for byte in self._bytes if byte < limit) % values


def _whole(seed: bytes) -> bytes:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    return seed


def _blocks(seed: bytes, stated: str) -> Iterator[bytes]:
    """The HMACs, without end: of the message itself, then of it with ``|1``, ``|2``, … appended."""
    message, number = stated, 0
    while True:
        yield hmac.digest(seed, message.encode(), "sha256")
        number += 1
        message = f"{stated}{SEPARATOR}{number}"
