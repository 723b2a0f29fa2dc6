"""Lines of a server that come faster than they are read: neither the memory nor the rest of the program is theirs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from console_app.mcp_client.connecting.server_log import ServerLog
from console_app.mcp_client.transport import Guard, MessagesIn, Program
from console_app.mcp_client.transport.lines import Oversized, weight
from console_app.mcp_client.transport.process import READ_AHEAD, ServerProcess
from console_app.mcp_client.transport.stdio import REST, StdioConversation
from tests.each import each
from tests.patience import PATIENCE, until_so

FLOODS = {
    "empty lines": b"\n",
    "a line that is no message": b"nonsense\n",
    "progress of no call": b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}\n',
}
LINES = 10_000


class Counted(ServerProcess):
    """A stream that knows how many of its lines were taken."""

    taken = 0

    async def receive(self) -> bytes | Oversized | None:
        line = await super().receive()
        self.taken += 1
        return line


async def receive_all(read: MessagesIn) -> None:
    while True:
        await read.receive()


@asynccontextmanager
async def flooding(folder: Path, program: str) -> AsyncGenerator[tuple[Counted, ServerLog]]:
    log, guard = ServerLog(folder, "odd"), Guard()
    process = await Counted.start(Program(sys.executable, ("-S", "-c", program), dict(os.environ)), log, guard)
    assert isinstance(process, Counted)
    try:
        yield process, log
    finally:
        await process.stop()
        await guard.close()


async def test_lines_that_nobody_takes_wait_in_the_pipe(tmp_path: Path) -> None:
    async with flooding(tmp_path, "import os\nwhile True: os.write(1, b'\\n' * 65_536)") as (process, _):
        await until_so(lambda: process.waiting > READ_AHEAD, "lines beyond the bound")
        most = process.waiting
        for _ in range(200):
            await asyncio.sleep(0)
            most = max(most, process.waiting)
        assert most < 8 * READ_AHEAD


@each("line", FLOODS.values(), ids=FLOODS)
async def test_others_have_their_turn_between_lines_that_came_at_once(tmp_path: Path, line: bytes) -> None:
    # One message first: what never sends any is given up after 200 lines. And one line that is none.
    first = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\nstray\n'
    program = f"import os, sys\nsys.stdout.buffer.write({first!r} + {line!r} * {LINES})\nsys.stdout.flush()"
    async with flooding(tmp_path, program) as (process, log):
        await until_so(lambda: process.output_ended or process.waiting > READ_AHEAD // 2, "lines that wait")
        most = seen = 0
        async with StdioConversation(process, log).transport() as (read, _), asyncio.timeout(PATIENCE):
            session = asyncio.create_task(receive_all(read))
            while process.taken < LINES:
                await asyncio.sleep(0)
                most, seen = max(most, process.taken - seen), process.taken
            session.cancel()
        assert most <= 1_000


async def test_the_rest_of_the_program_has_most_of_the_time_of_a_flood_of_nonsense(tmp_path: Path) -> None:
    lines, line = 2_000, b"nonsense, and more of it\n"
    first = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n'
    program = f"import sys\nsys.stdout.buffer.write({first!r} + {line!r} * {lines})\nsys.stdout.flush()"
    async with flooding(tmp_path, program) as (process, log):
        await until_so(lambda: process.output_ended, "all lines")
        begun = asyncio.get_running_loop().time()
        async with StdioConversation(process, log).transport() as (read, _), asyncio.timeout(PATIENCE):
            session = asyncio.create_task(receive_all(read))
            await until_so(lambda: process.taken > lines, "all read")
            session.cancel()
        turns = lines * weight(line) // 2**14
        assert asyncio.get_running_loop().time() - begun >= (turns - 2) * REST
        assert turns > 5
