"""Run the actions of `fanout mcp`: servers are listed, tested, written to mcp.json, signed in to, trusted."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from console_app import wiring
from console_app.command_line import json_outputs
from console_app.commands import junit
from console_app.commands.asking import agreed
from console_app.commands.junit import Case
from console_app.config import trust
from console_app.config.files import Paths, trusted
from console_app.config.secrets import Redactor, secret_sources
from console_app.config.servers import ServerFile, command_problem, mcp_edit
from console_app.domain import ToolSpec, UsageError, one_line, safe_text, visible
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding, servers
from console_app.mcp_client import Hub, ServerState, ServerStatus, find_servers
from console_app.records import dataclass
from console_app.wiring import Setup

DONE = RunEnding(Exit.DONE)


async def list_servers(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Connect; `test` lists offers too. `test` and `list --check` fail where a server does, `test` also for a tool or
    list."""
    arguments = setup.arguments
    testing = arguments.action == "test"
    if arguments.words and not arguments.mcp:
        arguments.mcp = list(arguments.words)
    chosen = wiring.choose_servers(setup)
    for note in (*setup.layered.notes, *chosen.notes):
        output.error_line(note)
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, interrupts.to_end):
        _, seconds = await interrupts.race(asyncio.gather(servers.settled(hub, output), servers.timed(hub)))
        await wiring.remember_tools(setup, hub)
        checks = [
            checked(
                status,
                seconds[status.name],
                [spec for spec in hub.tools() if spec.server == status.name],
                strictly=testing,
            )
            for status in hub.statuses()
        ]
        if arguments.json:
            output.report(as_json(checks, hub.tools(), chosen.path))
        else:
            tools = hub.tools() if testing else ()
            offers = offered(hub) if testing else NOTHING
            for line in lines(checks, tools, chosen.where, offers):
                output.report(line)
        if arguments.junit:
            path, longest = setup.cwd / Path(arguments.junit).expanduser(), max(seconds.values(), default=0.0)
            junit.write(path, "mcp", [as_case(check) for check in checks], seconds=longest)
    failed = (testing or arguments.check) and any(check.problems for check in checks)
    return RunEnding(Exit.FAILED) if failed else DONE


