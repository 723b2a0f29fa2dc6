"""Whatever ends, stops or starves the console: the terminal is as it was found, and the console goes on if it can."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import string
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.escape_reader import read
from tests.hostile import PAYLOADS
from tests.patience import PATIENCE, until_there
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Text
from tests.wire_server import WireServer

READY = "Ask, or / for commands"
# The real program with a fault put into it.
FAULTY = """
import sys
from console_app.tui.main_screen.screen import ChatScreen
from console_app.tui.main_screen.console_ui import ShownConversation
def fault(*_, **__): raise RuntimeError("the fault sk-canary-0123456789abcdef")
{method} = fault
sys.argv = ["fanout", "--no-mcp"]
from console_app.cli import main
main()
"""


def console(fanout: Fanout, *arguments: str, argv: list[str] | None = None, **more: object) -> Terminal:
    env: dict[str, str] = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **more.pop("env", {})}  # type: ignore[dict-item]
    argv = argv or fanout.argv("--no-mcp", *arguments)
    return Terminal(argv, env=fanout.environment(env), cwd=fanout.cwd, **more)  # type: ignore[arg-type]


def state_of(process: int) -> str:
    """The letter that the kernel gives its state."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def until_state(process: int, letter: str) -> None:
    until_there(lambda: state_of(process) == letter, f"state {letter}")


def test_an_internal_error_leaves_one_file_one_line_and_a_clean_terminal(fanout: Fanout) -> None:
    argv = [sys.executable, "-P", "-c", FAULTY.format(method="ChatScreen.on_mount")]
    env = {"OPENAI_API_KEY": "canary-key-in-the-environment"}
    with console(fanout, argv=argv, env=env) as terminal:
        assert terminal.wait_exit() == 1
        assert terminal.left_changed() == []
        last = bytes(terminal.raw).rpartition(b"\x1b[?25h")[2].decode()
        assert re.search(r"fanout: ended by an internal error, RuntimeError\. What happened: \S+crash-\S+\.txt", last)
        assert "Traceback" not in last
    (report,) = (fanout.home / "state").glob("crash-*.txt")
    assert report.stat().st_mode & 0o777 == 0o600
    text = report.read_text()
    assert "RuntimeError: the fault" in text
    assert "canary" not in text
    assert "canary" not in (fanout.home / "state" / "fanout.log").read_text()


def test_a_command_that_fails_by_our_fault_says_where_it_is_written_down(fanout: Fanout) -> None:
    code = (
        "import sys\nfrom console_app.commands import models as models_command\n"
        "def fault(*_): raise RuntimeError('oh sk-canary-0123456789abcdef')\n"
        "models_command.themes = fault\nsys.argv = ['fanout', 'themes']\n"
        "from console_app.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=fanout.environment(), cwd=fanout.cwd, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert re.fullmatch(
        r"fanout: unexpected RuntimeError: oh \(hidden\). What happened: \S+crash-\S+.txt\n", done.stderr
    )


def test_an_event_that_can_not_be_shown_is_a_line_and_the_console_goes_on(fanout: Fanout) -> None:
    argv = [sys.executable, "-P", "-c", FAULTY.format(method="ShownConversation.show")]
    with console(fanout, argv=argv) as terminal:
        terminal.expect(READY)
        terminal.type("hello\r")
        terminal.expect("Fanout made a mistake and went on: RuntimeError")
        terminal.type("still here")
        terminal.expect("still here")


def test_a_key_whose_action_fails_is_a_line_and_the_console_goes_on(fanout: Fanout) -> None:
    argv = [sys.executable, "-P", "-c", FAULTY.format(method="ChatScreen.action_cycle_mode")]
    with console(fanout, argv=argv) as terminal:
        terminal.expect(READY)
        terminal.press("shift+tab")
        terminal.expect("Fanout made a mistake and went on")
        terminal.type("still here")
        terminal.expect("still here")


