"""Which matches the projector draws: leaders, upsets in the making, long games; and drawings that keep their order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from matches.view.interest import LINGER, Candidate, choose, interest

NOW = datetime(2026, 1, 5, 18, 0, tzinfo=UTC)


def round_of(count: int, **over: timedelta) -> list[Candidate]:
    """Matches M1 (the first against the second), M2 (the third against the fourth) …; ``over``: for how long."""
    return [
        Candidate(f"M{n}", (2 * n - 1, 2 * n), over_at=NOW - over[f"M{n}"] if f"M{n}" in over else None)
        for n in range(1, count + 1)
    ]


def test_leaders_are_more_interesting_than_others_upsets_than_the_expected_long_games_than_short() -> None:
    leaders, middle = Candidate("A", (1, 2)), Candidate("B", (15, 16))
    assert interest(leaders, 30, 0.0) > interest(middle, 30, 0.0)
    giant_killer = Candidate("C", (3, 30))
    assert interest(giant_killer, 30, 0.9) > interest(Candidate("D", (3, 4)), 30, 0.9)
    assert interest(giant_killer, 30, 0.0) < interest(Candidate("D", (3, 4)), 30, 0.0)
    assert interest(middle._replace(moves=30), 30, 0.0) > interest(middle._replace(moves=3), 30, 0.0)
    assert interest(middle._replace(moves=400), 30, 0.0) == interest(middle._replace(moves=40), 30, 0.0)


def test_all_matches_are_shown_where_they_fit_and_the_leaders_are_large() -> None:
    assert choose(round_of(4), (), NOW) == ("M1", "M2", "M3", "M4")
    assert choose([], (), NOW) == ()


def test_a_drawing_stays_for_some_seconds_after_its_match_has_ended_then_another_takes_its_place() -> None:
    drawings = choose(round_of(5), (), NOW, max_drawings=3)
    assert drawings == ("M1", "M2", "M3")
    fresh = round_of(5, M2=LINGER / 2)
    assert choose(fresh, drawings, NOW, max_drawings=3) == drawings
    over = round_of(5, M2=LINGER)
    assert choose(over, drawings, NOW, max_drawings=3) == ("M1", "M4", "M3")


def test_the_large_drawing_goes_to_a_match_in_play_by_an_exchange_of_two_drawings() -> None:
    drawings = ("M1", "M2", "M3", "M4")
    assert choose(round_of(4, M1=LINGER, M2=LINGER), drawings, NOW) == ("M3", "M2", "M1", "M4")
    assert choose(round_of(4, M1=LINGER / 2), drawings, NOW) == drawings
    # When all are over the last one stays, and nothing moves any more.
    assert choose(round_of(4, M1=LINGER, M2=LINGER, M3=LINGER, M4=LINGER), drawings, NOW) == drawings


def test_the_match_that_the_instructor_features_is_large_whatever_else_is_more_interesting() -> None:
    drawings = choose(round_of(5), (), NOW, max_drawings=3)
    assert choose(round_of(5), drawings, NOW, featured="M3", max_drawings=3) == ("M3", "M2", "M1")
    assert choose(round_of(5), drawings, NOW, featured="M5", max_drawings=3) == ("M5", "M2", "M1")
    assert choose(round_of(5, M5=LINGER), drawings, NOW, featured="M5", max_drawings=3)[0] == "M5"
    assert choose(round_of(5), drawings, NOW, featured="M99", max_drawings=3) == drawings


def test_a_new_round_replaces_all_drawings_and_a_match_that_begins_later_comes_last() -> None:
    waiting = [one._replace(begun=one.match_id != "M1") for one in round_of(3)]
    assert choose(waiting, ("old", "older"), NOW) == ("M2", "M3", "M1")


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(0, 50), st.none() | st.integers(0, 20)),
        max_size=30,
    ),
    st.lists(st.integers(0, 40), max_size=20, unique=True),
    st.none() | st.integers(0, 40),
)
def test_the_screen_is_full_has_no_match_twice_and_keeps_its_order(
    rows: list[tuple[int, int, int, int | None]], before: list[int], wanted: int | None
) -> None:
    candidates = [
        Candidate(str(n), (a, b), moves, True, None if ago is None else NOW - timedelta(seconds=ago))
        for n, (a, b, moves, ago) in enumerate(rows)
    ]
    featured = "" if wanted is None else str(wanted)
    drawings = choose(candidates, [str(n) for n in before], NOW, featured=featured, max_drawings=8)
    assert len(drawings) == len(set(drawings)) == min(8, len(candidates))
    assert choose(candidates, drawings, NOW, featured=featured, max_drawings=8) == drawings
    stay = [str(n) for n in before][:8]
    still = [one for one in stay if one in {c.match_id for c in candidates if c.over_at is None}]
    assert len(set(still) - set(drawings)) <= 1, (
        "only the match that the instructor features may displace a running one"
    )
