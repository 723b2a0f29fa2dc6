"""One tool, opened: what it is for, takes and returns, what it costs, what lets it run, how its last calls went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.domain.transcript import CallView
from console_app.engine.approval_gate import ApprovalGate
from console_app.tui.servers.tool_facts import MOST_CALLS, PastCall, calls_node, nodes_of
from console_app.tui.servers.tree_dialog import TreeDialog
from console_app.tui.widgets.folding_tree import FoldingTree, Node


@dataclass(frozen=True, slots=True)
class ToolRun:
    """The tool is to be run: with the form filled in as `arguments` say, or empty."""

    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolSource:
    """Where what is shown comes from, each time it is looked at. `spec` is None once the server is gone."""

    spec: Callable[[], ToolSpec | None]
    calls: Callable[[], Sequence[CallView]]
    gate: ApprovalGate
    is_on: Callable[[], bool]
    clock: Callable[[], float]


class ToolScreen(TreeDialog[ToolRun]):
    """Gives a ToolRun when it is to be run, None when it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "again", "run again with these", id="tool.again"),
        Binding("enter,r", "run", "run", tooltip="fill in its form and run it", id="tool.run"),
        Binding("escape,q", "leave", "back", id="tool.back"),
    ]

    def __init__(self, spec: ToolSpec, source: ToolSource) -> None:
        super().__init__(spec.server, spec.tool)
        self._spec = spec
        self._source = source
        self._calls: Sequence[CallView] = ()
        self._sections: Sequence[Node] = ()
        self._said: object = None  # what the sections were made of
        self._seen: object = None

    def look(self) -> None:
        """See TreeDialog."""
        spec, on, gate = self._source.spec(), self._source.is_on(), self._source.gate
        self._calls = self._source.calls()
        self._spec = spec or self._spec
        said = (self._spec, on, gate.mode, list(gate.rules))
        running = any(call.outcome is None for call in self._calls[-MOST_CALLS:])
        states = [(call.id, call.attempt, call.outcome) for call in self._calls[-MOST_CALLS:]]
        seen = (said == self._said, spec is None, states, self._source.clock() if running else 0)
        if seen == self._seen:
            return
        self._seen = (True, *seen[1:])
        if said != self._said:
            self._said, self._sections = said, nodes_of(self._spec, gate, on=on)
        dialog = self.query_one("#box")
        gone = f"{one_line(self._spec.server, 40)} is not connected" if spec is None else "" if on else "switched off"
        dialog.border_subtitle = Content(gone)  # pyright: ignore[reportAttributeAccessIssue]
        self.query_one(FoldingTree).show([*self._sections, calls_node(self._calls, self._source.clock())])
        self.refresh_bindings()

    @property
    def _call(self) -> CallView | None:
        """The past call under the cursor."""
        node = self.query_one(FoldingTree).node
        key = node.key if node is not None else None
        if not isinstance(key, PastCall):
            return None
        return next((call for call in self._calls if call.id == key.call_id), None)

    def action_run(self) -> None:
        """Enter, r."""
        if not self._source.is_on():
            self.notify("It is off, or its server is not connected: nothing can run.", markup=False)
            return
        self.dismiss(ToolRun())

    def action_again(self) -> None:
        """Enter on a past call."""
        call = self._call
        if call is not None and self._source.is_on():
            self.dismiss(ToolRun(call.arguments or {}))
        else:
            self.action_run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Run again only where the cursor is on a call."""
        return self._call is not None if action == "again" and self.is_mounted else True
