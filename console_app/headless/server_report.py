"""What `fanout mcp list` and `test` print: a line a server, and what it offers a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.mcp_client.hub import Hub
from console_app.mcp_client.status import ServerStatus

NOTHING: Mapping[str, Sequence[str]] = {}
_GLYPHS = {"ready": "✓", "failed": "✗", "stopped": "✗", "disabled": "○", "needs sign-in": "✗"}


def offered(hub: Hub) -> Mapping[str, Sequence[str]]:
    """What each server offers beside tools, as it is typed in a prompt: a line each."""
    typed = {name: typed for typed, name in hub.typed_servers().items()}
    found: dict[str, list[str]] = {}
    for name, prompt in hub.typed_prompts().items():
        words = " ".join(one.name if one.required else f"[{one.name}]" for one in prompt.arguments)
        found.setdefault(prompt.server, []).append(_row(f"/{name} {words}".rstrip(), prompt.description))
    for one in hub.resources():
        about = " · ".join(part for part in (one.title or one.name, one.mime) if part)
        found.setdefault(one.server, []).append(_row(hub.mention(one.server, one.uri), about))
    for one in hub.templates():
        found.setdefault(one.server, []).append(_row(f"@{typed[one.server]}:{one.uri_template}", one.name))
    return found


def _row(what: str, about: str) -> str:
    return f"    {one_line(what, 100):<32} {one_line(about, 80)}".rstrip()


def lines(
    statuses: Sequence[ServerStatus],
    tools: Sequence[ToolSpec],
    path: Path | None,
    offers: Mapping[str, Sequence[str]] = NOTHING,
) -> Iterator[str]:
    """The servers of the file at `path`; `tools` and `offers` are listed under their server."""
    yield f"Servers of {one_line(str(path))}:" if path else "No servers."
    for status in statuses:
        name = one_line(status.name, 40)
        yield f"{_GLYPHS.get(status.state, '·')} {name:<16} {status.state:<10} {_about(status)}".rstrip()
        for spec in tools:
            if spec.server == status.name:
                yield _row(spec.label, spec.description)
        yield from offers.get(status.name, ())
        if tools:
            for rejected in status.rejected:
                yield f"    {one_line(rejected.name, 60):<32} left out: {one_line(rejected.reason, 160)}"


def _about(status: ServerStatus) -> str:
    if status.reason:
        return one_line(status.reason, 200)
    counts = ((status.tools, "tool"), (status.prompts, "prompt"), (status.resources, "resource"))
    parts = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count or what == "tool"]
    parts.append(status.transport)
    parts += [f"protocol {status.protocol_version}"] if status.protocol_version else []
    parts += [status.server_info] if status.server_info else []
    return one_line(" · ".join(parts), 200)
