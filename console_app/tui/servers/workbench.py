"""The workbench of somebody who writes or examines a server: opens a tool and runs it, reads its wire, pings it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from console_app.console import Services
from console_app.console.servers import Offered, Pings, facts_of_tool
from console_app.domain import FanoutError, ToolSpec, call_description, one_line, plural
from console_app.domain import schema as json_schema
from console_app.domain.transcript import CallView
from console_app.engine import ApprovalGate
from console_app.mcp_client import Hub, ServerStatus
from console_app.records import dataclass
from console_app.tui.lineview import brief_arguments, state_of, state_style
from console_app.tui.lineview.lines import Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers.folding_tree import FoldingTree, Node
from console_app.tui.servers.tree_dialog import TreeDialog, calls_in_brief, described, schema_nodes, section
from console_app.tui.ui import Ui

MOST_CALLS = 50  # of the newest that are listed
Calls = Callable[[], Mapping[str, CallView]]
Run = Callable[[str, Mapping[str, Any] | None], Awaitable[bool]]


@dataclass(eq=False)
class Workbench:
    """The workbench of one console. `statuses` are the servers as their screen shows them, `calls` those of the
    session; `run` fills in the form of a tool and runs it."""

    services: Services
    hub: Hub
    ui: Ui
    statuses: Callable[[], Sequence[ServerStatus]]
    calls: Calls
    run: Run

    @cached_property
    def _pings(self) -> Pings:
        return Pings(self.hub, self.statuses, self.services.redact)

    async def tool(self, item: Offered) -> bool:
        """Open a tool; return whether calls of it were sent, for the dialog above it to close."""
        engine = self.services.engine
        key, spec = (item.server, item.name), partial(self.hub.tool, item.server, item.name)
        source = ToolSource(
            spec,
            lambda: [call for call in self.calls().values() if (call.server, call.tool) == key],
            engine.gate,
            lambda: any((one.server, one.tool) == key for one in self.hub.tools()),
            lambda: (found := spec()) is not None and found.name in engine.offer.behind,
            self.services.clock,
        )
        while (found := spec()) is not None:
            asked = await self.ui.push(ToolScreen(found, source))
            if asked is None:
                return False
            if await self.run(found.label, asked.arguments):
                return True
        self.ui.toast(f"{one_line(item.server, 40)} has no tool {one_line(item.name, 60)} any more.")
        return False

    async def wire(self, server: str) -> None:
        from console_app.tui.servers.wire_screen import WireScreen

        redact, folder = self.services.redact, self.services.working_folder
        await self.ui.push(WireScreen(server, self.hub.traffic(server), redact, folder))

    async def about(self, server: str) -> None:
        from console_app.tui.widgets.text_dialog import TextDialog

        def report() -> str:
            return self._pings.report(server, not_asked="not asked yet: p in the servers", wire="w in the servers")

        await self.ui.push(TextDialog(f"About {one_line(server, 40)}", report, every=0.5))

    async def ping(self, server: str) -> None:
        try:
            self.ui.toast(await self._pings.ping(server))
        except FanoutError as error:
            self.ui.toast(one_line(error.line, 300), seconds=8)


def nodes_of(spec: ToolSpec, gate: ApprovalGate, *, on: bool, behind: bool) -> list[Node]:
    """Return the sections but for the calls, in the order in which they are asked for."""
    nodes = [described(spec.annotations.title, spec.description)]
    nodes += [
        Node(lambda ink, name=name, text=text: [(f"{name:<9}", ink.muted), (text, ink.base)], key=("fact", name, text))
        for name, text in facts_of_tool(spec, gate, on=on, behind=behind)
    ]
    if spec.changed:
        lines = [one_line(line, 400) for line in spec.changed.splitlines()]
        inks = [{"+": "success", "-": "error"}.get(line[:1], "muted") for line in lines]
        below = [
            Node(lambda palette, line=line, ink=ink: [(line, getattr(palette, ink))])
            for line, ink in zip(lines, inks, strict=True)
        ]
        title = "Changed since you trusted it"
        nodes.append(Node(lambda palette: [(title, palette.warning)], lambda: below, open=True, key="changed"))
    return [
        *nodes,
        _schema("Input", spec.input_schema, "takes nothing"),
        _schema("Output", spec.output_schema, "not declared"),
    ]


def _schema(title: str, schema: dict[str, object] | None, nothing: str) -> Node:
    nodes = schema_nodes(schema) if schema else []
    count, needed = len(json_schema.properties(schema or {})), len(json_schema.required(schema or {}))
    words = (plural(count, "field") if count else "see below") + (f", {needed} required" if needed else "")
    return section(title, words if nodes else nothing, (lambda: nodes) if nodes else None, title)


def calls_node(calls: Sequence[CallView], now: float) -> Node:
    newest = calls[: -MOST_CALLS - 1 : -1]
    words = calls_in_brief(calls) if calls else "none in this session; enter runs it"
    return section("Last calls", words, (lambda: [_call(call, now) for call in newest]) if newest else None, "calls")


def _call(call: CallView, now: float) -> Node:
    def paint(palette: Palette) -> Sequence[Piece]:
        glyph, word = state_of(call, palette.turning(now))
        ink = state_style(call, palette)
        at = time.strftime("%H:%M:%S", time.localtime(call.announced_at))
        took = call_description.took(call, now)
        arguments = brief_arguments(call.arguments or {}, 60) or "no arguments"
        result = call.error or call.content if call.outcome is not None else call.message
        return [
            (f"{at}  ", palette.muted),
            (f"{glyph} {word:<8}", ink),
            (f"{took:>8}  ", palette.base),
            (arguments, palette.base),
            (f"  {one_line(result, 100)}" if result else "", palette.error if call.went_wrong else palette.muted),
        ]

    return Node(paint, key=("call", call.id))


@dataclass(frozen=True, slots=True)
class ToolRun:
    """The tool is to be run: with the form filled in as `arguments` say, or empty."""

    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolSource:
    """The source of what is shown, each time it is looked at. `spec` is None once the server is gone."""

    spec: Callable[[], ToolSpec | None]
    calls: Callable[[], Sequence[CallView]]
    gate: ApprovalGate
    is_on: Callable[[], bool]
    is_behind: Callable[[], bool]  # a search of the model
    clock: Callable[[], float]


class ToolScreen(TreeDialog[ToolRun]):
    """Gives a ToolRun when it is to be run, None when it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "again", "run again with these", id="tool.again"),
        Binding("enter,r", "run", "run", tooltip="fill in its form and run it", id="tool.run"),
        Binding("escape,q", "dismiss(None)", "back", id="tool.back"),
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
        spec, on, gate = self._source.spec(), self._source.is_on(), self._source.gate
        behind, self._calls = self._source.is_behind(), self._source.calls()
        self._spec = spec or self._spec
        said = (self._spec, on, behind, gate.mode, list(gate.rules))
        running = any(call.outcome is None for call in self._calls[-MOST_CALLS:])
        states = [(call.id, call.attempt, call.outcome) for call in self._calls[-MOST_CALLS:]]
        seen = (said == self._said, spec is None, states, self._source.clock() if running else 0)
        if seen == self._seen:
            return
        self._seen = (True, *seen[1:])
        if said != self._said:
            self._said, self._sections = said, nodes_of(self._spec, gate, on=on, behind=behind)
        dialog = self.query_one("#box")
        gone = f"{one_line(self._spec.server, 40)} is not connected" if spec is None else "" if on else "switched off"
        dialog.border_subtitle = Content(gone)  # pyright: ignore[reportAttributeAccessIssue]
        self.query_one(FoldingTree).show([*self._sections, calls_node(self._calls, self._source.clock())])
        self.refresh_bindings()

    @property
    def _call(self) -> CallView | None:
        node = self.query_one(FoldingTree).node
        return next((one for one in self._calls if node is not None and node.key == ("call", one.id)), None)

    def action_run(self) -> None:
        if not self._source.is_on():
            self.notify("It is off, or its server is not connected: nothing can run.", markup=False)
            return
        self.dismiss(ToolRun())

    def action_again(self) -> None:
        call = self._call
        if call is not None and self._source.is_on():
            self.dismiss(ToolRun(call.arguments or {}))
        else:
            self.action_run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._call is not None if action == "again" and self.is_mounted else True
