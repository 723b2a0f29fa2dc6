"""`fanout doctor` and /doctor look at everything that can be wrong; a broken configuration is a finding like any
other."""

from __future__ import annotations

import codecs
import os
import shutil
import sqlite3
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app import wiring
from console_app._version import __version__
from console_app.commands.standard_output import write_out
from console_app.config.files import Paths
from console_app.config.machine import child_programs, extras
from console_app.config.secrets import Redactor
from console_app.config.settings import unknown_variables
from console_app.domain import ConfigError, FanoutError, one_line, plural
from console_app.records import asdict, dataclass, replace
from console_app.wiring import Setup

if TYPE_CHECKING:
    from console_app.command_line import json_outputs
    from console_app.headless import Interrupts, OutputStreams, RunEnding
    from console_app.mcp_client import ServerStatus

_GLYPHS: Mapping[json_outputs.State, str] = {"fine": "✓", "note": "·", "wrong": "✗"}
_ENOUGH = 100_000_000  # bytes of disk
_SMALLEST = (60, 15)  # columns and rows that the console needs


@dataclass(frozen=True, slots=True)
class Finding:
    """A thing looked at: `says` is what was found, `do` what to do about it where something is."""

    area: str
    name: str
    state: json_outputs.State
    says: str
    do: str = ""


def _cleaned(finding: Finding, redactor: Redactor) -> Finding:
    """Clean a finding: endpoints and servers give their own reasons."""
    return replace(finding, says=redactor.clean(finding.says), do=redactor.clean(finding.do))


def lines(findings: Sequence[Finding], *, from_the_top: bool = False) -> Iterator[str]:
    """Return the findings for people by area, and the count of faults: at the end, or with `from_the_top` faults
    first."""
    area = ""
    if from_the_top:
        yield _verdict(findings)
        ill = {finding.area for finding in findings if finding.state == "wrong"}
        findings = sorted(findings, key=lambda finding: finding.area not in ill)
    for finding in findings:
        if finding.area != area:
            area = finding.area
            yield area
        yield f"  {_GLYPHS[finding.state]} {one_line(finding.name, 40)}: {one_line(finding.says, 300)}"
        if finding.do:
            yield f"      {one_line(finding.do, 300)}"
    if not from_the_top:
        yield _verdict(findings)


def _verdict(findings: Sequence[Finding]) -> str:
    wrong = sum(finding.state == "wrong" for finding in findings)
    return "Nothing is wrong." if not wrong else f"{wrong} thing{'s are' if wrong > 1 else ' is'} wrong."


def _report(findings: Sequence[Finding]) -> dict[str, object]:
    wrong = any(finding.state == "wrong" for finding in findings)
    return {"version": __version__, "ok": not wrong, "findings": [asdict(finding) for finding in findings]}


def _versions() -> Iterator[Finding]:
    for name, version in extras.installed().items():
        if version is None:
            yield Finding("Versions", name, "wrong", "not installed", "Install Fanout again.")
        else:
            yield Finding("Versions", name, "fine", version)
    for name, (extra, version) in extras.optional().items():
        yield Finding("Versions", name, "fine", version or f"not installed, optional: {extra}")


def _terminal(environ: Mapping[str, str]) -> Iterator[Finding]:
    if not (os.isatty(0) and os.isatty(1)):
        yield Finding("Terminal", "tty", "note", "none here", "The console needs one; fanout run does not.")
    else:
        columns, rows = os.get_terminal_size(1)
        small = columns < _SMALLEST[0] or rows < _SMALLEST[1]
        do = f"The console needs {_SMALLEST[0]}x{_SMALLEST[1]}." if small else ""
        yield Finding("Terminal", "size", "wrong" if small else "fine", f"{columns}x{rows}", do)
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        state: json_outputs.State = "wrong" if os.isatty(1) else "note"
        yield Finding("Terminal", "TERM", state, term or "not set", "Set it to what your terminal is: xterm-256color.")
    else:
        yield Finding("Terminal", "TERM", "fine", term + (", in tmux" if "TMUX" in environ else ""))
    yield Finding("Terminal", "colours", "fine", _colours(environ, term))
    encoding = _encoding(environ)
    if encoding == "utf-8":
        yield Finding("Terminal", "text", "fine", "UTF-8")
    else:
        says = f"the locale says {encoding or 'nothing'}; Fanout writes UTF-8"
        yield Finding("Terminal", "text", "note", says, "If frames look wrong: export LANG=C.UTF-8")


