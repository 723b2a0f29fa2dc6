"""A server that runs commands of a shell, in a sandbox where the machine has one. Run it as
`python -m console_app.servers.shell`.

A command has no input and no terminal of its own. All that it started ends with it. FANOUT_SHELL_NETWORK=1 lets
commands in the sandbox reach the network; FANOUT_SHELL_SANDBOX names the one kind to be used, or is `off`;
FANOUT_SHELL_READS names more of the home that they can read.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from console_app.search_path import search_path
from console_app.servers.parts.folders import allowed_folders
from console_app.servers.parts.server import (
    Arguments,
    CallContext,
    StdioServer,
    Tool,
    ToolFailedError,
    ToolOutput,
)
from console_app.servers.parts.shell.commands import Pipes, RunningCommand, Stream
from console_app.servers.parts.shell.home import HiddenHome
from console_app.servers.parts.shell.keeper import Start, Starter
from console_app.servers.parts.shell.protected import ProtectedNames
from console_app.servers.parts.shell.sandbox import Sandbox, probe

TIMEOUT, LONGEST = 120.0, 3600.0  # seconds that a command may take
MOST_RUNS: Final = 200  # that are remembered
MOST_IN_BACKGROUND: Final = 32
_FOLDER: Final = "fanout-shell-"
_MOST_SAID: Final = 8  # lines on protected names
_GUARDED_EACH: Final = 0.1  # seconds, or so many times longer than a look takes:
_GUARDED_REST: Final = 20
_OLD: Final = 7 * 86_400.0  # seconds
_NO_EDITOR: Final = "echo 'There is no terminal here for an editor: give the text as an argument.' >&2; false"
_NO_NETWORK: Final = {"PIP_RETRIES": "1", "npm_config_fetch_retries": "0"}  # else they try in silence for minutes
_OWN: Final = re.compile(
    r"PYTHON.*|BASH_ENV|ENV|BASH_FUNC_.*|PS4|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|FANOUT_SHELL_.*"
)
_STOPPED: Final = re.compile(
    r"read-only file system|operation not permitted|permission denied|network is unreachable|could not resolve|"
    r"connection refused|name resolution|name or service not known|nodename nor servname|device or resource busy|"
    r"\b(?:erofs|eperm|eacces|enotfound|eai_again)\b",
    re.IGNORECASE,
)
_WANTS_TERMINAL: Final = re.compile(
    r"not (?:to |from )?a (?:terminal|tty)|a terminal is required|no tty|error opening terminal|open /dev/tty",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Shell:
    """The commands of this server, and the temporary folder that they share."""

    starter: Starter
    sandbox: Sandbox
    folder: Path
    runs: dict[int, RunningCommand] = field(default_factory=dict[int, RunningCommand])
    _started: int = 0

    @property
    def temporary(self) -> Path:
        """The folder that commands may write in beside their own."""
        return self.folder / "tmp"

    async def run(self, arguments: Arguments, context: CallContext) -> ToolOutput:
        """Run a command and wait for its end, or leave it in the background."""
        command: str = arguments["command"]
        if "\0" in command or not command.strip():
            raise ToolFailedError("The command is empty." if not command.strip() else "A command can't hold a NUL.")
        if len(command.encode("utf-8", "replace")) > 100_000:
            raise ToolFailedError("The command is longer than 100,000 bytes: write a script, and run that.")
        timeout = float(arguments.get("timeout", TIMEOUT))
        if not 0 < timeout <= LONGEST:
            raise ToolFailedError(f"`timeout` must be more than 0 and at most {LONGEST:g} seconds.")
        outside: bool = arguments.get("outside", False)
        roots, folder = await self._places(arguments.get("cwd", "."), context, outside=outside)
        sandbox = Sandbox("", network=True) if outside else self.sandbox
        guard, home = ProtectedNames(), HiddenHome()
        if sandbox.kind:
            guard = await asyncio.to_thread(ProtectedNames.of, roots, remember=sandbox.kind == "Landlock")
            home = await asyncio.to_thread(HiddenHome.around, roots)
        running = self._start(command, folder, sandbox, guard, home, terminal=arguments.get("pty", False))
        if arguments.get("background", False):
            asyncio.get_running_loop().create_task(_guarded(running, guard, LONGEST * 24))
            answer = f"It runs in the background as run {running.number}. `output` reads it, `stop` ends it."
            return ToolOutput(answer, {"run": running.number, "running": True})
        running.tell = partial(_tell, context)
        try:
            await _guarded(running, guard, timeout)
        except asyncio.CancelledError:
            running.end("cancelled")
            raise
        return self._result(running, sandbox, home, outside=outside)

    async def output(self, arguments: Arguments, context: CallContext) -> ToolOutput:
        """Read the output of a run, from an offset on; wait for its end where that is asked for."""
        running = self._run(arguments["run"])
        offset, seconds = arguments.get("offset", 0), float(arguments.get("wait", 0))
        if offset < 0 or not 0 <= seconds <= LONGEST:
            raise ToolFailedError(f"`offset` is 0 or more, and `wait` at most {LONGEST:g} seconds.")
        if seconds:
            running.tell = partial(_tell, context)
            await running.ended(seconds)
            running.tell = None
        text, more = await asyncio.to_thread(running.text, offset)
        state = f"it runs since {running.seconds:.1f} s" if running.code is None else _end(running)
        data = {"run": running.number, "running": running.code is None, "next_offset": more, "bytes": running.size}
        line = "" if not text or text.endswith("\n") else "\n"
        said = "".join(f"\n{one}" for one in _protected(running))
        return ToolOutput(f"{text}{line}[{state}; go on with offset={more}]{said}", data)

    async def stop(self, arguments: Arguments, context: CallContext) -> ToolOutput:
        """End a run in the background, and all that it started."""
        running = self._run(arguments["run"])
        running.end("stopped")
        if not await running.ended(10.0):
            raise ToolFailedError(f"Run {running.number} does not end, though it was told to.")
        return ToolOutput(f"Run {running.number}: {_end(running)}.", {"run": running.number, "exit": running.code})

    async def _places(self, cwd: str, context: CallContext, *, outside: bool) -> tuple[list[Path], Path]:
        folders = await allowed_folders(context)
        asked = Path(cwd).expanduser()
        folder = asked if outside and asked.is_absolute() else folders.place(cwd).path
        if not folder.is_dir():
            raise ToolFailedError(f"{cwd} is no folder.")
        return list(folders.roots), folder

    def _start(
        self, command: str, folder: Path, sandbox: Sandbox, guard: ProtectedNames, home: HiddenHome, *, terminal: bool
    ) -> RunningCommand:
        if sum(one.code is None for one in self.runs.values()) >= 4 * MOST_IN_BACKGROUND:
            raise ToolFailedError("Too many commands run already: stop one.")
        self._started += 1
        while len(self.runs) >= MOST_RUNS and (old := next((n for n, r in self.runs.items() if r.code is not None), 0)):
            self.runs.pop(old).file.unlink(missing_ok=True)
        shell = shutil.which("bash", path=search_path(os.environ, *guard.roots)) or "/bin/sh"
        words = [shell, *(["--noprofile", "--norc"] if shell.endswith("bash") else []), "-c", command]
        write = read = None
        if sandbox.kind == "Landlock":
            write = [str(one) for one in (*guard.roots, self.temporary)]
            read = [str(one) for one in (*home.readable(), self.folder)] if home.hidden else None

        def begin() -> tuple[int, int, Mapping[Stream, int]]:
            argv, no_sockets = sandbox.around(words, self.temporary, guard, home)
            environment = _environment(self.temporary, terminal=terminal) | ({} if sandbox.network else _NO_NETWORK)
            start = Start(argv, str(folder), environment, write, read, sandbox.network, no_sockets)
            pipes = Pipes.open(terminal=terminal)
            try:
                status, control = self.starter.start(start, pipes.output, pipes.errors)
            except OSError:
                pipes.failed()
                raise
            pipes.started()
            return status, control, pipes.reads

        file = self.folder / "output" / f"{self._started}.txt"
        try:
            file.parent.mkdir(exist_ok=True)
            running = self.runs[self._started] = RunningCommand(self._started, command, file, begin)
        except OSError as error:
            raise ToolFailedError(f"The command can't be started: {(error.strerror or str(error)).lower()}.") from error
        return running

    def _run(self, number: int) -> RunningCommand:
        if (running := self.runs.get(number)) is None:
            known = ", ".join(map(str, list(self.runs)[-10:])) or "none"
            raise ToolFailedError(f"There is no run {number} here; there are: {known}.")
        return running

    def _result(self, running: RunningCommand, sandbox: Sandbox, home: HiddenHome, *, outside: bool) -> ToolOutput:
        shown = running.shown()
        lines = [shown.rstrip("\n")] if shown.strip() else ["[no output]"]
        lines.append(f"[{_end(running)}; {'outside of the sandbox' if outside else sandbox.says.partition(':')[0]}]")
        lines += _protected(running)
        unseen = "o such file" in shown and any(f"{path}/" in shown for path in home.hidden)
        # Of a pipe only the last program's failure is told, and git goes on where it can't write its configuration.
        failed = running.code or "|" in running.command or "could not write config file" in shown
        stopped = bool(sandbox.kind and (running.put_right or (failed and (unseen or _STOPPED.search(shown)))))
        if stopped:
            lines.append(
                "[The sandbox may have stopped this. It lets a command write only in the working folder and in "
                f"$TMPDIR, read nothing else of the home{'' if sandbox.network else ', and reach no network'}. "
                "With outside=true it runs without: "
                "the user is asked.]"
            )
        if running.code and _WANTS_TERMINAL.search(shown):
            lines.append("[It wanted a terminal to be used by hand: there is none, and no input.]")
        data: dict[str, Any] = {
            "exit_code": running.code,
            "seconds": round(running.seconds, 3),
            "ended": running.why or "by itself",
            "bytes": running.size,
            "run": running.number,
            "file": str(running.file),
            "sandbox": "outside" if outside else sandbox.kind or "none",
            "stopped_by_sandbox": stopped,
        }
        return ToolOutput("\n".join(lines), data)

    def tools(self) -> tuple[Tool, ...]:
        run = {"type": "integer", "description": "Its number."}
        return (
            Tool(
                self.run,
                "Runs a command with bash in the working folder: tests, builds, git. It has no input, and all that it "
                f"started ends with it. Commands are {self.sandbox.says}.",
                {
                    "command": {"type": "string"},
                    "cwd": {"type": "string", "description": "A folder inside the working folder."},
                    "timeout": {"type": "number", "description": "Seconds.", "default": TIMEOUT},
                    "background": {"type": "boolean", "description": "Answer at once; it runs on."},
                    "pty": {"type": "boolean", "description": "Its output is a terminal: colours, progress bars."},
                    "outside": {
                        "type": "boolean",
                        "description": "Without the sandbox, for what it stopped: the user is always asked.",
                    },
                },
                {"title": "Run a command", "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
                optional=("cwd", "background", "pty", "outside"),
            ),
            Tool(
                self.output,
                "Reads the output of a run, or waits for its end.",
                {
                    "run": run,
                    "offset": {"type": "integer", "description": "The first byte; 0 by default."},
                    "wait": {"type": "number", "description": "Seconds to wait for its end."},
                },
                {"title": "Read output", "readOnlyHint": True, "openWorldHint": False},
                optional=("offset", "wait"),
            ),
            Tool(
                self.stop,
                "Ends a run, and all that it started.",
                {"run": run},
                {"title": "Stop a run", "readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
            ),
        )


async def _guarded(running: RunningCommand, guard: ProtectedNames, seconds: float) -> None:
    """Wait for the end of a command, for so long. What comes under a protected name meanwhile is renamed."""
    until, pause = time.monotonic() + seconds, _GUARDED_EACH
    while not await running.ended(max(0.0, min(pause, until - time.monotonic()))):
        if time.monotonic() >= until:
            running.end(f"timed out after {seconds:g} s")
            await running.ended(None)
            break
        begun = time.monotonic()
        running.put_right += await asyncio.to_thread(guard.put_back)
        pause = max(_GUARDED_EACH, _GUARDED_REST * (time.monotonic() - begun))
    running.put_right += await asyncio.to_thread(guard.put_back)


def _protected(running: RunningCommand) -> list[str]:
    said = [f"[protected: {one}]" for one in running.put_right[:_MOST_SAID]]
    more = len(running.put_right) - _MOST_SAID
    return [*said, f"[protected: {more} more were put right]"] if more > 0 else said


def _tell(context: CallContext, size: int, output: Mapping[str, Any]) -> None:
    context.progress(size, None, "", output or None)


def _end(running: RunningCommand) -> str:
    took = f"exit {running.code} in {running.seconds:.1f} s"
    return f"{running.why}: {took}" if running.why else took


def _environment(temporary: Path, *, terminal: bool) -> dict[str, str]:
    """Return the server's own environment without what makes a shell run more than the command."""
    own = {name: value for name, value in os.environ.items() if not _OWN.fullmatch(name) and not value.startswith("()")}
    return own | {
        "TMPDIR": str(temporary),
        "TERM": "xterm-256color" if terminal else "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": _NO_EDITOR,
        "GIT_TERMINAL_PROMPT": "0",
        # A repository's own configuration may name a program here, that `git status` runs.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": "false",
    }


def main() -> None:
    """Serve the tools over stdin and stdout until stdin ends."""
    starter = Starter()  # before any thread
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # so that the folder goes
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER)).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for old in folder.parent.glob(f"{_FOLDER}*"):  # of servers that were killed
        with suppress(OSError):
            if (status := old.lstat()).st_uid == os.getuid() and status.st_mtime < time.time() - _OLD:
                shutil.rmtree(old, ignore_errors=True)
    (folder / "tmp").mkdir()
    shell = Shell(starter, probe(), folder)
    StdioServer("fanout-shell", shell.tools()).run()


if __name__ == "__main__":
    main()
