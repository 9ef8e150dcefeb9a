"""Rules: what the check demands, which verdicts there are, and in which words they are reported.

Most rules have words for yes and for no; the check finds out which. The words have placeholders: those of every
exchange (``{ms}``, ``{status}``, ``{failure}``, and ``{said}`` for what was answered), and those that the check fills
in for the rule. Other rules name a function that judges an exchange (:mod:`league_sdk.conformance.judgements`), or the
type of a message that is compared with the documents.

All words are marked for the translators of the site (:mod:`league_sdk.protocol.sentences`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from league_sdk.conformance import judgements
from league_sdk.conformance.judgements import Judgement
from league_sdk.conformance.report import Verdict
from league_sdk.protocol.messages import MessageType
from league_sdk.protocol.sentences import _

RULING = "league.v2 ruling, section"
TOLERATED, SKIPPED = Verdict.TOLERATED, Verdict.SKIPPED
_NO_ERROR = _("An answer without error.")


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that the documents demand of an agent.

    Attributes:
        id, title, expected, source: as in the :class:`~league_sdk.conformance.report.Clause` made from it.
        yes: the reason given when it conforms.
        no: the reason given when it does not.
        otherwise: the verdict when it does not.
        by: judges an exchange, for rules that are not a yes or no of the check.
        shows: the type of the agent's message that is compared with the documents.
        for_some: it is asked of some agents only; the reports of the others do not have it.
    """

    id: str
    title: str
    expected: str
    source: str
    yes: str = ""
    no: str = ""
    otherwise: Verdict = Verdict.FAILS
    by: Judgement | None = None
    shows: MessageType | None = None
    for_some: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of agent, and what is demanded of it.

    Attributes:
        name: ``player``, ``referee`` or ``manager``.
        rules: by id, in the order of the report.
        essential: the ids of the clauses without which a league cannot use the agent. The summary tells the first of
            them that fails.
        unusable: the summary of an agent that cannot be used, with ``{title}`` and ``{why}`` of that clause.
        usable: the summary of one that can be used and has ``{points}`` to mend.
        perfect: the summary of one that has none.
        unknown: the summary of an agent of which it is not known whether it can be used, by the reason that an
            essential clause was not decided for.
        lasting: the ids of clauses without which a league cannot use it for long: if one fails, it cannot be used, but
            a check that had no time for them says nothing.
    """

    name: str
    rules: Mapping[str, Rule]
    essential: tuple[str, ...]
    unusable: str
    usable: str
    perfect: str
    unknown: Mapping[str, str] = field(default_factory=dict)
    lasting: tuple[str, ...] = ()


def table(*rules: Rule) -> dict[str, Rule]:
    """Rules by their ids."""
    return {rule.id: rule for rule in rules}


def in_all(name: str, title: str, expected: str, source: str) -> Rule:
    """A rule about something in all answers. Deviations are tolerated; the reason describes the first one."""
    return Rule(name, title, expected, source, _("In all {answers} answers."))


def takes(name: str, title: str, source: str, expected: str = _NO_ERROR) -> Rule:
    """A rule about a message that asks for nothing."""
    return Rule(f"message.{name}", title, expected, source, by=judgements.takes)


def refuses(name: str, title: str, source: str, *codes: str, expected: str = "") -> Rule:
    """A rule about a message that must be refused with one of these E-codes; ``expected`` is needed for several."""
    return Rule(name, title, expected or f"{codes[0]}.", source, by=judgements.error_code(*codes))


def as_shown(name: str, title: str, expected: str, source: str, kind: MessageType) -> Rule:
    """A rule about a message that the agent sends."""
    return Rule(name, title, expected, source, shows=kind)


def no_such_method(source: str, hint: str) -> Rule:
    """The rule about methods that no agent has."""
    by = judgements.refusal(hint, judgements.METHOD_NOT_FOUND)
    return Rule("robust.unknown_method", _("It refuses unknown methods"), _("JSON-RPC error -32601."), source, by=by)


def no_json(source: str, hint: str) -> Rule:
    """The rule about bodies that are not JSON."""
    by = judgements.refusal(hint, judgements.PARSE_ERROR)
    return Rule("robust.broken_json", _("It refuses what is no JSON"), _("JSON-RPC error -32700."), source, by=by)


def notification(hint: str = "") -> Rule:
    """The rule about requests without id."""
    title, expected = _("It is silent to notifications"), _("An empty answer to a request without id.")
    return Rule("robust.notification", title, expected, "003 2.1", by=judgements.quiet(hint))


REACHED = Rule(
    "http.reached",
    _("It can be reached"),
    _("Something answers HTTP at the address, or what the agent fetches over a line of its own."),
    "004 1.3.1, 5.12.2",
    by=judgements.reached,
)
PING = Rule(
    "tool.ping",
    _("It answers ping"),
    _("Any HTTP answer to the method ping without params."),
    "004 5.12.2",
    by=judgements.reached,
)
