"""The contract of every game. A game's test file has one class: ``class TestX(GameContract): game = X()``.

Only the interface of ``league_sdk.rules.game`` is used: a game that passes can be judged and shown.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from league_sdk.protocol.errors import IllegalMove
from league_sdk.protocol.messages import MessageType
from league_sdk.rules.draws import CommittedDraw
from league_sdk.rules.game import Game, Outcome, State
from tests.sizes import examples

PLAYERS = ("P01", "P02")
MAX_STEPS = 1000
SEED = bytes(range(32))
MAX_VIEW_BYTES = 1024
"""The limit of the size of a view: a request contains its view twice, a transcript stores 4 KiB of each request, and a
report of 64 KiB has many matches."""
JUNK: tuple[Any, ...] = (None, "", "no such move", True, -1, 10**9, 1.5, [], ["even"], {}, {"choice": "even"}, "\x01")


def each_game(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test with random games: ``data`` chooses the moves, ``seed`` is the seed of the random source.

    Twenty games in CI, five elsewhere, are enough: a test looks at every state of each.
    """
    # All games run the same tests. Without a database, no game is given the failing examples of another game.
    # The deadline is named here, as a game of another package is tested without our conftest.py.
    checks = [HealthCheck.differing_executors, HealthCheck.too_slow]
    how = settings(max_examples=examples(20), deadline=None, database=None, suppress_health_check=checks)
    return how(given(data=st.data(), seed=st.integers(0, 2**32))(test))