def test_a_console_that_hangs_is_ended_by_ctrl_c_pressed_again(fanout: Fanout, tmp_path: Path) -> None:
    hanging = tmp_path / "hanging"
    hang = f"def fault(*_, **__): open({str(hanging)!r}, 'w').close(); import threading; threading.Event().wait()"
    code = re.sub("def fault.*", lambda _: hang, FAULTY.format(method="ChatScreen.action_cycle_mode"))
    with console(fanout, argv=[sys.executable, "-P", "-c", code]) as terminal:
        terminal.expect(READY)
        terminal.press("shift+tab")
        until_there(hanging.exists, "the hang")
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_exit() == 128 + signal.SIGINT
        assert terminal.left_changed() == []


SLOW = """
def fault(*_, **__):
    import asyncio, time
    loop, times = asyncio.get_running_loop(), iter(range(8))
    def work():
        if next(times, None) is not None:
            time.sleep(0.3)
            loop.call_soon(work)
    work()
"""


def test_letters_keep_their_order_where_the_loop_is_so_slow_that_the_thread_reads_some(fanout: Fanout) -> None:
    code = re.sub("def fault.*\n", lambda _: SLOW, FAULTY.format(method="ChatScreen.action_cycle_mode"))
    letters = string.ascii_letters[:40]
    with console(fanout, argv=[sys.executable, "-P", "-c", code]) as terminal:
        terminal.expect(READY)
        terminal.press("shift+tab")
        for letter in letters:
            terminal.type(letter)
            time.sleep(0.05)  # as fast as one types
        terminal.expect(letters)


def test_an_answer_that_comes_at_once_is_not_echoed(fanout: Fanout) -> None:
    with console(fanout) as terminal:
        terminal.expect(READY)
        keys_are_read = terminal.raw.index(b"\x1b[?25l")  # what is written next, once the terminal echoes nothing
        assert keys_are_read < terminal.raw.index(b"\x1b]11;?")
        assert b"^[" not in terminal.raw, "the terminal writes what it is sent while it isn't asked not to"


@pytest.mark.parametrize("controlling", [True, False], ids=["hang-up signal", "end of file alone"])
def test_a_window_that_is_closed_ends_the_program(fanout: Fanout, controlling: bool) -> None:
    with console(fanout, controlling=controlling) as terminal:
        terminal.expect(READY)
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE) == 129


def test_a_terminal_that_takes_no_bytes_can_be_ended(fanout: Fanout) -> None:
    with console(fanout, rows=50, columns=200) as terminal:
        terminal.expect(READY)
        terminal.stop_reading()
        for number in range(60):  # frames enough to fill what the kernel keeps
            terminal.write(f"{number} words ".encode())
            terminal.resize(20 + number % 20, 200)
        terminal.signal(signal.SIGTERM)
        assert terminal.process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(fanout: Fanout) -> None:
    with console(fanout) as terminal:
        terminal.expect(READY)
        terminal.type("a draft")
        terminal.expect("a draft")
        for _ in range(2):
            terminal.press("ctrl+z")
            until_state(terminal.process.pid, "T")
            assert terminal.wait_until(lambda _: terminal.left_changed() == [])
            seen = len(terminal.raw)
            terminal.signal(signal.SIGCONT)
            assert terminal.wait_until(lambda _, seen=seen: b"a draft" in terminal.raw[seen:])
        terminal.type(" and more")
        terminal.expect("a draft and more")
        terminal.press("ctrl+c", "ctrl+d")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


def test_garbage_on_standard_input_is_no_end(fanout: Fanout) -> None:
    beyond = [b"\x1b[1114112u", b"\x1b[99999999999999u", b"\x1b[48;0;0;0;0t", b"\x1b[<99;99999;1M"]
    rng = random.Random(7)
    with console(fanout) as terminal:
        terminal.expect(READY)
        for _ in range(60):
            noise = bytes(byte for byte in rng.randbytes(40) if byte >= 0x80)  # no keys that quit
            terminal.write(noise + rng.choice(beyond))
        terminal.write(b"\x1b[200~")
        terminal.write(b"\x1b[201~")
        terminal.press("ctrl+c")
        terminal.expect(READY)
        terminal.type("still here")
        terminal.expect("still here")


