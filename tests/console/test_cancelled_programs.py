"""A task that is cancelled while a program starts, runs or ends is over at once, and leaves no program and no pipe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from console_app.config.files import Paths
from console_app.config.machine import child_programs
from console_app.console.files import read_clipboard
from console_app.domain.ports import Happening
from console_app.providers.text_protocol.shown_form import form_of_template
from console_app.workplace import WorkingFolder
from tests.console.test_clipboard import environ, program
from tests.each import each
from tests.patience import until_so

STEPS = (*range(12), 16, 24, 48, 96)  # turns of the event loop until it is cancelled; the last is long after the start
PIPES = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}


async def plain(folder: Path) -> None:
    process = await child_programs.start("sh", "-c", "sleep 1000 & sleep 1000", **PIPES)
    try:
        await process.wait()
    finally:
        await child_programs.end(process)


async def hook(folder: Path) -> None:
    table = {"PreToolUse": [{"hooks": [{"type": "command", "command": "sleep 1000 & sleep 1000"}]}]}
    place = WorkingFolder(Paths.find({"FANOUT_HOME": str(folder)}), folder, os.environ, table)
    await place.ask(Happening("PreToolUse", ("demo.do",), {"tool_input": {"text": "a" * 200_000}}))


async def clipboard(folder: Path) -> None:
    program(folder, "wl-paste", "sleep 1000 & sleep 1000")
    await read_clipboard(environ(folder, WAYLAND_DISPLAY="wayland-0"))


async def template(folder: Path) -> None:
    await form_of_template("{% for one in messages %}{{ one.content }}{{ one.tool_calls }}{% endfor %}")


USERS: dict[str, Callable[[Path], Coroutine[Any, Any, Any]]] = {
    one.__name__: one for one in (plain, hook, clipboard, template)
}


def _pipes() -> set[str]:
    found = set[str]()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
    return {one for one in found if " pipe:" in one}


def _children() -> set[str]:
    """Every program of ours, and what those of its session have started."""
    found = set[str]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, *_ = stat.read_text().rpartition(")")[2].split()
            if int(parent) == os.getpid() and state != "Z":
                found.add(stat.parent.name)
    return found


@each("user", USERS)
async def test_whenever_it_is_cancelled(tmp_path: Path, user: str) -> None:
    children, pipes = _children(), _pipes()
    for steps in STEPS:
        task = asyncio.create_task(USERS[user](tmp_path))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=10)
        assert done, f"cancelled after {steps} turns of the loop, it never ends"
    await until_so(lambda: _children() <= children and _pipes() <= pipes, "its programs and pipes to be gone")