async def auth(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    (name,) = setup.arguments.words
    setup.arguments.mcp = [name]
    hub = wiring.build_hub(setup, wiring.choose_servers(setup))

    open_page = hub.asking.open_url

    async def open_url(url: str) -> None:
        output.error_line(f"To sign in to {one_line(name, 40)}, open {one_line(url)}")
        await open_page(url)

    hub.asking.open_url = open_url
    async with servers.running(hub, interrupts.to_end):
        await interrupts.race(hub.ready())
        if setup.arguments.sign_out:
            await interrupts.race(hub.connection(name).sign_out())
            output.report(f"{one_line(name, 40)}: signed out, here.")
            return DONE
        (status,) = hub.statuses()
        if status.state is not ServerState.READY:
            status = await interrupts.race(hub.sign_in(name))
        for line in lines([checked(status, 0, strictly=False)], (), ""):
            if not line.startswith("No servers"):
                output.report(line)
    return DONE if status.state is ServerState.READY else RunEnding(Exit.FAILED)


async def get(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    (name,), file = setup.arguments.words, _file(setup)
    path, fields = file.entry(name)
    if not fields:
        raise UsageError(f"{path} has no server {name}", "See fanout mcp list.")
    hidden = {
        key: _hidden(value) if key in {"env", "headers", "auth", "auth_token"} else value
        for key, value in fields.items()
    }
    text = json.dumps(hidden, ensure_ascii=False, indent=2)
    shown = _without_secrets(text, [str(word) for word in fields.get("args") or ()], fields.get("url"))
    if setup.arguments.json:
        entry = json_outputs.ServerEntry(name=name, file=safe_text.encodable(str(path)), fields=json.loads(shown))
        output.report(safe_text.json_line(entry.model_dump()))
        return DONE
    output.report(one_line(str(path)))
    output.report(shown)
    return DONE


async def add(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    arguments, file = setup.arguments, _file(setup)
    if not arguments.words:
        raise UsageError("fanout mcp add needs a name and a server", "As: fanout mcp add time -- uvx mcp-server-time")
    name, *words = arguments.words
    fields = server_of(words, env=arguments.env or (), headers=arguments.header or (), transport=arguments.transport)
    before = summary(file.fields(name)) if name in file.names() else ""
    file.put(name, fields)
    output.report(f"{one_line(name, 40)}: {summary(fields)}, in {one_line(str(file.path))}")
    if before and before != summary(fields):
        output.report(f"It replaces the server that had this name: {before}")
    return DONE


async def find(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    found = await interrupts.race(find_servers(setup.settings.mcp_registry, " ".join(setup.arguments.words)))
    for one in found:
        if setup.arguments.json:
            output.report(safe_text.json_line({"name": one.name, "description": one.description, **one.fields}))
            continue
        name = one.name.rpartition("/")[2]
        output.report(f"{one_line(one.name, 200)} {one.version}")
        output.report(f"    {one.description}")
        output.report(f"    fanout mcp add {shlex.quote(name)} {shlex.quote(json.dumps(dict(one.fields)))}")
        if one.needs:
            output.report(f"    needs {', '.join(one.needs)} in your environment")
    if not found:
        output.report("The registry has no such server that could be started here.")
    return DONE


async def remove(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    file = _file(setup)
    for name in setup.arguments.words:
        file.remove(name)
        output.report(f"{one_line(name, 40)}: taken out of {one_line(str(file.path))}")
    return DONE


async def import_servers(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    file, words, home = _file(setup), setup.arguments.words, Path.home()
    if words:
        if setup.arguments.json:
            raise UsageError("--json lists what there is, and takes nothing over", "Leave out the words, or --json.")
        lines = imported(file, words[0], words[1:], home=home, cwd=setup.cwd)
    else:
        found = importable(file, home=home, cwd=setup.cwd)
        lines = [safe_text.json_line(found.model_dump())] if setup.arguments.json else importable_lines(found)
    for line in lines:
        output.report(line)
    return DONE


async def trust_project(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    words, by_server = list[str](setup.arguments.words), setup.arguments.command == "mcp"
    if by_server and words and not Path(words[0]).exists() and not words[0].endswith((".json", ".toml")):
        return await _trust_tools(setup, output, interrupts, words[0])
    again = "fanout mcp trust" if by_server else trusted.IN_A_SHELL
    project = trust.ProjectTrust(setup.paths, setup.cwd, setup.environ, bundled=Paths.bundled("mcp.json"))
    files = project.named(words)
    unreadable = project.unreadable()
    for line in unreadable:
        output.error_line(f"fanout: {line}")
    found = RunEnding(Exit.USAGE) if unreadable else DONE
    told = (line for line in project.problems() if line not in unreadable)
    for line in (*told, *(line for file in files for line in file.lines)):
        output.report(line)
    if not files:
        output.report("Nothing of this project waits for your trust.")
        return found
    if not setup.arguments.yes:
        names = " and ".join(file.called(project.folder) for file in files)
        if not await agreed(f"Trust {names} as now shown?", f"{again} --yes", output, interrupts):
            output.out("Not trusted; nothing was changed.\n")
            return RunEnding(Exit.FAILED)
    done, refused = project.trust_all(files, again)
    for file in done:
        output.report(one_line(f"{file.path.absolute()} is trusted as it is now: {file.summary}."))
    for why in refused:
        output.error_line(f"fanout: {why}")
    return RunEnding(Exit.USAGE) if refused else found


async def _trust_tools(setup: Setup, output: OutputStreams, interrupts: Interrupts, name: str) -> RunEnding:
    setup.arguments.mcp = [name]
    hub = wiring.build_hub(setup, wiring.choose_servers(setup))
    async with servers.running(hub, interrupts.to_end):
        await interrupts.race(servers.settled(hub, output))
        if servers.failures(hub.statuses()):
            return RunEnding(Exit.FAILED)
        shown = [spec for spec in hub.all_tools() if spec.changed]
        for spec in shown:
            output.report(f"{one_line(spec.label, 80)} has changed:")
            for line in spec.changed.splitlines():
                output.report(f"    {one_line(line, 200)}")
        if shown and not setup.arguments.yes:
            question = f"Trust the tools of {one_line(name, 40)} as they are now?"
            if not await agreed(question, "fanout mcp trust NAME --yes", output, interrupts):
                output.out("Not trusted; nothing was changed.\n")
                return RunEnding(Exit.FAILED)
        changed = await hub.trust_tools(name, {spec.tool: spec.definition for spec in shown})
        output.out(f"{one_line(name, 40)}: {len(changed) or 'no'} tool{'s'[: len(changed) != 1]} had changed.\n")
    return DONE


def _file(setup: Setup) -> ServerFile:
    if (named := wiring.named_servers(setup)) is not None:
        return ServerFile(setup.paths, named)
    return ServerFile.of(setup.paths, wiring.choose_servers(setup))


def server_of(
    words: Sequence[str], *, env: Sequence[str], headers: Sequence[str], transport: str | None
) -> dict[str, Any]:
    if not words:
        raise UsageError(
            "fanout mcp add NAME needs a URL or a command", "As: fanout mcp add time -- uvx mcp-server-time"
        )
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        try:
            fields: Any = json.loads(words[0])
        except ValueError as error:
            raise UsageError(f"the server's JSON can't be read: {error}") from None
        return fields
    fields = {}
    if transport:
        fields["type"] = transport
    if words[0].lower().startswith(("http://", "https://")):
        if len(words) > 1:
            raise UsageError(f"{words[1]} behind the URL means nothing", "A header is given with --header.")
        fields["url"] = words[0]
    else:
        if wrong := command_problem(words[0] if len(words) == 1 else shlex.join(words)):
            raise UsageError(
                f"the command {one_line(words[0], 60)!r} {wrong}", "As: fanout mcp add NAME -- COMMAND ARG"
            )
        command = shlex.split(words[0]) if len(words) == 1 else list(words)
        fields["command"] = command[0]
        if command[1:]:
            fields["args"] = command[1:]
    if env:
        fields["env"] = dict(_pair(text, "=", "--env NAME=VALUE") for text in env)
    if headers:
        fields["headers"] = dict(_pair(text, ":", "--header 'NAME: VALUE'") for text in headers)
    return fields


def imported(file: ServerFile, source: str, names: Sequence[str], *, home: Path, cwd: Path) -> Iterator[str]:
    """Take over the servers of a client or a file (with `names`, those of them); a line each on what came of it."""
    clients = [one for one in mcp_edit.other_clients(home, cwd) if one.client == source]
    if not clients:
        path = cwd / Path(source).expanduser()
        if not path.is_file():
            raise UsageError(f"{source} is neither a client with servers nor a file", "See fanout mcp import.")
        clients = [mcp_edit.OtherClient.read(path)]
    there, taken = set(file.names()), set[str]()
    for client in clients:
        if client.problem:
            yield f"✗ {one_line(client.problem)}"
        for name, fields in client.servers.items():
            if names and name not in names:
                continue
            taken.add(name)
            if name in there:
                yield f"○ {one_line(name, 40)}: there already, left as it is"
                continue
            file.put(name, fields)
            there.add(name)
            yield f"✓ {one_line(name, 40)}: {summary(fields)}"
    if missing := [name for name in names if name not in taken]:
        raise UsageError(f"{source} has no server {missing[0]}")


def importable(file: ServerFile, *, home: Path, cwd: Path) -> json_outputs.ImportableReport:
    there = set(file.names())
    return json_outputs.ImportableReport(
        clients=tuple(
            json_outputs.ImportableFile(
                client=client.client,
                file=safe_text.encodable(str(client.path)),
                problem=client.problem,
                servers=tuple(
                    json_outputs.ImportableServer(name=name, starts=summary(fields), there=name in there)
                    for name, fields in client.servers.items()
                ),
            )
            for client in mcp_edit.other_clients(home, cwd)
        )
    )


def importable_lines(report: json_outputs.ImportableReport) -> Iterator[str]:
    for client in report.clients:
        yield f"{client.client:<16} {one_line(client.file)}"
        if client.problem:
            yield f"    ✗ {one_line(client.problem)}"
        for server in client.servers:
            yield f"    {'○' if server.there else '+'} {one_line(server.name, 40):<20} {server.starts}"
    found = "To take them over: fanout mcp import CLIENT [NAME ...]"
    yield found if report.clients else "No other client's servers were found."


def summary(fields: Mapping[str, Any]) -> str:
    """Describe a server in a few words, without values of its environment or headers."""
    target = fields.get("url") or fields.get("serverUrl") or fields.get("httpUrl")
    if target:
        return one_line(_without_secrets(str(target), (), target), 100)
    command: Any = fields.get("command")
    words: list[Any] = [*(command if isinstance(command, list) else [command]), *(fields.get("args") or ())]
    given = [str(word) for word in words if word is not None]
    return one_line(_without_secrets(shlex.join(given), given), 100)


def _without_secrets(text: str, words: Sequence[str], url: Any = None) -> str:
    found = (*secret_sources.secrets_of_url(str(url or "")), *secret_sources.secrets_of_arguments(words))
    return Redactor(secret for secret in found if "${" not in secret).without_known(text)


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, str) and value not in {"", "oauth", "none", "bearer"} and "${" not in value:
        return "…"
    return value


def _pair(text: str, sign: str, form: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not found or not name.strip():
        raise UsageError(f"{text!r} is not {form}")
    return name.strip(), value.strip() if sign == ":" else value


Row = tuple[str, str]  # what is offered, and what about it
NOTHING: Mapping[str, Sequence[Row]] = {}
_GLYPHS = {"ready": "✓", "failed": "✗", "stopped": "✗", "disabled": "○", "needs sign-in": "✗"}


_WIDEST = 60  # characters of a column; what is longer moves its own line alone


def offered(hub: Hub) -> Mapping[str, Sequence[Row]]:
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
    where: str,
    offers: Mapping[str, Sequence[Row]] = NOTHING,
) -> Iterator[str]:
    yield f"Servers of {where}:" if where else "No servers."
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
    rows: list[Row] = [(spec.label, spec.description) for spec in tools if spec.server == status.name]
    return [(one_line(what, 100), one_line(about, 80)) for what, about in (*rows, *offers.get(status.name, ()))]


def _column(texts: Iterable[str], least: int) -> int:
    return max([least, *(len(text) for text in texts if len(text) <= _WIDEST)])


@dataclass(frozen=True, slots=True)
class ServerFact:
    """A fact about a server, what doesn't work because of it, and whether that fails its test."""

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
    """Judge a server: one that is down fails, `strictly` also one with a tool or list that can't be offered."""
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
    """Return one object: `file`, `ok`, and `servers` in order. Texts are the servers': JSON escapes them."""
    servers = tuple(
        json_outputs.ServerReport.of(
            check.status,
            state=check.status.state.value,
            reason=_reason(check.status),
            ok=not check.problems,
            problems=check.problems,
            findings=tuple(map(json_outputs.ServerFinding.of, check.findings)),
            seconds=round(check.seconds, 3),
            protocol=check.status.protocol_version,
            server=check.status.server_info,
            tools=tuple(spec.tool for spec in tools if spec.server == check.status.name),
            refused={one.name: one.reason for one in check.status.rejected},
        )
        for check in checks
    )
    ok = not any(check.problems for check in checks)
    whole = json_outputs.ServersReport(
        file=safe_text.encodable(str(path)) if path else None, ok=ok, servers=servers
    ).model_dump()
    return visible(json.dumps(whole, ensure_ascii=True, indent=2))


def _reason(status: ServerStatus) -> str:
    off = "it is off" if status.state is ServerState.DISABLED else ""
    return one_line(status.reason, 400) or off


def as_case(check: ServerCheck) -> Case:
    """Return a server as a JUnit case: a fault is its failure, one that is off is skipped."""
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
