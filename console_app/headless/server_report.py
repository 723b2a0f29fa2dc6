"""What `fanout mcp list` and `test` print: a line a server, and with its tools a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.mcp_client.status import ServerStatus

_GLYPHS = {"ready": "✓", "failed": "✗", "stopped": "✗", "disabled": "○", "needs sign-in": "✗"}


def lines(statuses: Sequence[ServerStatus], tools: Sequence[ToolSpec], path: Path | None) -> Iterator[str]:
    """The servers of the file at `path`; `tools` are listed under their server."""
    yield f"Servers of {one_line(str(path))}:" if path else "No servers."
    for status in statuses:
        name = one_line(status.name, 40)
        yield f"{_GLYPHS.get(status.state, '·')} {name:<16} {status.state:<10} {_about(status)}".rstrip()
        for spec in tools:
            if spec.server == status.name:
                yield f"    {one_line(spec.label, 60):<32} {one_line(spec.description, 80)}".rstrip()
        if tools:
            for rejected in status.rejected:
                yield f"    {one_line(rejected.name, 60):<32} left out: {one_line(rejected.reason, 160)}"


def _about(status: ServerStatus) -> str:
    if status.reason:
        return one_line(status.reason, 200)
    parts = [f"{status.tools} tools", status.transport]
    parts += [f"protocol {status.protocol_version}"] if status.protocol_version else []
    parts += [status.server_info] if status.server_info else []
    return one_line(" · ".join(parts), 200)
