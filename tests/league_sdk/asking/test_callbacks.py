"""Answers by a POST of the player's own (ruling, sections 3, 6 and 9)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from league_sdk.asking.call_result import CallResult
from league_sdk.asking.callbacks import RELAYED_FOR, find_seat
from league_sdk.asking.mailbox import Mailbox
from league_sdk.judging.match.brief import Seat
from league_sdk.protocol import tokens
from league_sdk.protocol.errors import InvalidFormat, OutOfTime, TokenInvalid, TokenMissing
from league_sdk.protocol.notes import Code, note
from tests.league_sdk.judging.scripted import JOIN, RECEIVED, SILENCE, A, B, ScriptedMatch, brief, choice

TOKEN_OF_A = "tok_" + "5" * 32
MANAGER_TOKEN = "tok_" + "9" * 32
JOINED = {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "accept": True, "timestamp": "2025-01-15T10:15:01Z"}
ODD = {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "parity_choice": "odd"}
EVEN = ODD | {"parity_choice": "even"}


class Posting(ScriptedMatch):
    """A scripted match whose players may also post.

    Args:
        posts: the posts to make, by player, message type and number of the message that causes them.
    """

    def __init__(self, posts: dict[tuple[str, str, int], list[dict[str, Any]]], **rest: Any) -> None:
        super().__init__(**rest)
        self.posts = posts
        self.receipts: list[Any] = []
        self._asked: dict[tuple[str, str], int] = {}

    async def _ask(self, seat: Seat, message: dict[str, Any], *, limit_s: float, first: object = None) -> CallResult:
        count = self._asked[seat.player_id, message["message_type"]] = (
            self._asked.get((seat.player_id, message["message_type"]), 0) + 1
        )
        self.post(seat.player_id, message["message_type"], count)
        return await super()._ask(seat, message, limit_s=limit_s)

    def post(self, player_id: str, kind: str, count: int) -> None:
        for posted in self.posts.get((player_id, kind, count), []):
            try:
                self.receipts.append(self.mailbox.deliver(player_id, posted["message_type"], dict(posted)))
            except (OutOfTime, InvalidFormat) as error:
                self.receipts.append(error.error_code)


TAKEN = {"status": "RECEIVED", "duplicate": False}


async def test_a_player_may_answer_by_callbacks_alone() -> None:
    scripted = Posting(
        {(A, "GAME_INVITATION", 1): [JOINED], (A, "CHOOSE_PARITY_CALL", 1): [EVEN]},
        joins={A: [SILENCE]},
        moves={A: [SILENCE]},
        number=8,
    )
    played = await scripted.play()
    assert (played.status, played.winner, played.faults) == ("WIN", A, ())
    assert scripted.receipts == [TAKEN, TAKEN]
    notes = [entry["notes"] for entry in scripted.entries() if entry["sender"] == A and entry["notes"]]
    assert all(note(Code.POSTED).to_json() in one for one in notes[:2])
    assert len(notes) == 2


async def test_the_first_valid_answer_counts_and_a_second_is_logged_once() -> None:
    scripted = Posting(
        {(A, "CHOOSE_PARITY_CALL", 1): [EVEN, ODD]},
        moves={A: [choice("odd")]},
        number=8,
    )
    played = await scripted.play()
    assert played.details["choices"] == {A: "even", B: "odd"}
    for _ in range(2):
        assert scripted.mailbox.deliver(A, "CHOOSE_PARITY_RESPONSE", dict(ODD)) == {
            "status": "RECEIVED",
            "duplicate": True,
        }
    repeats = [entry for entry in scripted.entries() if note(Code.SECOND).to_json() in entry["notes"]]
    assert [entry["sender"] for entry in repeats] == [A]


async def test_a_second_answer_that_arrives_with_the_first_is_logged() -> None:
    scripted = Posting({(A, "CHOOSE_PARITY_CALL", 1): [EVEN, ODD, ODD]}, moves={A: [SILENCE]}, number=8)
    played = await scripted.play()
    assert played.details["choices"] == {A: "even", B: "odd"}
    repeats = [entry for entry in scripted.entries() if note(Code.SECOND).to_json() in entry["notes"]]
    assert [(entry["sender"], entry["body"]["parity_choice"]) for entry in repeats] == [(A, "odd")]


async def test_an_illegal_choice_by_callback_is_asked_again() -> None:
    scripted = Posting(
        {(A, "CHOOSE_PARITY_CALL", 1): [ODD | {"parity_choice": "odds"}]},
        moves={A: [SILENCE, choice("odd")]},
    )
    played = await scripted.play()
    assert (played.faults, played.details["choices"][A]) == ((), "odd")
    assert [one.message["error_code"] for one in scripted.to(A, "GAME_ERROR")] == ["E004"]


def test_a_callback_repeated_in_the_next_turn_is_not_a_new_move() -> None:
    mailbox, move = Mailbox(), {"message_type": "GAME_MOVE_RESPONSE", "match_id": "R1M1", "choice": 3}
    for turn, duplicate in enumerate((False, True, True)):
        with mailbox.expecting(A, "GAME_MOVE_RESPONSE") as box:
            receipt = mailbox.deliver(A, "GAME_MOVE_RESPONSE", dict(move))
            assert (receipt["duplicate"], len(box.messages)) == (duplicate, int(not duplicate)), turn
    with mailbox.expecting(A, "GAME_MOVE_RESPONSE") as box:
        assert mailbox.deliver(A, "GAME_MOVE_RESPONSE", move | {"choice": 4})["duplicate"] is False
        assert box.take()["choice"] == 4


async def test_a_repeated_callback_counts_when_the_player_was_asked_again() -> None:
    wrong = ODD | {"parity_choice": "odds"}
    scripted = Posting(
        {(A, "CHOOSE_PARITY_CALL", count): [wrong] for count in (1, 2, 3, 4)},
        moves={A: [SILENCE] * 4, B: [choice("odd")]},
    )
    played = await scripted.play()
    assert [fault.error_code for fault in played.faults] == ["E004"]
    assert [one.message["error_code"] for one in scripted.to(A, "GAME_ERROR")] == ["E004"] * 4
    assert scripted.receipts == [TAKEN] * 4


async def test_a_callback_between_two_tries_counts() -> None:
    scripted = Posting({}, joins={A: [SILENCE]}, number=8)

    async def late() -> None:
        # The first try is over after 5 s and the second begins at 6.
        await scripted.clock.sleep(5.5)
        scripted.receipts.append(scripted.mailbox.deliver(A, "GAME_JOIN_ACK", dict(JOINED)))

    played, _ = await asyncio.gather(scripted.play(), late())
    assert (played.status, played.faults, scripted.receipts) == ("WIN", (), [TAKEN])
    assert [one.type for one in scripted.to(A)][:3] == ["GAME_INVITATION", "GAME_ERROR", "CHOOSE_PARITY_CALL"]


async def test_a_callback_after_the_verdict_is_refused() -> None:
    scripted = Posting({}, joins={A: [SILENCE] * 4})
    played = await scripted.play()
    assert (played.status, played.winner) == ("TECHNICAL_LOSS", B)
    for _ in range(2):
        with pytest.raises(OutOfTime):
            scripted.mailbox.deliver(A, "GAME_JOIN_ACK", dict(JOINED))
    late = [entry for entry in scripted.entries() if note(Code.AFTER_VERDICT).to_json() in entry["notes"]]
    assert len(late) == 1


async def test_a_callback_that_nobody_asked_for_is_refused() -> None:
    scripted = Posting({(A, "GAME_INVITATION", 1): [EVEN]}, joins={A: [JOIN]}, ends={A: [RECEIVED]})
    played = await scripted.play()
    assert (played.status, scripted.receipts) == ("WIN", ["E002"])


async def test_no_choice_sent_by_callback_is_public_before_the_draw() -> None:
    scripted = Posting({(A, "CHOOSE_PARITY_CALL", 1): [EVEN, ODD]}, moves={A: [SILENCE], B: [choice("odd")]}, number=8)
    await scripted.play()
    assert scripted.drawn_after is not None
    before = [entry for one in scripted.published[: scripted.drawn_after] for entry in one["entries"]]
    assert [entry for entry in before if "parity_choice" in str(entry["body"])] == []


# The sender of a callback --------------------------------------------------------------------------------


def find(**message: Any) -> str | None:
    """The player whose callback this is, in a match of P01, whose token is TOKEN_OF_A."""
    match_in_play = brief(a={"token_digests": (tokens.digest(TOKEN_OF_A),)}), Mailbox()
    seat_found = find_seat([match_in_play], message, trusted_token=MANAGER_TOKEN)
    return seat_found and seat_found[0].player_id


@pytest.mark.parametrize("named", [{"match_id": "R1M1"}, {"game_id": "R1M1"}, {}])
def test_an_own_token_identifies_the_sender_of_a_callback(named: dict[str, str]) -> None:
    assert find(**named, auth_token=TOKEN_OF_A, sender="player:whoever") == A


def test_the_league_token_of_our_messages_identifies_the_sender() -> None:
    token = brief().seats[1].league_token
    assert find(match_id="R1M1", auth_token=token) == B


@pytest.mark.parametrize("token", ["tok_p01_temp", "tok_" + "1" * 32, MANAGER_TOKEN[:-1]])
def test_a_callback_with_a_foreign_token_is_refused(token: str) -> None:
    with pytest.raises(TokenInvalid):
        find(match_id="R1M1", auth_token=token, sender=f"player:{A}")


@pytest.mark.parametrize("token", [None, ""])
def test_a_callback_without_a_token_is_refused(token: str | None) -> None:
    with pytest.raises(TokenMissing):
        find(match_id="R1M1", auth_token=token, sender=f"player:{A}")


def test_a_callback_that_fits_no_match_here_has_no_sender() -> None:
    assert find(match_id="R9M9", auth_token=TOKEN_OF_A) is None
    assert find(match_id="R1M1", league_id="another", auth_token=TOKEN_OF_A) is None
    assert find(auth_token="tok_" + "1" * 32) is None


def test_the_league_manager_may_forward_callbacks() -> None:
    relayed = {"match_id": "R1M1", "auth_token": MANAGER_TOKEN}
    assert find(**relayed, **{RELAYED_FOR: B}) == B
    assert find(**relayed) is None


def test_nobody_but_the_league_manager_can_forward_callbacks() -> None:
    assert find(match_id="R1M1", auth_token=TOKEN_OF_A, **{RELAYED_FOR: B}) == A