def _colours(environ: Mapping[str, str], term: str) -> str:
    if "NO_COLOR" in environ:
        return "none (NO_COLOR)"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million"
    return "256" if "256" in term or term.endswith(("kitty", "direct")) else "16: the theme terminal is used"


def _encoding(environ: Mapping[str, str]) -> str:
    ctype = environ.get("LC_CTYPE", "")
    own = "" if ctype == "C.UTF-8" else ctype  # Python itself sets that one, where the locale is C (PEP 538)
    named = environ.get("LC_ALL") or own or environ.get("LANG") or ctype
    try:
        return codecs.lookup(named.partition(".")[2].partition("@")[0]).name
    except LookupError:
        return named


def _storage(paths: Paths) -> Iterator[Finding]:
    for name, folder in (("configuration", paths.config), ("data", paths.data), ("state", paths.state)):
        yield _folder(name, folder)
    for path, mode in paths.take_repaired().items():
        has_keys = Path(path).name in ("keys.json", "credentials.json")
        do = "A key in it may be known to others: make a new one." if has_keys else ""
        yield Finding(
            "Storage", Path(path).name, "note", f"{path} could be read by others ({mode}), now by you alone", do
        )
    free = shutil.disk_usage(_nearest(paths.data)).free
    do = "" if free > _ENOUGH else "Sessions and logs need room: delete something."
    yield Finding("Storage", "free", "fine" if free > _ENOUGH else "wrong", f"{free // 1_000_000:,} MB", do)
    if paths.sessions.exists():
        yield _session_file(paths.sessions)
    reports = sorted(paths.state.glob("crash-*.txt"))
    if reports:
        says = f"{len(reports)}, the newest {reports[-1]}"
        yield Finding("Storage", "crash reports", "note", says, "Read it, and send it with a bug report.")


def _folder(name: str, folder: Path) -> Finding:
    there = _nearest(folder)
    if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
        return Finding("Storage", name, "wrong", f"{there} can't be written", "Mend its rights, or set FANOUT_HOME.")
    if folder.exists() and folder.stat().st_mode & 0o077:
        return Finding("Storage", name, "note", f"{folder} can be read by others", f"chmod 700 {folder}")
    return Finding("Storage", name, "fine", f"{folder}{'' if folder.exists() else ' (not there yet)'}")


def _nearest(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if one.exists()), folder)


def _session_file(path: Path) -> Finding:
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=2)
        try:
            answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        answer = str(error)
    size = f"{path.stat().st_size / 1_000_000:.1f} MB"
    if answer == "ok":
        return Finding("Storage", "sessions", "fine", f"{path}, {size}")
    return Finding("Storage", "sessions", "wrong", f"{path}: {answer}", "Fanout sets it aside with the next start.")


_PATIENCE = 20.0  # seconds for all servers to start


def local_findings(paths: Paths) -> list[Finding]:
    return [*_versions(), *_terminal(os.environ), *_storage(paths)]


def broken_configuration(error: FanoutError) -> Finding:
    return Finding("Configuration", "settings", "wrong", error.detail, error.hint)


async def examine(
    setup: Setup, statuses: Sequence[ServerStatus] | None = None, interrupts: Interrupts | None = None
) -> list[Finding]:
    """Examine everything. Servers that run already are in `statuses`; without them all are started, and closed."""
    found = [
        *local_findings(setup.paths),
        *_configuration(setup),
        *_keys(setup),
        *await _endpoints(setup),
        await _sandbox(setup),
        *(_server_findings(statuses) if statuses is not None else await _servers(setup, interrupts)),
    ]
    return [_cleaned(finding, setup.redactor) for finding in found]


