"""From the pick of a tool to the calls that are sent: pick, fill in, add another or send."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from console_app.console.earlier import EarlierCalls
from console_app.domain.amounts import plural
from console_app.domain.tools import ToolSpec
from console_app.engine import ManualCall
from console_app.tui.forms.call_form import CallForm
from console_app.tui.widgets.confirm import Confirm, ConfirmChoice
from console_app.tui.widgets.pick_list import Choice, PickList

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import App


async def fill_in(
    app: App[int],
    tools: Sequence[ToolSpec],
    calls_path: Path | None,
    label: str,
    tell: Callable[[str], None],
    arguments: Mapping[str, Any] | None = None,
) -> list[ManualCall]:
    """The calls to send; none when it was left. Begins with the tool called `label`, if there is one, filled in with
    `arguments`."""
    earlier = EarlierCalls(calls_path)
    table = {spec.label: spec for spec in tools}
    if not table:
        tell("No tool is on. Ctrl+L shows the servers.")
        return []
    if label and label not in table:
        tell(f"No tool is called {label}. Pick one.")
    calls: list[ManualCall] = []
    spec = table.get(label)
    while True:
        if spec is None:
            picked = await app.push_screen_wait(_tool_list(table, earlier, len(calls)))
            if picked is None:
                return await _rest(app, calls)
            spec = table[picked]
        first = dict(arguments) if arguments is not None else None
        form = CallForm(spec, earlier=earlier.of(spec.label), batch=calls, arguments=first)
        filled = await app.push_screen_wait(form)
        if filled is not None:
            calls.append(filled.call)
            earlier.add(filled.call.label, filled.call.arguments)
            if filled.then == "run":
                return calls
        elif label:
            return await _rest(app, calls)
        spec, label, arguments = None, "", None


def _tool_list(table: dict[str, ToolSpec], earlier: EarlierCalls, waiting: int) -> PickList:
    """All tools, those that were called by hand before first."""
    before = [label for label in earlier.labels() if label in table]
    labels = list(dict.fromkeys((*before, *table)))
    waits = "waits" if waiting == 1 else "wait"
    note = f"{plural(waiting, 'call')} {waits} to be sent with it." if waiting else ""
    return PickList("Call a tool", [Choice(label, table[label].description) for label in labels], note=note)


async def _rest(app: App[int], calls: list[ManualCall]) -> list[ManualCall]:
    """Left with calls filled in already: asks what becomes of them."""
    if not calls:
        return []
    question = f"{plural(len(calls), 'call')} filled in already and not sent."
    answer = await app.push_screen_wait(
        Confirm("Calls", question, [ConfirmChoice("r", "run", "run"), ConfirmChoice("d", "drop", "drop")])
    )
    return calls if answer == "run" else []
