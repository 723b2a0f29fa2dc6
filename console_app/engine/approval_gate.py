"""Whether a call may run: by rule, by mode, or by asking. It decides and waits for nobody, so it can be tested whole.

Deny stands over ask, ask over allow; `require_approval` of a tool counts as a rule that asks, so no mode and no allow
rule passes it, and so does what is known of a single call (`must_ask`). Where nobody can be asked (`headless`) the
engine denies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from console_app.domain.approvals import ApprovalMode, DecidedBy
from console_app.domain.rules import RuleText, argument_matches
from console_app.domain.tools import ToolSpec

# What asks without being a rule that somebody wrote.
REQUIRED, CHANGED, MUST_ASK = "require_approval", "changed", "must_ask"
Action = Literal["allow", "ask", "deny"]
_STRICTEST_FIRST: tuple[Action, ...] = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` is a glob on `server.tool`; `arguments` are globs that the named arguments must match, all of them.

    `source` says where the rule was written, for people. `domain.rules` says what matches, and how a rule is written.
    """

    action: Action
    pattern: str
    source: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def matches(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
        """Whether the rule speaks of this call."""
        return self.speaks_of(spec) and all(
            name in arguments and argument_matches(glob, arguments[name], strictly=self.action == "allow")
            for name, glob in self.arguments.items()
        )

    def speaks_of(self, spec: ToolSpec) -> bool:
        """Whether it may hold for a call of this tool."""
        return fnmatchcase(spec.label, self.pattern)

    @property
    def text(self) -> str:
        """The rule without its action, as a configuration or a flag has it."""
        return str(RuleText(self.pattern, self.arguments))

    def __str__(self) -> str:
        return f"{self.action} {self.text}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a call. `why` is said to the user who is asked, `rule` names the rule that spoke, if one did."""

    action: Action
    why: str
    by: DecidedBy
    rule: str | None = None


class ApprovalGate:
    """Modes and rules, both settable while calls run.

    `trusted` names the servers whose read-only marks are believed in mode `auto`; None believes every server that is
    configured, since their programs were trusted to start.
    """

    def __init__(
        self,
        mode: ApprovalMode = ApprovalMode.ASK,
        rules: Sequence[Rule] = (),
        *,
        headless: bool = False,
        trusted: frozenset[str] | None = None,
    ) -> None:
        self.mode = mode
        self.rules = list(rules)
        self.headless = headless
        self.trusted = trusted

    def check(self, spec: ToolSpec, arguments: Mapping[str, Any], must_ask: str = "") -> Verdict:
        """The verdict on one call. `must_ask`: why it may not run unless a person approves it, "" when nothing does."""
        found = [rule for rule in self.rules if rule.matches(spec, arguments)]
        for action in _STRICTEST_FIRST:
            if action == "ask" and must_ask:
                return Verdict("ask", must_ask, DecidedBy.RULE, MUST_ASK)
            if action == "ask" and spec.require_approval:
                why = "its definition changed since you trusted it" if spec.changed else "it always needs an approval"
                rule = CHANGED if spec.changed else REQUIRED
                return Verdict("ask", f"{spec.label}: {why}", DecidedBy.RULE, rule)
            spoke = next((rule for rule in found if rule.action == action), None)
            if spoke is not None:
                return Verdict(action, f"rule: {spoke}", DecidedBy.RULE, str(spoke))
        return self._by_mode(spec)

    def _by_mode(self, spec: ToolSpec) -> Verdict:
        match self.mode:
            case ApprovalMode.YOLO:
                return Verdict("allow", "mode yolo runs everything", DecidedBy.MODE)
            case ApprovalMode.AUTO if spec.annotations.read_only and self._trusts(spec.server):
                return Verdict("allow", "mode auto runs what only reads", DecidedBy.MODE)
            case ApprovalMode.AUTO:
                return Verdict("ask", "not known to be read-only", DecidedBy.MODE)
            case ApprovalMode.ASK:
                return Verdict("ask", "not pre-approved", DecidedBy.MODE)

    def _trusts(self, server: str) -> bool:
        return self.trusted is None or server in self.trusted
