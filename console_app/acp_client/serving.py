"""Files and terminals that an agent asks for: each is a call of our own tools, under our rules and in our sandbox."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any, Final

from console_app.acp_client.wire import METHOD_NOT_FOUND, AgentRefusal
from console_app.domain import Outcome, ToolResult, errors, ports, safe_text
from console_app.records import dataclass

READ, WRITE, RUN = "files.read_file", "files.write_file", "shell.run"
OURS: Final = ("files", "shell")  # servers whose tools an agent has that way, under our rules
MOST_TERMINALS = 64  # of a task
LARGEST = 8 * 2**20  # bytes of a file, and of the output of a terminal
_LONGEST = 3_600  # seconds of a command
_ENDING = re.compile(r"\n?\[(?:[^\[\]\n]*: )?exit -?\d+ in [\d.]+ s; .*\Z", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(slots=True)
class _Terminal:
    run: asyncio.Task[ToolResult]
    most: int  # bytes of output that the agent wants at most, the newest

    def output(self) -> dict[str, Any]:
        """Return the terminal's output, which is empty until the command ends: until then its own panel shows it."""
        if not self.run.done():
            return {"output": "", "truncated": False}
        data = _written(self.run).encode("utf-8", "replace")
        kept = data[-self.most :].decode("utf-8", "ignore")
        return {"output": kept, "truncated": len(data) > self.most, "exitStatus": self.exit_status()}

    def exit_status(self) -> dict[str, Any]:
        """Return a code, or a signal where it was stopped."""
        if self.run.cancelled():
            return {"exitCode": None, "signal": "SIGTERM"}
        if self.run.exception() is not None:
            return {"exitCode": 127, "signal": None}
        result = self.run.result()
        code = (result.structured or {}).get("exit_code")
        return {
            "exitCode": code if isinstance(code, int) else int(result.outcome is not Outcome.SUCCEEDED),
            "signal": None,
        }


class Served:
    """Serves an agent the files and terminals that it asks for while it answers."""

    def __init__(self, host: ports.AgentHost, folder: Path) -> None:
        self._host = host
        self._folder = folder
        self._terminals: dict[str, _Terminal] = {}
        self._number = 0

    def capabilities(self) -> dict[str, Any]:
        tools = self._host.tools()
        return {"fs": {"readTextFile": READ in tools, "writeTextFile": WRITE in tools}, "terminal": RUN in tools}

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "fs/read_text_file":
                path, line, limit = _path(params), params.get("line"), params.get("limit")
                first = line if isinstance(line, int) and line > 0 else 1
                asked = {"path": path} | ({"offset": first} if first > 1 else {})
                await self._made(READ, asked)  # by its rules, in its folders, and remembered as read
                try:
                    text = await asyncio.to_thread(_text_of, self._folder / path)
                except OSError as error:
                    raise AgentRefusal(f"{path}: {error.strerror or error}") from None
                if first > 1 or isinstance(limit, int):
                    lines = text.splitlines(keepends=True)[first - 1 :]
                    text = "".join(lines[:limit] if isinstance(limit, int) else lines)
                return {"content": text}
            case "fs/write_text_file":
                await self._made(WRITE, {"path": _path(params), "content": str(params.get("content", ""))})
                return {}
            case "terminal/create":
                return self._create(params)
            case "terminal/output":
                return self._terminal(params).output()
            case "terminal/wait_for_exit":
                terminal = self._terminal(params)
                await asyncio.wait({terminal.run})
                return terminal.exit_status()
            case "terminal/kill":
                self._terminal(params).run.cancel()
                return {}
            case "terminal/release":
                self._terminal(params).run.cancel()
                del self._terminals[str(params.get("terminalId"))]
                return {}
            case _:
                raise AgentRefusal(f"Fanout has no {method}", METHOD_NOT_FOUND)

    def _create(self, params: dict[str, Any]) -> dict[str, Any]:
        if len(self._terminals) >= MOST_TERMINALS:
            raise AgentRefusal(f"{MOST_TERMINALS} terminals are open: release some")
        words = [str(one) for one in safe_text.as_list(params.get("args"))]
        command = str(params.get("command", ""))
        line = shlex.join([command, *words]) if words else command
        for one in map(safe_text.as_object, safe_text.as_list(params.get("env"))):
            if _NAME.fullmatch(name := str(one.get("name", ""))):
                line = f"export {name}={shlex.quote(str(one.get('value', '')))}\n{line}"
        asked: dict[str, Any] = {"command": line, "timeout": _LONGEST}
        if isinstance(cwd := params.get("cwd"), str):
            asked["cwd"] = cwd
        most = params.get("outputByteLimit")
        self._number += 1
        name = f"terminal-{self._number}"
        run = asyncio.create_task(self._host.make(RUN, asked), name=f"acp {name}")
        run.add_done_callback(_looked_at)
        most = most if isinstance(most, int) and 0 < most < LARGEST else LARGEST
        self._terminals[name] = _Terminal(run, most)
        return {"terminalId": name}

    def _terminal(self, params: dict[str, Any]) -> _Terminal:
        if (terminal := self._terminals.get(str(params.get("terminalId")))) is None:
            raise AgentRefusal(f"there is no terminal {params.get('terminalId')}")
        return terminal

    async def _made(self, tool: str, arguments: dict[str, Any]) -> ToolResult:
        try:
            result = await self._host.make(tool, arguments)
        except errors.ToolError as error:
            raise AgentRefusal(error.detail) from None
        if result.outcome is not Outcome.SUCCEEDED:
            raise AgentRefusal(result.content)
        return result

    async def close(self) -> None:
        runs = [terminal.run for terminal in self._terminals.values()]
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)


def _path(params: dict[str, Any]) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise AgentRefusal("`path` has to be the path of a file")
    return path


def _text_of(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise AgentRefusal(f"{path} is larger than {LARGEST:,} bytes: read it in parts, in a terminal")
    return data.decode("utf-8", "replace")


def _written(run: asyncio.Task[ToolResult]) -> str:
    if run.cancelled():
        return ""
    if (error := run.exception()) is not None:
        return str(error)
    result = run.result()
    text = _ENDING.sub("", result.content) if result.structured else result.content
    return "" if text == "[no output]" else text


def _looked_at(run: asyncio.Task[ToolResult]) -> None:
    if not run.cancelled():
        run.exception()
