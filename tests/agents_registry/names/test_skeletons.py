"""Skeletons of names: names that look alike have a skeleton in common, and other names have not."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_registry.names import skeletons as module
from agents_registry.names.skeletons import MAX_SIMILAR, MAX_SKELETON_CHARS, alike, skeletons


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Ada", "\u0410da"),  # Cyrillic A
        ("Ada", "\u0410\u0501\u0430"),  # all Cyrillic
        ("Ada", "ada"),
        ("Ada", "\u0391DA"),  # Greek Alpha
        ("Alice", "AIice"),
        ("Alice", "A1ice"),
        ("Alice", "A|ice"),
        ("Alice", "aIice"),
        ("Alice", "ALICE"),
        ("ALICE", "ALlCE"),
        ("Bot 0", "Bot O"),
        ("Bot 0", "Bot o"),
        ("Player l", "Player 1"),
        ("Agent 1", "Agent I"),
        ("modern", "rnodern"),
        ("modern", "modem"),
        ("Wave", "VVave"),
        ("Ada", "\uff21\uff44\uff41"),  # full width
        ("Ada", "\U0001d400\U0001d41d\U0001d41a"),  # mathematical bold
        ("Ada", "\u24b6da"),  # in a circle
        ("Ada", "A\u034fda"),  # combining grapheme joiner
        ("Ada", "Ada\ufe0f"),  # variation selector
        ("Ada", "A\u200bd\u200da"),
        ("Ada", "Ada\u3164"),  # Hangul filler
        ("Ada", "Ada\u2800"),  # blank of Braille
        ("Ada B", "Ada\u2800B"),
        ("Ada B", "Ada  \u00a0B"),
        ("Ada", "\U000e0041Ada"),  # tag
        ("Jos\u00e9", "Jose\u0301"),
        ("Jos\u00e9", "Jos\u00e9\u0301"),  # the mark twice
        ("Mia", "Mi\u0307a"),  # a dot on the dot
        ("Mia", "M\u0131a"),  # without its dot
        ("\u05d3\u05d5\u05df", "\u05d3\u05d5\u05d5"),  # Hebrew final nun and vav
        ("l", "\u05d5"),  # Hebrew vav
        ("o", "\u05e1"),  # Hebrew samekh
        ("l", "\u0627"),  # Arabic alef
        ("Player 1", "Player \u0661"),  # Arabic digit one
        ("Player 5", "Player \uff15"),
        ("o", "\u0647"),  # Arabic heh
        ("\ufefb", "\u0644\u0627"),  # a ligature and its letters
        ("", "\u200b"),
    ],
)
def test_names_that_look_alike_share_a_skeleton(name: str, other: str) -> None:
    assert skeletons(name) & skeletons(other)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Ada", "Adam"),
        ("Tal", "Tai"),
        ("Bill", "Bili"),
        ("Lia", "Mia"),
        ("Agent 1", "Agent 2"),
        ("Agent 1", "Agent 11"),
        ("Agent 10", "Agent 1"),
        ("Player A", "Player B"),
        ("Jose", "Jos\u00e9"),
        ("AdaB", "Ada B"),
        ("Ada", "Ada (2)"),
        ("Agent-1", "Agent1"),
        ("\u05d3\u05e0\u05d4", "\u05d3\u05e0\u05d9"),  # Dana, Dani
        ("\u05e8\u05d5\u05df", "\u05e8\u05d5\u05e0\u05d9"),  # Ron, Roni
        ("\u0414\u0430\u0448\u0430", "\u041c\u0430\u0448\u0430"),  # Dasha, Masha
        ("\u0645\u062d\u0645\u062f", "\u0623\u062d\u0645\u062f"),  # Muhammad, Ahmad
        ("\u5c0f\u660e", "\u5c0f\u7ea2"),
        ("\U0001f98a", "\U0001f43a"),
    ],
)
def test_different_names_share_no_skeleton(name: str, other: str) -> None:
    assert not skeletons(name) & skeletons(other)


def test_a_class_of_ordinary_names_has_no_similar_names() -> None:
    names = [f"{word} {number}" for word in ("Agent", "Player", "Team", "Bot") for number in range(1, 400)]
    assert alike(names, lambda name: (name,)) == []


def test_each_letter_of_unicodes_list_leads_to_one_prototype() -> None:
    """Each letter leads to one prototype, and no prototype to another; so the order of the file does not matter."""
    prototypes = module._prototypes()
    assert len(prototypes) > 5000
    assert not {ord(letter) for text in prototypes.values() for letter in text if len(text) == 1} & set(prototypes)
    one_letter = {chr(source): text for source, text in prototypes.items()}
    assert (one_letter["I"], one_letter["m"], one_letter["\u0430"], one_letter["0"]) == ("l", "rn", "a", "O")


@given(st.text(max_size=64))
def test_any_text_has_a_skeleton_and_spaces_around_it_do_not_count(name: str) -> None:
    assert all(0 < len(one) <= MAX_SKELETON_CHARS for one in skeletons(name))
    assert skeletons(f"  {name} ") == skeletons(name)


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20))
def test_invisible_characters_do_not_change_a_skeleton(name: str) -> None:
    for hidden in ("\u200b", "\u2060", "\u034f", "\ufe0f", "\U000e0020"):
        assert skeletons(f"{hidden}{name}{hidden}") == skeletons(name)


def test_a_skeleton_that_is_too_long_is_cut() -> None:
    assert {len(one) for one in skeletons("\ufdfa" * 64)} <= {MAX_SKELETON_CHARS, MAX_SKELETON_CHARS - 1}


def test_alike_finds_similar_names_and_ignores_equal_ones() -> None:
    # The name of each agent, and the name that is displayed: a second agent of one name has a number.
    agents = [("Ada", "Ada"), ("Ada", "Ada (2)"), ("\u0410da", "\u0410da"), ("Bob", "Bob"), ("Ada (2)", "Ada (2) (2)")]
    assert alike(agents, lambda one: one) == [
        (agents[0], [agents[2]]),
        (agents[1], [agents[2], agents[4]]),
        (agents[2], [agents[0]]),
        (agents[4], [agents[1]]),
    ]


def test_alike_takes_time_in_proportion_to_the_number_of_names() -> None:
    """Ten times as many names with one skeleton take ten times the work, not a hundred times."""

    def work(count: int) -> int:
        calls = 0

        def counted(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        names = [f"Ada{chr(0x200B) * number}" for number in range(count)]
        sys.setprofile(counted)
        try:
            similar = alike(names, lambda one: (one,))
        finally:
            sys.setprofile(None)
        assert all(len(others) <= MAX_SIMILAR for _one, others in similar)
        return calls

    work(10)
    skeletons.cache_clear()
    few = work(100)
    skeletons.cache_clear()
    assert work(1000) < 15 * few
