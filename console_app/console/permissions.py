"""Decide which calls may run, by mode, rules and user. A rule that is to stay is written to its file first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from console_app import shell_syntax
from console_app.console.ui_port import UiPort
from console_app.domain import ApprovalMode, Decision, FanoutError, ToolSpec, displayed, one_line
from console_app.domain import rules as written
from console_app.domain import schema as json_schema
from console_app.domain.transcript import CallView, verdicts
from console_app.engine import ENABLE, Action, ApprovalGate, Rule
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from console_app.config.settings import UserRules
    from console_app.engine import Engine, Rerun, Turn

Scope = Literal["once", "session", "always", "form"]  # form: for the form of text that the model writes calls in
SESSION = "this session"
MOST_NAMED = 3  # tools that are named of those a rule matches
MOST_ARGUMENT = 80  # characters of an argument that a rule is offered for
_ORDER: tuple[Action, ...] = ("deny", "ask", "allow")  # as they count


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """A decision about the calls `call_ids`, and with `rule` about later ones. By the id of a call, `shown` has the
    fingerprint of its tool, `displayed` the hash of the lines that the user saw, and `comments` words for the model."""

    call_ids: tuple[str, ...]
    decision: Decision
    scope: Scope = "once"
    rule: str = ""
    feedback: str | None = None
    shown: Mapping[str, str] = field(default_factory=dict[str, str])
    displayed: Mapping[str, str] = field(default_factory=dict[str, str])
    comments: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class PermissionRow:
    """A rule in force. `rule` is None for what mcp.json says of a tool, which no rule here changes."""

    action: Action
    text: str
    matches: str
    source: str
    rule: Rule | None

    @property
    def lasting(self) -> bool:
        return self.source == SESSION or self.source.startswith("yours")


class Permissions:
    """The permissions of one conversation. `running` returns what runs now, whose calls may wait."""

    MODES: ClassVar[dict[ApprovalMode, str]] = {
        ApprovalMode.ASK: "what no rule allows asks",
        ApprovalMode.AUTO: "what only reads runs, the rest asks",
        ApprovalMode.PLAN: "what only reads runs, the rest is denied",
        ApprovalMode.YOLO: "every call runs unasked",
    }

    def __init__(
        self, engine: Engine, running: Callable[[], Turn | Rerun | None], rules: UserRules | None, ui: UiPort
    ) -> None:
        """`rules` is the user's configuration; None: rules hold until the program ends."""
        self._engine = engine
        self._running = running
        self._file = rules
        self._ui = ui
        self._before_plan = ApprovalMode.ASK

    @property
    def mode(self) -> ApprovalMode:
        return self._engine.gate.mode

    def use_mode(self, mode: ApprovalMode) -> None:
        """Use another mode for calls from now on. A person or a rule decides on those that wait already."""
        if mode is ApprovalMode.PLAN is not self.mode:
            self._before_plan = self.mode
        self._engine.gate.mode, self._engine.gate.chose = mode, True

    @property
    def plan_or_back(self) -> ApprovalMode:
        """The mode that /plan leads to: plan, and out of it the one before."""
        return self._before_plan if self.mode is ApprovalMode.PLAN else ApprovalMode.PLAN

    @property
    def rules_path(self) -> str:
        return self._file.path if self._file is not None else ""

    # Decisions

    def decide(self, decided: ApprovalDecision) -> bool:
        """Carry out a decision; return whether each call had waited. Calls wait on where the rule can't be written, or
        they always ask. No rule is made for a tool that changed after it was shown."""
        running = self._running()
        seen = running is None or all(running.is_as_shown(one, decided.shown.get(one)) for one in decided.call_ids)
        if decided.rule and seen and running is not None and any(map(running.always_asks, decided.call_ids)):
            self._ui.toast("This call always asks: no rule can change that.")
            return False
        if decided.rule and seen and not self.add_rule("allow", decided.rule, keep=decided.scope == "always"):
            return False
        if running is None:
            return False
        resolved = True
        for call_id in decided.call_ids:
            words = decided.comments.get(call_id, decided.feedback)
            shown, displayed = decided.shown.get(call_id), decided.displayed.get(call_id)
            resolved &= running.resolve(
                *(call_id, decided.decision),
                feedback=words,
                shown=shown,
                displayed=displayed,
                licensed=decided.scope == "form",
            )
        if decided.rule and seen:
            self.reconsider()
        return resolved

    def run_edited(self, call_id: str, arguments: dict[str, Any], shown: str | None = None, comment: str = "") -> None:
        """Let a waiting call run with other arguments, of which the model hears with the comment. `shown` is the
        fingerprint shown."""
        running = self._running()
        if running is None or not running.resolve(
            *(call_id, Decision.ALLOW),
            arguments=arguments,
            feedback=comment,
            shown=shown,
            displayed=displayed.digest(displayed.argument_lines(arguments)),
        ):
            self._ui.toast("That call doesn't wait any more.")

    def reconsider(self) -> int:
        running = self._running()
        return running.reconsider() if running is not None else 0

    # Rules

    def add_rule(self, action: Action, text: str, *, keep: bool) -> bool:
        """Put a rule in force, with `keep` also into the user's configuration. False when it could not be kept."""
        file = self._file if keep else None
        try:
            read = written.parse_rule(text)
            if file is not None:
                file.add(action, text)
        except (FanoutError, ValueError) as error:
            self._ui.tell("error", one_line(str(error), 300))
            return False
        rule = Rule(action, read.pattern, SESSION if file is None else file.path, read.arguments)
        self._engine.gate.rules.append(rule)
        for spec in self._engine.toolset.tools():
            if rule.speaks_of(spec) and self._engine.gate.bind(rule, spec) and rule.is_kept:
                self._engine.gate.keep(rule, spec)
        where = f"Written to {one_line(file.path, 80)}" if file is not None else "Until you leave"
        self._ui.toast(f"{where}: {one_line(str(rule), 120)}")
        return True

    def remove_rule(self, rule: Rule) -> bool:
        """Take a rule out of force, and out of the user's configuration where it stands there."""
        file = self._file
        if file is not None and rule.source == file.path:
            try:
                file.remove(rule.action, rule.text)
            except FanoutError as error:
                self._ui.tell("error", error.line)
                return False
        rules = self._engine.gate.rules
        rules[:] = [other for other in rules if other != rule]  # one that was added twice stands in the file once
        return True

    def rows(self) -> list[PermissionRow]:
        specs = self._engine.toolset.tools()
        rows = [
            PermissionRow(
                rule.action,
                one_line(rule.text, 120),
                matched([spec for spec in specs if rule.speaks_of(spec)]),
                source_of(rule.source),
                rule,
            )
            for rule in self._engine.gate.rules
        ]
        rows += [
            PermissionRow("ask", one_line(spec.label, 120), matched([spec]), "mcp.json, require_approval", None)
            for spec in specs
            if spec.require_approval
        ]
        return sorted(rows, key=lambda row: _ORDER.index(row.action))


