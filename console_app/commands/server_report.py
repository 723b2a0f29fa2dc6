"""Report on servers for `fanout mcp list` and `test`: a line a server, and what it offers a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    checks: Sequence[ServerCheck],
    tools: Sequence[ToolSpec],
    path: Path | None,
    offers: Mapping[str, Sequence[Row]] = NOTHING,
) -> Iterator[str]:
    """The servers of the file at `path`; `tools`, `offers` and what was found are listed under their server."""
    yield f"Servers of {one_line(str(path))}:" if path else "No servers."
    statuses = [check.status for check in checks]
    below = {status.name: _below(status, tools, offers) for status in statuses}
    what = _column((row[0] for rows in below.values() for row in rows), 32)
    name = _column((one_line(status.name, 40) for status in statuses), 16)
    state = _column((status.state for status in statuses), 10)
    for check in checks:
        status = check.status
        mark = "✗" if check.problems else _GLYPHS.get(status.state, "·")
        yield f"{mark} {one_line(status.name, 40):<{name}} {status.state:<{state}} {_about(status)}".rstrip()
        yield from (f"    {left:<{what}} {right}".rstrip() for left, right in below[status.name])
        for one in check.findings:
            if check.strictly or not one.fails:  # else the line above says it
                yield f"    {'✗' if one.fails else '!'} {one.line}"


def _below(status: ServerStatus, tools: Sequence[ToolSpec], offers: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return what a server offers, ready to print."""
    rows: list[Row] = [(spec.label, spec.description) for spec in tools if spec.server == status.name]
    return [(one_line(what, 100), one_line(about, 80)) for what, about in (*rows, *offers.get(status.name, ()))]


def _column(texts: Iterable[str], least: int) -> int:
    """Return the width of the column of these texts."""
    return max([least, *(len(text) for text in texts if len(text) <= _WIDEST)])


@dataclass(frozen=True, slots=True)
class ServerFact:
    """One thing about a server, what doesn't work because of it, and whether that fails its test."""

    what: str
    breaks: str
    fails: bool = True

    @property
    def line(self) -> str:
        return one_line(f"{self.what} → {self.breaks}", 400)


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """The check of a server: `seconds` until it had settled, and all that was found."""

    status: ServerStatus
    seconds: float
    findings: tuple[ServerFact, ...]
    strictly: bool = False

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the findings that fail the server's test, a line each."""
        return tuple(one.line for one in self.findings if one.fails)


# A field of what a server lists, and what is lost without it.
_LOST = {
    "annotations": "nobody knows what it does: every call of it asks",
    "outputSchema": "its results are shown as text and not checked",
    "execution": "it can't run as a task",
    "description": "a model has its name alone to go by",
    "arguments": "it can't be filled in",
    "mimeType": "what it holds is told from its bytes",
    "size": "how large it is, is known once it was read",
    "_meta": "what its server notes of it is lost",
}
_NO_USE = "it is shown without that"


def checked(status: ServerStatus, seconds: float, tools: Sequence[ToolSpec] = (), *, strictly: bool) -> ServerCheck:
    """Judges a server: one that is down fails; `strictly` also one with a tool or a list that can't be offered, and
    tells what else of it doesn't work as its user might think. `tools` are those that it offers."""
    found: list[ServerFact] = []
    if status.state not in (ServerState.READY, ServerState.DISABLED):
        down = f"{status.state}: {status.reason or 'no reason given'}"
        found.append(ServerFact(down, "nothing of it is there", True))
    if strictly:
        found += [ServerFact(f"tool {one.name}: {one.reason}", "no model is offered it") for one in status.rejected]
    lists = "what is missing can't be named with @ or /"
    found += [ServerFact(problem, lists, strictly) for problem in status.problems]
    return ServerCheck(status, seconds, (*found, *(_notes(status, tools) if strictly else ())), strictly)


def _notes(status: ServerStatus, tools: Sequence[ToolSpec]) -> Iterator[ServerFact]:
    """Give what does not fail a test."""
    trimmed = {(one.name, one.field) for one in status.trimmed}
    for one in status.trimmed:
        yield ServerFact(f"{one.kind} {one.name}: {one.reason}", _LOST.get(one.field, _NO_USE), fails=False)
    for spec in tools:
        if spec.changed:
            trust = f"its next call asks in every mode; fanout mcp trust {status.name} takes it as it is"
            yield ServerFact(f"tool {spec.tool}: it is not what it was when it was trusted", trust, fails=False)
        if not spec.description.strip() and (spec.tool, "description") not in trimmed:
            yield ServerFact(f"tool {spec.tool}: it has no description", _LOST["description"], fails=False)
    if status.unread:
        long = f"its instructions have {len(status.instructions):,} characters"
        yield ServerFact(long, f"no model reads the last {status.unread:,}", fails=False)


def as_json(checks: Sequence[ServerCheck], tools: Sequence[ToolSpec], path: Path | None) -> str:
    """One object: `file`, `ok`, and `servers` in the order of the file. Texts are the servers': JSON escapes them."""
    servers = tuple(
        json_outputs.ServerReport(
            name=check.status.name,
            state=check.status.state.value,
            reason=_reason(check.status),
            ok=not check.problems,
            problems=check.problems,
            findings=tuple(
                json_outputs.ServerFinding(what=one.what, breaks=one.breaks, fails=one.fails) for one in check.findings
            ),
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
