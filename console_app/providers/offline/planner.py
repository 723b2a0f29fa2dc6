"""Plans the calls that answer a prompt: every rule reads it once, in order, and what one took the next doesn't see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from console_app.providers.offline.arithmetic import ARITHMETIC
from console_app.providers.offline.demo import DEMO
from console_app.providers.offline.files import FILES
from console_app.providers.offline.named_calls import NAMED_CALLS
from console_app.providers.offline.orders import ORDERS
from console_app.providers.offline.rule import AnswerRule, AskedPrompt, OfflineTools, PlannedCall, RuleFinding, code
from console_app.providers.offline.searches import SEARCHES
from console_app.providers.offline.slides import SLIDES
from console_app.providers.offline.todo import TODO

_BEYOND = re.compile(
    r"\b(?:write|compose|explain|describe|translate|summari[sz]e|compare|review|fix|debug|refactor|implement|improve"
    r"|recommend|tell\s+me|why|who|draft)\b[^.,;!?\n]{1,200}",
    re.IGNORECASE,
)
_MOST = 3


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for number, found in enumerate(_BEYOND.finditer(asked.text)):
        if number < _MOST:
            problem = f"{code(found[0], 80)} is beyond me: I only follow rules."
            yield RuleFinding(found.span(), problem=problem)


LIMITS = AnswerRule(can="", able=lambda tools: False, read=_read)
RULES: tuple[AnswerRule, ...] = (NAMED_CALLS, TODO, SLIDES, FILES, SEARCHES, ORDERS, DEMO, ARITHMETIC, LIMITS)
READS = 8_000  # characters of a prompt that the rules look at
CALLS = 64  # calls planned for one prompt


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls, in the order of the prompt, and in sentences what could not be planned; `unmet` are those of them
    whose server was asked for and did not come."""

    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


def plan(asked: AskedPrompt, tools: OfflineTools, asked_for: frozenset[str] = frozenset()) -> Plan:
    """Return the calls that the rules find in one prompt. What a server that is off could do is a call that asks for
    it, unless it is one of `asked_for` already."""
    problems: list[str] = []
    if len(asked.text) > READS:
        problems.append(f"Your message is long: I read its first {READS:,} characters only.")
        asked = replace(asked, text=asked.text[:READS])
    findings: list[RuleFinding] = []
    for rule in RULES:
        for finding in list(rule.read(asked, tools)):
            findings.append(finding)
            asked = replace(asked, text=_blank(asked.text, finding))
    findings.sort(key=lambda finding: finding.span)
    calls: list[PlannedCall] = []
    unmet: list[str] = []
    for finding in findings:
        wanted = None if finding.server in asked_for else tools.switch_on(finding.server)
        calls += finding.calls if wanted is None else [wanted] if wanted not in calls else []
        if finding.problem and wanted is None:
            problems.append(finding.problem)
            unmet += [finding.problem] if finding.server in asked_for else []
    if len(calls) > CALLS:
        problems.append(f"I make at most {CALLS} calls for one message: {len(calls) - CALLS} were left out.")
    return Plan(tuple(calls[:CALLS]), tuple(dict.fromkeys(problems)), tuple(dict.fromkeys(unmet)))


def plan_all(prompts: Sequence[AskedPrompt], tools: OfflineTools, asked_for: frozenset[str] = frozenset()) -> Plan:
    """Make one plan for all prompts of a turn, those that joined while it ran last."""
    plans = [plan(asked, tools, asked_for) for asked in prompts]
    return Plan(
        tuple(call for one in plans for call in one.calls),
        tuple(problem for one in plans for problem in one.problems),
        tuple(problem for one in plans for problem in one.unmet),
    )


def _blank(text: str, finding: RuleFinding) -> str:
    start, end = finding.span
    return text[:start] + " " * (end - start) + text[end:]
