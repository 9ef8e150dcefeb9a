"""How much of a table is luck, as the pages show it (docs/luck.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from league_sdk.ledger.standings import champions
from matches.view import luck
from matches.view.luck import Known
from matches.view.sight import View
from matches.words import luck as words


class Bar(NamedTuple):
    """A bar over the places that a player could have had, on a line as wide as there are players.

    Attributes:
        start: where it begins; places are one wide.
        width: how long it is.
        mark: the middle of the player's place.
        players: how long the line is.
        could_be_chance: whether its place could be chance.
        places: the bar in words.
        expected: in a game of chance, the points that its matches were worth on average; else empty.
        luck: the difference between its points and these, with a sign; else empty.
    """

    start: int
    width: int
    mark: str
    players: int
    could_be_chance: bool
    places: str
    expected: str
    luck: str


@dataclass(frozen=True, slots=True)
class TableLuck:
    """What a page shows of the luck in a table.

    Attributes:
        bars: by player id, without the players whose final place is already unveiled.
        is_game_of_chance: whether nobody can be better than another.
        bars_mean: what the bars mean.
        about_table: a sentence that says that the whole table could be chance; empty if it could not.
        champion: how likely the champion is the best, and would be first again; in a game of chance only the latter.
            Empty before the end, and if there are several champions.
    """

    bars: dict[str, Bar]
    is_game_of_chance: bool
    bars_mean: str
    about_table: str
    champion: str


def of_table(view: View) -> TableLuck | None:
    """The luck in the table of a view; None while nothing is known."""
    known = luck.keeper.known(view)
    if known is None:
        return None
    # An unveiled final place does not follow from the rounds that are shown.
    bars = {player_id: _bar(known, player_id) for player_id in known.luck.players if player_id not in view.unveiled}
    return TableLuck(
        bars,
        known.luck.is_game_of_chance,
        words.about_bars(known.luck, known.after_round),
        words.about_table(known.luck),
        _champion(view, known),
    )


def of_player(view: View, player_id: str) -> str:
    """How much of a player's place is luck, in a sentence; empty while nothing is known."""
    known = luck.keeper.known(view)
    player = known.of(player_id) if known is not None else None
    if known is None or player is None or player_id in view.unveiled:
        return ""
    return words.about_player(player, known.luck, known.after_round)


def _bar(known: Known, player_id: str) -> Bar:
    player = known.luck.players[player_id]
    difference = "" if player.expected is None else f"{player.points - player.expected:+.1f}"
    return Bar(
        start=player.low - 1,
        width=player.high - player.low + 1,
        mark=f"{player.place - 0.5:g}",
        players=len(known.luck.players),
        could_be_chance=player.could_be_chance,
        places=words.places(player),
        expected=words.expected(player),
        luck=difference.replace("-", "\N{MINUS SIGN}"),
    )


def _champion(view: View, known: Known) -> str:
    if not (view.over and view.is_present and known.fresh):
        return ""
    first = champions(view.standings)
    player = known.of(first[0].player_id) if len(first) == 1 else None
    return words.about_champion(first[0].player_id, player, known.luck) if player is not None else ""
