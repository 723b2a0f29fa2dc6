"""/connect by typing lines, with real endpoints behind it."""

from __future__ import annotations

import os
import termios
from pathlib import Path

from console_app.line_console.dialogue import TypedLines
from tests.console.local_endpoints import endpoint
from tests.console.test_connecting import KEY, Console
from tests.line_console.test_typed_ahead import opened
from tests.tui.parts import WrittenModel
from tests.wire_server import WireServer


def port_of(server: WireServer) -> int:
    return int(server.url.rpartition(":")[2])


async def test_a_model_of_this_machine_by_number(tmp_path: Path) -> None:
    with WireServer(endpoint("ollama")) as server:
        behind = Console(tmp_path, ports={port_of(server): "ollama"})
        async with opened(tmp_path, WrittenModel(), connecting=behind.connecting) as shown:
            shown.type("/connect")
            await shown.see("on this machine: ollama, 1 model")
            await shown.see("Type a number")
            shown.type("1")
            await shown.see("Which model?")
            await shown.see("llama3.2:latest")
            await shown.see("Type a number", times=2)
            shown.type("1")
            await shown.see("It answered in")
            await shown.see("answers from now on")
    assert "llama3.2" in behind.paths.settings.read_text()


async def test_an_address_that_wants_a_key_asks_for_it_until_it_is_taken(tmp_path: Path) -> None:
    with WireServer(endpoint("vllm", key=KEY)) as server:
        behind = Console(tmp_path)
        async with opened(tmp_path, WrittenModel(), connecting=behind.connecting) as shown:
            shown.type(f"/connect {server.url}")
            await shown.see("not shown while you type")
            shown.type("sk-another-key-0123456789")
            await shown.see("not shown while you type", times=2)
            shown.type(KEY)
            await shown.see("Which model?")
            await shown.see("Type a number")
            shown.type("1")
            await shown.see("answers from now on")
            assert KEY not in shown.text
            shown.type("/connect")
            await shown.see("Connect a model")
            await shown.see("Type a number", times=2)
            shown.type(".", "/status")
            await shown.see("Nothing runs")


async def test_what_is_typed_unseen_is_not_shown_and_later_lines_are() -> None:
    terminal, line = os.openpty()
    try:
        with TypedLines(line) as typed:
            before = termios.tcgetattr(line)
            with typed.unseen():
                assert not termios.tcgetattr(line)[3] & termios.ECHO
            assert termios.tcgetattr(line) == before
            assert before[3] & termios.ECHO
    finally:
        os.close(terminal)
        os.close(line)