class Chance:
    """A random source that records its numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.drawn: list[tuple[int, int, int]] = []

    def randint(self, a: int, b: int) -> int:
        number = self._random.randint(a, b)
        self.drawn.append((a, b, number))
        return number


class Script:
    """A random source that returns given numbers and records the requested ranges."""

    def __init__(self, *numbers: int) -> None:
        self.numbers, self.ranges = list(numbers), list[tuple[int, int]]()

    def randint(self, a: int, b: int) -> int:
        self.ranges.append((a, b))
        return self.numbers.pop(0)


def same(left: Any, right: Any) -> bool:
    """Compare as JSON, so that true and 1 are different."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def scribble(value: Any) -> None:
    """Empty every list and object inside a value, and the value itself."""
    for inner in list(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        scribble(inner)
    if isinstance(value, (dict, list)):
        value.clear()


class GameContract:
    """The tests that every game must pass; a subclass sets ``game``."""

    game: ClassVar[Game]

    def play(self, data: st.DataObject, chance: Chance) -> Iterator[tuple[State, str | None, Any]]:
        """A complete random game: the state before each step, the player who moves (None for a draw), and the move.

        The last item is the final state with neither.
        """
        state = self.game.new_state(PLAYERS)
        for _ in range(MAX_STEPS):
            if self.game.outcome(state) is not None:
                yield state, None, None
                return
            movers = self.game.to_move(state)
            if not movers:
                yield state, None, None
                state = self.game.draw(state, chance)
                continue
            player = data.draw(st.sampled_from(movers))
            move = data.draw(st.sampled_from(self.game.options(state, player)))
            yield state, player, move
            state = self.game.apply(state, player, move)
        raise AssertionError(f"no end after {MAX_STEPS} steps")

    def test_a_game_describes_itself_with_valid_attributes(self) -> None:
        game = self.game
        for text in (game.game_type, game.display_name, game.move_type, game.choice_field):
            assert isinstance(text, str)
            assert text == text.strip() != ""
        assert [one for one in game.valid_choices if not isinstance(one, str)] == []
        assert len(game.valid_choices) > 0
        generic = (MessageType.GAME_MOVE_CALL, MessageType.GAME_MOVE_RESPONSE)
        parity = (MessageType.CHOOSE_PARITY_CALL, MessageType.CHOOSE_PARITY_RESPONSE)
        assert (game.call_message, game.response_message) == (parity if game.game_type == "even_odd" else generic)
        assert isinstance(game.hidden, bool)
        assert isinstance(game.draws, bool)
        assert 0 < game.max_round_time_sec <= 3600

    def test_a_new_game_depends_on_the_players_only_and_has_no_outcome(self) -> None:
        """The order of the players matters. At first both can move in a game with hidden choices, in any other one."""
        game = self.game
        state = game.new_state(PLAYERS)
        assert same(game.new_state(PLAYERS), state)
        assert not same(game.new_state((PLAYERS[1], PLAYERS[0])), state)
        assert game.outcome(state) is None
        assert len(game.to_move(state)) == (2 if game.hidden else 1)

    @each_game
    def test_random_legal_play_ends_with_a_complete_outcome(self, data: st.DataObject, seed: int) -> None:
        *_, (final, _, _) = self.play(data, Chance(seed))
        outcome = self.game.outcome(final)
        assert isinstance(outcome, Outcome)
        assert outcome.winner in (*PLAYERS, None)
        assert outcome.reason == outcome.reason.strip() != ""
        assert same(json.loads(json.dumps(outcome.details)), outcome.details)
        assert self.game.to_move(final) == ()
        # A result has the same fields whether or not the game was played to its end.
        assert outcome.details.keys() == self.game.unfinished(self.game.new_state(PLAYERS)).keys()

    @each_game
    def test_a_game_continues_in_the_same_way_after_its_state_was_stored_as_json(
        self, data: st.DataObject, seed: int
    ) -> None:
        """Besides, no method changes the state that it is given."""
        for state, player, move in self.play(data, Chance(seed)):
            before = copy.deepcopy(state)
            restored = json.loads(json.dumps(state))
            assert same(restored, state)
            assert self.game.to_move(restored) == self.game.to_move(state)
            assert self.game.outcome(restored) == self.game.outcome(state)
            assert same(self.game.view(restored, None), self.game.view(state, None))
            self.game.unfinished(state)
            if player is not None:
                self.game.options(state, player).clear()
                assert same(self.game.apply(restored, player, move), self.game.apply(state, player, move))
            elif self.game.outcome(state) is None:
                self.game.draw(state, Chance(seed))
            assert same(state, before)

    @each_game
    def test_a_game_refuses_a_move_that_is_not_among_the_options(self, data: st.DataObject, seed: int) -> None:
        junk = data.draw(st.sampled_from(JUNK))
        for state, player, _ in self.play(data, Chance(seed)):
            if player is None or any(same(junk, option) for option in self.game.options(state, player)):
                continue
            before = copy.deepcopy(state)
            with pytest.raises(IllegalMove) as caught:
                self.game.apply(state, player, junk)
            error = caught.value
            assert (error.error_code, error.rpc_code) == ("E004", -32602)
            assert {"field", "seen", "expected"} - error.context.keys() == set()
            assert error.context["field"] == self.game.choice_field
            if self.game.call_message == MessageType.GAME_MOVE_CALL:
                assert error.context["legacy_code"] == "G001"
            assert same(state, before)

    @each_game
    def test_a_player_to_move_has_options_and_all_of_them_are_different(self, data: st.DataObject, seed: int) -> None:
        for state, player, _ in self.play(data, Chance(seed)):
            if player is None:
                continue
            options = [json.dumps(option) for option in self.game.options(state, player)]
            assert 0 < len(options) == len(set(options))
            assert [one for one in options if json.loads(one) not in self.allowed()] == []

    @each_game
    def test_a_game_refuses_every_move_of_a_player_whose_turn_it_is_not(self, data: st.DataObject, seed: int) -> None:
        for state, player, move in self.play(data, Chance(seed)):
            movers = self.game.to_move(state)
            assert [one for one in movers if one not in PLAYERS] == []
            assert player in (movers or (None,))
            for other in (*PLAYERS, "P99"):
                if other in movers:
                    continue
                assert self.game.options(state, other) == []
                before = copy.deepcopy(state)
                for attempt in (move, *self.allowed()):
                    with pytest.raises(IllegalMove) as caught:
                        self.game.apply(state, other, attempt)
                    assert caught.value.context["field"] == "player_id"
                    if self.game.call_message == MessageType.GAME_MOVE_CALL:
                        assert caught.value.context["legacy_code"] == "G004"
                assert same(state, before)

    @each_game
    def test_players_of_an_open_game_move_in_turn_and_every_move_is_public(
        self, data: st.DataObject, seed: int
    ) -> None:
        """Without hidden choices one player moves at a time, players see what the public sees, a move changes it."""
        if self.game.hidden:
            return
        shown: list[str] = []
        for state, player, _ in self.play(data, Chance(seed)):
            movers = self.game.to_move(state)
            assert len(movers) == (1 if player else 0)
            public = self.game.view(state, None)
            for viewer in PLAYERS:
                assert {name: self.game.view(state, viewer)[name] for name in public} == public
            shown.append(json.dumps(public, sort_keys=True))
        assert len(set(shown)) == len(shown)

    @each_game
    def test_a_view_is_small_json_and_changing_it_does_not_change_the_game(
        self, data: st.DataObject, seed: int
    ) -> None:
        for state, _, _ in self.play(data, Chance(seed)):
            before = copy.deepcopy(state)
            for viewer in (None, *PLAYERS, "P99"):
                view = self.game.view(state, viewer)
                assert same(json.loads(json.dumps(view)), view)
                assert len(json.dumps(view)) < MAX_VIEW_BYTES
                scribble(view)
            assert same(self.game.view(state, "P99"), self.game.view(state, None))
            assert same(state, before)

    @each_game
    def test_an_unfinished_game_has_the_same_result_fields_in_every_state(self, data: st.DataObject, seed: int) -> None:
        fields = self.game.unfinished(self.game.new_state(PLAYERS)).keys()
        for state, _, _ in self.play(data, Chance(seed)):
            details = self.game.unfinished(state)
            assert details.keys() == fields
            assert same(json.loads(json.dumps(details)), details)
            assert list(details["choices"]) == list(PLAYERS)

    @each_game
    def test_hidden_choices_do_not_change_the_views_of_others_before_the_draw(
        self, data: st.DataObject, seed: int
    ) -> None:
        if not self.game.hidden:
            return
        state = self.game.new_state(PLAYERS)
        shown = {viewer: self.game.view(state, viewer) for viewer in (None, *PLAYERS)}
        for player in data.draw(st.permutations(PLAYERS)):
            options = self.game.options(state, player)
            others = [viewer for viewer in (None, *PLAYERS) if viewer != player]
            after = [self.game.apply(state, player, option) for option in options]
            for viewer in others:
                views = [json.dumps(self.game.view(one, viewer), sort_keys=True) for one in after]
                assert views == [json.dumps(shown[viewer], sort_keys=True)] * len(options)
            state = data.draw(st.sampled_from(after))
        assert self.game.to_move(state) == ()
        assert self.game.outcome(state) is None

    @each_game
    def test_a_game_draws_from_the_given_random_source_only(self, data: st.DataObject, seed: int) -> None:
        global_state = random.getstate()
        for state, player, _ in self.play(data, Chance(seed)):
            if player is not None or self.game.outcome(state) is not None:
                continue
            chance = Chance(seed)
            first = self.game.draw(state, chance)
            replay = Script(*(number for _, _, number in chance.drawn))
            assert len(chance.drawn) > 0
            assert same(self.game.draw(state, replay), first)
            assert replay.ranges == [(a, b) for a, b, _ in chance.drawn]
        assert random.getstate() == global_state

    @each_game
    def test_a_committed_draw_is_made_from_two_texts_that_do_not_depend_on_who_chose_first(
        self, data: st.DataObject, seed: int
    ) -> None:
        """The same seed and choices give the same result; there is such a draw exactly in games with ``draws``."""
        made: list[tuple[str, Any]] = []
        drawn = False
        for state, player, move in self.play(data, Chance(seed)):
            if player is not None:
                with pytest.raises(ValueError, match=r"drawn"):
                    self.game.drawn_from(state)
                made.append((player, move))
            elif self.game.outcome(state) is None:
                drawn = True
                drawn_from = self.game.drawn_from(state)
                assert [type(choice) for choice in drawn_from] == [str, str]
                assert [one for one in drawn_from if one == "" or one != one.strip() or "|" in one] == []
                other_order = self.game.new_state(PLAYERS)
                for mover, choice in reversed(made):
                    other_order = self.game.apply(other_order, mover, choice)
                assert self.game.drawn_from(other_order) == drawn_from
                first, second = (CommittedDraw(SEED, "L", "R1M1", 1, drawn_from) for _ in range(2))
                assert same(self.game.draw(state, first), self.game.draw(other_order, second))
        assert drawn == self.game.draws

    def allowed(self) -> list[Any]:
        """The values of ``valid_choices``, which has words and ranges such as "0-8"."""
        moves: list[Any] = []
        for choice in self.game.valid_choices:
            low, dash, high = choice.partition("-")
            is_range = dash and low.isdecimal() and high.isdecimal()
            moves += list(range(int(low), int(high) + 1)) if is_range else [choice]
        return moves

    def test_chances_are_none_or_three_that_sum_to_one_whatever_a_referee_reports(self) -> None:
        junk = [{}, *({"choices": one} for one in JUNK), {"choices": {player: [] for player in PLAYERS}}]
        for details in junk:
            chances = self.game.chances(details)
            assert chances is None or (len(chances) == 3 and min(chances) >= 0 and sum(chances) == pytest.approx(1.0))