def matched(specs: Sequence[ToolSpec]) -> str:
    if not specs:
        return "no tool that is on"
    names = ", ".join(one_line(spec.tool, 24) for spec in specs[:MOST_NAMED])
    more = f" and {len(specs) - MOST_NAMED} more" if len(specs) > MOST_NAMED else ""
    return f"{len(specs)} tool{'' if len(specs) == 1 else 's'}: {names}{more}"


def source_of(source: str) -> str:
    path = Path(source)
    if not path.is_absolute():
        return one_line(source, 40) or "unknown"
    kind = "project" if path.parent.name == ".fanout" else "yours"
    return one_line(f"{kind}, {path.name}", 40)


def misfit(spec: ToolSpec, call: CallView) -> str:
    wrong = json_schema.arguments_problem(spec.input_schema, call.arguments or {})
    return "; ".join((f"it does not fit the tool: {wrong}", *call.repaired)) if wrong else ""


def helpful_rules(gate: ApprovalGate, spec: ToolSpec, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return rules that would let this call run without asking: for its tool, these arguments, its server. None where
    others ask in spite of them. A server to switch on comes with what it only reads."""
    server = arguments.get("server")
    if spec.builtin and spec.tool == ENABLE and isinstance(server, str):
        return (written.tool_pattern(server, reads=True),)
    tool = written.RuleText(written.tool_pattern(spec.server, spec.tool))
    offers = [tool]
    for name in verdicts.COMMANDS.intersection(arguments):
        if isinstance(command := arguments[name], str) and (pattern := shell_syntax.beginning(command)):
            offers.insert(0, written.RuleText(tool.pattern, {name: pattern}))
    if isinstance(url := arguments.get("url"), str) and (host := re.match(r"https?://[\w.:-]+/", f"{url}/")):
        offers.insert(0, written.RuleText(tool.pattern, {"url": f"{host[0]}*"}))
    fixed = {
        name: written.literal(value)
        for name, value in arguments.items()
        if isinstance(value, str) and value and len(value) <= MOST_ARGUMENT and "\n" not in value
    }
    if fixed and len(fixed) == len(arguments) and len(fixed) <= 2:
        offers.append(written.RuleText(tool.pattern, fixed))
    offers.append(written.RuleText(written.tool_pattern(spec.server)))
    return tuple(str(offer) for offer in offers if _helps(gate, offer, spec, arguments))


def _helps(gate: ApprovalGate, offer: written.RuleText, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    rule = Rule("allow", offer.pattern, "", offer.arguments)
    trial = ApprovalGate(gate.mode, [*gate.rules, rule], headless=gate.headless, shell=gate.shell)
    return trial.check(spec, arguments).action == "allow"


def traits(spec: ToolSpec) -> str:
    return spec.annotations.effect + (" (declared by server)" if spec.annotations.declares_effect else "")