def test_a_paste_of_hostile_text_is_text(fanout: Fanout) -> None:
    with console(fanout) as terminal:
        terminal.expect(READY)
        for payload in PAYLOADS:
            terminal.paste(payload.replace("\x1b[201~", "") + " ")
        terminal.type("the end")
        terminal.expect("the end")
        assert read(terminal.whole()).faults == []
        assert terminal.process.poll() is None


def test_five_megabytes_pasted_are_answered(fanout: Fanout) -> None:
    with console(fanout) as terminal:
        terminal.expect(READY)
        terminal.paste("a line of a log \x1b[31m\n" * 230_000)
        terminal.expect(r"\[Pasted 230,000 lines\]")
        terminal.type("still here")
        terminal.expect("still here")


def test_a_storm_of_sizes_is_survived(fanout: Fanout) -> None:
    rng = random.Random(3)
    with console(fanout) as terminal:
        terminal.expect(READY)
        for _ in range(80):
            terminal.resize(rng.choice([1, 2, 3, 7, 24, 60]), rng.choice([1, 2, 5, 20, 79, 200]))
        terminal.resize(1, 1)
        terminal.resize(40, 120)
        terminal.expect(READY)  # what is typed before that is for a screen that is too small
        terminal.type("still here")
        terminal.expect("still here")
        assert read(terminal.whole()).faults == []


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LANG": "en_US.ISO-8859-1", "PYTHONIOENCODING": "latin-1"},
        {"NO_COLOR": "1"},
        {"TERM": "vt100", "COLORTERM": ""},
        {"TERM": "screen", "COLORTERM": ""},
        {"COLUMNS": "30", "LINES": "9"},
    ],
    ids=["C", "latin-1", "NO_COLOR", "vt100", "screen", "stale COLUMNS"],
)
def test_poor_terminals_show_the_console(fanout: Fanout, env: dict[str, str]) -> None:
    with console(fanout, env=env) as terminal:
        terminal.expect(READY)
        terminal.type("hällo")
        terminal.expect("hällo")
        assert read(terminal.whole()).faults == []
        colours = re.findall(rb"\x1b\[[0-9;]*38;2;([0-9]+;[0-9]+;[0-9]+)", terminal.raw)
        if "NO_COLOR" in env:
            assert all(len(set(colour.split(b";"))) == 1 for colour in colours)  # grey


def test_standard_error_may_go_to_a_file(fanout: Fanout, tmp_path: Path) -> None:
    with (tmp_path / "err").open("wb") as err, console(fanout, stderr=err.fileno()) as terminal:
        terminal.expect(READY)
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
    assert (tmp_path / "err").read_bytes() == b""


OFF = b"\x1b[?1004l"  # reports are switched off: the program leaves


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [(["-m", "openai/gpt-4o"], ""), (["-r", "nothing-like-it"], ""), ([], "max_tokens = 'many'\n")],
    ids=["no key", "no such session", "settings that are none"],
)
def test_a_terminal_that_answers_late_leaves_nothing_for_the_shell(
    fanout: Fanout, arguments: list[str], settings: str
) -> None:
    fanout.home.mkdir()
    (fanout.home / "config.toml").write_text(settings)
    with console(fanout, *arguments, answers_after=OFF) as terminal:
        assert terminal.wait_exit() == 2
        assert b"]11;?" in terminal.raw
        assert "fanout: " in terminal.text()
        assert terminal.left_to_read() == b""
        assert b"^[" not in terminal.raw  # nor was any of it echoed


