"""What the steps share: messages through the real dispatcher, and the comparison of the league with its model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from hypothesis import strategies as st
from hypothesis.stateful import invariant

from agents_registry.addresses.callers import Caller
from agents_registry.models import Agent
from agents_registry.rate_limits.attempts import attempts
from league_sdk.protocol.dispatch import Post
from leaguesite.mcp.calls import Source
from leaguesite.mcp.dispatcher import Answering
from matches.models import Broadcast, Delivery, Event, League, Match, Round
from matches.view import sight
from tests import wire
from tests.fuzz.writes import Writes
from tests.matches.deliveries import model_words as words
from tests.matches.deliveries.model import World
from tests.matches.machine import RolledBack

BEGIN = datetime(2025, 1, 15, 10, 0, tzinfo=UTC)
PHASES = {"PENDING": words.PENDING, "READY": words.READY, "HELD": words.HELD, "FINISHED": words.FINISHED}
WHY = "a reason"

NAMES = st.sampled_from(["Ada", "Bo", "Cy"])
MACHINES = st.sampled_from(["10.0.0.1", "10.0.0.2", "10.0.0.3"])
CALLERS = st.none() | st.just("10.0.0.99")
PICKS = st.integers(0, 50)
TIMES = st.sampled_from([1, 1, 1, 2, 3])
ATTEMPTS = st.sampled_from([None, 0, 0, 0, -1, -2, 1])
"""The difference to the current attempt; None sends null as the attempt."""
OUTCOMES = st.sampled_from(
    [
        *("A", "B", "draw", "cancelled", "A, B unusable", "A, B silent", "both silent", "nobody came", "B"),
        *("unknown winner", "A, A silent", "draw, both silent"),
    ]
)
SENDERS = st.sampled_from(["right"] * 10 + ["another", "another", "player", "nobody", "old", "liar"])
STATES = st.sampled_from(["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "HANDED_BACK"])


@dataclass(frozen=True)
class Sent:
    """One message as it went over the wire, and the answer that the model expects."""

    raw: bytes
    caller: str
    expect: Callable[[], Any]


class Compared(RolledBack):
    """One league, and the model of it.

    Attributes:
        count: how many messages came in all examples, and how many deliveries and starts had an outcome.
    """

    count = 0
    world: World

    def __init__(self) -> None:
        super().__init__()
        self.clock = patch("django.utils.timezone.now", lambda: BEGIN + timedelta(seconds=self.world.now))
        self.sent: list[Sent] = []
        self.tokens: list[str] = []

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.clock.stop()
        super().teardown()

    # Messages ----------------------------------------------------------------------------------------

    def deliver(self, sent: Sent, times: int = 1) -> None:
        if sent not in self.sent:
            self.sent.append(sent)
        for _ in range(times):
            type(self).count += 1
            # The limits on how often somebody may call are no part of the model.
            attempts.forget_all()
            with Writes() as writes:
                answering = Answering(Source(Caller(sent.caller)))
                answering.begin(Post(sent.raw, "application/json"))
                answering.finish()
            assert answering.reply.status == 200
            reply = json.loads(answering.reply.body)
            expected, actual = sent.expect(), kind_of(reply)
            assert actual == expected
            if isinstance(actual, str) and actual.startswith(("REJECTED", "E0")):
                # A player's delivered answers are deleted before another is refused, as too many wait for delivery
                # (E002): the refusal rolls that back.
                assert not writes.seen or (actual, "DELETE") == ("E002", writes.seen[0][:6])
            if actual == "ACCEPTED" and "auth_token" in reply["result"]:
                self.world.add_token(reply["result"]["auth_token"])
                self.tokens.append(reply["result"]["auth_token"])
            self.outbox_is_the_models()
        self.compare()

    def message(self, method: str, params: dict[str, Any], caller: str, expect: Callable[[], Any], times: int) -> None:
        self.deliver(Sent(json.dumps(wire.request(method, params)).encode(), caller, expect), times)

    def message_from(self, token: str | None, sender: str, message_type: str, **fields: Any) -> dict[str, Any]:
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"{'player' if sender.startswith('P') else 'referee'}:{sender}",
            "timestamp": wire.STAMP,
            "conversation_id": "conv-of-the-test",
            "auth_token": token,
        } | fields

    def who(self, sender: str, right: str | None) -> tuple[str | None, str]:
        """The token of a message and the id that it names as its sender; ``right`` is the id that may send it."""
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

    def pick_match(self, pick: int) -> tuple[str, words.Match] | None:
        # Two thirds of the picks are among the matches that are being played, if there are any.
        on = [key for key, match in self.world.matches.items() if match.phase == words.PLAYING]
        ids = on if on and pick % 3 else list(self.world.matches)
        return (ids[pick % len(ids)], self.world.matches[ids[pick % len(ids)]]) if ids else None

    def playing(self) -> list[words.Match]:
        return [match for match in self.world.matches.values() if match.phase == words.PLAYING]

    # Comparisons after each step ---------------------------------------------------------------------

    def compare(self) -> None:
        self.agents_are_the_models()
        if self.world.state != "NOT THERE":
            self.matches_are_the_models()
        self.outbox_is_the_models()

    def agents_are_the_models(self) -> None:
        rows = list(Agent.objects.order_by("pk"))
        for members, league in ((self.world.players, "fall"), (self.world.lobby, None)):
            agents_shown = [
                (one.code, one.display_name, one.state, one.silences, machine_of(one.endpoint), move_of(one))
                for one in rows
                if (one.kind, one.league_id) == ("player", league)
            ]
            assert agents_shown == [
                (one.code, one.display_name, one.state, one.silences, one.machine, one.move and facts_of(one.move))
                for one in members
            ]
        judges = [
            (one.code, one.display_name, one.trusted, one.state == "SUSPENDED", one.silences)
            for one in rows
            if one.kind == "referee"
        ]
        assert judges == [
            (one.code, one.display_name, one.trusted, one.suspended, one.lost_matches) for one in self.world.referees
        ]

    def matches_are_the_models(self) -> None:
        league = League.objects.get()
        assert (league.state, league.paused) == (self.world.state, self.world.paused)
        rounds = list(Round.objects.order_by("number").values_list("state", flat=True))
        assert rounds == self.world.rounds
        actual = {
            one.match_id: (
                PHASES.get(one.state, words.PLAYING),
                one.attempt,
                one.lost_attempts,
                one.referee.code if one.referee else None,
                one.lease_until and round((one.lease_until - BEGIN).total_seconds()),
                (one.status, one.winner and one.winner.code) if one.status else None,
            )
            for one in Match.objects.select_related("referee", "winner")
        }
        expected = {
            key: (one.phase, one.attempt, one.lost_attempts, one.referee, one.lease_until, one.result)
            for key, one in self.world.matches.items()
        }
        assert actual == expected
        assert table_of(sight.everything(league)) == self.world.table()
        if self.world.unveiled == 0:
            assert table_of(sight.public(league)) == (self.world.frozen or self.world.table())
        assert Event.objects.filter(kind="match_finished").count() == self.world.counted

    def outbox_is_the_models(self) -> None:
        """New rows are added to the model; rows no longer pending stay as they are.

        The end of a round is told once, and so is that of the league, unless others are champions later.
        """
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
            parcel = known.setdefault(number, words.Parcel(*facts))
            if state == "DROPPED" and parcel.state == "PENDING":
                parcel.state = "DROPPED"
            assert parcel.state == state
        assert [number for number, *_ in rows] == sorted(known)
        rounds = list(Broadcast.objects.filter(message_type="ROUND_COMPLETED").values_list("round_number", flat=True))
        assert sorted(rounds) == [n for n, state in enumerate(self.world.rounds, 1) if state == "COMPLETED"]
        ends = list(Broadcast.objects.filter(message_type="LEAGUE_COMPLETED").order_by("pk"))
        assert len(ends) == self.world.ends_told
        assert bool(ends) <= Event.objects.filter(kind="league_completed").count() <= 1
        told = {one["player_id"] for end in ends[-1:] for one in end.payload["champions"]}
        assert told == self.world.told_champions

    @invariant()
    def each_agent_has_as_many_tokens_as_in_the_model(self) -> None:
        if hasattr(self, "world"):
            rows = Agent.objects.order_by("pk").prefetch_related("tokens")
            counts = sorted((agent.code, agent.tokens.count()) for agent in rows)
            everybody = [*self.world.players, *self.world.lobby, *self.world.referees]
            assert counts == sorted((one.code, len(one.tokens)) for one in everybody)


def machine_of(endpoint: str) -> str:
    """The IP address in an endpoint."""
    return str(urlsplit(endpoint).hostname)


def move_of(player: Agent) -> tuple[str, bool, bool, int] | None:
    """A move that waits: the machine, whether it is proven, whether it is taken, and when it is looked at next."""
    move = player.moving
    if not move:
        return None
    next_at = round(move["next_at"] - BEGIN.timestamp())
    return machine_of(move["row"]["endpoint"]), move["proven"], move["taken"], next_at


def facts_of(move: words.Move) -> tuple[str, bool, bool, int]:
    """The same of the model."""
    return move.machine, move.proven, move.taken, move.next_at


def table_of(seen: sight.View) -> words.Rows:
    return [
        (row.player_id, row.points, row.wins, row.draws, row.losses, row.technical_losses) for row in seen.standings
    ]


def kind_of(reply: dict[str, Any]) -> Any:
    """An answer in one word; the answer to report_progress in one word for each match."""
    if "error" in reply:
        return reply["error"]["data"]["error_code"]
    result = reply["result"]
    if "matches" in result:
        return tuple(one["status"] for one in result["matches"])
    if result.get("duplicate"):
        return "DUPLICATE"
    rejected = result["status"] == "REJECTED"
    return f"REJECTED {result['legacy_code']}" if rejected else result["status"]
