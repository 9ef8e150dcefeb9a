"""Plays the matches of a table again, many times, and says where everyone would be. Pure.

A match of a game of chance is drawn with the chances that the choices of its players gave it. Any other is drawn by
strengths that its results leave possible (``strengths``), other ones each time: so the answer has both kinds of doubt,
that of the next results and that of the strengths. What was decided without play (a technical loss) stays as it is: it
says nothing about strength, and nobody knows whether the agent would answer the next time.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, sqrt
from statistics import fmean

from league_sdk.ledger.luck.figures import Luck, PlayerLuck, Question
from league_sdk.ledger.luck.strengths import Decided, Drawn, Strengths, estimate
from league_sdk.ledger.standings import DISQUALIFIED, Result, Row, count, give_ranks, order
from league_sdk.rules.game import Chances

MIN_PLAYERS, MIN_MATCHES_EACH = 3, 2
"""With fewer players, or fewer finished matches per player on average, there are no figures."""
MAX_REPLAYS, MIN_REPLAYS, MAX_PLAYED_AGAIN = 1000, 100, 4_000_000
"""How often a league is played again: less often the more matches it has."""
COIN_REPLAYS = 1000
LOWER, UPPER = 0.05, 0.95
"""The quantiles between which nine of ten replays are. A player whose chance to be better than average is between them
could be an average player."""
_SHIFT = 1 << 24
"""The sort key of a row is one number: points, wins and draws, each with so much room."""


@dataclass(frozen=True, slots=True)
class _Replayed:
    """The places in every replay, by player; how often each was the strongest, and stronger than the average."""

    places: list[list[int]]
    best: list[float]
    better: list[int]


def enough(players: int, matches: int) -> bool:
    """Whether this many matches that were played to their end say anything about this many players."""
    return players >= MIN_PLAYERS and 2 * matches >= players * MIN_MATCHES_EACH


def play_again(question: Question) -> Luck | None:
    """How much of a table is luck; None if too few matches were played."""
    index = {player_id: number for number, player_id in enumerate(question.players)}
    played = [
        (result, chances)
        for result, chances in zip(question.results, question.chances or [None] * len(question.results), strict=True)
        if result.player_a in index and result.player_b in index
    ]
    again = [one for one in played if one[0].status in ("WIN", "DRAW")]
    if not enough(len(index), len(again)):
        return None
    rows = _rows(question)
    rng = random.Random(question.seed)  # noqa: S311 - replays are no secret
    drawn = [(index[one.player_a], index[one.player_b], chances) for one, chances in again if chances is not None]
    decided = [_decided(one, index) for one, chances in again if chances is None]
    replays = max(MIN_REPLAYS, min(MAX_REPLAYS, MAX_PLAYED_AGAIN // len(again)))
    strengths = estimate(len(index), decided) if decided else None
    found = _replay(question, _fixed_keys(question, index), drawn, (decided, strengths), replays, rng)
    chance = not decided
    coin = chance or not _are_apart(len(index), decided, rng)
    active = {number for one, _ in again for number in (index[one.player_a], index[one.player_b])}
    expected = _expected(question, played) if chance else {}
    players = {}
    for player_id, number in index.items():
        places = sorted(found.places[number])
        better = None if chance else found.better[number] / replays
        mean, spread = expected.get(player_id, (None, None))
        players[player_id] = PlayerLuck(
            place=rows[player_id].tied_rank,
            points=rows[player_id].points,
            low=places[int(LOWER * replays)],
            high=places[min(replays - 1, int(UPPER * replays))],
            first=places.count(1) / replays,
            best=_best(found, number, active, replays, chance=chance) if number in active else None,
            better=better,
            coin=better is None or LOWER <= better <= UPPER,
            expected=mean,
            spread=spread,
        )
    return Luck(players, len(again), len(played) - len(again), replays, chance, coin)


def _best(found: _Replayed, number: int, active: set[int], replays: int, *, chance: bool) -> float:
    return 1 / len(active) if chance else found.best[number] / replays


def _decided(result: Result, index: dict[str, int]) -> Decided:
    sign = 0 if result.winner is None else 1 if result.winner == result.player_a else -1
    return Decided(index[result.player_a], index[result.player_b], sign)


def _rows(question: Question) -> dict[str, Row]:
    """The table as it is."""
    return _ranked(question, question.results)


def _ranked(question: Question, results: Sequence[Result]) -> dict[str, Row]:
    rows = _counted(question, results)
    ranked = sorted(rows.values(), key=order)
    give_ranks(ranked)
    return rows


def _counted(question: Question, results: Sequence[Result]) -> dict[str, Row]:
    rows = {one: Row(one, one, out=question.out.get(one)) for one in question.players}
    for result in results:
        count(rows, result, question.scoring)
    for row in rows.values():
        row.points += question.points.get(row.player_id, 0)
    return rows


def _key(points: int, wins: int, draws: int) -> int:
    """The merit of a row as one number, which adds up: the higher, the better (``standings.merit``)."""
    return (points * _SHIFT + wins) * _SHIFT + draws


def _fixed_keys(question: Question, index: dict[str, int]) -> list[int]:
    """The key that each player has before anything is played again."""
    rest = [one for one in question.results if one.status not in ("WIN", "DRAW")]
    fixed_keys = [0] * len(index)
    for row in _counted(question, rest).values():
        behind = _key(_SHIFT, 0, 0) if row.out == DISQUALIFIED else 0
        fixed_keys[index[row.player_id]] = _key(row.points, row.wins, row.draws) - behind
    return fixed_keys


def _replay(
    question: Question,
    fixed_keys: list[int],
    drawn: list[tuple[int, int, Chances]],
    skilled: tuple[list[Decided], Strengths | None],
    replays: int,
    rng: random.Random,
) -> _Replayed:
    matches, strengths = skilled
    scoring = question.scoring
    win, draw, loss = _key(scoring.win, 1, 0), _key(scoring.draw, 0, 1), _key(scoring.loss, 0, 0)
    worth = (win, draw, loss)
    players = len(fixed_keys)
    active = sorted(set(chain.from_iterable((match.a, match.b) for match in matches)))
    found = _Replayed([[] for _ in range(players)], [0.0] * players, [0] * players)
    for _ in range(replays):
        keys = list(fixed_keys)
        if strengths is not None:
            possible = strengths.draw(rng)
            _play_by_strength(keys, matches, possible, worth, rng)
            _note_strengths(found, possible.strengths, active)
        _play_by_chance(keys, drawn, worth, rng)
        _note_places(found, keys)
    return found


def _play_by_strength(
    keys: list[int], matches: list[Decided], possible: Drawn, worth: tuple[int, int, int], rng: random.Random
) -> None:
    win, draw, loss = worth
    chance, nu = rng.random, possible.nu
    powers = [exp(max(-50.0, min(50.0, one / 2))) for one in possible.strengths]
    first = exp(possible.first / 2)
    for a, b, _ in matches:
        up = powers[a] * first / powers[b]
        down = 1 / up
        at = chance() * (up + down + nu)
        if at < up:
            keys[a] += win
            keys[b] += loss
        elif at < up + down:
            keys[a] += loss
            keys[b] += win
        else:
            keys[a] += draw
            keys[b] += draw


def _play_by_chance(
    keys: list[int], drawn: list[tuple[int, int, Chances]], worth: tuple[int, int, int], rng: random.Random
) -> None:
    win, draw, loss = worth
    for a, b, (wins, draws, _) in drawn:
        at = rng.random()
        if at < wins:
            keys[a] += win
            keys[b] += loss
        elif at < wins + draws:
            keys[a] += draw
            keys[b] += draw
        else:
            keys[a] += loss
            keys[b] += win


def _note_strengths(found: _Replayed, strengths: list[float], active: list[int]) -> None:
    found.best[max(active, key=strengths.__getitem__)] += 1
    average = fmean(strengths[number] for number in active)
    for number, strength in enumerate(strengths):
        found.better[number] += strength > average


def _note_places(found: _Replayed, keys: list[int]) -> None:
    """Note the place of each key; those who are tied share the better one."""
    place_of: dict[int, int] = {}
    for place, key in enumerate(sorted(keys, reverse=True), start=1):
        place_of.setdefault(key, place)
    for places, key in zip(found.places, keys, strict=True):
        places.append(place_of[key])


def _are_apart(players: int, matches: list[Decided], rng: random.Random) -> bool:
    """Whether the players' wins differ more than in 95 of 100 leagues in which coins decide.

    Draws stay draws. An advantage of PLAYER_A is left out, as everyone is PLAYER_A as often, or once more.
    """
    decisive = [match for match in matches if match.sign]
    if not decisive:
        return False
    games = Counter(chain.from_iterable((match.a, match.b) for match in decisive))

    def unevenness(signs: Sequence[int]) -> float:
        balance = [0] * players
        for (a, b, _), sign in zip(decisive, signs, strict=True):
            balance[a] += sign
            balance[b] -= sign
        return sum(balance[number] ** 2 / many for number, many in games.items())

    seen = unevenness([match.sign for match in decisive])
    replays = max(MIN_REPLAYS, min(COIN_REPLAYS, MAX_PLAYED_AGAIN // len(decisive)))
    as_uneven = sum(unevenness(rng.choices((1, -1), k=len(decisive))) >= seen - 1e-9 for _ in range(replays))
    return (as_uneven + 1) / (replays + 1) < 1 - UPPER


def _expected(question: Question, played: list[tuple[Result, Chances | None]]) -> dict[str, tuple[float, float]]:
    """For each player, the points that its matches are worth on average, and their standard deviation."""
    mean = {row.player_id: float(row.points) for row in _counted(question, _unplayed(played)).values()}
    variance = dict.fromkeys(question.players, 0.0)
    scoring = question.scoring
    for result, chances in played:
        if chances is None:
            continue
        for player_id, (wins, draws, losses) in ((result.player_a, chances), (result.player_b, chances[::-1])):
            average = wins * scoring.win + draws * scoring.draw + losses * scoring.loss
            squares = wins * scoring.win**2 + draws * scoring.draw**2 + losses * scoring.loss**2
            mean[player_id] += average
            variance[player_id] += squares - average**2
    return {player_id: (mean[player_id], sqrt(max(0.0, variance[player_id]))) for player_id in question.players}


def _unplayed(played: list[tuple[Result, Chances | None]]) -> list[Result]:
    return [result for result, chances in played if chances is None]
