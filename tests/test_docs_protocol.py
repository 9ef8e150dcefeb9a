"""``docs/protocol.md`` is complete, and names nothing that does not exist: it is compared with the code.

Tables of messages, codes and settings are compared whole. Every word that the code accepts is on the page in back
quotes, and every code, name in capitals and setting on the page exists. Examples are messages of ``tests/samples``,
perhaps with fields left out. What is shown as tolerated is read by the code that tolerates it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import pytest

from agents_registry.requests import spellings
from league_sdk.dialects import answers, inbound, shapes, starts, words
from league_sdk.dialects.answers import Understanding
from league_sdk.judging.door import tools as referee_tools
from league_sdk.protocol import PROTOCOL, PROTOCOL_VERSION, errors, faults, limits, messages, schemas
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.schemas.judging import Fault
from league_sdk.protocol.states import AGENT_ARROWS, AgentState, MatchState, ResultStatus
from league_sdk.rules.registry import describe
from leaguesite.api.protocol import error_codes, league_settings
from tests.paths import ROOT, SAMPLES

TEXT = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(.*?)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.DOTALL | re.MULTILINE)
CODE = set(re.findall(r"`([^`\n]+)`", PROSE))
TOKENS = {word for span in CODE for word in re.findall(r"[\w.*/-]+", span)} | CODE


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose header begins with the cell ``first``, without back quotes."""
    matched = re.search(rf"^\| {re.escape(first)} \|.*\n\|[-|]+\|\n((?:\|.*\|\n)+)", PROSE, re.MULTILINE)
    assert matched is not None, f"there is no table that begins with {first}"
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in matched[1].splitlines()]


def texts(value: object) -> Iterable[str]:
    """Every word in a constant: in a set, a tuple, a mapping of words to words or to tuples."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts(key)
            yield from texts(inner)
    elif isinstance(value, (tuple, list, frozenset, set)):
        for inner in value:
            yield from texts(inner)


def words_of(module: ModuleType) -> set[str]:
    """The words in a module's public constants of collections of words."""
    constants = {name: value for name, value in vars(module).items() if name.isupper() and not name.startswith("_")}
    return {word for value in constants.values() if not isinstance(value, str) for word in texts(value) if word}


# -- everything is on the page ----------------------------------------------------------------------------------


def test_the_table_of_messages_is_that_of_the_models() -> None:
    # The messages of the course come first, in the order of the models.
    course = len(MessageType)
    assert [row[0] for row in rows("message")][:course] == list(schemas.MODELS)[:course]
    table = {row[0]: tuple(row[1:]) for row in rows("message")}
    assert table == {
        name: (
            model.method or "–",
            ", ".join(model.sent_by),
            ", ".join(model.sent_to),
            model.answer or "–",
            model.clause,
        )
        for name, model in schemas.MODELS.items()
    }


def test_the_table_of_errors_is_that_of_the_code() -> None:
    table = {row[0]: row[1:5] for row in rows("code")}
    assert table == {
        line["error_code"]: [
            line["error_name"],
            ", ".join(map(str, line["json_rpc_codes"])),
            line["legacy_code"] or "–",
            "yes" if line["retryable"] else "no",
        ]
        for line in error_codes()
    }


def test_the_tables_of_legacy_codes_and_json_rpc_codes_are_those_of_the_code() -> None:
    assert dict(re.findall(r"^\| ([LG]\d{3}) \| (\w+) \|", PROSE, re.MULTILINE)) == errors.LEGACY_NAMES
    codes = {int(row[0]) for row in rows("JSON-RPC code")}
    assert codes == {code for codes_of_kind in errors.rpc_codes().values() for code in codes_of_kind}


def test_the_table_of_settings_has_the_defaults_and_ranges_of_the_code() -> None:
    table = [{"name": row[0], "default": row[1], "range": row[2]} for row in rows("setting")]
    assert table == [line | {"default": _in_words(line["default"])} for line in league_settings()]


