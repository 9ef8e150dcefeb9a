"""Stories in sentences: every kind, in English and Hebrew, with names that try to turn its direction."""

from __future__ import annotations

import pytest
from django.utils import translation

from matches.view.stories import Ahead, Lead, Story, Tale
from matches.words.stories import in_words, round_over
from tests.matches.view.test_stories import START

NAMES = {"P01": "Ada", "P02": "Bo"}


def story(tale: Tale, number: int = 0, run: int = 0, other: str = "P02") -> Story:
    """A story about P01."""
    return Story(7, START, "R3M1", 3, tale, "P01", other, number, run)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (story(Tale.CERTAIN, other=""), "Nobody can catch Ada any more: first place is certain."),
        (story(Tale.TAKES_LEAD, 1), "Ada beats the leader, Bo, and takes the lead."),
        (story(Tale.TAKES_LEAD, 0), "Ada beats Bo and takes the lead."),
        (story(Tale.TAKES_LEAD, 0, other=""), "Ada takes the lead."),
        (story(Tale.BEATS_LEADER, 0, 3), "Ada beats the leader, Bo: 3 wins in a row."),
        (story(Tale.BEATS_LEADER), "Ada beats the leader, Bo."),
        (story(Tale.LAST_UNBEATEN), "Ada beats Bo, the last player without a loss."),
        (story(Tale.ENDS_RUN, 5), "Ada beats Bo, whose run ends after 5 wins."),
        (story(Tale.UPSET, 9), "Ada beats Bo, who stood 9 places higher."),
        (story(Tale.HOLDS_LEADER), "Ada holds the leader, Bo, to a draw."),
        (story(Tale.RUN, 4, 4), "Ada beats Bo: 4 wins in a row."),
        (story(Tale.CLIMBS, 2), "Ada beats Bo and climbs to place 2."),
        (story(Tale.FIRST_WIN, 6), "Ada beats Bo: the first win, in match 6."),
    ],
)
def test_every_story_is_a_sentence_in_both_languages(shown: Story, text: str) -> None:
    assert in_words(shown, NAMES) == text
    with translation.override("he"):
        assert "Ada" in in_words(shown, NAMES)
        assert in_words(shown, NAMES) != text


def test_every_kind_has_words() -> None:
    assert all(in_words(story(tale, 3), NAMES) for tale in Tale)


def test_a_name_stays_in_its_place() -> None:
    text = in_words(story(Tale.UPSET, 9), {"P01": "\u202eevil\u2066\n", "P02": "נועה"})
    assert text.endswith("beats \u2068נועה\u2069, who stood 9 places higher.")
    assert ("\u2066" in text, "\n" in text, "\u202e" in text) == (False, False, False)
    # A player without a name is called by its id.
    assert in_words(story(Tale.RUN, 3, 3), {}) == "P01 beats P02: 3 wins in a row."


def test_the_end_of_a_round_names_the_leader() -> None:
    texts = {
        Ahead(2, 0): "Round 4 is over. Ada leads with 9 points, 2 ahead.",
        Ahead(0, 1): "Round 4 is over. Ada leads with 9 points, by the number of wins.",
        Ahead(0, 0): "Round 4 is over. Ada leads with 9 points, by the number of draws.",
        None: "Round 4 is over. Ada leads with 9 points.",
    }
    assert {ahead: round_over(4, Lead("P01", 9, ahead), NAMES) for ahead in texts} == texts
