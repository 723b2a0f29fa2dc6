"""Decides whether a call may run: by rule, by mode, or by asking. It waits for nobody, so it can be tested whole.

Deny stands over ask, ask over allow. `require_approval` and `must_ask` count as rules that ask, which no mode and no
allow rule passes. Mode `plan` denies what isn't known to be read-only before. Where nobody can be asked (`headless`)
the engine denies.

Any file may call any program by a server's name. So an allowing rule is bound to the server's identity
(`ServerIdentity`): what runs when you write it, else at its first use. Another program under that name asks. Rules of
the user's files are never bound by themselves to servers that are not the user's own (`foreign`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import PurePath as Path
from typing import Any, Literal

from console_app import shell_syntax
from console_app.domain import ApprovalMode, ToolSpec
from console_app.domain import events as ev
from console_app.domain import rules as written
from console_app.domain import schema as json_schema
from console_app.domain.tools import ServerIdentity
from console_app.domain.transcript import verdicts
from console_app.engine.calls.arguments import UnreadableArguments, compact, read
from console_app.records import KW_ONLY, dataclass, field, replace

# bound: to this server · new: to none yet · other: to another · foreign: to none, and not by itself to this one
Standing = Literal["bound", "new", "other", "foreign"]


@dataclass(frozen=True, slots=True)
class RuleKey:
    source: str
    rule: str
    server: str


@dataclass(slots=True)
class RuleBindings:
    """`user_file` is the source of the rules of the user's file; `store` keeps a new binding, and may block."""

    bound: dict[RuleKey, tuple[ServerIdentity, ...]] = field(default_factory=dict[RuleKey, tuple[ServerIdentity, ...]])
    user_file: str = ""
    foreign: frozenset[str] = frozenset()  # servers that are not the user's own
    store: Callable[[RuleKey, ServerIdentity], None] | None = None

    def know(self, source: str, rule: str, server: str, identities: tuple[ServerIdentity, ...]) -> None:
        """Take it that a rule means these servers, and no others under that name."""
        self.bound[RuleKey(source, rule, server)] = identities

    def standing(self, key: RuleKey, spec: ToolSpec) -> Standing:
        if spec.identity is None:
            return "bound"
        known = self.bound.get(key, ())
        if any(one.digest == spec.identity.digest for one in known):
            return "bound"
        if known:
            return "other"
        return "foreign" if key.source == self.user_file and key.server in self.foreign else "new"

    def bind(self, key: RuleKey, spec: ToolSpec) -> bool:
        """Have the rule mean this server (too), and tell whether that is new. `keep` stores it."""
        if spec.identity is None or self.standing(key, spec) == "bound":
            return False
        self.bound[key] = (*self.bound.get(key, ()), spec.identity)
        return True

    def keep(self, key: RuleKey, spec: ToolSpec) -> None:
        if self.store is not None and spec.identity is not None:
            self.store(key, spec.identity)


