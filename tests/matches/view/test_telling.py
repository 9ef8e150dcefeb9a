"""The stories of a view: continued with each result, told again after a correction, nothing behind a freeze."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from matches.audience.pages import parts
from matches.league import freeze
from matches.models import League
from matches.view import sight, telling
from matches.view.stories import Story, Tale
from tests import factories as make
from tests.matches.correcting import make_correction


@pytest.fixture
def empty_cache() -> Iterator[None]:
    """Empty the cache of stories, which is used only outside of transactions, before and after the test."""
    telling._cached.clear()
    yield
    telling._cached.clear()


def stories(*, staff: bool = False) -> list[Story]:
    """The latest stories of the league, the newest burst first."""
    news = telling.latest(sight.view(League.objects.get(), staff=staff), 50)
    return [story for burst in news.bursts for story in burst]


def play(made: make.MadeLeague, *winners: str) -> None:
    """Play a round: the first of these players that is in a match wins it; a match of none of them is a draw."""
    make.next_round(made)
    for match_id, state in made.states().items():
        match = made.match(match_id)
        if state == "ASSIGNED":
            codes = {match.player_a.code, match.player_b.code}
            make.report(match, next((player for player in winners if player in codes), None))


def league_of_four() -> make.MadeLeague:
    """A league of four: P01 wins in rounds 1 and 2, everybody else draws."""
    made = make.league(players=4)
    play(made, "P01")
    play(made, "P01")
    return made


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_cache")
def test_stories_continued_round_by_round_equal_those_told_all_at_once() -> None:
    made = league_of_four()
    seen = [stories()]
    play(made, "P04", "P02")
    seen.append(stories())
    telling._cached.clear()
    assert seen[-1] == stories()
    assert len(seen[-1]) > len(seen[0])
    assert telling.tell_all(sight.public(made.league)).stories == sorted(seen[-1], key=lambda story: story.seq)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_cache")
def test_after_a_correction_the_stories_are_told_anew() -> None:
    made = league_of_four()
    play(made, "P04", "P02")
    before = stories()
    leader_beaten = [story for story in before if story.round_number == 3]
    assert leader_beaten
    make_correction("void", match_id=leader_beaten[0].match_id, reason="wrong game", by="x")
    after = stories()
    assert leader_beaten[0] not in after
    assert after == sorted(telling.tell_all(sight.public(made.league)).stories, key=lambda story: -story.seq)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_cache")
def test_no_result_behind_a_freeze_is_in_a_story_or_changes_one() -> None:
    made = make.league(players=4)
    freeze.plan(league_id="fall", from_round=3)
    play(made, "P01")
    play(made, "P01")
    public, feed = stories(), parts.feed(sight.public(made.league), 20)
    play(made, "P04", "P02")
    assert stories(staff=True)[0].round_number == 3
    assert stories() == public
    # The feed has the freeze itself, and no lead after a hidden round.
    now = parts.feed(sight.public(made.league), 20)
    assert [line for line in now if line.seq > feed[0].seq] == [line for line in now if "frozen" in line.text]
    freeze.unveil(league_id="fall")
    assert stories() == public
    freeze.lift(league_id="fall")
    assert stories() == stories(staff=True)


@pytest.mark.django_db
def test_stories_of_results_that_came_in_together_begin_with_the_most_interesting() -> None:
    made = make.league(players=8)
    for _ in range(4):
        play(made, *(member.agent.code for member in made.players))
    view = sight.public(made.league)
    bursts = telling.latest(view, 50, burst_s=3600).bursts
    assert [[story.round_number for story in burst] for burst in bursts] == [[4, 4, 4], [3, 3], [2]]
    assert [story.tale for story in bursts[0]] == [Tale.RUN, Tale.RUN, Tale.CLIMBS]
    came_in = sorted(bursts[0], key=lambda story: story.seq)
    assert [story.tale for story in came_in] == [Tale.RUN, Tale.CLIMBS, Tale.RUN]
    assert [len(burst) for burst in telling.latest(view, 50, burst_s=-1).bursts] == [1] * 6


@pytest.mark.django_db
def test_the_end_of_a_round_says_who_leads() -> None:
    made = league_of_four()
    texts = [line.text for line in parts.feed(sight.public(made.league), 20)]
    assert "Round 2 is over. Player 1 leads with 6 points, 4 ahead." in texts
    assert "Round 1 is over. Player 1 leads with 3 points, 2 ahead." in texts
    # The feed says that a round has started until the round is over.
    assert [text for text in texts if "started" in text] == []
    make.next_round(made)
    texts = [line.text for line in parts.feed(sight.public(made.league), 20)]
    assert [text for text in texts if "started" in text] == ["Round 3 started."]


@pytest.mark.django_db
def test_the_feed_of_the_past_tells_only_what_was_known_then() -> None:
    made = league_of_four()
    seq = made.league.event_seq
    before = parts.feed(sight.public(made.league), 20)
    play(made, "P04", "P02")
    assert parts.feed(sight.past(made.league, seq), 20) == before
