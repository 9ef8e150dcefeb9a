"""Once a verdict is sealed it stands: whatever ends its attempt, nothing plays the match again (ruling, section 12)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from agents_registry.models import Agent, Kind
from agents_registry.requests.reading import read_request
from league_sdk.ledger.verify import verify
from league_sdk.protocol.errors import RefereeNotRegistered
from league_sdk.rules.draws import commitment
from matches.league import entry, lifecycle, losses, progress, reporting, results, sealing
from matches.league.errors import ActionRefused
from matches.models import Event, League, Match
from tests import factories as make
from tests import wire
from tests.matches.correcting import make_correction
from tests.sizes import sampled

pytestmark = pytest.mark.django_db

LATER = timedelta(minutes=1)


def seal_of(match: Match, **changes: Any) -> dict[str, Any]:
    """A verdict as a referee sends it: P02 has won by the number 3."""
    return {
        "status": "WIN",
        "winner_player_id": "P02",
        "reason": "P02 chose odd, number was 3 (odd)",
        "details": {"drawn_number": 3, "number_parity": "odd", "choices": {"P01": "even", "P02": "odd"}},
        "faults": [],
        "draw": 3,
        "conversation_id": match.conversation_id,
    } | changes


def sealed(*, referees: int = 2) -> make.MadeLeague:
    """A match whose verdict is sealed and has not been told to its players."""
    made = make.running_league(players=2, referees=referees)
    match = made.match("R1M1")
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match)) == "sealed"
    return made


def result(made: make.MadeLeague) -> tuple[str, str, str | None]:
    """State, status and winner of the match."""
    match = made.match("R1M1")
    return match.state, match.status, match.winner.code if match.winner else None


SEALED_RESULT = ("FINISHED", "WIN", "P02")


def expire(made: make.MadeLeague) -> None:
    losses.expire_leases(now=timezone.now() + LATER)


def hand_back(made: make.MadeLeague) -> None:
    make.progress(made.match("R1M1"), state="HANDED_BACK", why="the league manager did not take the result")


def restart_site(made: make.MadeLeague) -> None:
    losses.expect_again(names=list(Agent.objects.filter(kind="referee").values_list("name", flat=True)))


def register_referee_again(made: make.MadeLeague) -> None:
    losses.lose_all_of(referee_id=made.referee_of("R1M1").agent.pk)


def undeliverable(made: make.MadeLeague) -> None:
    match = made.match("R1M1")
    losses.undeliverable(losses.UntakenStart(match.pk, match.attempt, match.lease_until, "no answer"))


ENDS: list[Callable[[make.MadeLeague], None]] = [expire, hand_back, restart_site, register_referee_again, undeliverable]


@pytest.mark.parametrize("end", ENDS)
def test_whatever_ends_the_attempt_another_referee_only_tells_the_sealed_verdict(
    end: Callable[[make.MadeLeague], None],
) -> None:
    made = sealed()
    first = made.match("R1M1")
    end(made)
    waiting_match = made.match("R1M1")
    # The state does not reveal the verdict, and keeps the players out of other matches.
    assert (waiting_match.state, waiting_match.referee, waiting_match.attempt, waiting_match.view) == (
        "DRAWING_NUMBER",
        None,
        1,
        {},
    )
    Agent.objects.filter(kind="referee").update(state="ACTIVE", problem="", heard_at=timezone.now())
    (start,) = make.look().starts
    match = made.match("R1M1")
    assert (match.state, match.attempt, match.conversation_id) == ("ASSIGNED", 2, first.conversation_id)
    assert start.attempt == 2
    # The second referee reports another result: the seal counts.
    answer = make.report(match, "P01")
    assert answer["status"] == "ACCEPTED"
    assert result(made) == SEALED_RESULT
    assert made.match("R1M1").seal["told"] is True


@pytest.mark.parametrize("referees", [1, 2, 3])
def test_a_referee_that_could_not_tell_the_end_is_not_asked_again_while_there_is_another(referees: int) -> None:
    made = sealed(referees=referees)
    first = made.referee_of("R1M1").agent
    # It has the lowest load, because it hands every match back.
    hand_back(made)
    make.look()
    second = made.referee_of("R1M1").agent
    assert (second == first) is (referees == 1)


# In every fourth pair, which `make test` tries, each end still occurs as the first and as the second.
@pytest.mark.parametrize(("end", "again"), sampled(product(ENDS, repeat=2), every=4))
def test_when_the_second_referee_is_lost_too_the_verdict_counts_untold(
    end: Callable[[make.MadeLeague], None], again: Callable[[make.MadeLeague], None]
) -> None:
    made = sealed()
    end(made)
    Agent.objects.filter(kind="referee").update(state="ACTIVE", problem="", heard_at=timezone.now())
    make.look()
    assert made.match("R1M1").attempt == 2
    again(made)
    assert result(made) == SEALED_RESULT
    assert made.match("R1M1").seal["untold"] is True


def test_when_no_referee_comes_within_a_lease_the_verdict_counts_untold() -> None:
    made = sealed(referees=1)
    expire(made)
    assert result(made) == ("DRAWING_NUMBER", "", None)
    assert make.look().starts == []
    expire(made)
    assert (result(made), made.match("R1M1").seal["untold"]) == (SEALED_RESULT, True)


@pytest.mark.parametrize("end", ENDS)
def test_when_the_players_have_heard_it_the_verdict_counts_at_once(end: Callable[[make.MadeLeague], None]) -> None:
    made = sealed()
    make.progress(made.match("R1M1"), state="DRAWING_NUMBER", end_told=True)
    end(made)
    assert (result(made), "untold" in made.match("R1M1").seal) == (SEALED_RESULT, False)


def test_the_view_of_a_game_stays_while_another_referee_tells_the_end() -> None:
    made = make.running_league(players=2, referees=2)
    League.objects.update(game_type="tic_tac_toe")
    match, view = made.match("R1M1"), {"board": [["X", "", ""]]}
    make.progress(match, state="COLLECTING_CHOICES", view=view)
    make.progress(match, state="DRAWING_NUMBER", view=view, seal=seal_of(match, draw=None))
    expire(made)
    news = {"state": "ACTIVE", "problem": "", "heard_at": timezone.now(), "game_types": ["tic_tac_toe"]}
    Agent.objects.filter(kind="referee").update(**news)
    make.look()
    make.progress(made.match("R1M1"), state="DRAWING_NUMBER", view={})
    assert (made.match("R1M1").attempt, made.match("R1M1").view) == (2, view)


def test_the_first_seal_stands() -> None:
    made = sealed()
    match = made.match("R1M1")
    other = seal_of(match, winner_player_id="P01", draw=2)
    assert make.progress(match, state="DRAWING_NUMBER", seal=other) == "sealed"
    assert make.report(made.match("R1M1"), "P01")["reason"] == (
        "the sealed verdict counts; this report differs: WIN P01 in place of WIN P02"
    )
    assert result(made) == SEALED_RESULT


@pytest.mark.parametrize(
    "changes",
    [
        {"winner_player_id": "P07"},
        {"winner_player_id": None},
        {"status": "WON"},
        {"draw": "three"},
        {"draw": True},
        {"conversation_id": "conv-of-another-attempt"},
    ],
)
def test_an_invalid_verdict_is_not_sealed(changes: dict[str, Any]) -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match, **changes)) == "refused"
    assert made.match("R1M1").seal is None


def test_a_referee_without_the_sites_key_does_not_seal() -> None:
    made = make.running_league(players=2)
    Agent.objects.filter(kind="referee").update(site_key=False)
    match = made.match("R1M1")
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal_of(match)) == "refused"
    assert made.match("R1M1").seal is None


@pytest.mark.parametrize("site_key", [False, True])
def test_a_referee_that_got_the_id_of_a_deleted_one_is_not_the_one_that_sealed(site_key: bool) -> None:
    made = sealed(referees=1)
    match = made.match("R1M1")
    made.referees[0].agent.delete()
    stranger = make.referee("Stranger", port=8009, trusted=False)
    Agent.objects.filter(pk=stranger.agent.pk).update(site_key=site_key, trusted=True)
    assert (stranger.agent.code, match.seal["referee_id"]) == ("REF01", "REF01")
    for winner in ("P01", "P02"):
        fields = make.result_fields(match, winner) | {"proofs": {"P01": "a" * 64}}
        # One of the site's is told that the attempt was lost; others are not even told that there is a seal.
        with nullcontext() if site_key else pytest.raises(RefereeNotRegistered):
            answer = reporting.report(
                referee=stranger.fresh(),
                league_id="fall",
                match_id="R1M1",
                attempt=match.attempt,
                params=fields,
                transcript=[make.entry(1)],
            )
            assert answer["status"] == "IGNORED"
    after = made.match("R1M1")
    assert (after.state, after.seal, after.messages.count()) == ("DRAWING_NUMBER", match.seal, 0)


def test_a_referee_with_the_sites_key_that_does_not_seal_is_refused_as_too_old() -> None:
    params = wire.referee_request(code=settings.LEAGUE_REFEREE_KEY, seals=False)
    read = read_request(params, kind=Kind.REFEREE, caller="127.0.0.1")
    done = entry.register_referee(request=read, named=None, own_address=False)
    assert (done.agent, done.reason) == (None, entry.TOO_OLD)
    assert not Agent.objects.filter(kind="referee").exists()


def test_what_a_player_said_never_keeps_a_seal_from_being_stored() -> None:
    made = make.running_league(players=2)
    match = made.match("R1M1")
    seal = seal_of(match, reason="P02\x00 \ud800 chose", details={"choices": {"P\x00": "\udfff"}})
    assert make.progress(match, state="DRAWING_NUMBER", seal=seal) == "sealed"
    stored_seal = made.match("R1M1").seal
    assert (stored_seal["reason"], stored_seal["details"]) == ("P02\ufffd ? chose", {"choices": {"P\ufffd": "?"}})


def test_no_event_reveals_the_verdict_before_the_end_was_told() -> None:
    made = sealed()
    expire(made)
    kinds = Event.objects.values_list("kind", flat=True)
    assert "match_finished" not in kinds
    contents = [event.data for event in Event.objects.all()]
    assert not any("draw_seed" in data or "seal_sha256" in data for data in contents)
    assert made.match("R1M1").draw_seed not in str(contents)


@pytest.mark.parametrize("waiting", [False, True])
def test_the_instructor_changes_nothing_while_the_end_is_told(waiting: bool) -> None:
    made = sealed()
    if waiting:
        expire(made)
    sentence = "The result of R1M1 is being told to its players: try again in a few seconds."
    actions: list[Callable[[], Any]] = [
        lambda: results.cancel(league_id="fall", match_id="R1M1", why="a test"),
        lambda: lifecycle.stop(league_id="fall"),
        lambda: make_correction("set_result", match_id="R1M1", status="WIN", winner="P01", reason="a test"),
        lambda: make_correction("withdraw", player_id="P02", matches_become="lose", reason="a test"),
        lambda: make_correction("disqualify", player_id="P02", matches_become="void", reason="a test"),
    ]
    for ask in actions:
        with pytest.raises(ActionRefused) as caught:
            ask()
        assert str(caught.value.sentence) == sentence
    assert result(made)[0] == "DRAWING_NUMBER"


def test_the_demo_makes_room_for_a_real_league_at_once() -> None:
    sealed()
    League.objects.filter(pk="fall").update(demo=True)
    lifecycle.stop(league_id="fall")
    match = Match.objects.get(match_id="R1M1")
    assert (League.objects.get(pk="fall").state, match.state, match.seal) == ("STOPPED", "PENDING", None)


def test_a_result_names_its_seed_and_seal_and_a_replay_has_a_new_seed() -> None:
    made = sealed()
    first = made.match("R1M1").draw_seed
    (started,) = Event.objects.filter(kind="round_started")
    assert started.data["draw_commitments"] == {"R1M1": commitment(bytes.fromhex(first))}
    make.report(made.match("R1M1"), "P02")
    (finished,) = Event.objects.filter(kind="match_finished")
    assert {name: finished.data[name] for name in ("play", "draw_seed", "sealed_attempt")} == {
        "play": 1,
        "draw_seed": first,
        "sealed_attempt": 1,
    }
    assert finished.data["seal_sha256"] == sealing.digest(made.match("R1M1").seal)
    make_correction("replay", match_id="R1M1", reason="the network was gone")
    again = made.match("R1M1")
    assert (again.play, again.seal, again.moves, again.draw_seed == first) == (2, None, [], False)
    (corrected,) = Event.objects.filter(kind="corrected")
    assert corrected.data["plays"] == {"R1M1": 2}
    assert corrected.data["draw_commitments"] == {"R1M1": commitment(bytes.fromhex(again.draw_seed))}


@pytest.mark.parametrize(("committed_before", "play"), [(True, 2), (False, 1)])
def test_a_match_without_a_seed_gets_one_when_it_is_assigned(committed_before: bool, play: int) -> None:
    """An older version started its round, or it was restored from a backup, which holds no secret seeds."""
    made = make.running_league(players=2)
    hand_back(made)
    Match.objects.update(draw_seed="")
    if not committed_before:
        Event.objects.filter(kind="round_started").update(data={"round_id": 1})
    make.look()
    match = made.match("R1M1")
    (event,) = Event.objects.filter(kind="draw_committed")
    assert (match.play, event.data) == (
        play,
        {
            "match_id": "R1M1",
            "draw_commitments": {"R1M1": commitment(bytes.fromhex(match.draw_seed))},
            "plays": {"R1M1": play},
        },
    )


@pytest.mark.parametrize("times", [1, 2])
def test_after_a_backup_no_play_is_committed_to_twice(times: int) -> None:
    """A restored match has no secret seed. The events, not its ``play``, say which plays have been committed to."""
    made = sealed()
    make.report(made.match("R1M1"), "P02")
    make_correction("replay", match_id="R1M1", reason="the network was gone")
    for _ in range(times):
        Match.objects.update(draw_seed="", play=1)
        make.look()
        hand_back(made)
    committed = [
        event.data for event in Event.objects.order_by("seq") if "R1M1" in event.data.get("draw_commitments", {})
    ]
    plays = [data.get("plays", {}).get("R1M1", 1) for data in committed]
    assert plays == [1, 2, 3, 4][: 2 + times]
    assert made.match("R1M1").play == plays[-1]


def test_a_second_attempt_without_a_verdict_goes_on_with_the_same_seed() -> None:
    made = make.running_league(players=2)
    before = made.match("R1M1").draw_seed
    hand_back(made)
    make.look()
    assert (made.match("R1M1").attempt, made.match("R1M1").draw_seed) == (2, before)


@pytest.mark.parametrize("committed_before", [True, False])
def test_nobody_chooses_between_two_seeds_however_often_a_backup_is_restored(
    committed_before: bool, client: Client
) -> None:
    made = make.running_league(players=2)
    if not committed_before:
        Event.objects.filter(kind="round_started").update(data={"round_id": 1})
    plays = []
    for _ in range(2):
        hand_back(made)
        Match.objects.update(draw_seed="")
        make.look()
        plays.append(made.match("R1M1").play)
    assert plays == ([2, 3] if committed_before else [1, 2])
    if committed_before:
        verify(client.get("/api/leagues/fall/ledger").json())


def test_of_two_verdicts_of_a_match_in_one_heartbeat_the_first_is_sealed() -> None:
    match = make.running_league(players=2).match("R1M1")
    assert match.referee is not None
    other = seal_of(match, winner_player_id="P01", draw=4)
    items = [
        make.progress_of(match),
        make.progress_of(match, state="DRAWING_NUMBER", seal=seal_of(match)),
        make.progress_of(match, state="DRAWING_NUMBER", seal=other, end_told=True),
    ]
    answers = progress.progress(referee=match.referee, items=items)
    assert [answer["status"] for answer in answers] == ["ok", "sealed", "sealed"]
    match.refresh_from_db()
    assert (match.state, match.seal["draw"], match.seal["told"]) == ("DRAWING_NUMBER", 3, True)