@pytest.mark.parametrize("keys", [["ctrl+c", "ctrl+c"], ["ctrl+d"], ["ctrl+z"]], ids=lambda keys: keys[0])
def test_a_quick_way_out_leaves_nothing_for_the_shell_either(fanout: Fanout, keys: list[str]) -> None:
    with console(fanout, answers_after=OFF) as terminal:
        terminal.expect("/ for commands")
        terminal.press(*keys)
        if keys == ["ctrl+z"]:
            until_state(terminal.process.pid, "T")
        else:
            assert terminal.wait_exit() == 0
        assert terminal.left_to_read() == b""


def test_a_terminal_that_never_answers_keeps_nobody(fanout: Fanout) -> None:
    with console(fanout, "-m", "openai/gpt-4o", answers_after=b"never sent") as terminal:
        assert terminal.wait_exit() == 2
        assert terminal.left_changed() == []


@pytest.mark.parametrize("arguments", [["--help"], ["-p", "hello"], ["doctor", "--help"]], ids=lambda words: words[0])
def test_what_is_no_console_asks_the_terminal_nothing(fanout: Fanout, arguments: list[str]) -> None:
    with console(fanout, *arguments) as terminal:
        assert terminal.wait_exit() == 0
        assert b"\x1b]11" not in terminal.raw
        assert b"\x1b[0c" not in terminal.raw
        assert terminal.left_to_read() == b""


def test_no_terminal_at_all_says_what_to_use(fanout: Fanout) -> None:
    done = fanout.run()
    assert done.code == 2
    assert "the console needs a terminal" in done.err
    assert "fanout run" in done.err


def test_hostile_answers_through_the_whole_program_are_text(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(Answer(Text(" | ".join(PAYLOADS).replace("\ud800", "") + "\n\nThe end.")))
        with console(fanout, "-m", "openai/m", "--base-url", server.base_url("openai-chat"), "--", "go") as terminal:
            terminal.expect(r"The end\.")
            terminal.press("ctrl+d")
            assert terminal.wait_exit() == 0
            found = read(bytes(terminal.raw), newlines=True)
            assert found.faults == []
            assert found.clipboard == []


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_inside_tmux(fanout: Fanout, tmp_path: Path) -> None:
    socket = str(tmp_path / "tmux")
    base = ["tmux", "-S", socket, "-f", os.devnull]

    def run_out(*words: str) -> str:
        return subprocess.run([*base, *words], capture_output=True, text=True, check=False).stdout

    def screen() -> str:
        return run_out("capture-pane", "-p")

    def expect(text: str) -> None:
        until_there(lambda: text in screen(), text)

    env = fanout.environment({"LANG": "C.UTF-8", "PS1": "$ "})
    command = [*base, "-u", "new-session", "-d", "-x", "100", "-y", "30", "sh"]
    subprocess.run(command, env=env, cwd=fanout.cwd, check=True)
    try:
        line = " ".join(fanout.argv("--no-mcp"))
        subprocess.run([*base, "send-keys", f"{line}; echo left with $?", "Enter"], check=True)
        expect(READY)
        subprocess.run([*base, "send-keys", "-l", "words typed in tmux"], check=True)
        expect("words typed in tmux")
        subprocess.run([*base, "resize-window", "-x", "60", "-y", "20"], check=True)
        expect("words typed in tmux")
        subprocess.run([*base, "send-keys", "C-c"], check=True)
        subprocess.run([*base, "send-keys", "-l", "Calculate 12*12"], check=True)
        subprocess.run([*base, "send-keys", "Enter"], check=True)
        expect("✓ done ·")
        subprocess.run([*base, "send-keys", "-l", "/copy answer "], check=True)
        subprocess.run([*base, "send-keys", "Enter"], check=True)
        # What tmux keeps back of OSC 52, unless it is told otherwise, is in its buffer all the same.
        until_there(lambda: "12*12" in run_out("show-buffer"), "what was copied")
        subprocess.run([*base, "send-keys", "C-d"], check=True)
        expect("left with 0")
    finally:
        subprocess.run([*base, "kill-server"], check=False, capture_output=True)
