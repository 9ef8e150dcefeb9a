"""What a check says, in Hebrew: every text of the rules, sentences with an agent's own words, and older reports."""

from __future__ import annotations

import pytest
from django.utils import translation

from league_sdk.conformance.clauses.manager import MANAGER
from league_sdk.conformance.clauses.player import PLAYER
from league_sdk.conformance.clauses.referee import REFEREE
from league_sdk.conformance.clauses.rules import Role
from league_sdk.protocol import schemas
from league_sdk.protocol.sentences import expectation, say
from matches.words import checks
from tests.hebrew import texts_of, without_hebrew
from tests.matches.audience.hostile import HOSTILE

SAID = "It answered: {said}. That costs no point, but an agent that does not read this message misses what it says."


@pytest.mark.parametrize("role", [PLAYER, REFEREE, MANAGER], ids=lambda role: role.name)
def test_every_text_of_the_rules_has_hebrew(role: Role) -> None:
    rules = role.rules.values()
    texts = [text for rule in rules for text in (rule.title, rule.expected, rule.yes, rule.no)]
    texts += [role.unusable, role.usable, role.perfect, *role.unknown, *role.unknown.values()]
    assert len(texts) > 4 * 20
    assert without_hebrew(texts) == []


def test_every_text_about_the_valid_values_of_a_field_has_hebrew() -> None:
    found: list[str] = []
    for kind in schemas.MODELS:
        found += [one.expected for one in schemas.problems(kind, dict.fromkeys(schemas.MODELS[kind].model_fields))]
        found += [one.expected for one in schemas.problems(kind, {})]
    texts = [text for one in found for text in texts_of(expectation(one))]
    assert "a token: printable characters without spaces" in texts
    assert without_hebrew(texts) == []


def test_an_agents_words_are_set_apart_and_escaped() -> None:
    with translation.override("he"):
        shown = checks.sentence(say(SAID, said=HOSTILE))
    assert shown.startswith("הוא ענה: <bdi>")
    assert "<script" not in shown


def test_an_agents_words_are_not_translated() -> None:
    with translation.override("he"):
        assert "<bdi>It did.</bdi>" in checks.sentence(say(SAID, said="It did."))


def test_a_text_of_an_older_report_is_translated_or_else_shown_in_english() -> None:
    with translation.override("he"):
        assert checks.stored({"why": "Its <own> reason."}, "why") == "<bdi>Its &lt;own&gt; reason.</bdi>"
        assert checks.stored({"why": "It did."}, "why") == translation.gettext("It did.") != "It did."
        assert checks.stored({}, "why") == ""


def test_numbers_are_part_of_the_sentence() -> None:
    with translation.override("he"):
        assert checks.sentence(say("In {ms} ms.", ms=12)) == "תוך 12 מ״ש."


def test_the_valid_values_of_a_field_are_translated() -> None:
    with translation.override("he"):
        assert checks.expected("a list or null") == "רשימה או null"
        assert checks.expected("even, odd") == "<bdi>even, odd</bdi>"


def test_a_text_without_hebrew_would_be_noticed() -> None:
    sentence = say("It did.", what=say("It frobs {n} times.", n=2))
    assert without_hebrew(texts_of(sentence)) == ["It frobs {n} times."]