def _in_words(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_the_tables_of_states_are_those_of_the_code() -> None:
    assert {row[0]: row[2] for row in rows("agent")} == {
        str(state): ", ".join(sorted(to)) for state, to in AGENT_ARROWS.items()
    }
    assert [name for row in rows("match") for name in row[0].split(", ")] == list(MatchState)


def test_the_tables_of_queries_and_games_are_those_of_the_code() -> None:
    assert {row[1]: row[0] for row in rows("query type")} == messages.QUERY_TYPES
    assert [row[0] for row in rows("game")] == list(describe())
    table = {row[0]: row[2].partition(":")[0] for row in rows("game")}
    assert table == {name: game["move_types"][0] for name, game in describe().items()}


def test_the_tables_of_shapes_list_every_shape() -> None:
    into, out = (
        [row[0] for row in re.findall(r"^\| `(\w+)` \|(.*)", part, re.MULTILINE)]
        for part in (
            PROSE[PROSE.index("### Shapes of a registration") : PROSE.index("### Names of the fields")],
            PROSE[PROSE.index("### Methods") : PROSE.index("### Invitation")],
        )
    )
    assert out == list(shapes.SHAPES)
    # Some shapes exist only in calls to agents; registrations have one more, a path of its own.
    only_to_agents = {"parity_choose", *shapes.OF_TOOLS, "protocol_canonical", "handle_legacy", "camel"}
    only_to_agents |= {shapes.MOVES_HANDLE, *shapes.GUESSES}
    assert set(into) == set(shapes.SHAPES) - only_to_agents | {inbound.REGISTER_PATH}


LISTS = {
    "answers": words_of(answers),
    "inbound": words_of(inbound),
    "shapes": set(shapes.SHAPES),
    "starts": set(starts.METHODS),
    "words": words_of(words),
    "spellings": words_of(spellings) - set(spellings.NO_IDS),
    "methods": {*messages.METHODS.values(), messages.START_MATCH, messages.REPORT_PROGRESS, messages.WRAPPER_METHOD},
    "tools": {"ping", "list_tools", "create_schedule", "get_match_state", "get_player_state", *messages.QUERY_TYPES},
    "referee": {tool.name for tool in referee_tools.TOOLS},
    "results": set(ResultStatus),
}


@pytest.mark.parametrize("name", LISTS)
def test_every_accepted_word_is_on_the_page(name: str) -> None:
    everywhere = TOKENS | {row[0] for row in rows("message")}
    assert sorted(word for word in LISTS[name] if word not in everywhere) == []


def test_limits_and_version_are_those_of_the_code() -> None:
    assert f"at most {limits.MAX_BODY_BYTES // 1024} KiB a body" in PROSE
    assert f"at most {limits.MAX_JSON_DEPTH} levels" in PROSE
    assert f"The protocol is `{PROTOCOL}`, its version here {PROTOCOL_VERSION}" in PROSE


# -- nothing else is on the page -----------------------------------------------------------------------------


def test_every_code_on_the_page_exists() -> None:
    assert set(re.findall(r"\bE\d{3}\b", TEXT)) == set(errors.NAMES)
    assert set(re.findall(r"\b[LG]\d{3}\b", TEXT)) == set(errors.LEGACY_NAMES)
    codes = {code for codes_of_kind in errors.rpc_codes().values() for code in codes_of_kind}
    assert {int(code) for code in re.findall(r"-32\d{3}", TEXT)} == codes


def test_every_name_in_capitals_on_the_page_exists() -> None:
    known = {
        *schemas.MODELS,
        *messages.QUERY_TYPES.values(),
        *errors.NAMES.values(),
        *errors.LEGACY_NAMES.values(),
        *words.LEGACY_TYPES.values(),
        *answers.YES_WORDS,
        *answers.NO_WORDS,
        *answers.RECEIPT_WORDS,
        *AgentState,
        *MatchState,
        *ResultStatus,
        *faults.Cause,
        *messages.ROLES,
        "HANDED_BACK",
        # Our own answers to messages for which the documents name none.
        "ANSWER_RECEIPT",
        "SCHEDULE_CREATED",
        # LEAGUE_REGISTER_RESPONSE and REFEREE_REGISTER_RESPONSE together.
        "REGISTER_RESPONSE",
        *(name for names in words.LEGACY_SIGNALS.values() for name in names),
        # A message type that agents with the method league.handle wait for.
        "REQUEST_MOVE",
    }
    matched = set(re.findall(r"\b[A-Z]{3,}(?:_[A-Z]+)+\b", TEXT))
    assert sorted(matched - known) == []


def test_every_setting_on_the_page_exists() -> None:
    known = {line["name"] for line in league_settings()} | set(Fault.model_fields)
    named = {word for word in TOKENS if re.fullmatch(r"\w+_(s|points|after|retries)", word)}
    assert sorted(named - known) == []


def test_the_table_of_causes_has_every_cause_of_a_fault() -> None:
    assert [row[0] for row in rows("cause")] == list(faults.Cause)


def test_every_link_leads_somewhere() -> None:
    anchors = {
        re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    }
    links = re.findall(r"\]\(([^)]+)\)", PROSE)
    broken = [
        link
        for link in links
        if (link[1:] not in anchors if link.startswith("#") else not (ROOT / "docs" / link).exists())
    ]
    assert broken == []


# -- examples ---------------------------------------------------------------------------------------------


def message_in(body: Any) -> Any:
    """The message of the protocol that an example contains; None if it contains none."""
    for part in (body.get("result"), body.get("params"), (body.get("error") or {}).get("data"), body):
        if isinstance(part, dict) and part.get("message_type") in schemas.MODELS:
            return part
    return None


def shortened(example: Any, sample: Any) -> bool:
    """Whether an example is the sample with at most some fields left out."""
    if isinstance(example, dict) and isinstance(sample, dict):
        return all(name in sample and shortened(value, sample[name]) for name, value in example.items())
    return bool(example == sample)


EXAMPLES = [json.loads(text) for kind, text in BLOCKS if kind == "json"]
TOLERATED = [(kind.split()[2], json.loads(text)) for kind, text in BLOCKS if kind.startswith("json tolerated")]


def test_every_block_is_an_example() -> None:
    programs = [kind for kind, _ in BLOCKS if kind in ("python", "javascript", "sh")]
    assert len(EXAMPLES) + len(TOLERATED) + len(programs) == len(BLOCKS)
    assert min(len(EXAMPLES), len(TOLERATED)) > 3


@pytest.mark.parametrize("body", EXAMPLES, ids=lambda body: message_in(body)["message_type"])
def test_an_example_is_real_and_conforms(body: dict[str, Any]) -> None:
    message = message_in(body)
    kind = message["message_type"]
    assert schemas.problems(kind, message) == []
    assert shortened(message, SAMPLES[kind])
    if "params" in body:
        assert body["method"] == messages.METHODS[MessageType(kind)]
    if "error" in body:
        assert body["error"]["code"] in errors.rpc_codes()[message["error_code"]]
        assert body["error"]["message"] == message["message"]


@pytest.mark.parametrize(("message_type", "body"), TOLERATED)
def test_what_is_shown_as_tolerated_is_read_as_an_answer(message_type: str, body: dict[str, Any]) -> None:
    answer = answers.read_answer(body, rpc_id=1)
    understood = answers.understanding(
        answer, status=200, readable=True, message_type=message_type, field="parity_choice"
    )
    assert understood is Understanding.ANSWERED
    assert schemas.problems(schemas.MODELS[message_type].answer or "", answer.message) != []
