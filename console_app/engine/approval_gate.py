"""Whether a call may run: by rule, by mode, or by asking. It decides and waits for nobody, so it can be tested whole.

Deny stands over ask, ask over allow; `require_approval` of a tool counts as a rule that asks, so no mode and no allow
rule passes it, and so does what is known of a single call (`must_ask`). Mode `plan` denies what isn't known to be
read-only before a rule may allow or ask. A rule that allows does so only for the program or address that it is bound to
(`rule_bindings`). Where nobody can be asked (`headless`) the engine denies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath as Path
from typing import Any, Literal

from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import DecidedBy
from console_app.domain.rules import RuleText, arguments_match, speaks_of
from console_app.domain.tools import ToolSpec
from console_app.engine.rule_bindings import RuleBindings, RuleKey, Standing

# What asks without being a rule that somebody wrote.
REQUIRED, CHANGED, MUST_ASK = "require_approval", "changed", "must_ask"
PLANS = "plan mode runs only what is known to be read-only"
Action = Literal["allow", "ask", "deny"]
_STRICTEST_FIRST: tuple[Action, ...] = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` has globs on server and tool; `arguments` are what the named arguments must match, all of them.

    `source` says where the rule was written, for people. `domain.rules` says what matches, and how a rule is written.
    """

    action: Action
    pattern: str
    source: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def matches(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
        """Whether the rule speaks of this call."""
        strictly = self.action == "allow"
        return self.speaks_of(spec) and arguments_match(
            self.arguments, arguments, strictly=strictly, schema=spec.input_schema
        )

    def speaks_of(self, spec: ToolSpec) -> bool:
        """Whether it may hold for a call of this tool."""
        return speaks_of(self.pattern, spec.server, spec.tool, strictly=self.action == "allow")

    @property
    def is_kept(self) -> bool:
        """Whether it stands in a file, and so outlives the console."""
        return Path(self.source).is_absolute()

    @property
    def text(self) -> str:
        """The rule without its action, as a configuration or a flag has it."""
        return str(RuleText(self.pattern, self.arguments))

    def __str__(self) -> str:
        return f"{self.action} {self.text}"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What to do with a call. `why` is said to the user who is asked, `rule` names the rule that spoke, if one did."""

    action: Action
    why: str
    by: DecidedBy
    rule: str | None = None
    binds: Rule | None = None  # an allow rule that is to mean the server of this call from now on

    @property
    def denial(self) -> str:
        """Who denies it and why, in the middle of a sentence; "" for what isn't denied."""
        if self.action != "deny":
            return ""
        return self.why if self.by is DecidedBy.MODE else f"a rule denies it ({self.why})"


@dataclass(frozen=True, slots=True)
class OtherServer:
    """An allow rule that doesn't count for a call, since its server is not what the rule was `bound` to; "" when the
    rule was bound to nothing, and the server isn't the user's own."""

    rule: Rule
    bound: str


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
        bindings: RuleBindings | None = None,
    ) -> None:
        self.mode = mode
        self.rules = list(rules)
        self.headless = headless
        self.trusted = trusted
        self.bindings = RuleBindings() if bindings is None else bindings

    def check(self, spec: ToolSpec, arguments: Mapping[str, Any], must_ask: str = "") -> Ruling:
        """The verdict on one call. `must_ask`: why it may not run unless a person approves it, "" when nothing does."""
        found = [rule for rule in self.rules if rule.matches(spec, arguments)]
        for action in _STRICTEST_FIRST:
            if action == "ask" and self.mode is ApprovalMode.PLAN and not self._only_reads(spec):
                return Ruling("deny", PLANS, DecidedBy.MODE)
            if action == "ask" and must_ask:
                return Ruling("ask", must_ask, DecidedBy.RULE, MUST_ASK)
            if action == "ask" and spec.require_approval:
                why = "its definition changed since you trusted it" if spec.changed else "it always needs an approval"
                rule = CHANGED if spec.changed else REQUIRED
                return Ruling("ask", f"{spec.label}: {why}", DecidedBy.RULE, rule)
            spoke = next((rule for rule in found if rule.action == action and self._means(rule, spec)), None)
            if spoke is not None:
                binds = spoke if action == "allow" and self._standing(spoke, spec) == "new" else None
                return Ruling(action, f"rule: {spoke}", DecidedBy.RULE, str(spoke), binds)
        verdict = self._by_mode(spec)
        if verdict.action == "ask" and (others := self.other_servers(spec, arguments)):
            return replace(
                verdict,
                why=f"{others[0].rule} is for another {spec.server}"
                if others[0].bound
                else f"{others[0].rule} is not yet for this {spec.server}",
            )
        return verdict

    def other_servers(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> list[OtherServer]:
        """The allow rules that would let a call run, were its server the one that they are bound to."""
        found: list[OtherServer] = []
        for rule in self.rules:
            if rule.action == "allow" and rule.matches(spec, arguments) and not self._means(rule, spec):
                bound = self.bindings.meant(_key(rule, spec))
                found.append(OtherServer(rule, bound[-1].text if bound else ""))
        return found

    def bind(self, rule: Rule, spec: ToolSpec) -> bool:
        """The rule means the server of this tool from now on; whether that is new."""
        return rule.action == "allow" and self.bindings.bind(_key(rule, spec), spec)

    def keep(self, rule: Rule, spec: ToolSpec) -> None:
        """Stores that; may block."""
        self.bindings.keep(_key(rule, spec), spec)

    def _standing(self, rule: Rule, spec: ToolSpec) -> Standing:
        return self.bindings.standing(_key(rule, spec), spec)

    def _means(self, rule: Rule, spec: ToolSpec) -> bool:
        return rule.action != "allow" or self._standing(rule, spec) in ("bound", "new")

    def _by_mode(self, spec: ToolSpec) -> Ruling:
        match self.mode:
            case ApprovalMode.YOLO:
                return Ruling("allow", "mode yolo runs everything", DecidedBy.MODE)
            case ApprovalMode.AUTO | ApprovalMode.PLAN if self._only_reads(spec):
                return Ruling("allow", f"mode {self.mode.value} runs what only reads", DecidedBy.MODE)
            case ApprovalMode.PLAN:
                return Ruling("deny", PLANS, DecidedBy.MODE)
            case ApprovalMode.AUTO:
                return Ruling("ask", "not known to be read-only", DecidedBy.MODE)
            case ApprovalMode.ASK:
                return Ruling("ask", "not pre-approved", DecidedBy.MODE)

    def _only_reads(self, spec: ToolSpec) -> bool:
        """Whether a tool is known to change nothing; of Fanout's own only one that asks does (it starts a program)."""
        if spec.builtin:
            return not spec.asks
        return spec.annotations.read_only and (self.trusted is None or spec.server in self.trusted)


def _key(rule: Rule, spec: ToolSpec) -> RuleKey:
    return RuleKey(rule.source, rule.text, spec.server)
