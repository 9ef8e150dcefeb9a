"""Reports, acknowledgements and registrations in any order, any number of times: the league's state is the model's.

Every delivery goes through the real border, as bytes; every one is kept and may come again, byte for byte, at any later
time. Between them time passes, the conductor looks, and the instructor acts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings as site
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agents_registry import registration
from agents_registry.attempts import attempts
from agents_registry.models import Agent
from leaguesite import mcp
from leaguesite.calls import Came
from matches import due, sight
from matches.league import corrections, lifecycle, play, results
from matches.league.errors import ActionRefused
from matches.models import Broadcast, Delivery, Event, League, Match, Round
from tests import factories as make
from tests import wire
from tests.fuzz.profile import long, many, seeded
from tests.fuzz.writes import Writes
from tests.matches import deliveries_model as model
from tests.matches.machine import RolledBack

BEGIN = datetime(2025, 1, 15, 10, 0, tzinfo=UTC)
PHASES = {"PENDING": model.PENDING, "READY": model.READY, "HELD": model.HELD, "FINISHED": model.FINISHED}
WHY = "a reason"

NAMES = st.sampled_from(["Ada", "Bo", "Cy"])
MACHINES = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"])
CALLERS = st.none() | st.just("10.0.0.99")
PICKS = st.integers(0, 50)
TIMES = st.sampled_from([1, 1, 1, 2, 3])
ATTEMPTS = st.sampled_from([None, 0, 0, 0, -1, -2, 1])
"""None in the message, or so many more than the attempt that is on."""
OUTCOMES = st.sampled_from(["A", "B", "draw", "cancelled", "A alone", "A, B silent", "both silent", "B", "stranger"])
SENDERS = st.sampled_from(["right"] * 10 + ["another", "another", "player", "nobody", "old", "liar"])
STATES = st.sampled_from(["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "HANDED_BACK"])


@dataclass(frozen=True)
class Sent:
    """One delivery as it went over the wire, and what the model makes of it."""

    raw: bytes
    caller: str
    expect: Callable[[], Any]


class Deliveries(RolledBack):
    """One league of at most five players, and the site's referees."""

    count = 0

    def __init__(self) -> None:
        super().__init__()
        self.clock = patch("django.utils.timezone.now", lambda: BEGIN + timedelta(seconds=self.world.now))
        self.sent: list[Sent] = []
        self.tokens: list[str] = []

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.clock.stop()
        super().teardown()

    @initialize(
        players=st.sampled_from([4, 2, 5, 3]),
        waiting=st.integers(0, 2),
        still_open=st.integers(0, 5),
        foreign=st.booleans(),
    )
    def begin(self, players: int, waiting: int, still_open: int, foreign: bool) -> None:
        self.world = model.World(0, 0)
        self.clock.start()
        for number in range(1, waiting + 1):
            self.player("Ada", f"10.0.0.{number}", None, None, None, None, 1)
        self.world.open_league()
        patience = {"suspend_after": model.SUSPEND_AFTER, "shutdown_after": model.SHUTDOWN_AFTER}
        league = make.open_league("fall", max_players=model.MOST_PLAYERS, **patience)
        self.world.longest_match_s = int(league.rules.longest_match_s())
        for number in (1, 2):
            self.referee(f"Judge {number}", f"10.0.1.{number}", None, None, True, not foreign or number == 1, 1)
        for number, name in enumerate(("Ada", "Bo", "Cy", "Di", "Eve")[:players], start=1):
            # The fourth has the address of the first: they are never in two matches at once.
            self.player(name, f"10.0.0.{1 if number == 4 else number}", None, None, None, "fall", 1)
        # In one example of six anything may still come in.
        if still_open != 5:
            self.start()
            self.pass_time(2)
            self.look()

    # Deliveries --------------------------------------------------------------------------------------

    def deliver(self, sent: Sent, times: int = 1) -> None:
        if sent not in self.sent:
            self.sent.append(sent)
        for _ in range(times):
            type(self).count += 1
            # How often somebody may call is not what this is about.
            attempts.forget_all()
            with Writes() as writes:
                status, reply = mcp.answer(sent.raw, content_type="application/json", came=Came(sent.caller))
            assert status == 200
            assert reply is not None
            expected, said = sent.expect(), kind_of(reply)
            assert said == expected
            if isinstance(said, str) and said.startswith(("REJECTED", "E0")):
                # A player that has too many answers on their way is refused after those that arrived were cleared.
                assert not writes.seen or (said, "DELETE") == ("E002", writes.seen[0][:6])
            if said == "ACCEPTED" and "auth_token" in reply["result"]:
                self.world.give(reply["result"]["auth_token"])
                self.tokens.append(reply["result"]["auth_token"])
            self.outbox_is_the_models()
        self.compare()

    def message(self, method: str, params: dict[str, Any], caller: str, expect: Callable[[], Any], times: int) -> None:
        self.deliver(Sent(json.dumps(wire.request(method, params)).encode(), caller, expect), times)

    @rule(
        name=NAMES,
        at=MACHINES,
        caller=CALLERS,
        token=st.none() | PICKS,
        wanted=st.none() | st.integers(1, 9),
        league=st.sampled_from(["fall"] * 6 + [None, None, "nowhere"]),
        times=TIMES,
    )
    def player(
        self,
        name: str,
        at: str,
        caller: str | None,
        token: int | None,
        wanted: int | None,
        league: str | None,
        times: int,
    ) -> None:
        shown = self.tokens[token % len(self.tokens)] if token is not None and self.tokens else None
        params = wire.player_request(
            name, endpoint=f"http://{at}:8101/mcp", league_id=league, sender=f"player:{name}", auth_token=shown
        )
        if wanted is not None:
            params["player_id"] = f"P{wanted:02d}"
        come = caller or at
        self.message(
            "register_player",
            params,
            come,
            lambda: self.world.register_player(name, at, come, shown, wanted, league),
            times,
        )

    @rule(
        name=st.sampled_from(["Judge 1", "Judge 2", "Judge 3"]),
        at=st.sampled_from(["10.0.1.1", "10.0.1.2"]),
        caller=CALLERS,
        token=st.none() | PICKS,
        key=st.booleans(),
        progress=st.sampled_from([True, True, False]),
        times=TIMES,
    )
    def referee(
        self, name: str, at: str, caller: str | None, token: int | None, key: bool, progress: bool, times: int
    ) -> None:
        shown = self.tokens[token % len(self.tokens)] if token is not None and self.tokens else None
        code = {"code": site.LEAGUE_REFEREE_KEY} if key else {}
        endpoint = f"http://{at}:800{name[-1]}/mcp"
        params = wire.referee_request(name, endpoint=endpoint, room=10, progress=progress, auth_token=shown, **code)
        come = caller or at
        self.message(
            "register_referee",
            params,
            come,
            lambda: self.world.register_referee(name, at, come, shown, key, progress),
            times,
        )

    def signed(self, token: str | None, sender: str, message_type: str, **fields: Any) -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"{'player' if sender.startswith('P') else 'referee'}:{sender}",
            "timestamp": wire.STAMP,
            "conversation_id": "conv-of-the-test",
            "auth_token": token,
        } | fields

    def who(self, sender: str, right: str | None) -> tuple[str | None, str]:
        """A token and the id that the message says it is from."""
        judges = [one for one in self.world.referees if one.tokens]
        others = [one for one in judges if one.code != right] or judges
        players = [one for one in self.world.players if one.tokens]
        holder = next((one for one in judges if one.code == right), judges[0] if judges else None)
        if sender == "old" and self.tokens:
            dead = next((one for one in self.tokens if self.world.owner(one) is None), "tok_" + "0" * 32)
            return dead, right or "REF01"
        if sender == "player" and players:
            return next(iter(players[0].tokens)), players[0].code
        if sender == "another" and others:
            return next(reversed(others[0].tokens)), others[0].code
        if sender == "liar" and holder is not None:
            return next(iter(holder.tokens)), "REF77"
        if sender == "nobody" or holder is None:
            return None, right or "REF01"
        return next(iter(holder.tokens)), holder.code

    def game(self, pick: int) -> tuple[str, model.Game] | None:
        # What is being played comes first: two thirds of the picks.
        on = [key for key, game in self.world.games.items() if game.phase == model.PLAYING]
        ids = on if on and pick % 3 else list(self.world.games)
        return (ids[pick % len(ids)], self.world.games[ids[pick % len(ids)]]) if ids else None

    @precondition(lambda self: self.world.games)
    @rule(pick=PICKS, more=ATTEMPTS, outcome=OUTCOMES, sender=SENDERS, odd=st.integers(0, 39), times=TIMES)
    def report(self, pick: int, more: int | None, outcome: str, sender: str, odd: int, times: int) -> None:
        match_id, game = self.game(pick) or ("R9M9", model.Game(("P01", "P02"), 1))
        token, code = self.who(sender, game.referee)
        # Sometimes of a match, or a league, that is not there.
        match_id, league = ("R9M9" if odd == 0 else match_id), ("nowhere" if odd == 1 else "fall")
        attempt = None if more is None else max(0, game.attempt + more)
        a, b = game.players
        winner = {"A": a, "B": b, "A alone": a, "A, B silent": a, "stranger": "P77"}.get(outcome)
        status = {"draw": "DRAW", "cancelled": "CANCELLED", "A": "WIN", "B": "WIN", "stranger": "WIN"}.get(
            outcome, "TECHNICAL_LOSS"
        )
        silent = {"A, B silent": [b], "both silent": [a, b]}.get(outcome, [])
        fields = {
            "league_id": league,
            "round_id": game.round,
            "match_id": match_id,
            "attempt": attempt,
            "status": status,
            "result": {"winner": winner, "score": {}, "details": {}},
            "faults": [{"player_id": player, "error_code": "E001"} for player in silent],
            "transcript": [make.line(0, body=outcome)],
        }
        params = self.signed(token, code, "MATCH_RESULT_REPORT", **fields)
        self.message(
            "report_match_result",
            params,
            "10.0.1.1",
            lambda: self.world.report(token, code, league, match_id, attempt, outcome),
            times,
        )

    @precondition(lambda self: self.playing())
    @rule(pick=PICKS, outcome=OUTCOMES, times=TIMES)
    def report_now(self, pick: int, outcome: str, times: int) -> None:
        """A match ends as it should."""
        self.report(3 * pick + 1, 0, outcome, "right", 39, times)

    @precondition(lambda self: self.playing())
    @rule(pick=PICKS, kind=st.sampled_from(["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]), times=TIMES)
    def answer_now(self, pick: int, kind: str, times: int) -> None:
        code = self.playing()[pick % len(self.playing())].players[pick % 2]
        at = next(at for at, one in enumerate(self.world.players) if one.code == code)
        self.answer(at, None, kind, "it", times)

    def playing(self) -> list[model.Game]:
        return [game for game in self.world.games.values() if game.phase == model.PLAYING]

    @rule()
    def go_on(self) -> None:
        """As on an evening without trouble: referees are alive, what was sent has arrived, the next round begins."""
        self.referees_are_alive()
        self.all_acknowledged()
        if self.world.may_start():
            self.start()
        self.pass_time(2)
        self.look()

    @rule(outcomes=st.lists(OUTCOMES, min_size=1, max_size=2))
    def a_round_goes_by(self, outcomes: list[str]) -> None:
        """All that can be played now is played and reported: leagues come to their end, and players fall silent."""
        self.go_on()
        for number in range(len(self.playing())):
            self.report_now(0, outcomes[number % len(outcomes)], 1)

    @rule()
    def referees_are_alive(self) -> None:
        """Each of them tells how its matches stand."""
        for judge in self.world.referees:
            theirs = [(key, one) for key, one in self.world.games.items() if one.referee == judge.code]
            said = [(key, one.attempt, "COLLECTING_CHOICES", "") for key, one in theirs if one.phase == model.PLAYING]
            if judge.tokens:
                self.tell(next(iter(judge.tokens)), judge.code, said, False, 1)

    @rule(
        items=st.lists(
            st.tuples(PICKS, st.sampled_from([0, 0, 0, -1, 1]), STATES, st.sampled_from(["", "", "it broke"])),
            max_size=3,
        ),
        sender=SENDERS,
        judge=PICKS,
        leaving=st.sampled_from([False] * 5 + [True]),
        times=TIMES,
    )
    def progress(
        self, items: list[tuple[int, int, str, str]], sender: str, judge: int, leaving: bool, times: int
    ) -> None:
        first = self.game(items[0][0]) if items else None
        right = first[1].referee if first else None
        if right is None and self.world.referees:
            right = self.world.referees[judge % len(self.world.referees)].code
        token, code = self.who(sender, right)
        said = []
        for pick, more, state, why in items:
            found = self.game(pick)
            match_id, attempt = (found[0], found[1].attempt) if found else ("R1M1", 1)
            said.append((match_id, max(0, attempt + more), state, why))
        self.tell(token, code, said, leaving, times)

    def tell(
        self, token: str | None, code: str, said: list[tuple[str, int, str, str]], leaving: bool, times: int
    ) -> None:
        fields = [
            {"league_id": "fall", "match_id": match_id, "attempt": attempt, "state": state, "why": why}
            for match_id, attempt, state, why in said
        ]
        params = self.signed(token, code, "REPORT_PROGRESS", matches=fields, leaving=leaving)
        self.message(
            "report_progress", params, "10.0.1.1", lambda: self.world.progress(token, code, said, leaving), times
        )

    @precondition(lambda self: self.world.players)
    @rule(
        pick=PICKS,
        named=st.none() | PICKS,
        kind=st.sampled_from(["GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"]),
        by=st.sampled_from(["it"] * 5 + ["nobody", "referee"]),
        times=TIMES,
    )
    def answer(self, pick: int, named: int | None, kind: str, by: str, times: int) -> None:
        player = self.world.players[pick % len(self.world.players)]
        found = self.game(named) if named is not None else None
        match_id = found[0] if found else None
        token = next(reversed(player.tokens), None) if by == "it" else self.who("right", None)[0]
        token = None if by == "nobody" else token
        params = {"auth_token": token, "match_id": match_id, "accept": True, "parity_choice": "odd"}
        self.message(kind, params, player.at, lambda: self.world.answer(token, match_id), times)

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(1, 200), times=TIMES)
    def again(self, back: int, times: int) -> None:
        """Any earlier delivery comes once more, byte for byte, however late."""
        self.deliver(self.sent[-1 - back % len(self.sent)], times)

    @precondition(lambda self: self.world.outbox)
    @rule(pick=PICKS, problem=st.sampled_from(["", "", "no connection"]), times=TIMES)
    def acknowledged(self, pick: int, problem: str, times: int) -> None:
        """What became of a broadcast or of a player's answer that was passed on; the first word counts."""
        number = list(self.world.outbox)[pick % len(self.world.outbox)]
        for _ in range(times):
            type(self).count += 1
            due.note(due.Outcomes(deliveries=[(number, problem)]))
        parcel = self.world.outbox[number]
        if parcel.state == "PENDING":
            parcel.state = "FAILED" if problem else "SETTLED"
        self.compare()

    @rule()
    def all_acknowledged(self) -> None:
        type(self).count += 1
        due.note(due.Outcomes(deliveries=[(number, "") for number in self.world.outbox]))
        for parcel in self.world.outbox.values():
            parcel.state = "SETTLED" if parcel.state == "PENDING" else parcel.state
        self.compare()

    @precondition(lambda self: self.world.games)
    @rule(pick=PICKS, more=st.integers(-1, 1), answered=st.booleans(), times=TIMES)
    def start_not_taken(self, pick: int, more: int, answered: bool, times: int) -> None:
        """What a referee said to start_match, or that it could not be reached."""
        match_id, game = self.game(pick) or ("", model.Game(("", ""), 0))
        attempt, match = game.attempt + more, Match.objects.get(match_id=match_id)
        for _ in range(times):
            type(self).count += 1
            due.note(due.Outcomes(undeliverable=[due.NotTaken(match.pk, attempt, match.lease_until, "no", answered)]))
            self.world.not_taken(match_id, attempt, answered=answered)
        self.compare()

    # Time, and the conductor -------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 1, 2, 2, 4, 9, 17, 600]))
    def pass_time(self, seconds: int) -> None:
        self.world.now += seconds

    @rule()
    def look(self) -> None:
        make.look()
        self.world.look(dict_of("match_id", "attempt", "referee__code"))
        self.compare()

    # The instructor ----------------------------------------------------------------------------------

    def act(self, verb: Callable[[], Any], *, granted: bool) -> None:
        """The league does it exactly when the model does."""
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
            self.world.started({key: ((a, b), number) for key, a, b, number in rows}, judges)
        self.compare()

    @precondition(lambda self: self.world.state == "RUNNING")
    @rule()
    def pause_or_resume(self) -> None:
        (lifecycle.resume if self.world.paused else lifecycle.pause)(league_id="fall")
        self.world.paused = not self.world.paused
        self.compare()

    @precondition(lambda self: len(self.world.rounds) > 2 and self.world.rounds[1] == "COMPLETED")
    @rule()
    def stop(self) -> None:
        granted = self.world.stop()
        self.act(lambda: lifecycle.stop(league_id="fall"), granted=granted)

    @precondition(lambda self: self.world.games)
    @rule(pick=PICKS, verb=st.sampled_from(["cancel", "release", "void", "replay", "draw", "A wins", "B gone", "give"]))
    def instruct(self, pick: int, verb: str) -> None:
        match_id, game = self.game(pick) or ("", model.Game(("", ""), 0))
        where: dict[str, Any] = {"league_id": "fall", "match_id": match_id}
        said = {"reason": WHY, "by": "ada"}
        a, b = game.players
        if verb == "cancel":
            self.act(lambda: results.cancel(**where, why=WHY), granted=self.world.cancel(match_id))
        elif verb == "release":
            self.act(lambda: play.release(**where), granted=self.world.release(match_id))
        elif verb == "void":
            self.act(lambda: corrections.void(**where, **said), granted=self.world.void(match_id))
        elif verb == "replay":
            self.act(lambda: corrections.replay(**where, **said), granted=self.world.replay(match_id))
        elif verb in ("draw", "A wins"):
            status, winner = ("DRAW", None) if verb == "draw" else ("WIN", a)
            granted = self.world.set_result(match_id, status, winner)
            self.act(lambda: corrections.set_result(**where, status=status, winner=winner, **said), granted=granted)
        elif verb == "B gone" and pick % 5 == 0:
            gone: dict[str, Any] = {"league_id": "fall", "player_id": b, "matches_become": "lose", **said}
            self.act(lambda: corrections.disqualify(**gone), granted=self.world.disqualify(b))
        elif verb == "give":
            self.world.give_points(a, 2)
            self.act(lambda: corrections.give_points(league_id="fall", player_id=a, points=2, **said), granted=True)

    @precondition(lambda self: self.world.corrections)
    @rule(back=st.integers(1, 6))
    def undo(self, back: int) -> None:
        number = max(1, len(self.world.corrections) + 1 - back)
        granted = self.world.undo(number)
        self.act(
            lambda: corrections.undo(league_id="fall", number=number, reason=WHY, by="ada"),
            granted=granted,
        )

    @precondition(lambda self: any(one.state == "SHUTDOWN" for one in self.world.players))
    @rule(pick=PICKS)
    def bring_back(self, pick: int) -> None:
        gone = [one for one in self.world.players if one.state == "SHUTDOWN"]
        player = gone[pick % len(gone)]
        theirs = Agent.objects.filter(league_id="fall", code=player.code)
        registration.bring_back(agent_ids=theirs.values_list("pk", flat=True))
        self.world.bring_back(player.code)
        self.compare()

    # What must be so after every step ----------------------------------------------------------------

    def compare(self) -> None:
        self.agents_are_the_models()
        if self.world.state != "NOT THERE":
            self.matches_are_the_models()
        self.outbox_is_the_models()

    def agents_are_the_models(self) -> None:
        rows = Agent.objects.order_by("pk").values_list(
            "kind", "league_id", "code", "display_name", "state", "silences", "trusted"
        )
        for place, league in ((self.world.players, "fall"), (self.world.lobby, None)):
            found = [tuple(row[2:6]) for row in rows if row[:2] == ("player", league)]
            assert found == [(one.code, one.shown, one.state, one.silences) for one in place]
        judges = [
            (code, shown, trusted, state) for kind, _, code, shown, state, _, trusted in rows if kind == "referee"
        ]
        assert [(*one, state == "SUSPENDED") for *one, state in judges] == [
            (one.code, one.shown, one.trusted, one.suspended) for one in self.world.referees
        ]

    def matches_are_the_models(self) -> None:
        league = League.objects.get()
        assert (league.state, league.paused) in [(self.world.state, self.world.paused), ("SCHEDULED", False)]
        rounds = list(Round.objects.order_by("number").values_list("state", flat=True))
        assert rounds == self.world.rounds
        found = {
            one.match_id: (
                PHASES.get(one.state, model.PLAYING),
                one.attempt,
                one.lost_attempts,
                one.referee.code if one.referee else None,
                one.lease_until and round((one.lease_until - BEGIN).total_seconds()),
                (one.status, one.winner and one.winner.code) if one.status else None,
            )
            for one in Match.objects.select_related("referee", "winner")
        }
        expected = {
            key: (one.phase, one.attempt, one.lost, one.referee, one.lease, one.result)
            for key, one in self.world.games.items()
        }
        assert found == expected
        table = [
            (row.player_id, row.points, row.wins, row.draws, row.losses, row.technical_losses)
            for row in sight.everything(league).standings
        ]
        assert table == self.world.table()
        assert Event.objects.filter(kind="match_finished").count() == self.world.counted

    def outbox_is_the_models(self) -> None:
        """New rows are taken as they are; what is settled stays as it was; nothing is told twice."""
        rows = Delivery.objects.order_by("pk").values_list(
            "pk",
            "broadcast__message_type",
            "broadcast__round_number",
            "agent__code",
            "broadcast__payload__relayed_for",
            "state",
        )
        known = self.world.outbox
        for number, *facts, state in rows:
            parcel = known.setdefault(number, model.Parcel(*facts))
            if state == "DROPPED" and parcel.state == "PENDING":
                parcel.state = "DROPPED"
            assert parcel.state == state
        assert [number for number, *_ in rows] == sorted(known)
        told = list(Broadcast.objects.filter(message_type="ROUND_COMPLETED").values_list("round_number", flat=True))
        assert sorted(told) == [n for n, state in enumerate(self.world.rounds, 1) if state == "COMPLETED"]
        ends = Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").count()
        assert ends == Event.objects.filter(kind="league_completed").count() <= 1

    @invariant()
    def valid_tokens_are_the_models(self) -> None:
        if hasattr(self, "world"):
            rows = Agent.objects.order_by("pk").prefetch_related("tokens")
            found = sorted((agent.code, agent.tokens.count()) for agent in rows)
            everybody = [*self.world.players, *self.world.lobby, *self.world.referees]
            assert found == sorted((one.code, len(one.tokens)) for one in everybody)


def dict_of(key: str, *columns: str) -> dict[str, Any]:
    return {first: tuple(rest) for first, *rest in Match.objects.values_list(key, *columns)}


def kind_of(reply: dict[str, Any]) -> Any:
    """An answer in one word; that to report_progress in one per match."""
    if "error" in reply:
        return reply["error"]["data"]["error_code"]
    result = reply["result"]
    if "matches" in result:
        return tuple(one["status"] for one in result["matches"])
    if result.get("duplicate"):
        return "DUPLICATE"
    rejected = result["status"] == "REJECTED"
    return f"REJECTED {result['legacy_code']}" if rejected else result["status"]


def deliver(examples: int) -> int:
    Deliveries.count = 0
    run_state_machine_as_test(seeded("deliveries")(Deliveries), settings=many(examples, stateful_step_count=50))
    return Deliveries.count


@pytest.mark.django_db
def test_any_deliveries_in_any_order() -> None:
    assert deliver(8) > 100


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.django_db
def test_ten_thousand_deliveries_in_any_order(record_property: Callable[[str, object], None]) -> None:
    record_property("deliveries", sent := deliver(long(220)))
    assert sent >= long(10_000)
