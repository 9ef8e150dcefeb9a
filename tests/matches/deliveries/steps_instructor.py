"""Steps: the instructor starts, pauses and stops the league, decides matches, makes corrections and undoes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agents_registry.models import Agent
from agents_registry.registering import registration
from matches.league import freeze, lifecycle, play, results
from matches.league.corrections import applying
from matches.league.errors import ActionRefused
from matches.models import Match
from tests.matches.correcting import make_correction
from tests.matches.deliveries import model_words as words
from tests.matches.deliveries.steps import PICKS, WHY, Compared

OUT = {"withdraw": "withdrawn", "disqualify": "disqualified"}


class InstructorActs(Compared):
    """The steps of the instructor at the desk."""

    def act(self, verb: Callable[[], Any], *, granted: bool) -> None:
        """Carry out a verb: the league must refuse it exactly when the model does."""
        try:
            verb()
        except ActionRefused as refused:
            assert not granted, str(refused)
        else:
            assert granted
        self.compare()

    @rule()
    def start(self) -> None:
        granted = self.world.may_start()
        try:
            lifecycle.start_league(league_id="fall")
        except ActionRefused as refused:
            assert not granted, str(refused)
        else:
            assert granted
            rows = Match.objects.order_by("pk").values_list(
                "match_id", "player_a__code", "player_b__code", "round__number"
            )
            judges = dict(Match.objects.values_list("match_id", "referee__code"))
            self.world.start_next_round({key: ((a, b), number) for key, a, b, number in rows}, judges)
        self.compare()

    @precondition(lambda self: self.world.state == "RUNNING")
    @rule()
    def pause_or_resume(self) -> None:
        (lifecycle.resume if self.world.paused else lifecycle.pause)(league_id="fall")
        self.world.pause_or_resume()
        self.compare()

    @precondition(lambda self: len(self.world.rounds) > 2 and self.world.rounds[1] == "COMPLETED")
    @rule()
    def stop(self) -> None:
        granted = self.world.stop()
        self.act(lambda: lifecycle.stop(league_id="fall"), granted=granted)

    @precondition(lambda self: self.world.frozen is None)
    @rule(later=st.sampled_from([1, 1, 1, 2, 0, -1, None]))
    def freeze(self, later: int | None) -> None:
        """Freeze from the next round or a later one, or call that off (None); another round must be refused."""
        rounds_begun = sum(one != words.PENDING for one in self.world.rounds)
        number = None if later is None else rounds_begun + later
        granted = self.world.freeze(number)
        self.act(lambda: freeze.plan(league_id="fall", from_round=number), granted=granted)

    @precondition(lambda self: self.world.frozen is not None)
    @rule(verb=st.sampled_from(["call off", "unveil", "unveil", "unveil", "lift"]))
    def change_the_freeze(self, verb: str) -> None:
        if verb == "call off":
            self.act(lambda: freeze.plan(league_id="fall", from_round=None), granted=self.world.freeze(None))
        elif verb == "unveil":
            self.act(lambda: freeze.unveil(league_id="fall"), granted=self.world.unveil())
        else:
            self.act(lambda: freeze.lift(league_id="fall"), granted=self.world.lift())

    @precondition(lambda self: self.world.matches)
    @rule(pick=PICKS, verb=st.sampled_from(["cancel", "release", "void", "replay", "draw", "A wins", "give"]))
    def instruct(self, pick: int, verb: str) -> None:
        match_id, match = self.pick_match(pick) or ("", words.Match(("", ""), 0))
        where: dict[str, Any] = {"league_id": "fall", "match_id": match_id}
        a = match.players[0]
        if verb == "cancel":
            self.act(lambda: results.cancel(**where, why=WHY), granted=self.world.cancel(match_id))
        elif verb == "release":
            self.act(lambda: play.release(**where), granted=self.world.release(match_id))
        elif verb == "void":
            self.act(lambda: make_correction("void", match_id=match_id, reason=WHY), granted=self.world.void(match_id))
        elif verb == "replay":
            self.act(
                lambda: make_correction("replay", match_id=match_id, reason=WHY), granted=self.world.replay(match_id)
            )
        elif verb in ("draw", "A wins"):
            status, winner = ("DRAW", None) if verb == "draw" else ("WIN", a)
            granted = self.world.set_result(match_id, status, winner)
            fields = {"match_id": match_id, "status": status, "winner": winner}
            self.act(lambda: make_correction("set_result", reason=WHY, **fields), granted=granted)
        elif verb == "give":
            self.world.give_points(a, 2)
            self.act(lambda: make_correction("points", player_id=a, points=2, reason=WHY), granted=True)

    @precondition(lambda self: self.world.matches)
    @rule(
        pick=PICKS,
        verb=st.sampled_from(["withdraw", "disqualify"]),
        become=st.sampled_from([words.KEEP, words.VOID, words.LOSE]),
    )
    def take_out(self, pick: int, verb: str, become: str) -> None:
        """Take a player out; at most two, so that enough players are left."""
        codes = list(self.world.out) if len(self.world.out) > 1 else [one.code for one in self.world.players]
        code = codes[pick % len(codes)]
        granted = self.world.take_out(code, OUT[verb], become)
        self.act(lambda: make_correction(verb, player_id=code, matches_become=become, reason=WHY), granted=granted)

    @precondition(lambda self: self.world.corrections)
    @rule(back=st.integers(1, 6))
    def undo(self, back: int) -> None:
        number = max(1, len(self.world.corrections) + 1 - back)
        taken_out = [one.number for one in self.world.corrections if one.takes_out and not one.undone]
        if taken_out and back % 2:
            # Few corrections take a player out: half of the time one of these is undone.
            number = taken_out[-1]
        granted = self.world.undo(number)
        self.act(
            lambda: applying.undo(league_id="fall", number=number, reason=WHY, by="ada"),
            granted=granted,
        )

    @precondition(lambda self: self.world.referees)
    @rule(pick=PICKS, trusted=st.sampled_from([True, True, True, False]))
    def let_judge(self, pick: int, trusted: bool) -> None:
        judge = self.world.referees[pick % len(self.world.referees)]
        theirs = Agent.objects.filter(kind="referee", code=judge.code)
        registration.trust(agent_ids=theirs.values_list("pk", flat=True), trusted=trusted)
        self.world.let_judge(judge.code, trusted=trusted)
        self.compare()

    @precondition(lambda self: any(one.state == "SHUTDOWN" for one in self.world.players))
    @rule(pick=PICKS)
    def bring_back(self, pick: int) -> None:
        gone = [one for one in self.world.players if one.state == "SHUTDOWN"]
        player = gone[pick % len(gone)]
        theirs = Agent.objects.filter(league_id="fall", code=player.code)
        registration.bring_back(agent_ids=theirs.values_list("pk", flat=True))
        self.world.bring_back(player.code)
        self.compare()