async def run(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Examine and print, as `--json` says; fail where something is wrong."""
    from console_app.domain import safe_text
    from console_app.headless import Exit, RunEnding

    findings = await interrupts.race(examine(setup, interrupts=interrupts))
    for line in [safe_text.json_line(_report(findings))] if setup.arguments.json else lines(findings):
        output.out(line + "\n")
    return RunEnding(Exit.FAILED if any(finding.state == "wrong" for finding in findings) else Exit.DONE)


def without_settings(arguments: Namespace, error: ConfigError) -> int:
    from console_app.domain import safe_text

    broken = _cleaned(broken_configuration(error), Redactor.in_use(os.environ))
    findings = [*local_findings(Paths.find()), broken]
    for line in [safe_text.json_line(_report(findings))] if arguments.json else lines(findings):
        write_out(line + "\n")
    return 1


def _configuration(setup: Setup) -> Iterator[Finding]:
    for path in (setup.paths.settings, Paths.project_settings(setup.cwd)):
        if path.exists():
            yield Finding("Configuration", "settings", "fine", str(path))
    try:
        choice = wiring.model_source(setup).choose()
        yield Finding("Configuration", "model", "fine", f"{choice.name} ({choice.why})")
    except FanoutError as error:
        yield Finding("Configuration", "model", "wrong", error.detail, error.hint)
    for name in unknown_variables(setup.environ):
        do = "Unset it, or mend its name: fanout config show lists the settings."
        yield Finding("Configuration", name, "note", "is no setting", do)


def _keys(setup: Setup) -> Iterator[Finding]:
    try:
        providers = setup.settings.known_providers()
    except ConfigError as error:
        yield broken_configuration(error)
        return
    named = {provider.api_key_env: name for name, provider in reversed(providers.items()) if provider.api_key_env}
    for variable, name in sorted(named.items()):
        value = setup.environ.get(variable, "").strip()
        if value and not (value.isascii() and value.isprintable()):
            says = "set, with a character that no key has"
            yield Finding("Keys", variable, "wrong", says, "Set it again, without quotes and line breaks.")
        elif value:
            yield Finding("Keys", variable, "fine", "set")
        else:
            yield Finding("Keys", variable, "note", "not set", f"Only the models of {name} need it.")


async def _endpoints(setup: Setup) -> list[Finding]:
    try:
        source = wiring.model_source(setup)
        configs = source.endpoints()
    except ConfigError:
        return []
    found: list[Finding] = []
    for listing in await source.listings({k: v for k, v in configs.items() if not isinstance(v, FanoutError)}):
        name, chosen = listing.provider, (setup.settings.model or "").startswith(listing.provider + "/")
        if not listing.problem:
            found.append(Finding("Endpoints", name, "fine", f"answers, {plural(len(listing.models), 'model')}"))
        elif name == "ollama" and not chosen:
            found.append(Finding("Endpoints", name, "note", "does not answer", "Only its own models need it."))
        else:
            do = "Look at its base_url, its key, and the network."
            found.append(Finding("Endpoints", name, "wrong", listing.problem.removeprefix(f"{name}: "), do))
    return found


async def _sandbox(setup: Setup) -> Finding:
    import asyncio
    import sys

    words = (sys.executable, "-P", "-m", "console_app.servers.parts.shell.sandbox")
    program = await child_programs.start(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, env=dict(setup.environ)
    )
    says = (await program.communicate())[0].decode("utf-8", "replace").strip() or "not sandboxed: it can't be found out"
    do = "" if says.startswith("sandboxed (") else "On Linux, install bubblewrap."
    return Finding("Servers", "commands", "note" if do else "fine", says, do)


async def _servers(setup: Setup, interrupts: Interrupts | None) -> list[Finding]:
    import asyncio

    from console_app.headless import servers

    try:
        chosen = wiring.choose_servers(setup)
    except FanoutError as error:
        return [Finding("Servers", "mcp.json", "wrong", error.detail, error.hint)]
    found = [Finding("Servers", "mcp.json", "note", note) for note in (*setup.layered.notes, *chosen.notes)]
    if not chosen.servers:
        return found
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, interrupts and interrupts.to_end):
        try:
            async with asyncio.timeout(_PATIENCE):
                await hub.ready()
        except TimeoutError:
            pass  # those that are not ready say so themselves
        return [*found, *_server_findings(hub.statuses(), chosen.path)]


def _server_findings(statuses: Sequence[ServerStatus], path: Path | None = None) -> list[Finding]:
    found: list[Finding] = []
    for status in statuses:
        match str(status.state):
            case "ready":
                about = f"{status.tools} tool{'' if status.tools == 1 else 's'} over {status.transport}"
                found.append(Finding("Servers", status.name, "fine", about))
            case "disabled":
                why = f": {status.reason}" if status.reason else " in mcp.json"
                found.append(Finding("Servers", status.name, "note", f"switched off{why}"))
            case state:
                log = f" Its own words: {status.log_path}." if status.log_path else ""
                do = f"Mend its entry in {path or 'mcp.json'}, then: fanout mcp test {status.name}.{log}"
                found.append(Finding("Servers", status.name, "wrong", f"{state}: {status.reason}", do))
    return found
