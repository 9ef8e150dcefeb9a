"""Plays the matches of a table again, many times, and says where everyone would be. Pure.

The new result of a match of a game of chance is drawn with the chances that the choices of its players gave it. The new
result of any other match is drawn by strengths of its players that are possible after the results (``strengths``). Each
replay uses other possible strengths, so the answer has both kinds of doubt: that of the next results and that of the
strengths. What was decided without play (a technical loss) stays as it is: it says nothing about strength, and nobody
knows whether the agent would answer the next time.
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
from league_sdk.ledger.luck.strengths import PlayedMatch, Possibility, Strengths, estimate
from league_sdk.ledger.standings import DISQUALIFIED, Result, Row, count, give_ranks, order
from league_sdk.rules.game import Chances

MIN_PLAYERS, MIN_MATCHES_EACH = 3, 2
"""With fewer players, or fewer finished matches per player on average, there are no figures."""
MAX_REPLAYS, MIN_REPLAYS, MAX_PLAYED_AGAIN = 1000, 100, 4_000_000
"""A league is played again at most and at least so many times, and in between as often as keeps all its replays
together below MAX_PLAYED_AGAIN matches."""
MAX_CHANCE_TABLES = 1000
"""At most so many tables are made by chance alone, to see whether such a table would have wins as uneven."""
LOWER, UPPER = 0.05, 0.95
"""The quantiles between which nine of ten replays are. A player whose chance to be better than average is between them
could be an average player."""
_SHIFT = 1 << 24
"""The sort key of a row is one number made of points, wins and draws; this is the room that it has for each of them."""


@dataclass(frozen=True, slots=True)
class _Replayed:
    """What all replays gave, by the numbers of the players.

    Attributes:
        places: the place of each player in every replay.
        best: in how many replays each player was the strongest.
        better: in how many replays each player was stronger than the average.
    """

    places: list[list[int]]
    best: list[float]
    better: list[int]


def enough(players: int, matches: int) -> bool:
    """Whether this many matches that were played to their end say anything about this many players."""
    return players >= MIN_PLAYERS and 2 * matches >= players * MIN_MATCHES_EACH


def play_again(question: Question, *, max_replays: int = MAX_REPLAYS) -> Luck | None:
    """How much of a table is luck; None if too few matches were played.

    Args:
        question: the league.
        max_replays: how often it is played again at most, if that is not below :data:`MIN_REPLAYS`.
    """
    index = {player_id: number for number, player_id in enumerate(question.players)}
    played = [
        (result, chances)
        for result, chances in zip(question.results, question.chances or [None] * len(question.results), strict=True)
        if result.player_a in index and result.player_b in index
    ]
    replayable = [(result, chances) for result, chances in played if result.status in ("WIN", "DRAW")]
    if not enough(len(index), len(replayable)):
        return None
    rows = _rows(question)
    rng = random.Random(question.seed)  # noqa: S311 - replays are no secret
    chance_matches = [
        (index[result.player_a], index[result.player_b], chances)
        for result, chances in replayable
        if chances is not None
    ]
    skill_matches = [_played_match(result, index) for result, chances in replayable if chances is None]
    replays = max(MIN_REPLAYS, min(max_replays, MAX_PLAYED_AGAIN // len(replayable)))
    strengths = estimate(len(index), skill_matches) if skill_matches else None
    replayed = _replay(question, _fixed_keys(question, index), chance_matches, (skill_matches, strengths), replays, rng)
    is_game_of_chance = not skill_matches
    table_could_be_chance = is_game_of_chance or not _is_more_than_chance(len(index), skill_matches, rng)
    active = {number for result, _ in replayable for number in (index[result.player_a], index[result.player_b])}
    expected = _expected(question, played) if is_game_of_chance else {}
    players = {}
    for player_id, number in index.items():
        places = sorted(replayed.places[number])
        better = None if is_game_of_chance else replayed.better[number] / replays
        mean, spread = expected.get(player_id, (None, None))
        players[player_id] = PlayerLuck(
            place=rows[player_id].tied_rank,
            points=rows[player_id].points,
            low=places[int(LOWER * replays)],
            high=places[min(replays - 1, int(UPPER * replays))],
            first=places.count(1) / replays,
            best=_best(replayed, number, active, replays, equal=is_game_of_chance) if number in active else None,
            better=better,
            could_be_chance=better is None or LOWER <= better <= UPPER,
            expected=mean,
            spread=spread,
        )
    kept = len(played) - len(replayable)
    return Luck(players, len(replayable), kept, replays, is_game_of_chance, table_could_be_chance)


def _best(replayed: _Replayed, number: int, active: set[int], replays: int, *, equal: bool) -> float:
    return 1 / len(active) if equal else replayed.best[number] / replays


def _played_match(result: Result, index: dict[str, int]) -> PlayedMatch:
    sign = 0 if result.winner is None else 1 if result.winner == result.player_a else -1
    return PlayedMatch(index[result.player_a], index[result.player_b], sign)


def _rows(question: Question) -> dict[str, Row]:
    """The table as it is."""
    return _ranked(question, question.results)


def _ranked(question: Question, results: Sequence[Result]) -> dict[str, Row]:
    rows = _counted(question, results)
    ranked = sorted(rows.values(), key=order)
    give_ranks(ranked)
    return rows


def _counted(question: Question, results: Sequence[Result]) -> dict[str, Row]:
    """The rows by player_id, with all points but without ranks."""
    rows = {player_id: Row(player_id, player_id, out=question.out.get(player_id)) for player_id in question.players}
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
    rest = [result for result in question.results if result.status not in ("WIN", "DRAW")]
    fixed_keys = [0] * len(index)
    for row in _counted(question, rest).values():
        behind = _key(_SHIFT, 0, 0) if row.out == DISQUALIFIED else 0
        fixed_keys[index[row.player_id]] = _key(row.points, row.wins, row.draws) - behind
    return fixed_keys


def _replay(
    question: Question,
    fixed_keys: list[int],
    chance_matches: list[tuple[int, int, Chances]],
    skilled: tuple[list[PlayedMatch], Strengths | None],
    replays: int,
    rng: random.Random,
) -> _Replayed:
    matches, strengths = skilled
    scoring = question.scoring
    win, draw, loss = _key(scoring.win, 1, 0), _key(scoring.draw, 0, 1), _key(scoring.loss, 0, 0)
    worth = (win, draw, loss)
    players = len(fixed_keys)
    active = sorted(set(chain.from_iterable((match.a, match.b) for match in matches)))
    replayed = _Replayed([[] for _ in range(players)], [0.0] * players, [0] * players)
    for _ in range(replays):
        keys = list(fixed_keys)
        if strengths is not None:
            possible = strengths.draw(rng)
            _play_by_strength(keys, matches, possible, worth, rng)
            _note_strengths(replayed, possible.strengths, active)
        _play_by_chance(keys, chance_matches, worth, rng)
        _note_places(replayed, keys)
    return replayed


def _play_by_strength(
    keys: list[int], matches: list[PlayedMatch], possible: Possibility, worth: tuple[int, int, int], rng: random.Random
) -> None:
    win, draw, loss = worth
    random_share, nu = rng.random, possible.nu
    powers = [exp(max(-50.0, min(50.0, strength / 2))) for strength in possible.strengths]
    first = exp(possible.first / 2)
    for a, b, _ in matches:
        up = powers[a] * first / powers[b]
        down = 1 / up
        pick = random_share() * (up + down + nu)
        if pick < up:
            keys[a] += win
            keys[b] += loss
        elif pick < up + down:
            keys[a] += loss
            keys[b] += win
        else:
            keys[a] += draw
            keys[b] += draw


def _play_by_chance(
    keys: list[int], chance_matches: list[tuple[int, int, Chances]], worth: tuple[int, int, int], rng: random.Random
) -> None:
    win, draw, loss = worth
    for a, b, (wins, draws, _) in chance_matches:
        pick = rng.random()
        if pick < wins:
            keys[a] += win
            keys[b] += loss
        elif pick < wins + draws:
            keys[a] += draw
            keys[b] += draw
        else:
            keys[a] += loss
            keys[b] += win


def _note_strengths(replayed: _Replayed, strengths: list[float], active: list[int]) -> None:
    replayed.best[max(active, key=strengths.__getitem__)] += 1
    average = fmean(strengths[number] for number in active)
    for number, strength in enumerate(strengths):
        replayed.better[number] += strength > average


def _note_places(replayed: _Replayed, keys: list[int]) -> None:
    """Note the place of each key; those who are tied share the better one."""
    place_of: dict[int, int] = {}
    for place, key in enumerate(sorted(keys, reverse=True), start=1):
        place_of.setdefault(key, place)
    for places, key in zip(replayed.places, keys, strict=True):
        places.append(place_of[key])


def _is_more_than_chance(players: int, matches: list[PlayedMatch], rng: random.Random) -> bool:
    """Whether the players' wins differ more than in 95 of 100 leagues in which chance alone decides who wins.

    Draws stay draws. An advantage of PLAYER_A is left out, as each player is PLAYER_A in about half of its matches.
    """
    decisive = [match for match in matches if match.sign]
    if not decisive:
        return False
    matches_of = Counter(chain.from_iterable((match.a, match.b) for match in decisive))

    def unevenness(signs: Sequence[int]) -> float:
        balance = [0] * players
        for (a, b, _), sign in zip(decisive, signs, strict=True):
            balance[a] += sign
            balance[b] -= sign
        return sum(balance[number] ** 2 / matches_played for number, matches_played in matches_of.items())

    seen = unevenness([match.sign for match in decisive])
    replays = max(MIN_REPLAYS, min(MAX_CHANCE_TABLES, MAX_PLAYED_AGAIN // len(decisive)))
    as_uneven = sum(unevenness(rng.choices((1, -1), k=len(decisive))) >= seen - 1e-9 for _ in range(replays))
    return (as_uneven + 1) / (replays + 1) < 1 - UPPER


def _expected(question: Question, played: list[tuple[Result, Chances | None]]) -> dict[str, tuple[float, float]]:
    """For each player, the points that it would have on average, with its corrections, and their standard deviation."""
    mean = {row.player_id: float(row.points) for row in _counted(question, _without_chances(played)).values()}
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


def _without_chances(played: list[tuple[Result, Chances | None]]) -> list[Result]:
    return [result for result, chances in played if chances is None]
