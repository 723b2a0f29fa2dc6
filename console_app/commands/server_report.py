"""Report on servers for `fanout mcp list` and `test`: a line a server, and what it offers a line each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console_app.command_line import json_outputs
from console_app.commands.junit import Case
from console_app.domain import ToolSpec, one_line, safe_text, visible
from console_app.mcp_client import Hub, ServerState, ServerStatus

Row = tuple[str, str]  # what is offered, and what about it
NOTHING: Mapping[str, Sequence[Row]] = {}
_GLYPHS = {"ready": "✓", "failed": "✗", "stopped": "✗", "disabled": "○", "needs sign-in": "✗"}


_WIDEST = 60  # characters of a column; what is longer moves its own line alone


def offered(hub: Hub) -> Mapping[str, Sequence[Row]]:
    """Return what each server offers beside tools, as it is typed in a prompt, and what about it."""
    typed = {name: typed for typed, name in hub.typed_servers().items()}
    found: dict[str, list[Row]] = {}
    for name, prompt in hub.typed_prompts().items():
        words = " ".join(one.name if one.required else f"[{one.name}]" for one in prompt.arguments)
        found.setdefault(prompt.server, []).append((f"/{name} {words}".rstrip(), prompt.description))
    for one in hub.resources():
        about = " · ".join(part for part in (one.title or one.name, one.mime) if part)
        found.setdefault(one.server, []).append((hub.mention(one.server, one.uri), about))
    for one in hub.templates():
        found.setdefault(one.server, []).append((f"@{typed[one.server]}:{one.uri_template}", one.name))
    return found


def lines(
    statuses: Sequence[ServerStatus],
    tools: Sequence[ToolSpec],
    path: Path | None,
    offers: Mapping[str, Sequence[Row]] = NOTHING,
    failed: Collection[str] = (),
) -> Iterator[str]:
    """The servers of the file at `path`; `tools` and `offers` are listed under their server. `failed` are the names of
    those that don't pass, whatever their state."""
    yield f"Servers of {one_line(str(path))}:" if path else "No servers."
    below = {status.name: _below(status, tools, offers) for status in statuses}
    what = _column((row[0] for rows in below.values() for row in rows), 32)
    name = _column((one_line(status.name, 40) for status in statuses), 16)
    state = _column((status.state for status in statuses), 10)
    for status in statuses:
        mark = "✗" if status.name in failed else _GLYPHS.get(status.state, "·")
        yield f"{mark} {one_line(status.name, 40):<{name}} {status.state:<{state}} {_about(status)}".rstrip()
        yield from (f"    {left:<{what}} {right}".rstrip() for left, right in below[status.name])


def _below(status: ServerStatus, tools: Sequence[ToolSpec], offers: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return the lines below a server, ready to print."""
    rows: list[Row] = [(spec.label, spec.description) for spec in tools if spec.server == status.name]
    shown = [(one_line(what, 100), one_line(about, 80)) for what, about in (*rows, *offers.get(status.name, ()))]
    if tools:
        shown += [(one_line(one.name, 60), f"left out: {one_line(one.reason, 160)}") for one in status.rejected]
    return [*shown, *((one_line(problem, 200), "") for problem in status.problems)]


def _column(texts: Iterable[str], least: int) -> int:
    """Return the width of the column of these texts."""
    return max([least, *(len(text) for text in texts if len(text) <= _WIDEST)])


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """The check of a server: `seconds` until it had settled, and each thing that is wrong with it, in one line."""

    status: ServerStatus
    seconds: float
    problems: tuple[str, ...]


def checked(status: ServerStatus, seconds: float, *, strictly: bool) -> ServerCheck:
    """Judges a server: one that is down fails; `strictly` also one with a tool or a list that can't be offered."""
    problems: list[str] = []
    if status.state not in (ServerState.READY, ServerState.DISABLED):
        problems.append(one_line(f"{status.state}: {status.reason or 'no reason given'}", 400))
    if strictly:
        problems += [one_line(f"tool {one.name}: {one.reason}: no model is offered it", 400) for one in status.rejected]
        problems += [one_line(problem, 400) for problem in status.problems]
    return ServerCheck(status, seconds, tuple(problems))


def as_json(checks: Sequence[ServerCheck], tools: Sequence[ToolSpec], path: Path | None) -> str:
    """One object: `file`, `ok`, and `servers` in the order of the file. Texts are the servers': JSON escapes them."""
    servers = tuple(
        json_outputs.ServerReport(
            name=check.status.name,
            state=check.status.state.value,
            reason=_reason(check.status),
            ok=not check.problems,
            problems=check.problems,
            seconds=round(check.seconds, 3),
            transport=check.status.transport,
            protocol=check.status.protocol_version,
            server=check.status.server_info,
            tools=tuple(spec.tool for spec in tools if spec.server == check.status.name),
            refused={one.name: one.reason for one in check.status.rejected},
            prompts=check.status.prompts,
            resources=check.status.resources,
        )
        for check in checks
    )
    ok = not any(check.problems for check in checks)
    whole = json_outputs.ServersReport(
        file=safe_text.encodable(str(path)) if path else None, ok=ok, servers=servers
    ).model_dump()
    return visible(json.dumps(whole, ensure_ascii=True, indent=2))


def _reason(status: ServerStatus) -> str:
    """Return why the server isn't ready, in one line, or ""."""
    off = "it is off" if status.state is ServerState.DISABLED else ""
    return one_line(status.reason, 400) or off


def as_case(check: ServerCheck) -> Case:
    """Return a server as a case of a JUnit report: what is wrong with it is its failure, one that is off is skipped."""
    off = _reason(check.status) if check.status.state is ServerState.DISABLED else ""
    return Case(one_line(check.status.name, 100), check.seconds, check.problems, off)


def _about(status: ServerStatus) -> str:
    if status.reason:
        return one_line(status.reason, 200)
    counts = ((status.tools, "tool"), (status.prompts, "prompt"), (status.resources, "resource"))
    parts = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count or what == "tool"]
    parts.append(status.transport)
    parts += [f"protocol {status.protocol_version}"] if status.protocol_version else []
    parts += [status.server_info] if status.server_info else []
    return one_line(" · ".join(parts), 200)
