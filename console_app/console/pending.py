"""A waiting call with everything there is to say and to decide about it: every face asks here and decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from console_app.console.permissions import Scope, helpful_rules, misfit
from console_app.domain import CallState, ToolSpec, displayed, one_line
from console_app.domain.tools import Risk
from console_app.domain.transcript import CallView
from console_app.engine import OtherServer
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from console_app.console.files import FileChange
    from console_app.domain.transcript import Transcript
    from console_app.engine import Engine


OUTSIDE = "it runs outside of the sandbox, with all your rights"


@dataclass(frozen=True, slots=True)
class Pending:
    """A waiting call. `spec` is its tool as the user is asked about it; None where the server lists it no more."""

    call: CallView
    spec: ToolSpec | None = None
    risk: Risk = field(default_factory=Risk)
    rules: tuple[str, ...] = ()  # that would let it run, the closest first; none for a call that always asks
    until: float | None = None  # when it is denied by itself, as `at` of events
    runs: str = ""  # the program or address of its server; "" where that is Fanout itself
    others: tuple[OtherServer, ...] = ()  # rules that would let it run, were its server the one they are bound to
    number: int = 0  # of its panel, from 1; 0 where the newest batch is not its own
    confined: str = ""  # of a command: what its sandbox lets it do, or that it runs in none
    wrong: str = ""  # why it would fail as it is: its arguments don't fit the tool
    program: CallView | None = None  # that made the call, and waits for its result

    @property
    def left(self) -> tuple[str, float] | None:
        """Return how the call is decided by itself, in words, and when, as `at` of events; None where it never is."""
        late = None if self.program is None else self.program.ends_at
        ends = ("denied", self.until), ("too late for its program", late)
        return min(((word, at) for word, at in ends if at is not None), key=lambda end: end[1], default=None)

    @property
    def form(self) -> str:
        """The form of text that an approval may license, "" where it may not: then the model is known to write so."""
        return self.call.form

    @property
    def answers(self) -> Mapping[Scope | Literal["deny"], str]:
        if self.form:
            return {"once": "run it", "form": "run it, the model writes so", "deny": "it is a quotation"}
        more: dict[Scope | Literal["deny"], str] = {"session": "allow for session", "always": "always allow"}
        if self.spec is not None and self.spec.builtin and self.rules:
            reads = "switch it on, and run what it only reads"
            more = {"session": f"{reads}, for this session", "always": f"{reads}, always"}
        return {"once": "allow once", **(more if self.rules else {}), "deny": "deny"}

    @property
    def changed(self) -> str:
        return self.spec.changed if self.spec is not None else ""

    @property
    def fingerprint(self) -> str | None:
        """The hash of definition and server that an approval stands for; None where the tool is gone."""
        return self.spec.fingerprint if self.spec is not None else None

    @property
    def only_reads(self) -> bool:
        """Tell whether "all that only read" includes the call: not where no rule could let it run, or only an unknown
        tool or server says so."""
        return self.risk.word == "reads" and bool(self.rules) and not self.changed and not self.others

    @property
    def needs_a_look(self) -> bool:
        return bool(self.changed or self.server_lines or self.wrong or self.call.passage)

    @property
    def server_lines(self) -> list[displayed.ArgumentLine]:
        if not self.others and not (self.spec is not None and self.spec.builtin and self.runs):
            return []
        bound = dict.fromkeys(other.bound for other in self.others if other.bound)
        return [
            *displayed.named_lines("it runs", self.runs),
            *(line for one in bound for line in displayed.named_lines("rule is for", one)),
        ]

    def lines(self, change: FileChange | None = None) -> list[displayed.ArgumentLine]:
        """Return all lines displayed of the call: how the tool changed, the passage, its server, the arguments, and the
        `change` in a file."""
        said = change.said if change is not None else ()
        lines = (
            displayed.difference_lines(self.changed)
            + (displayed.named_lines("passage", self.call.passage) if self.call.passage else [])
            + self.server_lines
            + displayed.argument_lines(self.call.arguments or {}, said)
        )
        return [*lines, *(change.lines if change is not None else ())]

    def reasons(self) -> Iterator[str]:
        words = [f"{self.risk.word}, {self.risk.by}", one_line(self.call.why, 300)]
        words += [] if self.rules or self.changed or self.form else ["it always asks"]
        yield " ".join(f"{one[:1].upper()}{one[1:]}{'' if one.endswith('?') else '.'}" for one in words if one)
        if self.runs and not self.server_lines:
            yield f"It runs {one_line(self.runs, 300)}"
        if (left := self.left) is not None and left[1] != self.until:
            yield f"After {time.strftime('%H:%M:%S', time.localtime(left[1]))} it is {left[0]}."
        if self.confined:
            yield f"{self.confined[:1].upper()}{self.confined[1:]}."
        for other in self.others:
            bound = "for another server than it runs" if other.bound else "not for this file's servers"
            yield f"Warning: {one_line(str(other.rule), 120)} is {bound}."
        if self.wrong:
            yield f"Warning: {one_line(self.wrong, 300)}."
        if self.changed:
            yield "Warning: the tool is another than you trusted. Approving trusts it as it is."


class PendingCalls:
    """The calls that wait. A call keeps the same value while its tool does, so that a face can tell what is new."""

    def __init__(self, engine: Engine, transcript: Callable[[], Transcript]) -> None:
        """`transcript` gives the conversation as it is shown, for the numbers of panels."""
        self._engine, self._transcript = engine, transcript
        self._known: dict[str, Pending] = {}

    def all(self) -> list[Pending]:
        return self.of(list(self._transcript().open_calls.values()))

    def of(self, calls: list[CallView]) -> list[Pending]:
        waiting = [call for call in calls if call.state is CallState.WAITING]
        specs = {spec.name: spec for spec in self._engine.toolset.tools()} if waiting else {}
        self._known = {call.id: self._one(call, specs.get(call.name) or self._own(call)) for call in waiting}
        return [*self._known.values()]

    def tool(self, call: CallView) -> ToolSpec | None:
        return next((one for one in self._engine.toolset.tools() if one.name == call.name), None) or self._own(call)

    def one(self, call: CallView) -> Pending:
        return self._one(call, self.tool(call))

    def _own(self, call: CallView) -> ToolSpec | None:
        spec = self._engine.spec(call.name)
        return spec if spec is not None and spec.builtin else self._engine.asked_about(call.id)

    def _one(self, call: CallView, spec: ToolSpec | None) -> Pending:
        known, arguments, engine = self._known.get(call.id), call.arguments or {}, self._engine
        if known is not None and (spec is None or known.fingerprint == spec.fingerprint):
            return known
        limit = engine.settings.approval_timeout
        until = None if limit is None else call.news_at + limit
        until = until if known is None else known.until
        if spec is None:
            return Pending(call, until=until, number=self._number(call))
        return Pending(
            call,
            spec,
            Risk.of(spec, arguments),
            () if call.always_asks else helpful_rules(engine.gate, spec, arguments),
            until,
            engine.runs(spec, arguments),
            tuple(engine.gate.other_servers(spec, arguments)),
            self._number(call),
            self._confined(spec, arguments),
            misfit(spec, call),
            self._transcript().calls.get(call.parent),
        )

    def _confined(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
        if spec.identity is None or spec.identity != self._engine.gate.shell or spec.tool != "run":
            return ""
        outside = arguments.get("outside", False) is not False
        return OUTSIDE if outside else one_line(spec.description.rpartition("Commands are ")[2].rstrip("."), 200)

    def _number(self, call: CallView) -> int:
        turns = self._transcript().turns[-1:]
        batches = [step.batch.calls for turn in turns for step in turn.steps if step.batch.calls]
        return next((n for n, one in enumerate(batches[-1] if batches else (), 1) if one is call), 0)
