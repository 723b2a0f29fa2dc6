"""Pictures of an opened tool, a server's wire and a message; `pytest --snapshot-update` takes them anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import BaseModel
from textual.pilot import Pilot

from console_app.domain.approvals import ApprovalMode
from console_app.domain.tools import CallState, Outcome, ToolAnnotations, ToolSpec
from console_app.domain.transcript import CallView
from console_app.engine import ApprovalGate, Rule
from console_app.mcp_client import Traffic
from console_app.mcp_client.traffic import Kind, json_of
from console_app.tui.servers.wire_screen import WireScreen
from console_app.tui.servers.workbench import ToolScreen, ToolSource
from tests.tui.parts import NOW, app, see

Compare = Callable[..., bool]
SIZES = [(120, 40), (80, 24)]
SPEC = ToolSpec(
    name="forge_create_issue",
    server="forge",
    tool="create_issue",
    description="Creates an issue in a repository.\n\nThe body is Markdown; labels that don't exist are made.",
    input_schema={
        "type": "object",
        "required": ["repo", "title"],
        "properties": {
            "repo": {"type": "string", "pattern": "^[^/]+/[^/]+$", "description": "Owner and name."},
            "title": {"type": "string", "maxLength": 200},
            "priority": {"enum": ["low", "normal", "high"], "default": "normal"},
            "assign": {"type": "array", "items": {"$ref": "#/$defs/user"}},
            "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        },
        "$defs": {"user": {"type": "object", "required": ["login"], "properties": {"login": {"type": "string"}}}},
        "additionalProperties": False,
    },
    output_schema={"type": "object", "properties": {"number": {"type": "integer", "description": "Of the issue."}}},
    annotations=ToolAnnotations(destructive=False, idempotent=False),
)


@pytest.fixture(autouse=True)
def greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def call(number: int, milliseconds: int, outcome: Outcome, text: str) -> CallView:
    view = CallView(f"c{number}", 0, SPEC.name, "forge", "create_issue", "native", NOW + number * 7)
    view.state, view.outcome, view.duration_ms, view.started_at = CallState.FINISHED, outcome, milliseconds, NOW
    view.arguments = {"repo": "a/b", "title": f"Issue {number}"}
    view.content, view.error = text, text if outcome.is_error else None
    return view


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_tool(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    calls = [call(n, 180 + 40 * n, Outcome.SUCCEEDED, f"#{n}") for n in range(1, 4)]
    calls.append(call(4, 2900, Outcome.FAILED, "HTTP 502 from the forge"))
    gate = ApprovalGate(ApprovalMode.ASK, [Rule("deny", "forge.*", "user", {"repo": "secret/*"})])
    source = ToolSource(lambda: SPEC, lambda: calls, gate, lambda: True, lambda: False, lambda: NOW)

    async def run(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(ToolScreen(SPEC, source))
        await see(pilot, "forge · create_issue")
        await see(pilot, "effects")

    assert snap_compare(app(tmp_path), terminal_size=size, run_before=run)


def wire() -> Traffic:
    ticks = count(NOW + 0.25, 0.0421)
    kept = Traffic(lambda: next(ticks))

    def keep(message: BaseModel, kind: Kind, method: str = "", id: int | None = None) -> None:
        kept.keep(json_of(message), kind, method, id, kind == "request")

    def asked(id: int, method: str, **params: Any) -> None:
        request = JSONRPCRequest(jsonrpc="2.0", id=id, method=method, params=params)
        keep(request, "request", method, id)

    asked(1, "initialize", protocolVersion="2025-11-25", capabilities={"roots": {}})
    keep(JSONRPCResponse(jsonrpc="2.0", id=1, result={"capabilities": {}}), "result", id=1)
    asked(2, "tools/call", name="create_issue", arguments={"repo": "a/b", "key": "sk-secret"})
    note = JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params={"progress": 1, "total": 3})
    keep(note, "notification", note.method)
    fault = JSONRPCError.model_validate({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "no title"}})
    keep(fault, "error", id=2)
    kept.dropped = 12
    return kept


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_wire(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(WireScreen("forge", wire(), lambda text: text.replace("sk-secret", "(hidden)"), tmp_path))
        await see(pilot, "tools/call error")

    assert snap_compare(app(tmp_path), terminal_size=size, run_before=run)


def test_a_message(snap_compare: Compare, tmp_path: Path) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(WireScreen("forge", wire(), lambda text: text.replace("sk-secret", "(hidden)"), tmp_path))
        await see(pilot, "tools/call error")
        await pilot.press("up", "up", "enter")
        await see(pilot, "→ to forge · request")

    assert snap_compare(app(tmp_path), terminal_size=(80, 24), run_before=run)