PLANS = "plan mode runs only what is known to be read-only"
Action = Literal["allow", "ask", "deny"]
_STRICTEST_FIRST: tuple[Action, ...] = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` has globs on server and tool; all `arguments` must match (`domain.rules`). `source` is for people."""

    action: Action
    pattern: str
    source: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def matches(self, spec: ToolSpec, arguments: Mapping[str, Any], *, hidden: bool = False) -> bool:
        """Tell whether the rule matches a call. With `hidden`, also a command whose interpreter may do the same."""
        if not self.speaks_of(spec):
            return False
        strictly = self.action == "allow"
        commands = {name for name in verdicts.COMMANDS if isinstance(arguments.get(name), str)}
        judged = {name: glob for name, glob in self.arguments.items() if name in commands}
        others = {name: glob for name, glob in self.arguments.items() if name not in judged or not strictly}
        if strictly:
            return all(
                shell_syntax.allows(glob, arguments[name]) for name, glob in judged.items()
            ) and written.arguments_match(others, arguments, strictly=True, schema=spec.input_schema)
        may = {
            name
            for name, glob in judged.items()
            if shell_syntax.mentions(glob, arguments[name]) or (hidden and shell_syntax.hides(arguments[name]))
        }
        rest = {name: glob for name, glob in others.items() if name not in may}
        return written.arguments_match(rest, arguments, strictly=False, schema=spec.input_schema)

    def speaks_of(self, spec: ToolSpec) -> bool:
        strictly, reads = self.action == "allow", spec.annotations.read_only
        return written.speaks_of(self.pattern, spec.server, spec.tool, strictly=strictly, reads=reads)

    @property
    def is_kept(self) -> bool:
        return Path(self.source).is_absolute()

    @property
    def text(self) -> str:
        return str(written.RuleText(self.pattern, self.arguments))

    def __str__(self) -> str:
        return f"{self.action} {self.text}"


class Unwritten(StrEnum):
    """The causes to ask that are no rule that somebody wrote; each stands where the text of a rule would."""

    REQUIRED = "require_approval"
    CHANGED = "changed"
    MUST_ASK = "must_ask"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on a call. `why` is said to the user who is asked, `rule` names the rule that spoke, if one did."""

    action: Action
    why: str
    by: ev.DecidedBy
    rule: str | None = None
    binds: Rule | None = None  # an allow rule that is to mean the server of this call from now on

    @property
    def denial(self) -> str:
        if self.action != "deny":
            return ""
        return self.why if self.by is ev.DecidedBy.MODE else f"a rule denies it ({self.why})"


@dataclass(frozen=True, slots=True)
class OtherServer:
    """An allow rule that doesn't count for a call, since its server is not what the rule was `bound` to; "" when the
    rule was bound to nothing, and the server isn't the user's own."""

    rule: Rule
    bound: str


@dataclass(eq=False)
class ApprovalGate:
    """Modes and rules, both settable while calls run. In a mode `auto` that nobody `chose`, marks of servers
    that are not the user's own count for nothing. Commands of the bundled `shell` are judged one
    by one."""

    mode: ApprovalMode = ApprovalMode.ASK
    rules: list[Rule] = field(default_factory=list[Rule])
    _: KW_ONLY
    headless: bool = False
    chose: bool = True
    bindings: RuleBindings = field(default_factory=RuleBindings)
    shell: ServerIdentity | None = None

    def __post_init__(self) -> None:
        self.rules = list(self.rules)  # its own

    def check(self, spec: ToolSpec, arguments: Mapping[str, Any], must_ask: str = "") -> Ruling:
        """Return the verdict on one call. `must_ask` says why it may not run unless a person approves it, "" when
        nothing does."""
        found = [rule for rule in self.rules if rule.matches(spec, arguments)]
        for action in _STRICTEST_FIRST:
            if action == "ask" and self.mode is ApprovalMode.PLAN and not self.only_reads(spec, arguments):
                return Ruling("deny", PLANS, ev.DecidedBy.MODE)
            if action == "ask" and must_ask:
                return Ruling("ask", must_ask, ev.DecidedBy.RULE, Unwritten.MUST_ASK)
            if action == "ask" and spec.require_approval:
                why = "its definition changed since you trusted it" if spec.changed else "it always needs an approval"
                rule = Unwritten.CHANGED if spec.changed else Unwritten.REQUIRED
                return Ruling("ask", f"{spec.label}: {why}", ev.DecidedBy.RULE, rule)
            spoke = next((rule for rule in found if rule.action == action and self._means(rule, spec)), None)
            if spoke is not None:
                binds = spoke if action == "allow" and self._standing(spoke, spec) == "new" else None
                return Ruling(action, f"rule: {spoke}", ev.DecidedBy.RULE, str(spoke), binds)
            doubted = [one for one in self.rules if one.action != "allow" and one.matches(spec, arguments, hidden=True)]
            if action == "ask" and doubted:
                return Ruling(
                    "ask", f"it may run what a rule forbids: {doubted[0]}", ev.DecidedBy.RULE, str(doubted[0])
                )
        verdict = self._by_mode(spec, arguments)
        if verdict.action == "ask" and (others := self.other_servers(spec, arguments)):
            whose = "for another" if others[0].bound else "not yet for this"
            return replace(verdict, why=f"{others[0].rule} is {whose} {spec.server}")
        return verdict

    def edited(self, spec: ToolSpec | None, arguments: dict[str, Any] | str, *, waits: bool) -> dict[str, Any]:
        """Return a copy of edited arguments, as they will run. Raises UnreadableArguments (a ValueError); of a tool
        that is gone (None) everything can run. A call that `waits` came before the mode."""
        try:
            edited = read(arguments if isinstance(arguments, str) else compact(arguments))
        except (TypeError, ValueError, RecursionError) as error:
            raise UnreadableArguments(str(error)) from None
        if spec is None:
            return edited
        verdict = self.check(spec, edited)
        denial = "" if waits and verdict.by is ev.DecidedBy.MODE else verdict.denial
        if problem := denial or json_schema.arguments_problem(spec.input_schema, edited):
            raise UnreadableArguments(problem)
        return edited

    def other_servers(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> list[OtherServer]:
        """Return the allow rules that would let a call run, were its server the one that they are bound to."""
        found: list[OtherServer] = []
        for rule in self.rules:
            if rule.action == "allow" and rule.matches(spec, arguments) and not self._means(rule, spec):
                bound = self.bindings.bound.get(_key(rule, spec))
                found.append(OtherServer(rule, bound[-1].text if bound else ""))
        return found

    def bind(self, rule: Rule, spec: ToolSpec) -> bool:
        return rule.action == "allow" and self.bindings.bind(_key(rule, spec), spec)

    def keep(self, rule: Rule, spec: ToolSpec) -> None:
        self.bindings.keep(_key(rule, spec), spec)

    def _standing(self, rule: Rule, spec: ToolSpec) -> Standing:
        return self.bindings.standing(_key(rule, spec), spec)

    def _means(self, rule: Rule, spec: ToolSpec) -> bool:
        return rule.action != "allow" or self._standing(rule, spec) in ("bound", "new")

    def _by_mode(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Ruling:
        match self.mode:
            case ApprovalMode.YOLO:
                return Ruling("allow", "mode yolo runs everything", ev.DecidedBy.MODE)
            case ApprovalMode.AUTO | ApprovalMode.PLAN if self.only_reads(spec, arguments):
                if self.mode is ApprovalMode.AUTO and not self.chose and spec.server in self.bindings.foreign:
                    return Ruling(
                        "ask", "its server is not in your own mcp.json, and you chose no mode", ev.DecidedBy.MODE
                    )
                return Ruling("allow", f"mode {self.mode.value} runs what only reads", ev.DecidedBy.MODE)
            case ApprovalMode.PLAN:
                return Ruling("deny", PLANS, ev.DecidedBy.MODE)
            case ApprovalMode.AUTO | ApprovalMode.ASK:
                return Ruling("ask", "not pre-approved", ev.DecidedBy.MODE)

    def only_reads(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
        """Tell whether a tool is known to change nothing; of Fanout's own only one that asks does (it starts a
        program)."""
        if spec.builtin:
            return not spec.asks
        if self.shell is not None and spec.identity == self.shell and spec.tool == "run":
            command, cwd = arguments.get("command"), arguments.get("cwd", ".")
            if not isinstance(command, str) or not isinstance(cwd, str):
                return False
            usual = arguments.keys() <= {"command", "cwd", "timeout", "pty"}
            return usual and shell_syntax.only_reads(command, spec.folder, cwd)
        return spec.annotations.read_only


def _key(rule: Rule, spec: ToolSpec) -> RuleKey:
    return RuleKey(rule.source, rule.text, spec.server)
