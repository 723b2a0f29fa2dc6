"""The same forty secrets in the console's rooms: a server's wire, page and log, the timeline, and what they export;
window title and notifications of every kind beside.
"""

from __future__ import annotations

from pathlib import Path

from tests.patience import until_there
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.security.canaries import VARIABLES_SET, files, leaks
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Gate, Reply, WireServer

SERVERS = "to search servers"


def _there(folder: Path, pattern: str) -> None:
    until_there(lambda: any(path.stat().st_size for path in folder.glob(pattern)), f"the export {pattern}")


def _open_and_leave(terminal: Terminal, key: str, shown: str) -> None:
    terminal.press(key)
    terminal.expect(shown)
    terminal.press("escape")
    terminal.expect_gone(shown)


def _servers(terminal: Terminal, folder: Path) -> None:
    terminal.press("ctrl+l")
    terminal.expect(SERVERS)
    terminal.press("w")
    terminal.expect("Wire of spy")
    _open_and_leave(terminal, "enter", "space fold")
    terminal.press("x")
    _there(folder, "wire-spy-*.jsonl")
    terminal.press("escape")
    terminal.expect_gone("Wire of spy")
    _open_and_leave(terminal, "i", "About spy")
    _open_and_leave(terminal, "l", "Log of spy")
    terminal.press("escape")
    terminal.expect_gone(SERVERS)


def _timeline(terminal: Terminal, folder: Path) -> None:
    terminal.press("ctrl+t")
    terminal.expect("Timeline . turn 1")
    for key, ending in (("s", "svg"), ("t", "txt"), ("e", "trace.json")):
        terminal.press(key)
        _there(folder, f"timeline-1.{ending}")
    terminal.press("escape")
    terminal.expect_gone("Timeline . turn 1")


def test_no_room_of_the_console_shows_or_writes_a_secret(fanout: Fanout) -> None:
    with WireServer() as server:
        away = Gate()
        said = Reply([away, *Answer(Text("All said.")).events("openai-chat")])
        server.script(Answer(Call("spy_environment", "{}"), Call("spy_fails", "{}")), said)
        loud = {"FANOUT_NOTIFICATIONS": "bell,osc9,osc777", "FANOUT_WINDOW_TITLE": "1", "TERM": "xterm-256color"}
        env = {**VARIABLES_SET, **loud, "OPENAI_BASE_URL": server.base_url("openai-chat")}
        argv = fanout.argv("--debug", "--approval-mode", "yolo", "-m", "openai/m", "--", "go")
        with Terminal(argv, env=fanout.environment(env), cwd=fanout.cwd, rows=60, columns=160) as terminal:
            away.wait_reached()
            assert terminal.wait_until(lambda _: b"\x1b[?1004h" in terminal.raw), "the focus was asked for"
            terminal.lose_focus()  # the end of the turn is notified then
            away.open()
            # What the answer says is seen before its turn is over.
            assert terminal.wait_until(lambda _: b"\x1b]777;notify;Fanout;" in terminal.raw), "a notification was sent"
            terminal.write(b"\x1b[I")
            _servers(terminal, fanout.cwd)
            _timeline(terminal, fanout.cwd)
            terminal.press("ctrl+d")
            terminal.wait_exit()
            raw = terminal.whole()
    assert b"\x1b]2;fanout" in raw, "the window was named"
    written = files(fanout)
    exported = {path: data for path, data in written.items() if Path(path).name.startswith(("wire-", "timeline-"))}
    assert len(exported) == 4
    assert all(Path(path).stat().st_mode & 0o077 == 0 for path in exported)
    assert leaks({"the terminal": raw, **written}) == []
