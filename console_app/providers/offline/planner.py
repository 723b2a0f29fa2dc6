"""Plans the calls that answer a prompt: every rule reads it once, in order, and what one took the next doesn't see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from console_app.providers.offline.rule import AskedPrompt, RuleFinding
from console_app.providers.offline.rules import RULES
from console_app.providers.offline.toolbox import OfflineTools, PlannedCall

READS = 8_000  # characters of a prompt that the rules look at
CALLS = 64  # calls planned for one prompt


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls, in the order of the prompt, and in sentences what could not be planned."""

    calls: tuple[PlannedCall, ...] = ()
    problems: tuple[str, ...] = ()


def plan(asked: AskedPrompt, tools: OfflineTools) -> Plan:
    """The calls that the rules find in one prompt."""
    problems: list[str] = []
    if len(asked.text) > READS:
        problems.append(f"Your message is long: I read its first {READS:,} characters only.")
        asked = replace(asked, text=asked.text[:READS])
    findings: list[RuleFinding] = []
    for rule in RULES:
        for finding in list(rule.read(asked, tools)):
            findings.append(finding)
            asked = replace(asked, text=_blank(asked.text, finding))
    findings.sort(key=lambda finding: finding.start)
    calls = [call for finding in findings for call in finding.calls]
    problems.extend(finding.problem for finding in findings if finding.problem)
    if len(calls) > CALLS:
        problems.append(f"I make at most {CALLS} calls for one message: {len(calls) - CALLS} were left out.")
    return Plan(tuple(calls[:CALLS]), tuple(dict.fromkeys(problems)))


def plan_all(prompts: Sequence[AskedPrompt], tools: OfflineTools) -> Plan:
    """One plan for all prompts of a turn, those that joined while it ran last."""
    plans = [plan(asked, tools) for asked in prompts]
    return Plan(
        tuple(call for one in plans for call in one.calls),
        tuple(problem for one in plans for problem in one.problems),
    )


def _blank(text: str, finding: RuleFinding) -> str:
    return text[: finding.start] + " " * (finding.end - finding.start) + text[finding.end :]
