"""Plays a stage to its end with results that a random generator draws."""

from __future__ import annotations

import random
from dataclasses import replace

from league_sdk.formats.format import Format, Lot, Over, Pair
from league_sdk.ledger.order import Order
from league_sdk.ledger.past import Entrant, Game, Past, Round

LOT = Lot(bytes(32), 1)
ORDER = Order()


def entered(count: int) -> Past:
    """A stage of so many players, P01 and so on, which is also how they are seeded."""
    return Past(tuple(Entrant(f"P{number:02d}", number) for number in range(1, count + 1)))


def with_result(game: Game, chance: random.Random) -> Game:
    """A game with a result; one of ten is a technical loss, of which one in four is of both."""
    draw = chance.random()
    if draw < 0.1:
        return game._replace(status="TECHNICAL_LOSS", winner=chance.choice([game.a, game.b, game.a, None]))
    if draw < 0.3:
        return game._replace(status="DRAW")
    return game._replace(status="WIN", winner=chance.choice([game.a, game.b]))


def played(past: Past, found: Round, chance: random.Random) -> Past:
    """The stage after one more round."""
    games = tuple(with_result(game, chance) for game in found.games)
    return replace(past, rounds=(*past.rounds, found._replace(games=games)))


def to_the_end(form: Format, past: Past, chance: random.Random, *, leaving: float = 0.0) -> Past:
    """The stage at its end.

    Args:
        leaving: how likely each player leaves after a round.
    """
    while True:
        found = form.next(past, ORDER, LOT)
        if isinstance(found, Over):
            return past
        assert isinstance(found, Pair)
        past = played(past, found.round, chance)
        assert len(past.rounds) < 200
        entrants = tuple(
            one._replace(out="withdrawn", out_after=len(past.rounds))
            if not one.out and chance.random() < leaving
            else one
            for one in past.entrants
        )
        past = replace(past, entrants=entrants)
