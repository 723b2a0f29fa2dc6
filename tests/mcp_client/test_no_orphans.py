"""No server outlives the console: not one that ignores every polite request, nor a grandchild, nor after kill -9."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from console_app.mcp_client.connecting.server_log import ServerLog
from console_app.mcp_client.transport import Guard, Program
from console_app.mcp_client.transport.process import ServerProcess
from tests.mcp_client.conftest import FIXTURES, Bench, StartHub, faulty
from tests.patience import until_so
from tests.program.prefork import Copy
from tests.program.process import Fanout, children, copyable

CONSOLE = """
import asyncio, sys
from pathlib import Path
from console_app.mcp_client.hub import Hub
from tests.mcp_client.conftest import faulty

async def main():
    folder = Path(sys.argv[1])
    modes = ["stubborn", "stubborn-detached", "launcher", "escaping"]
    hub = Hub([faulty(m, str(folder / m), name=m) for m in modes], log_dir=folder, files_dir=folder)
    await hub.start()
    await hub.ready()
    print("ready", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def _all_gone(pids: list[int]) -> None:
    await until_so(lambda: not any(_alive(pid) for pid in pids), "the end of processes that are not ours")


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _pids(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()]


def descriptors() -> int:
    return psutil.Process().num_fds()


@pytest.mark.parametrize("mode", ["stubborn", "stubborn-detached", "launcher", "escaping"])
async def test_closing_ends_a_server_that_ignores_end_of_input_and_sigterm(
    start_hub: StartHub, tmp_path: Path, mode: str
) -> None:
    bench = await start_hub(faulty(mode, str(tmp_path / "pids")))
    pids = _pids(tmp_path / "pids")
    assert len(pids) == 2
    await bench.hub.close()
    await _all_gone(pids)


def console_of(folder: Path) -> subprocess.Popen[bytes]:
    """A console with these servers, in a session of its own: a copy (tests/program/prefork.py) where there are any."""
    root, environment = FIXTURES.parents[2], Fanout(folder).environment()
    if (copied := copyable(environment)) is not None:
        words = {"code": CONSOLE, "session": True, "cwd": root, "env": environment}
        return Copy(copied, [str(folder)], **words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    argv = [sys.executable, "-c", CONSOLE, str(folder)]
    return subprocess.Popen(argv, cwd=root, env=environment, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
async def test_servers_and_their_children_go_when_the_console_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    console = console_of(tmp_path)
    assert console.stdout is not None
    assert await asyncio.to_thread(console.stdout.readline) == b"ready\n"
    pids = [pid for mode in ("stubborn", "stubborn-detached", "launcher", "escaping") for pid in _pids(tmp_path / mode)]
    assert len(pids) == 8
    assert all(map(_alive, pids))
    os.killpg(console.pid, how)
    await asyncio.to_thread(console.communicate)
    await _all_gone(pids)


async def test_a_polite_server_ends_with_the_hub(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("plain"))
    (server,) = children("faulty_server.py")
    await bench.hub.close()
    assert server not in children("faulty_server.py")


async def _crash(bench: Bench, pids: list[int]) -> None:
    os.kill(pids[-1], signal.SIGSEGV)
    await _all_gone(pids)


async def _killed_server(bench: Bench, pids: list[int]) -> None:
    os.kill(pids[-1], signal.SIGKILL)
    await _all_gone(pids)


async def _restart(bench: Bench, pids: list[int]) -> None:
    await bench.hub.connection("odd").reconnect()


async def _switch_off(bench: Bench, pids: list[int]) -> None:
    await bench.hub.set_enabled("odd", False)


async def _remove(bench: Bench, pids: list[int]) -> None:
    await bench.hub.remove("odd")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt those of others")
@pytest.mark.parametrize("how", [_crash, _killed_server, _restart, _switch_off, _remove])
async def test_what_a_server_left_behind_ends_with_it(
    start_hub: StartHub, tmp_path: Path, how: Callable[[Bench, list[int]], Awaitable[None]]
) -> None:
    bench = await start_hub(faulty("escaping", str(tmp_path / "pids")))
    pids = _pids(tmp_path / "pids")
    assert len(pids) == 2
    assert all(map(_alive, pids))
    await how(bench, pids)
    await _all_gone(pids)


async def test_a_server_ends_with_its_keeper(start_hub: StartHub, tmp_path: Path) -> None:
    bench = await start_hub(faulty("escaping", str(tmp_path / "pids")))
    escaped, server = _pids(tmp_path / "pids")
    os.kill(psutil.Process(server).ppid(), signal.SIGKILL)
    await _all_gone([server])
    os.kill(escaped, signal.SIGKILL)  # with its keeper gone, nothing knows of it
    await bench.hub.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_keeper_adds_nothing_to_the_environment_and_holds_no_pipe(
    start_hub: StartHub, tmp_path: Path
) -> None:
    bench = await start_hub(faulty("stubborn", str(tmp_path / "pids")))
    server = psutil.Process(_pids(tmp_path / "pids")[0])
    keeper = server.parent()
    assert keeper is not None
    assert "LC_CTYPE" in os.environ or "LC_CTYPE" not in server.environ()
    assert {os.readlink(f"/proc/{keeper.pid}/fd/{number}") for number in range(3)} == {os.devnull}
    assert os.getpgid(server.pid) == server.pid
    await bench.hub.close()


async def test_a_start_that_is_called_off_at_any_moment_leaves_nothing_open(tmp_path: Path) -> None:
    guard = Guard()
    program = Program("tee", [str(tmp_path / "said")], environment=dict(os.environ))
    open_before = descriptors()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for steps in range(24):
            starting = asyncio.create_task(ServerProcess.start(program, ServerLog(tmp_path, "cat"), guard))
            for _ in range(steps):
                await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait({starting})
            if not starting.cancelled():
                await starting.result().stop()
            del starting
        gc.collect()
    await guard.close()
    await until_so(lambda: not children(str(tmp_path)), "the end of all that was started")
    assert [warning.message for warning in heard] == []
    await until_so(lambda: descriptors() <= open_before, "the end of their pipes")
